"""Beyond one box: how near the default command comes to the bounds that it proves itself.

Every row is one ``syncoll pareto`` as a person runs it, with no option but a time limit, in a
process of its own and without a store.  Its file is read back and every claim in it checked, as
``syncoll check`` does.  A gap is R/C over the proved bound for that S, minus 1; *first* is that of
the point of fewest steps, *worst* the largest, *end* R/C of the last point over the bound for any
number of steps.

::

    python benchmarks/scale.py                     # all rows of the table, 60 s each
    python benchmarks/scale.py --row torus --row mesh
    python benchmarks/scale.py --seeds             # the same rows by single seeds
    python benchmarks/scale.py --growth            # from 16 nodes upwards, each doubling
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from math import exp, log
from pathlib import Path

from frontiers import Run, measure

HERE = Path(__file__).parent
RANDOM = str(HERE / "topologies" / "random_regular_64_1.syncoll")

ROWS: tuple[tuple[str, str, float], ...] = (
    *((name, "allgather", 60.0) for name in ("torus(8,8)", "torus(4,4,4)", "hypercube(6)")),
    ("torus(16,16)", "allgather", 60.0),
    *((name, "reducescatter", 60.0) for name in ("torus(8,8)", "torus(4,4,4)", "hypercube(6)")),
    ("hypercube(10)", "allgather", 120.0),
    *((name, "alltoall", 60.0) for name in ("torus(4,4)", "torus(8,8)", "hypercube(6)")),
    ("mesh(8,8)", "allgather", 60.0),
    *((name, "allgather", 60.0) for name in ("a100(boxes=2)", "a100(boxes=4)")),
    ("dgx_h100(boxes=4)", "allgather", 60.0),
    *(("mi250(boxes=2)", name, 60.0) for name in ("allgather", "alltoall", "allreduce")),
    *((name, "allgather", 60.0) for name in ("dragonfly(4,2,9)", "slim_fly(5)", RANDOM)),
    ("a100(boxes=16)", "allgather", 60.0),
    ("leaf_spine([[8 for b in range(4)] for l in range(4)])", "allgather", 60.0),
)
"""Topology, collective, and the time limit in seconds."""

SEEDS = ("bfb", "timedtrees", "forestcoll", "multitree", "all_pairs")

GROWTH: tuple[tuple[str, ...], ...] = (
    *(("torus(4,4)", "torus(4,8)", "torus(8,8)", "torus(8,16)", "torus(16,16)", "torus(16,32)"),),
    *(tuple(f"a100(boxes={boxes})" for boxes in (2, 4, 8, 16)),),
)


def gaps(run: Run) -> list[float]:
    """For each point R/C over the bound for its S, minus 1."""
    return [
        float(p.bandwidth / p.bound - 1) if p.bound else float("inf") for p in run.frontier.points
    ]


def row(run: Run) -> str:
    """A line of the table."""
    frontier, found = run.frontier, gaps(run)
    points = ", ".join(
        f"({p.steps}, {p.bandwidth}){'' if gap < 1e-12 else f' +{gap:.2%}'}"
        for p, gap in zip(frontier.points, found, strict=True)
    )
    least, cheapest = frontier.least_bandwidth, frontier.points[-1].bandwidth if found else None
    end = f"{float(cheapest / least - 1):.2%}" if cheapest and least else "?"
    nodes = frontier.topology.num_nodes
    name = Path(run.topology).stem if run.topology.endswith(".syncoll") else run.topology
    return (
        f"| {name} | {nodes} | {frontier.collective} | {points or 'none'} "
        f"| {frontier.least_steps} | {f'{found[0]:.2%}' if found else '?'} "
        f"| {f'{max(found):.2%}' if found else '?'} | {end} "
        f"| {frontier.seconds:.1f} | {run.command:.1f} | {run.check:.1f} |"
    )


def table(rows: Iterable[tuple[str, str, float]], more: Sequence[str] = ()) -> None:
    """Measures and prints rows, and the geometric mean of one plus each gap."""
    print("| machine | nodes | collective | points (S, R/C) and gaps | least S | first | worst "
          "| end | search s | command s | check s |")  # fmt: skip
    print("|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    every: list[float] = []
    for topology, collective, seconds in rows:
        try:
            run = measure(topology, collective, seconds, more)
        except RuntimeError as error:
            why = str(error).strip().splitlines()[-1]
            print(f"| {topology} | | {collective} | {why} | | | | | | | |", flush=True)
            continue
        every += gaps(run)
        print(row(run), flush=True)
    if every:
        mean = exp(sum(log(1 + gap) for gap in every) / len(every)) - 1
        print(f"\n{len(every)} points; geometric mean of the gaps {mean:.2%}; {_load()}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--row", action="append", help="only rows whose machine contains this")
    parser.add_argument("--collective", action="append")
    parser.add_argument("--seeds", action="store_true", help="every seed alone")
    parser.add_argument("--growth", action="store_true", help="how time grows with the nodes")
    arguments = parser.parse_args()
    rows = [
        one
        for one in ROWS
        if (not arguments.row or any(part in one[0] for part in arguments.row))
        and (not arguments.collective or one[1] in arguments.collective)
    ]
    print(f"{os.cpu_count()} cores; {_load()}\n")
    if arguments.growth:
        for names in GROWTH:
            table((name, "allgather", 120.0) for name in names)
    elif arguments.seeds:
        for seed in SEEDS:
            print(f"`--backend {seed}`\n")
            table(rows, ("--backend", seed))
    else:
        table(rows)


def _load() -> str:
    return "load " + " ".join(f"{load:.1f}" for load in os.getloadavg())


if __name__ == "__main__":
    main()
