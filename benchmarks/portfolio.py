"""Solvers alone and side by side: seconds for easy rows, hard points and refutations.

::

    python benchmarks/portfolio.py                        # cpsat, pysat and auto, everything
    python benchmarks/portfolio.py --only combining hard  # some groups
    python benchmarks/portfolio.py --backend cpsat --backend cpsat+pysat

The rows of the SCCL paper's Tables 4 and 5 are asked as `syncoll solve` asks them; the others are
put to the solver as they stand, so that allreduce is decided by its own formula and not composed.
Seconds are of the wall clock, encoding and verification included, with workers that are warm.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables import made_at
from syncoll.formula import Limits
from syncoll.plugins import PluginManager
from syncoll.results import Solution
from syncoll.routing import as_topology
from syncoll.searching import solve_one
from syncoll.searching.point import solve_directly
from syncoll.solving import Solver, default_threads
from syncoll.solving.portfolio import HEAD_START_SECONDS
from syncoll.spec import SpecLibrary

TABLES = json.loads((Path(__file__).parent / "sccl_tables.json").read_text())

POINTS = {
    # Moving instances that take one solver or the other more than a second, and refutations.
    "hard": (
        ("torus(4,4)", "allgather", 4, 4, 15),
        ("torus(3,3)", "allgather", 4, 3, 8),
        ("hypercube(3)", "allgather", 6, 4, 14),
        ("dgx1", "alltoall", 24, 3, 8),
        ("ring(8)", "allgather", 6, 4, 21),
        ("dgx1", "broadcast", 18, 5, 5),
    ),
    "refuted": (
        ("dgx1", "allgather", 5, 3, 6),
        ("dgx1", "allgather", 3, 2, 4),
        ("dgx1", "broadcast", 7, 3, 3),
        ("dgx1", "broadcast", 13, 4, 4),
        ("torus(3,3)", "allgather", 3, 2, 5),
        ("hypercube(3)", "allgather", 3, 3, 6),
        ("hypercube(3)", "broadcast", 10, 4, 7),
    ),
    "combining": (
        ("dgx1", "allreduce", 1, 2, 2),
        ("dgx1", "allreduce", 2, 3, 2),
        ("dgx1", "allreduce", 4, 3, 3),
        ("dgx1", "allreduce", 8, 4, 4),
        ("dgx1", "allreduce", 6, 3, 3),
        ("dgx1", "allreduce", 8, 4, 3),
        ("hypercube(3)", "allreduce", 1, 3, 3),
        ("hypercube(3)", "allreduce", 3, 3, 3),
        ("hypercube(3)", "allreduce", 4, 4, 4),
        ("ring(8)", "allreduce", 1, 4, 4),
        ("ring(8)", "allreduce", 2, 5, 6),
        ("ring(8)", "allreduce", 2, 4, 5),
        ("ring(6)", "allreduce", 2, 4, 4),
    ),
}


@dataclass(frozen=True)
class Case:
    """One question."""

    group: str
    topology: str
    collective: str
    chunks: int
    steps: int
    rounds: int
    ask: Callable[[Solver, float], Solution]


def cases(specs: SpecLibrary) -> Iterator[Case]:
    for name in ("dgx1", "amd_z52"):
        for collective, table in TABLES[name].items():
            for chunks, steps, rounds, _ in table:
                yield _as_asked(specs, name, collective, chunks, steps, rounds)
    for group, points in POINTS.items():
        for point in points:
            yield _as_it_stands(specs, group, *point)


def _as_asked(
    specs: SpecLibrary, name: str, collective: str, chunks: int, steps: int, rounds: int
) -> Case:
    topology, what = as_topology(specs.topology(name)), specs.collective(collective)

    def ask(solver: Solver, seconds: float) -> Solution:
        return solve_one(
            solver, topology, what, chunks=chunks, steps=steps, rounds=rounds, seconds=seconds
        )

    return Case("paper", name, collective, chunks, steps, rounds, ask)


def _as_it_stands(
    specs: SpecLibrary, group: str, name: str, collective: str, chunks: int, steps: int, rounds: int
) -> Case:
    instance = specs.collective(collective).instantiate(
        as_topology(specs.topology(name)), chunks=chunks, steps=steps, rounds=rounds
    )

    def ask(solver: Solver, seconds: float) -> Solution:
        return solve_directly(solver, instance, seconds)

    return Case(group, name, collective, chunks, steps, rounds, ask)


def measure(case: Case, solver: Solver, limit: float, repeats: int) -> tuple[float, Solution]:
    """The median of the seconds of some runs, and the last answer."""
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        solution = case.ask(solver, limit)
        spent.append(time.perf_counter() - began)
        if spent[-1] > 5.0:
            break
    return statistics.median(spent), solution


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", action="append")
    parser.add_argument("--only", nargs="+", choices=("paper", *POINTS))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each question")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each; medians count")
    parser.add_argument("--head-start", type=float, default=HEAD_START_SECONDS)
    parser.add_argument("--threads", type=int, default=default_threads())
    arguments = parser.parse_args()
    print(made_at())
    backends = arguments.backend or ["cpsat", "pysat", "auto"]
    plugins = PluginManager.discover()
    specs = SpecLibrary([record.folder for record in plugins.spec_libraries.values()])
    solvers = [
        Solver(
            plugins,
            backend=name,
            limits=Limits(threads=arguments.threads),
            head_start=arguments.head_start,
        )
        for name in backends
    ]
    totals: dict[str, list[float]] = {}
    warm_up = next(cases(specs))
    for solver in solvers:
        warm_up.ask(solver, arguments.limit)
    print(f"| group | machine | collective | C, S, R | verdict | {' | '.join(backends)} |")
    print(f"|---|---|---|---|---{'|--:' * len(backends)}|")
    for case in cases(specs):
        if arguments.only and case.group not in arguments.only:
            continue
        results = [measure(case, s, arguments.limit, arguments.repeats) for s in solvers]
        verdicts = {str(solution.verdict) for _, solution in results} - {"unknown"}
        verdict = " and ".join(sorted(verdicts)) or "unknown"
        shown = [
            f"{spent:.2f}"
            + (" unknown" if s.verdict == "unknown" else "")
            + (f" ({s.backend})" if s.backend != name and s.verdict != "unknown" else "")
            for name, (spent, s) in zip(backends, results, strict=True)
        ]
        print(
            f"| {case.group} | {case.topology} | {case.collective} "
            f"| {case.chunks}, {case.steps}, {case.rounds} | {verdict} | {' | '.join(shown)} |",
            flush=True,
        )
        sums = totals.setdefault(case.group, [0.0] * len(backends))
        for i, (spent, _) in enumerate(results):
            sums[i] += spent
    for group, sums in totals.items():
        print(f"| **{group}, sum** | | | | | {' | '.join(f'{s:.1f}' for s in sums)} |")
    for solver in solvers:
        solver.close()


if __name__ == "__main__":
    main()
