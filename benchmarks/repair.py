"""Repairs of a machine after each failure of a single link: losses, and gaps to the bounds.

::

    python benchmarks/repair.py                     # results/repair.md
    python benchmarks/repair.py "mi250(boxes=1) allgather 30" --compared 3

Each direction of a link fails by itself, and one failure stands for its orbit. The frontier of the
whole machine is searched first; then each failure is repaired from it within the stated seconds.
The failures with the largest gaps are also searched from nothing in the same time (the last column:
R/C of that over R/C of the repair). The table has R/C with any number of steps, pipelines included,
the bound, and the largest gap to a bound at any S. Every algorithm has passed the verifier on the
damaged machine, and the bounds have their certificates checked.
"""

from __future__ import annotations

import argparse
import os
import time
from fractions import Fraction
from statistics import median
from typing import Any

import syncoll
from benchmarks.tables import Page, add_options, made_at
from syncoll.repairing.cost_delta import bound_for, percent
from syncoll.repairing.survey import Surveyed
from syncoll.results import Frontier
from syncoll.trust.claims import check_claims

CASES = (
    "dgx1 allgather 10",
    "torus(4,4) allgather 10",
    "torus(8,8) allgather 10",
    "mi250(boxes=1) allgather 20",
    "dgx1 allreduce 15",
    "torus(4,4) allreduce 20",
    "mi250(boxes=1) allreduce 15",
)
"""Machine, collective, seconds for each failure."""

WHOLE_SECONDS = 80.0
"""For the whole machine, whose frontier is searched once."""


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help='such as "dgx1 allgather 10"')
    parser.add_argument(
        "--compared", type=int, default=8, help="failures that are searched from nothing, too"
    )
    add_options(parser, "repair")
    arguments = parser.parse_args()
    page = Page(arguments.output)
    page.say("# When a link breaks", "")
    page.say(made_at())
    loads = " ".join(f"{load:.1f}" for load in os.getloadavg())
    page.say(f"{os.cpu_count()} cores, load {loads} at the start.", "")
    for case in arguments.cases or CASES:
        machine, collective, seconds = case.rsplit(" ", 2)
        survey(page, machine, collective, float(seconds), arguments.compared)
        page.write(None)


def _last_gap(one: Surveyed) -> Fraction:
    """The gap of a repaired machine with any number of steps."""
    assert one.repair is not None
    gap = one.repair.losses[-1].gap
    assert gap is not None
    return gap


def survey(page: Page, machine: str, collective: str, seconds: float, compared: int) -> None:
    """One machine: a row for each failure, the worst first.

    Args:
        compared: number of failures, of the largest gaps, that are searched from nothing too.
    """
    quiet: dict[str, Any] = {"progress": "none", "store": "none"}
    began = time.perf_counter()
    whole = syncoll.pareto(machine, collective, time_limit=WHOLE_SECONDS, **quiet)
    spent, asked = time.perf_counter() - began, whole.source
    found = syncoll.survey(whole, search_limit=seconds, **quiet)
    best = least(whole)
    gap = percent(best / whole.least_bandwidth - 1)
    page.say(
        f"## {collective} on {machine}, {seconds:g} s a failure",
        "",
        f"Whole: R/C {best}, {gap} above the bound, in {spent:.1f} s.",
        "",
    )
    head = ("broken", "alike", "R/C now", "lost", "proved", "lost for good", "gap", "largest gap")
    row(page, *head, "from", "s", "from nothing")
    row(page, *["---"] * (len(head) + 3))
    gaps, worst, times = [], Fraction(0), []
    by_gap = sorted(found.worst, key=_last_gap, reverse=True)
    searched = by_gap[:compared]
    for one in (*found.fatal, *found.worst):
        if one.repair is None:
            row(page, one.words, one.failure.images, "impossible", *[""] * 8)
            continue
        loss, frontier = one.repair.losses[-1], one.repair.frontier
        assert loss.now is not None
        assert loss.gap is not None
        check_claims(frontier, topology=one.repair.machine.topology, collective=asked)
        one_gap = largest_gap(one)
        gaps.append(loss.gap)
        worst = max(worst, one_gap)
        times.append(frontier.seconds)
        anew = None
        if one in searched:
            nothing = syncoll.pareto(frontier.topology, collective, time_limit=seconds, **quiet)
            anew = least(nothing)
        row(
            page,
            one.words,
            one.failure.images,
            loss.now,
            percent(loss.lost),
            loss.bound,
            percent(loss.lost_for_good),
            percent(loss.gap),
            percent(one_gap),
            loss.found_by,
            f"{frontier.seconds:.1f}",
            "-" if anew is None else f"{float(anew / loss.now):.3f}",
        )
    page.say(
        "",
        f"{found.failures} failures, {len(found.surveyed)} of them different; gap at most "
        f"{percent(max(gaps))} with any number of steps, {percent(worst)} at any S; median "
        f"{median(times):.1f} s.",
        "",
    )


def least(frontier: Frontier) -> Fraction:
    """R/C with any number of steps."""
    limits = [family.limit for family in frontier.families]
    return min([*(point.bandwidth for point in frontier.best), *limits])


def largest_gap(one: Surveyed) -> Fraction:
    """Of the points of the repaired frontier, each to the bound for its S."""
    assert one.repair is not None
    frontier = one.repair.frontier
    return max(p.bandwidth / bound_for(frontier, p.steps) - 1 for p in frontier.best)


def row(page: Page, *cells: object) -> None:
    """A row of a table."""
    page.say("| " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
