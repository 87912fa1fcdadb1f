"""Time as the objective: the best simulated time for each size, the best classic, and the floor.

A row is a search of one machine, collective and runtime for all sizes at once, in a process of its
own and without a store.  Its cells are the sizes: the best time of an algorithm of its file, the
best time of a classic, and a proved lower bound on the time of every algorithm.  The *lead* is the
classic's time over the best.  Rows are kept, so that a run can be stopped and continued.

::

    python benchmarks/times.py                        # rows that are missing, 20 s of search each
    python benchmarks/times.py --work 20              # units of work instead, the same under load
    python benchmarks/times.py --row torus --collective allgather --runtime wire --again
    python benchmarks/times.py --page                 # only write the page from the kept rows
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

import syncoll
from benchmarks.processes import process
from benchmarks.tables import RESULTS, Page, add_rows, is_asked, made_at
from syncoll.documents.atomic import write_atomically
from syncoll.units import format_size

MACHINES = (
    "dgx1",
    *(f"dgx_h100(boxes={b})" for b in (1, 2, 4, 8)),
    *(f"dgx_h100(boxes={b}, nvls=true)" for b in (1, 2, 4, 8)),
    "a100(boxes=2)",
    "mi300x",
    "mi300x(boxes=2)",
    "mi250(boxes=2)",
    "torus(4,4)",
    "torus(8,8)",
    "ring(4)",
    "p2_16xlarge",
    "leaf_spine([[8,8],[8,8]])",
)
MODELS = dict.fromkeys(("dgx1", "torus(4,4)", "torus(8,8)", "ring(4)"), ("1us", "25GB/s"))
MODELS["p2_16xlarge"] = ("1.5us", "13GB/s")
MODELS["leaf_spine([[8,8],[8,8]])"] = ("1us", "50GB/s")
"""Latency and bandwidth of machines that state none."""

COLLECTIVES = ("allgather", "reducescatter", "allreduce", "alltoall", "broadcast")
RUNTIMES = ("wire", "mscclpp")
SIZES = tuple(1 << bits for bits in range(10, 31, 2))
KEPT = RESULTS / "times.json"

Row = dict[str, Any]


def measure(machine: str, collective: str, runtime: str, limit: Sequence[str]) -> Row:
    """A row.  Raises `RuntimeError` if the search fails."""
    alpha, beta = MODELS.get(machine, (None, None))
    model = ["--alpha", alpha, "--beta", beta] if alpha and beta else []
    aim = ["--optimise-for", ",".join(map(str, SIZES)), "--runtime", runtime]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "frontier.json"
        search = ["pareto", machine, collective, *aim, *model, *limit, "-o", str(file)]
        took = process([*search, "--store", "none"], allowed=(0, 3))
        how: dict[str, Any] = {"alpha": alpha, "beta": beta, "runtime": runtime}
        compared = syncoll.simulate(file, sizes=SIZES, progress="none", **how)
    cells = []
    for number, size in enumerate(compared.sizes):
        best, classic = compared.best(number), compared.best_classic(number)
        times = [float(best.seconds[number]), None, compared.floor(number)]
        if classic is not None:
            times[1] = float(classic.seconds[number])
        cells.append([size, *times, best.name, classic.name if classic else ""])
    about = {"machine": machine, "collective": collective, "runtime": runtime}
    about["commit"] = made_at().split()[3].rstrip(",")
    return {**about, "limit": " ".join(limit), "seconds": took.seconds, "cells": cells}


def ratios(rows: Iterable[Row]) -> list[float]:
    """The best time over the floor in each cell with a floor."""
    return [cell[1] / cell[3] for row in rows for cell in row["cells"] if cell[3]]


def lost(rows: Iterable[Row]) -> list[tuple[Row, list[Any]]]:
    """The cells in which a classic is faster."""
    return [
        (row, cell)
        for row in rows
        for cell in row["cells"]
        if cell[2] is not None and cell[2] < cell[1] * (1 - 1e-8)
    ]


def gaps(rows: list[Row]) -> str:
    """The geometric mean and the largest of the ratios of some rows."""
    found = ratios(rows)
    if not found:
        return "- | -"
    return f"{exp(sum(map(log, found)) / len(found)):.3f} | {max(found):.3f}"


def write_page(rows: list[Row], file: Path) -> None:
    """The page of the kept rows."""
    page = Page(file)
    page.say("# Time as the objective", "", made_at())
    limits, commits = (sorted({row[key] for row in rows}) for key in ("limit", "commit"))
    page.say("How to read it is in `benchmarks/times.py`. Limits of the searches:")
    page.say(f"{', '.join(limits)}. Commits of the rows: {', '.join(commits)}.")
    every = len(MACHINES) * len(COLLECTIVES) * len(RUNTIMES)
    page.say("", f"Made: {len(rows)} of {every} rows, {len(rows) * len(SIZES)} cells.", "")
    page.say("| runtime | rows | best over floor: mean | worst | a classic is faster in |")
    page.say("|---|--:|--:|--:|--:|")
    for runtime in RUNTIMES:
        own = [row for row in rows if row["runtime"] == runtime]
        page.say(f"| {runtime} | {len(own)} | {gaps(own)} | {len(lost(own))} cells |")
    page.say(
        "", "| machine | collective | runtime | mean | worst | at | least lead over classics |"
    )
    page.say("|---|---|---|--:|--:|--:|--:|")
    for row in rows:
        cells = [cell for cell in row["cells"] if cell[3]]
        worst = max(cells, key=lambda cell: cell[1] / cell[3], default=None)
        leads = [cell[2] / cell[1] for cell in row["cells"] if cell[2] is not None]
        lead = f"{min(leads):.3f}" if leads else "-"
        at = "-" if worst is None else format_size(worst[0])
        about = f"{row['machine']} | {row['collective']} | {row['runtime']}"
        page.say(f"| {about} | {gaps([row])} | {at} | {lead} |")
    for row, cell in lost(rows):
        about = f"{row['machine']}, {row['collective']}, {row['runtime']}, {format_size(cell[0])}"
        page.say("", f"Lost: {about}: {cell[4]} {cell[1]:.3g} s, {cell[5]} {cell[2]:.3g} s.")
    page.write(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_rows(parser)
    parser.add_argument("--runtime", action="append")
    parser.add_argument("--time-limit", default="20", help="of each search, in seconds")
    parser.add_argument("--work", help="of each search, in place of a time limit")
    parser.add_argument("--again", action="store_true", help="make kept rows again")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--kept", type=Path, default=KEPT, help=f"the rows (default {KEPT})")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "times.md")
    arguments = parser.parse_args()
    limit = ["--time-limit", arguments.time_limit]
    if arguments.work:
        limit = ["--work", arguments.work]
    kept: dict[str, Row] = {}
    if arguments.kept.is_file():
        kept = json.loads(arguments.kept.read_text())
    for runtime in [] if arguments.page else arguments.runtime or RUNTIMES:
        for machine in MACHINES:
            for collective in COLLECTIVES:
                key = f"{machine} {collective} {runtime}"
                if not is_asked(arguments, machine, collective):
                    continue
                if key in kept and not arguments.again:
                    continue
                try:
                    row = measure(machine, collective, runtime, limit)
                except (RuntimeError, syncoll.errors.SyncollError) as error:
                    print(f"{key}: {error}", flush=True)
                    continue
                kept[key] = row
                write_atomically(arguments.kept, json.dumps(kept, indent=0) + "\n")
                print(key, gaps([row]), f"{len(lost([row]))} lost", flush=True)
    order = [f"{m} {c} {r}" for m in MACHINES for c in COLLECTIVES for r in RUNTIMES]
    write_page([kept[key] for key in order if key in kept], arguments.output)


if __name__ == "__main__":
    main()
