"""Two versions of syncoll on the same frontiers, row by row in one run: ratios and losses.

The other version belongs to another interpreter, such as a virtual environment with an older
checkout. Each row runs with both, in turn; a ratio below 1 says that this version is faster. Work
is CPU time, which is more reliable than seconds if a search ends at its time limit or the machine
is busy.

::

    python benchmarks/versions.py ../before/.venv/bin/python --time-limit 20
    python benchmarks/versions.py OTHER --topology dgx1 --collective allgather --repeat 3
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from math import exp, log
from pathlib import Path
from statistics import median

from benchmarks.frontiers import COLLECTIVES, TOPOLOGIES, scope
from benchmarks.processes import Process, pareto
from benchmarks.tables import made_at
from syncoll.results import Frontier


def lost(before: Frontier | None, now: Frontier | None) -> list[str]:
    """The points and bounds of the other version that this one lacks."""
    if before is None:
        return []
    if now is None:
        return ["every point"]
    found = []
    for p in before.points:
        as_good = [q for q in now.points if q.steps <= p.steps and q.bandwidth <= p.bandwidth]
        if not as_good:
            found.append(f"point ({p.steps}, {p.bandwidth})")
            continue
        same = [q for q in as_good if q.bandwidth == p.bandwidth]
        if same and not scope(before, p) and all(scope(now, q) for q in same):
            found.append(f"proof of ({p.steps}, {p.bandwidth})")
    return found


def gained(before: Frontier | None, now: Frontier | None) -> list[str]:
    """The other way round."""
    return lost(now, before)


def timed(
    python: str, topology: str, collective: str, seconds: float, repeat: int, file: Path
) -> tuple[float, float, Frontier | None]:
    """Seconds and work, the median of several runs, and the result of the last one."""
    took: list[Process] = []
    frontier = None
    for _ in range(repeat):
        one, frontier = pareto(topology, collective, seconds, file, python=python)
        took.append(one)
    return median(t.seconds for t in took), median(t.work for t in took), frontier


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", help="the interpreter that has the other version")
    parser.add_argument("--topology", action="append")
    parser.add_argument("--collective", action="append")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for each search")
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    print(made_at())
    print(f"{os.cpu_count()} cores; load {_load()}; limit {arguments.time_limit:g} s\n")
    print("| machine | collective | seconds before | now | ratio | work before | now | ratio "
          "| lost | gained |")  # fmt: skip
    print("|---|---|--:|--:|--:|--:|--:|--:|---|---|", flush=True)
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for topology in arguments.topology or TOPOLOGIES:
            for collective in arguments.collective or COLLECTIVES:
                try:
                    rows = [
                        timed(
                            python,
                            topology,
                            collective,
                            arguments.time_limit,
                            arguments.repeat,
                            Path(folder) / "frontier.json",
                        )
                        for python in (arguments.other, sys.executable)
                    ]
                except RuntimeError as error:  # the other rows are worth having
                    print(f"| {topology} | {collective} | {error} |", flush=True)
                    continue
                (seconds, work, before), (seconds_now, work_now, now) = rows
                ratios.append(seconds_now / seconds)
                print(
                    f"| {topology} | {collective} | {seconds:.1f} | {seconds_now:.1f} "
                    f"| {seconds_now / seconds:.2f} | {work:.1f} | {work_now:.1f} "
                    f"| {work_now / work:.2f} | {_words(lost(before, now))} "
                    f"| {_words(gained(before, now))} |",
                    flush=True,
                )
    if not ratios:
        sys.exit("no row ran with both versions")
    mean = exp(sum(map(log, ratios)) / len(ratios))
    print(f"\n{len(ratios)} rows; geometric mean of the ratios of seconds {mean:.2f}; "
          f"largest {max(ratios):.2f}; load {_load()}")  # fmt: skip


def _words(found: Sequence[str]) -> str:
    return ", ".join(found)


def _load() -> str:
    return " ".join(f"{load:.1f}" for load in os.getloadavg())


if __name__ == "__main__":
    main()
