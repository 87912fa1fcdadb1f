"""Allreduce at every number of steps: what is found, what is proved, and what lies between.

Every machine has one ``syncoll pareto`` as a person runs it (see `frontiers`).  For each S the best
of the points of at most so many steps is set against the bound for S, up to the last point's S:
there the bandwidth optimum is met, or nothing better was found.  A gap is what was found over what
is proved, less one; the mean of several is geometric.

::

    python benchmarks/allreduce.py                    # the machines below, a minute each
    python benchmarks/allreduce.py --topology 'ring(8)' --time-limit 20
    python benchmarks/allreduce.py --seeds 'torus(8,8)' --time-limit 30
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from fractions import Fraction

from frontiers import Run, measure

from syncoll.results import Frontier

TOPOLOGIES = (
    "dgx1",
    "ring(8)",
    "hypercube(3)",
    "torus(3,3)",
    "torus(4,4)",
    "mesh(4,4)",
    "mesh(6,6)",
    "a100(boxes=2)",
    "mi250(boxes=2,gpus=8)",
)
SEEDS = ("ring", "ring2d", "double_binary_tree", "multitree", "forestcoll", "bfb", "treepairs")

Row = tuple[int, Fraction | None, Fraction]
"""S, what was found with at most so many steps, and what is proved."""


def rows(frontier: Frontier) -> Iterator[Row]:
    """For each S from the least to that of the last point."""
    proofs = [] if frontier.evidence is None else list(frontier.evidence.proofs)
    points = frontier.points
    least = frontier.least_steps
    for steps in range(least, max((p.steps for p in points), default=least) + 1):
        found = min((p.bandwidth for p in points if p.steps <= steps), default=None)
        proved = [proof.bound for proof in proofs if proof.steps >= steps]
        yield steps, found, max([*proved, frontier.least_bandwidth])


def ratio(row: Row) -> float:
    """What was found over what is proved."""
    _, found, proved = row
    return math.inf if found is None else float(found / proved)


def mean(ratios: list[float]) -> float:
    """The geometric one, less one."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) - 1


def told(run: Run) -> tuple[str, float]:
    """A line for a machine, and the mean of its gaps."""
    every = list(rows(run.frontier))
    ratios = [ratio(row) for row in every]
    settled = sum(r == 1 for r in ratios)
    near = sum(r <= 1.05 for r in ratios)
    worst = max(every, key=ratio)
    points = ", ".join(f"({p.steps}, {p.bandwidth})" for p in run.frontier.points[:12])
    more = len(run.frontier.points) - 12
    points += f" and {more} more" if more > 0 else ""
    last = every[-1]
    line = (
        f"| {run.topology} | {points} | {every[0][0]}..{last[0]} | {settled} | {near} "
        f"| {ratio(worst) - 1:.1%} at S = {worst[0]} | {mean(ratios):.1%} | {ratio(last) - 1:.2%} "
        f"| {run.frontier.seconds:.0f} |"
    )
    return line, mean(ratios)


def by_steps(run: Run, most: int) -> Iterator[str]:
    """A line for each S, of the first so many."""
    for steps, found, proved in list(rows(run.frontier))[:most]:
        gap = ratio((steps, found, proved)) - 1
        yield (
            f"| {run.topology} | {steps} | {found or 'nothing'} | {proved} "
            f"| {'settled' if gap == 0 else f'{gap:.1%}'} |"
        )


def seeds(topology: str, seconds: float) -> None:
    """What single seeds find, in one table."""
    print(f"\n| seed on {topology} | S | R | C | R/C | times the bound | seconds |")
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for name in SEEDS:
        run = measure(topology, "allreduce", seconds, ["--backend", name], solver=False)
        points = sorted(run.frontier.points, key=lambda p: (p.bandwidth, p.steps))
        for p in sorted({points[0], min(points, key=lambda q: q.steps)} if points else (),
                        key=lambda q: q.steps):  # fmt: skip
            print(
                f"| {name} | {p.steps} | {p.rounds} | {p.chunks} | {p.bandwidth} "
                f"| {float(p.bandwidth / run.frontier.least_bandwidth):.3f} "
                f"| {run.frontier.seconds:.1f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topology", action="append")
    parser.add_argument("--seeds", action="append", metavar="TOPOLOGY", default=[])
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each search")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores; time limit of each search: {arguments.time_limit:g} s\n")
    for topology in arguments.seeds:
        seeds(topology, arguments.time_limit)
    if arguments.seeds and not arguments.topology:
        return
    print("| machine | points (S, R/C) | S | settled | within 5 % | widest gap | mean gap "
          "| gap at the last S | search s |")  # fmt: skip
    print("|---|---|---|--:|--:|---|--:|--:|--:|", flush=True)
    runs, means = [], []
    for topology in arguments.topology or TOPOLOGIES:
        runs.append(measure(topology, "allreduce", arguments.time_limit, []))
        line, gap = told(runs[-1])
        means.append(gap)
        print(line, flush=True)
    print(f"\nMean of the machines' mean gaps: {mean([1 + gap for gap in means]):.1%}")
    print("\n| machine | S | found | proved | gap |\n|---|--:|--:|--:|--:|")
    for run in runs:
        print("\n".join(by_steps(run, 16)), flush=True)


if __name__ == "__main__":
    main()
