"""Uneven exchanges on two tiers.

::

    python benchmarks/exchanges.py                  # results/exchanges.md
    python benchmarks/exchanges.py "a100(boxes=2) zipf 30"

An exchange is a matrix of whole numbers, how much each GPU has for each other one.  Balanced: 8
from each to each.  Zipf: the k-th of the GPUs, in an order drawn at random, is sent in proportion
to k to the -1.2, by all alike, as tokens go to experts.  One-hot: half of the GPUs send 64 to one
of the others each, by a permutation drawn at random, and nothing else. Every search has the stated
seconds. The table has the cheapest point, the limit of R/C with ever more waves, the bound for any
number of steps, and the gap.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from fractions import Fraction

import syncoll
from benchmarks.tables import Page, add_options, made_at
from syncoll.ledger import Observer
from syncoll.trust.claims import check_claims

EXCHANGES = (
    *(
        f"a100(boxes={boxes}) {kind} {seconds}"
        for boxes, seconds in ((2, 20), (8, 30), (32, 60))
        for kind in ("balanced", "zipf", "one-hot")
    ),
    *(
        f"{machine} {kind} 20"
        for machine in (
            "dgx_h100(boxes=8)",
            "leaf_spine([[8,8],[8,8]])",
            "mi300x(boxes=2)",
            "mi250(boxes=2)",
            "torus(8,8)",
        )
        for kind in ("zipf", "sparse")
    ),
)
"""Machine, kind of matrix, seconds."""

HEAD = (
    *("machine", "GPUs", "matrix", "S", "R/C", "pipeline to", "proved", "above", "found by"),
    *("machine s", "within 5 % s", "this s", "search s"),
)
_NEAR = Fraction(21, 20)


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help='such as "a100(boxes=2) zipf 30"')
    add_options(parser, "exchanges")
    arguments = parser.parse_args()
    page = Page(arguments.output)
    page.say("# Uneven exchanges", "")
    page.say(made_at())
    loads = " ".join(f"{load:.1f}" for load in os.getloadavg())
    page.say(f"{os.cpu_count()} cores, load {loads} at the start.", "")
    page.say(
        "Seconds: for the machine itself; until the search had a verified point within 5 %",
        "of the bound; until this point; and until its end.",
        "",
    )
    row(page, *HEAD)
    row(page, *["---"] * len(HEAD))
    for case in arguments.cases or EXCHANGES:
        machine, kind, seconds = case.rsplit(" ", 2)
        exchange(page, machine, kind, float(seconds))
        page.write(None)


def matrix(kind: str, nodes: int) -> list[list[int]]:
    """One of the kinds, from one node to each other one."""
    drawn = random.Random(nodes)
    order = drawn.sample(range(nodes), nodes)
    if kind == "balanced":
        sent = [[8] * nodes for _ in range(nodes)]
    elif kind == "zipf":
        weights = [(1 + order[node]) ** -1.2 for node in range(nodes)]
        sent = [[round(8 * nodes * w / sum(weights)) for w in weights] for _ in range(nodes)]
    elif kind == "one-hot":
        sent = [[0] * nodes for _ in range(nodes)]
        for one, other in zip(order[: nodes // 2], order[nodes // 2 :], strict=True):
            sent[one][other] = 64
    elif kind == "sparse":
        sent = [
            [drawn.randint(1, 20) if drawn.random() < 0.1 else 0 for _ in range(nodes)]
            for _ in range(nodes)
        ]
    else:
        raise SystemExit(f"there is no kind of matrix {kind}: balanced, zipf, one-hot, sparse")
    return [[0 if i == j else amount for j, amount in enumerate(to)] for i, to in enumerate(sent)]


class Watch(Observer):
    """After how many seconds there was a point of at most some R/C."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._seen: list[tuple[float, Fraction]] = []

    def found(self, points: tuple[syncoll.Point, ...]) -> None:
        """Remembers the cheapest."""
        least = min(point.bandwidth for point in points)
        self._seen.append((time.perf_counter() - self._began, least))

    def until(self, most: Fraction) -> str:
        """In words, to a tenth."""
        return next((f"{at:.1f}" for at, cost in self._seen if cost <= most), "-")


def exchange(page: Page, machine: str, kind: str, seconds: float) -> None:
    """A row of an exchange."""
    began = time.perf_counter()
    topology = syncoll.topology(machine)
    made = time.perf_counter() - began
    collective = syncoll.collective("alltoallv", matrix(kind, topology.num_nodes))
    watch = Watch()
    found = syncoll.pareto(topology, collective, time_limit=seconds, progress=watch, store="none")
    check_claims(found, topology=topology, collective=collective)
    best = min(found.points, key=lambda point: point.bandwidth, default=None)
    cells = [machine, topology.num_nodes, kind]
    low = found.least_bandwidth
    if best is None:
        end = ("-", low, "-", "-", f"{made:.1f}", "-", "-", found.seconds)
        row(page, *cells, "-", "nothing", *end)
        return
    limits = [family.limit for family in found.families]
    nearest = min([best.bandwidth, *limits])
    row(
        page,
        *cells,
        best.steps,
        f"{float(best.bandwidth):.4g}",
        f"{float(min(limits)):.4g}" if limits else "-",
        f"{float(low):.4g}",
        f"{float(nearest / low - 1):.2%}",
        best.backend,
        f"{made:.1f}",
        watch.until(low * _NEAR),
        watch.until(best.bandwidth),
        f"{found.seconds:.1f}",
    )


def row(page: Page, *cells: object) -> None:
    """A row of a table."""
    page.say("| " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
