"""Switches that copy and add up: the best algorithms and the bounds at every number of steps.

Boxes of GPUs around NVSwitches with NVLink SHARP, and without it; all GPUs, and groups of them.
Every row is one ``syncoll pareto`` as a person runs it (see `frontiers`), or a repair of its
frontier. Gaps are as in `allreduce`.

::

    python benchmarks/switches.py                     # results/switches.md: about 12 minutes
    python benchmarks/switches.py --other ../before/.venv/bin/python   # against another version
    python benchmarks/switches.py --save now.json --before then.json   # with an earlier run's
    python benchmarks/switches.py --case "dgx_h100(boxes=2,nvls=true): reduce" --time-limit 20
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import syncoll
from benchmarks.allreduce import costs, end, mean_gap, ratio
from benchmarks.frontiers import measure
from benchmarks.tables import Costs, Page, add_options, add_other, earlier, made_at, mean
from syncoll.errors import VerificationError
from syncoll.results import Frontier

_EACH = "[[0,1,2,3,4,5,6,7],[8,9,10,11,12,13,14,15]]"
_ACROSS = "[[0,1,2,3,8,9,10,11],[4,5,6,7,12,13,14,15]]"
CASES = (
    "dgx_h100: allreduce",
    "dgx_h100(nvls=true): allreduce",
    "dgx_h100(nvls=true): allreduce within [[0,1,2,3],[4,5,6,7]]",
    "dgx_h100(boxes=2): allreduce",
    "dgx_h100(boxes=2,nvls=true): allreduce",
    f"dgx_h100(boxes=2,nvls=true): allreduce within {_EACH}",
    f"dgx_h100(boxes=2,nvls=true): allreduce within {_ACROSS}",
    "dgx_h100(boxes=2,nvls=true): broadcast",
    "dgx_h100(boxes=2,nvls=true): allgather",
    "dgx_h100(boxes=3,nvls=true): allreduce",
    "dgx_h100(boxes=4,nvls=true): allreduce",
)
DAMAGED = ("card 2", "node 5", "link 0<->switch 0")
"""The failures of an allreduce on two boxes."""


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", metavar='"MACHINE: COLLECTIVE"')
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds for each search")
    add_options(parser, "switches")
    add_other(parser)
    arguments = parser.parse_args()
    before, page, seconds = earlier(arguments), Page(arguments.output), arguments.time_limit
    page.say("# Switches that copy and add up", "")
    page.say(made_at())
    page.say("Made by `benchmarks/switches.py`. A gap is the found R/C over the bound, minus 1.")
    page.say("Its mean is over all S shown, geometric. The end is R/C with ever more steps.", "")
    page.conditions(seconds)
    page.say("| machine | collective | S | settled | widest gap | mean gap before | mean gap "
             "| R/C in the end | proved | gap before | gap | search s |")  # fmt: skip
    page.say("|---|---|---|--:|---|--:|--:|--:|--:|--:|--:|--:|")
    for case in arguments.case or CASES:
        machine, collective = case.split(": ")
        known = before.get(case)
        was = ""
        if arguments.other is not None:
            try:
                other = measure(machine, collective, seconds, [], python=arguments.other).frontier
                known, was = costs(other), end_gap(other)
            except VerificationError:  # the meaning of its proofs may have changed
                was = "not checked"
        found = measure(machine, collective, seconds, []).frontier
        page.found[case] = costs(found)
        page.say(told(machine, collective, found, known, was))
        page.write(arguments.save)
    if not arguments.case:
        repairs(page, seconds)
    gaps = [mean_gap(every) for every in page.found.values()]
    page.say("", f"Mean of the mean gaps: {mean(gaps):.1%}")
    page.write(arguments.save)


def repairs(page: Page, seconds: float) -> None:
    """Rows of two boxes with a failure."""
    machine = "dgx_h100(boxes=2,nvls=true)"
    quiet: dict[str, Any] = {"progress": "none", "store": "none"}
    whole = syncoll.pareto(machine, "allreduce", time_limit=seconds, **quiet)
    for broken in DAMAGED:
        began = time.perf_counter()
        found = syncoll.repair(whole, without=broken, time_limit=seconds, **quiet).frontier
        case = f"{machine} without {broken}: allreduce"
        page.found[case] = costs(found)
        page.say(
            told(
                f"{machine} without {broken}",
                "allreduce, repaired",
                found,
                None,
                "",
                time.perf_counter() - began,
            )
        )
        page.write(None)


def end_gap(found: Frontier) -> str:
    """The gap of the end to the bound."""
    return f"{ratio(end(found), found.least_bandwidth) - 1:.2%}"


def told(
    machine: str,
    collective: str,
    found: Frontier,
    before: Costs | None,
    was: str,
    seconds: float | None = None,
) -> str:
    """A line."""
    every = costs(found)
    ratios = {steps: ratio(*one) for steps, one in every.items()}
    worst = max(ratios, key=lambda steps: ratios[steps])
    mean_before = "" if before is None else f"{mean_gap(before):.1%}"
    return (
        f"| {machine} | {collective} | {min(every)}..{max(every)} "
        f"| {sum(r == 1 for r in ratios.values())} "
        f"| {ratios[worst] - 1:.1%} at S = {worst} | {mean_before} | {mean_gap(every):.1%} "
        f"| {end(found)} | {found.least_bandwidth} | {was} | {end_gap(found)} "
        f"| {found.seconds if seconds is None else seconds:.0f} |"
    )


if __name__ == "__main__":
    main()
