"""Families of algorithms for people: a line for each, in closed form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from syncoll.pages.page import Page
from syncoll.results import Family, Frontier, Growth, OpenClaim, Point, Proof
from syncoll.wording import in_short, nearness

__all__ = ["add_families", "member_of", "open_words", "optimal_for"]


def member_of(point: Point, frontier: Frontier) -> Family | None:
    """The family of which a member costs what the point costs."""
    for family in frontier.families:
        if family.is_member(point.steps, point.bandwidth):
            return family
    return None


def add_families(page: Page, frontier: Frontier) -> None:
    """A table of the families of a frontier, where there are any."""
    if not frontier.families:
        return
    rows = []
    for family in frontier.families:
        limit = str(family.limit)
        if family.limit == frontier.least_bandwidth:
            limit += ", the bound"
        by_step = in_short(family.rounds)
        up, down = (in_short(ramp) for ramp in (family.ramp_up, family.ramp_down))
        sends = [sum(part.algorithm.num_sends for part in family.fixed)]
        sends.append(family.wave.algorithm.num_sends)
        rows.append(
            (
                f"{family.steps}",
                f"{family.rounds_needed}",
                f"{family.chunks}",
                f"m >= {family.first}",
                limit,
                " ".join(part for part in (up, f"({by_step})", down) if part),
                f"{Growth(*sends)}",
                f"seed/{family.found_by}",
            )
        )
    page.text()
    page.text("Pipelines: m waves of chunks, one after the other, for every m")
    page.text()
    columns = (">steps S", ">rounds R", ">chunks C", "for", "R/C falls to")
    page.table((*columns, "R by step", ">sends", "found by"), rows)
    for family in frontier.families:
        for line in _proved(family, frontier):
            page.text(line)


def optimal_for(point: Point, proof: Proof | None) -> str:
    """Among which algorithms nothing costs less, or how far the point is from the proved bound."""
    scope = "open" if proof is None else proof.scope_text
    if scope == "all":
        return "every C"
    words = [scope.replace("chunks<=", "C <= ").replace("rounds<=", "R <= ")]
    if point.bound and point.bound < point.bandwidth:
        words.append(nearness(point.bandwidth, point.bound))
    words = [word for word in words if word != "open"]
    return "; ".join(words) or "not proved"


def _proved(family: Family, frontier: Frontier) -> Iterator[str]:
    """What is proved about the members that are points of the frontier."""
    found: dict[str, list[int]] = {}
    for point in frontier.points:
        if member_of(point, frontier) is family:
            words = optimal_for(point, frontier.proof(point))
            found.setdefault(words, []).append(point.steps)
    of = "" if len(frontier.families) == 1 else f" of C = {family.chunks}"
    for words, steps in found.items():
        yield f"  Optimal{of} for S = {_ranges(steps)}: {words}."


def _ranges(numbers: Iterable[int]) -> str:
    """Ascending numbers: 4 to 6, 8."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs)


def open_words(claim: OpenClaim, frontier: Frontier) -> str:
    """What is open, where a family may have less than the points."""
    if claim.most_steps is None:
        for family in frontier.families:
            cost = family.cost_within(claim.least_steps)
            if cost is not None and (claim.high is None or cost < claim.high):
                return (
                    f"{claim.least_steps} or more steps, bandwidth cost from {claim.low} to below "
                    f"that of the pipeline, {cost} with {claim.least_steps} steps "
                    f"({nearness(cost, claim.low)}, nearer with more): {claim.reason}"
                )
    return str(claim)
