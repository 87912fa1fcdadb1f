"""Whole frontiers: the points, for which algorithms each is proved optimal, and the seconds.

Every row is one ``syncoll pareto`` with a limit of work, so that it does not depend on the load: a
process of its own, no store, the default limits on S and C.  Its file is read back, and every claim
in it is checked as ``syncoll check`` does; a claim that does not hold ends the benchmark.
``search`` is the time of the search, ``command`` of the whole process, ``check`` of the check of
the file in this process.

::

    python benchmarks/frontiers.py                   # the machines of the SCCL paper
    python benchmarks/frontiers.py --topology 'ring(8)' --collective allgather
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.tables import made_at
from syncoll.documents import read_file
from syncoll.results import Frontier, Point
from syncoll.trust.claims import check_claims

HERE = Path(__file__).parent
TABLES = json.loads((HERE / "sccl_tables.json").read_text())

TOPOLOGIES = (
    "dgx1",
    "ring(8)",
    "hypercube(3)",
    "torus(3,3)",
    "torus(4,4)",
    "hub(8)",
    "dgx_a100",
    "amd_z52",
)
PAPER = ("dgx1", "amd_z52")
"""The machines of the SCCL paper's tables."""

COLLECTIVES = (
    "allgather",
    "gather",
    "alltoall",
    "broadcast",
    "scatter",
    "reduce",
    "reducescatter",
    "allreduce",
)


@dataclass(frozen=True)
class Run:
    """One frontier.

    Args:
        topology: its name as it was asked for.
        frontier: read from the file that the command wrote, every claim checked.
        on_word: how many refutations its claims take from a solver.
        command: seconds of the whole process.
        check: seconds of reading the file and checking every claim.
    """

    topology: str
    frontier: Frontier
    on_word: int
    command: float
    check: float


