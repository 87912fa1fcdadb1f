"""Beyond one box: how near the default command comes to the bounds that it proves itself.

Every row is one ``syncoll pareto`` as a person runs it, with no option but a time limit, in a
process of its own and without a store.  Its file is read back and every claim in it checked by
``syncoll check``.  A gap is R/C over the proved bound for that S, minus 1; *first* is that of
the point of fewest steps, *worst* the largest, *end* R/C of the last point over the bound for any
number of steps.

::

    python benchmarks/scale.py                     # all rows of the table, 60 s each
    python benchmarks/scale.py --row torus --row mesh
    python benchmarks/scale.py --seeds             # single seeds in the same time
    python benchmarks/scale.py --growth            # time and memory, each line twice the nodes
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.processes import Process, pareto, process
from benchmarks.tables import add_rows, is_asked, least_cost, made_at, mean
from syncoll.plugins import PluginManager
from syncoll.results import Frontier

HERE = Path(__file__).parent
RANDOM = [str(HERE / "topologies" / f"random_regular_64_{i}.syncoll") for i in (1, 2, 3)]
LEAF_SPINE = "leaf_spine([[8 for b in range(4)] for l in range(4)])"

ROWS: tuple[tuple[str, str, float], ...] = (
    *((name, "allgather", 60.0) for name in ("torus(8,8)", "torus(4,4,4)", "hypercube(6)")),
    ("torus(16,16)", "allgather", 60.0),
    *((name, "reducescatter", 60.0) for name in ("torus(8,8)", "torus(4,4,4)", "hypercube(6)")),
    ("torus(16,16)", "reducescatter", 60.0),
    ("hypercube(10)", "allgather", 120.0),
    ("torus(16,16,16)", "allgather", 120.0),
    *((name, "alltoall", 60.0) for name in ("torus(4,4)", "torus(8,8)", "hypercube(6)")),
    ("mesh(8,8)", "allgather", 60.0),
    *((name, "allgather", 60.0) for name in ("a100(boxes=2)", "a100(boxes=4)")),
    ("dgx_h100(boxes=4)", "allgather", 60.0),
    *((name, "alltoall", 60.0) for name in ("a100(boxes=2)", "a100(boxes=4)")),
    ("dgx_h100(boxes=4)", "alltoall", 60.0),
    *(("mi250(boxes=2)", name, 60.0) for name in ("allgather", "alltoall", "allreduce")),
    *((name, "allreduce", 60.0) for name in ("a100(boxes=4)", "dgx_h100(boxes=4)", "fat_tree(8)")),
    *((name, "allgather", 60.0) for name in ("dragonfly(4,2,9)", "slim_fly(5)", *RANDOM)),
    ("a100(boxes=16)", "allgather", 60.0),
    (LEAF_SPINE, "allgather", 60.0),
)
"""Topology, collective, and the time limit in seconds."""

MISSED = Fraction(102, 100)
"""Largest ratio of the R/C of the default command to the R/C of a single seed."""

GROWTH: tuple[tuple[str, ...], ...] = (
    ("torus(4,4)", "torus(4,8)", "torus(8,8)", "torus(8,16)", "torus(16,16)", "torus(16,32)",
     "torus(32,32)", "torus(32,64)", "torus(64,64)"),
    tuple(f"a100(boxes={boxes})" for boxes in (2, 4, 8, 16, 32, 64)),
)  # fmt: skip
GROWTH_SECONDS = 120.0


@dataclass(frozen=True)
class Run:
    """A frontier as it was read from the command's file, and the time and memory of the command."""

    name: str
    frontier: Frontier
    search: Process
    check: Process
    size: float
    """MiB of the file."""


def measure(topology: str, collective: str, seconds: float, seed: str = "") -> Run:
    """Runs the command, or the command of a single seed, and checks its file.

    Raises:
        RuntimeError: when one of them fails, or there is no point.
    """
    alone = ["--backend", seed] if seed else []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "frontier.json"
        search, frontier = pareto(topology, collective, seconds, file, alone, solver=not seed)
        if frontier is None:
            raise RuntimeError(f"no point in {seconds:g} s")
        # 4: all that can be checked without a solver is right.
        check = process(["check", str(file)], allowed=(0, 4))
        name = Path(topology).stem if topology.endswith(".syncoll") else topology
        return Run(name, frontier, search, check, file.stat().st_size / 2**20)


def gaps(run: Run) -> list[float]:
    """For each point R/C over the bound for its S, minus 1."""
    return [
        float(p.bandwidth / p.bound - 1) if p.bound else float("inf") for p in run.frontier.best
    ]


