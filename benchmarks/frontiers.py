"""Whole frontiers: points, proved bounds and seconds, beside the points of the SCCL paper.

::

    python benchmarks/frontiers.py                   # the DGX-1, all collectives of the paper
    python benchmarks/frontiers.py --topology 'ring(8)' --collective allgather
"""

from __future__ import annotations

import argparse
import json
import time
from fractions import Fraction
from pathlib import Path

from syncoll.plugins import PluginManager
from syncoll.search import Frontier, SearchRequest, search
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary

HERE = Path(__file__).parent
TABLES = json.loads((HERE / "sccl_tables.json").read_text())

COLLECTIVES = ("allgather", "gather", "alltoall", "broadcast", "reducescatter", "scatter", "reduce",
               "allreduce")  # fmt: skip


def dominated_rows(topology: str, frontier: Frontier) -> list[str]:
    """The rows of the paper's tables that are worse than a point of ours in a cost."""
    found = []
    for chunks, steps, rounds, _ in TABLES.get(topology, {}).get(frontier.collective, []):
        cost = Fraction(rounds, chunks)
        if any(
            p.steps <= steps and p.bandwidth <= cost and (p.steps, p.bandwidth) != (steps, cost)
            for p in frontier.points
        ):
            found.append(f"({chunks}, {steps}, {rounds})")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topology", action="append")
    parser.add_argument("--collective", action="append")
    parser.add_argument("--time-limit", type=float, default=120.0)
    arguments = parser.parse_args()
    plugins = PluginManager.discover()
    specs = SpecLibrary.load([record.folder for record in plugins.spec_libraries.values()])
    print("| machine | collective | points (S, R/C), * where the bound is met | open | seconds "
          "| rows (C, S, R) of the paper that are dominated |")  # fmt: skip
    print("|---|---|---|--:|--:|---|")
    for topology in arguments.topology or ["dgx1"]:
        for collective in arguments.collective or COLLECTIVES:
            began = time.perf_counter()
            request = SearchRequest(
                specs.topology(topology),
                specs.collective(collective),
                time_limit=arguments.time_limit,
            )
            with Solver(plugins) as solver:
                frontier = search(request, solver)
            points = " ".join(
                f"({p.steps}, {p.bandwidth}){'*' if p.bandwidth == p.bound else ''}"
                for p in frontier.points
            )
            beaten = " ".join(dominated_rows(topology, frontier)) or "none"
            print(
                f"| {topology} | {collective} | {points} | {len(frontier.open)} "
                f"| {time.perf_counter() - began:.1f} | {beaten} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