def measure(
    topology: str,
    collective: str,
    seconds: float | None,
    more: Sequence[str],
    *,
    solver: bool = True,
    python: str = sys.executable,
) -> Run:
    """Runs the command and checks its file.

    Args:
        seconds: the time limit; None for the limit among the options.
        more: options of the command.
        solver: whether one is asked, whose answers are not to be kept.
        python: the interpreter; another one may have another version of syncoll.

    Raises:
        RuntimeError: when the command fails.
        VerificationError: when a claim does not hold.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "frontier.json"
        command = [python, "-m", "syncoll", "pareto", topology, collective]
        command += ["--store", "none"] if solver else []
        command += [] if seconds is None else ["--time-limit", f"{seconds:g}s"]
        command += ["-o", str(file), *more]
        began = time.perf_counter()
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        wall = time.perf_counter() - began
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
        began = time.perf_counter()
        checked = check_claims(read_file(file).claims())
        return Run(
            topology, checked.frontier, len(checked.on_word), wall, time.perf_counter() - began
        )


def scope(frontier: Frontier, point: Point) -> str:
    """For which algorithms a point is proved optimal; empty for all of them."""
    proof = frontier.proof(point)
    text = "open" if proof is None else proof.scope_text
    return {"all": "", "open": " open"}.get(text, f" {text.replace('chunks', 'C')}")


def row(run: Run) -> str:
    """A line of the table of frontiers."""
    frontier = run.frontier
    points = ", ".join(f"({p.steps}, {p.bandwidth}){scope(frontier, p)}" for p in frontier.best)
    proved = sum(not scope(frontier, p) for p in frontier.best)
    open_ = "; ".join(
        f"{_steps(claim.least_steps, claim.most_steps)}: {claim.low} to "
        f"{'any' if claim.high is None else claim.high}"
        for claim in frontier.open
    )
    methods = sorted({str(p.method) for p in (frontier.proof(q) for q in frontier.best) if p})
    return (
        f"| {run.topology} | {frontier.collective} | {points or 'none'} "
        f"| {proved} of {len(frontier.best)} | {', '.join(methods)} | {open_ or 'nothing'} "
        f"| {run.on_word} | {frontier.seconds:.1f}{'' if frontier.complete else ' (stopped)'} "
        f"| {run.command:.1f} | {run.check:.2f} |"
    )


def _steps(least: int, most: int | None) -> str:
    if most is None:
        return f"S >= {least}"
    return f"S = {least}" if most == least else f"S = {least}..{most}"


def dominating(frontier: Frontier, steps: int, cost: Fraction) -> Point | None:
    """The point that is no worse than (S, R/C) in either cost and better in one; of several that
    with the least R/C, then the fewest steps."""
    better = [
        p
        for p in frontier.best
        if p.steps <= steps and p.bandwidth <= cost and (p.steps, p.bandwidth) != (steps, cost)
    ]
    return min(better, key=lambda p: (p.bandwidth, p.steps), default=None)


def dominated(run: Run) -> list[str]:
    """A line for each row that the paper prints and a point dominates."""
    lines = []
    for chunks, steps, rounds in printed(run):
        cost = Fraction(rounds, chunks)
        point = dominating(run.frontier, steps, cost)
        if point is None:
            continue
        gains = []
        if point.steps < steps:
            gains.append(f"{steps - point.steps} step{'s' if steps - point.steps > 1 else ''} less")
        if point.bandwidth < cost:
            gains.append(f"R/C {float(1 - point.bandwidth / cost):.1%} less")
        own = [
            f"({c}, {s}, {r})"
            for c, s, r in printed(run)
            if s <= steps and Fraction(r, c) <= cost and (s, Fraction(r, c)) != (steps, cost)
        ]
        lines.append(
            f"| {run.topology} | {run.frontier.collective} | ({chunks}, {steps}, {rounds}) "
            f"| ({steps}, {cost}) | ({point.chunks}, {point.steps}, {point.rounds}) "
            f"| ({point.steps}, {point.bandwidth}) | {', '.join(gains)} | {' '.join(own) or 'no'} |"
        )
    return lines


def new(run: Run) -> list[str]:
    """A line for each point that no row of the paper reaches in both costs."""
    table = printed(run)
    return [
        f"| {run.topology} | {run.frontier.collective} | ({p.chunks}, {p.steps}, {p.rounds}) "
        f"| ({p.steps}, {p.bandwidth}) |"
        for p in run.frontier.best
        if table and not any(s <= p.steps and Fraction(r, c) <= p.bandwidth for c, s, r in table)
    ]


def printed(run: Run) -> list[tuple[int, int, int]]:
    """The rows (C, S, R) of Tables 4 and 5; their duals are the same rows once more."""
    name = run.frontier.collective
    if name in ("reduce", "reducescatter", "scatter"):
        return []
    return [(c, s, r) for c, s, r, _ in TABLES.get(run.topology, {}).get(name, [])]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topology", action="append")
    parser.add_argument("--collective", action="append")
    parser.add_argument("--work", type=float, default=30.0, help="of each search")
    parser.add_argument(
        "more", nargs="*", metavar="OPTION", help="after --: more options for syncoll pareto"
    )
    arguments = parser.parse_args()
    print(made_at())
    print(f"{os.cpu_count()} cores; load before: {_load()}; --work {arguments.work:g}\n")
    print("| machine | collective | points (S, R/C) | proved for every C | proved by | left open "
          "| refutations by a solver | search s | command s | check s |")  # fmt: skip
    print("|---|---|---|--:|---|---|--:|--:|--:|--:|", flush=True)
    runs = []
    options = ["--work", f"{arguments.work:g}", *arguments.more]
    for topology in arguments.topology or PAPER:
        for collective in arguments.collective or COLLECTIVES:
            runs.append(measure(topology, collective, None, options))
            print(row(runs[-1]), flush=True)
    _table(
        "| machine | collective | row of the paper (C, S, R) | (S, R/C) | dominated by (C, S, R) "
        "| (S, R/C) | by | the paper's own rows that do so too |",
        [line for run in runs for line in dominated(run)],
    )
    _table(
        "| machine | collective | point that no row of the paper reaches (C, S, R) | (S, R/C) |",
        [line for run in runs for line in new(run)],
    )
    total = sum(run.frontier.seconds for run in runs)
    points = sum(len(run.frontier.best) for run in runs)
    every = sum(not scope(run.frontier, p) for run in runs for p in run.frontier.best)
    print(f"\n{len(runs)} frontiers with {points} points, {every} of them proved optimal for every "
          f"C, in {total:.0f} s of search; load after: {_load()}.")  # fmt: skip


def _table(head: str, lines: Sequence[str]) -> None:
    if lines:
        print(f"\n{head}\n{'|---' * (head.count('|') - 1)}|")
        print("\n".join(lines))


def _load() -> str:
    return " ".join(f"{load:.1f}" for load in os.getloadavg()) if hasattr(os, "getloadavg") else "?"


if __name__ == "__main__":
    main()