def points(frontier: Frontier) -> str:
    """(S, R/C) of each point, with its gap where there is one."""
    texts = []
    for p in frontier.best:
        gap = float(p.bandwidth / p.bound - 1) if p.bound else None
        text = "" if gap is not None and gap < 1e-12 else " ?" if gap is None else f" +{gap:.2%}"
        texts.append(f"({p.steps}, {p.bandwidth}){text}")
    return ", ".join(texts) or "none"


def row(run: Run) -> str:
    """A line of the table."""
    frontier, found = run.frontier, gaps(run)
    end = f"{end_gap(run):.2%}" if found and frontier.least_bandwidth else "?"
    return (
        f"| {run.name} | {frontier.topology.num_nodes} | {frontier.collective} "
        f"| {points(frontier)} "
        f"| {frontier.least_steps} | {f'{found[0]:.2%}' if found else '?'} "
        f"| {f'{max(found):.2%}' if found else '?'} | {end} "
        f"| {frontier.seconds:.1f} | {run.search.seconds:.1f} | {run.search.mebibytes:.0f} "
        f"| {run.size:.1f} | {run.check.seconds:.1f} | {run.check.mebibytes:.0f} |"
    )


def table(rows: Iterable[tuple[str, str, float]]) -> None:
    """Measures and prints rows, and the geometric mean of one plus each gap.

    Of allreduce, which is composed, the end is asked for; so there is a mean with no other of its
    gaps too.
    """
    print("| machine | nodes | collective | points (S, R/C) and gaps | least S | first | worst "
          "| end | search s | command s | MiB | file MiB | check s | check MiB |")  # fmt: skip
    print("|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    every: list[float] = []
    asked: list[float] = []
    for topology, collective, seconds in rows:
        try:
            run = measure(topology, collective, seconds)
        except RuntimeError as error:
            print(f"| {topology} | | {collective} | {error} | | | | | | | | | | |", flush=True)
            continue
        every += gaps(run)
        asked += gaps(run) if run.frontier.collective != "allreduce" else [end_gap(run)]
        print(row(run), flush=True)
    if every:
        print(f"\n{len(every)} points; geometric mean of the gaps {mean(every):.2%}, "
              f"{mean(asked):.2%} with the ends of allreduce alone; {_load()}\n")  # fmt: skip


def end_gap(run: Run) -> float:
    """Of the last point, to the bound for any number of steps."""
    least = run.frontier.least_bandwidth
    ends = [p.bandwidth for p in run.frontier.best]
    return float(min(ends) / least - 1) if ends and least else float("inf")


def by_seeds(rows: Iterable[tuple[str, str, float]], seeds: Sequence[str]) -> None:
    """For each row the points of single seeds that the default command misses in the same time."""
    print("| machine | collective | by | points (S, R/C) | missed by the default command |")
    print("|---|---|---|---|---|", flush=True)
    for topology, collective, seconds in rows:
        run = measure(topology, collective, seconds)
        usual = run.frontier
        print(f"| {run.name} | {collective} | default | {points(usual)} | |", flush=True)
        idle = []
        for seed in seeds:
            try:
                alone = measure(topology, collective, seconds, seed).frontier
            except RuntimeError:  # it has no idea
                idle.append(seed)
                continue
            if not alone.best:
                idle.append(seed)
                continue
            missed = [
                f"({p.steps}, {p.bandwidth})"
                for p in alone.best
                if (known := least_cost(usual, p.steps)) is None or known > MISSED * p.bandwidth
            ]
            found = ", ".join(f"({p.steps}, {p.bandwidth})" for p in alone.best)
            print(
                f"| {run.name} | {collective} | {seed} | {found} | {', '.join(missed)} |",
                flush=True,
            )
        print(f"| {run.name} | {collective} | {', '.join(idle)} | nothing | |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_rows(parser)
    parser.add_argument("--time-limit", type=float, help="seconds for each search")
    parser.add_argument("--seeds", action="store_true", help="every seed alone")
    parser.add_argument("--seed", action="append", help="only this one, several times for several")
    parser.add_argument("--growth", action="store_true", help="how time and memory grow")
    arguments = parser.parse_args()
    print(made_at())
    rows = [
        (one[0], one[1], arguments.time_limit or one[2])
        for one in ROWS
        if is_asked(arguments, one[0], one[1])
    ]
    print(f"{os.cpu_count()} cores; {_load()}\n")
    if arguments.growth:
        for names in GROWTH:
            seconds = arguments.time_limit or GROWTH_SECONDS
            table((name, "allgather", seconds) for name in names)
    elif arguments.seeds:
        by_seeds(rows, arguments.seed or tuple(PluginManager.discover().seeds))
    else:
        table(rows)


def _load() -> str:
    return "load " + " ".join(f"{load:.1f}" for load in os.getloadavg())


if __name__ == "__main__":
    main()
