"""Allreduce at every number of steps: the best algorithms, the bounds, and the gaps.

Every machine has one ``syncoll pareto`` as a person runs it (see `frontiers`). For each S the best
point or member of a pipeline with at most S steps is compared with the bound for S, up to the last
point's S. There the bandwidth optimum is met, or pipelines go on. A gap is the found R/C over the
proved one, minus 1; means of gaps are geometric.

::

    python benchmarks/allreduce.py                    # all tables, into results: about 12 minutes
    python benchmarks/allreduce.py --other ../before/.venv/bin/python   # against another version
    python benchmarks/allreduce.py --save now.json --before then.json   # with an earlier run's
    python benchmarks/allreduce.py --topology "ring(8)" --time-limit 20 -o ring.md
    python benchmarks/allreduce.py --seeds 'torus(8,8)' --time-limit 30 -o torus.md
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from fractions import Fraction

from benchmarks.frontiers import Run, measure
from benchmarks.tables import (
    Costs,
    Page,
    add_options,
    add_other,
    earlier,
    least_cost,
    least_proved,
    made_at,
    mean,
)
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
SEED_SECONDS = 8.0

SHOWN = 16
"""S of a machine that have a line of their own."""


def costs(frontier: Frontier) -> Costs:
    """For each S from the least to that of the last point, and as far as members are proved."""
    proofs = () if frontier.evidence is None else frontier.evidence.proofs
    last = [p.steps for p in frontier.best]
    if frontier.families:
        last += [proof.steps for proof in proofs]
    return {
        steps: (least_cost(frontier, steps), least_proved(frontier, steps))
        for steps in range(frontier.least_steps, max(last, default=frontier.least_steps) + 1)
    }


def end(frontier: Frontier) -> Fraction | None:
    """The limit of R/C with many steps."""
    ends = [family.limit for family in frontier.families] + [p.bandwidth for p in frontier.best]
    return min(ends, default=None)


def ratio(found: Fraction | None, proved: Fraction) -> float:
    """The found R/C over the proved one."""
    return math.inf if found is None else float(found / proved)


def mean_gap(every: Costs) -> float:
    """Of all S."""
    return mean([ratio(*one) - 1 for one in every.values()])


def told(run: Run, every: Costs, before: Costs | None) -> str:
    """A line for a machine."""
    ratios = {steps: ratio(*one) for steps, one in every.items()}
    settled = sum(r == 1 for r in ratios.values())
    near = sum(r <= 1.05 for r in ratios.values())
    worst = max(ratios, key=lambda steps: ratios[steps])
    points = ", ".join(f"({p.steps}, {p.bandwidth})" for p in run.frontier.best[:12])
    more = len(run.frontier.best) - 12
    points += f" and {more} more" if more > 0 else ""
    was = "" if before is None else f"{mean_gap(before):.1%}"
    families = "; ".join(family.words for family in run.frontier.families)
    return (
        f"| {run.topology} | {points} | {min(every)}..{max(every)} | {settled} | {near} "
        f"| {ratios[worst] - 1:.1%} at S = {worst} | {was} | {mean_gap(every):.1%} "
        f"| {families} | {ratio(end(run.frontier), run.frontier.least_bandwidth) - 1:.2%} "
        f"| {run.frontier.seconds:.0f} |"
    )


def gap(found: Fraction | None, proved: Fraction) -> str:
    """In words."""
    if found is None:
        return "nothing"
    return f"{found}, settled" if found == proved else f"{found}, {ratio(found, proved) - 1:.1%}"


def seeds(page: Page, topology: str, seconds: float) -> None:
    """The points of single seeds, in one table."""
    page.say("", f"| seed on {topology} | S | R | C | R/C | times the bound | seconds |")
    page.say("|---|--:|--:|--:|--:|--:|--:|")
    for name in SEEDS:
        run = measure(topology, "allreduce", seconds, ["--backend", name], solver=False)
        points = sorted(run.frontier.best, key=lambda p: (p.bandwidth, p.steps))
        ends = {points[0], min(points, key=lambda q: q.steps)} if points else set()
        for p in sorted(ends, key=lambda q: q.steps):
            page.say(
                f"| {name} | {p.steps} | {p.rounds} | {p.chunks} | {p.bandwidth} "
                f"| {float(p.bandwidth / run.frontier.least_bandwidth):.3f} "
                f"| {run.frontier.seconds:.1f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topology", action="append")
    parser.add_argument("--seeds", action="append", metavar="TOPOLOGY", default=[])
    parser.add_argument("--time-limit", type=float, help="seconds for each search")
    add_options(parser, "allreduce")
    add_other(parser)
    arguments = parser.parse_args()
    before, page, seconds = earlier(arguments), Page(arguments.output), arguments.time_limit
    page.say("# Allreduce at every number of steps", "")
    page.say(made_at())
    page.say("Made by `benchmarks/allreduce.py`. A gap is the found R/C over the bound, minus 1.")
    page.say("For each S algorithms with at most S steps count.", "")
    page.conditions(seconds or 60.0)
    if arguments.topology or not arguments.seeds:
        names = arguments.topology or TOPOLOGIES
        machines(page, names, seconds or 60.0, before, arguments.other)
    for topology in arguments.seeds or ([] if arguments.topology else ["torus(8,8)"]):
        seeds(page, topology, seconds or SEED_SECONDS)
    page.write(arguments.save)


def machines(
    page: Page, names: Sequence[str], seconds: float, before: dict[str, Costs], other: str | None
) -> None:
    """The table of machines, and that of their first S."""
    page.say("| machine | points (S, R/C) | S | settled | within 5 % | widest gap "
             "| mean gap before | mean gap | pipelines | end | search s |")  # fmt: skip
    page.say("|---|---|---|--:|--:|---|--:|--:|---|--:|--:|")
    for name in names:
        if other is not None:
            before[name] = costs(measure(name, "allreduce", seconds, [], python=other).frontier)
        run = measure(name, "allreduce", seconds, [])
        page.found[name] = every = costs(run.frontier)
        page.say(told(run, every, before.get(name)))
    gaps = [mean_gap(every) for every in page.found.values()]
    page.say("", f"Mean of the machines' mean gaps: {mean(gaps):.1%}", "")
    if other is not None:
        was = [mean_gap(before[name]) for name in page.found]
        page.say(f"Before, for the S that had a point: {mean(was):.1%}", "")
    page.say("| machine | S | before | found | proved |", "|---|--:|---|---|--:|")
    for name, every in page.found.items():
        for steps, one in list(every.items())[:SHOWN]:
            known = before.get(name, {}).get(steps)
            earlier_gap = "" if known is None else gap(*known)
            page.say(f"| {name} | {steps} | {earlier_gap} | {gap(*one)} | {one[1]} |")


if __name__ == "__main__":
    main()
