"""Families of algorithms for people: a line for each, in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from syncoll.pages.page import Page
from syncoll.results import Family, Frontier, Growth, OpenClaim, Point, Proof, Scope
from syncoll.wording import counted, in_short, nearness, runs_in_words

__all__ = [
    "add_families",
    "is_member",
    "member_of",
    "open_lines",
    "optimal_for",
    "proved_of",
]


def is_member(family: Family, steps: int, bandwidth: Fraction) -> bool:
    """Whether a member has exactly these costs."""
    m = family.within(steps)
    return m is not None and family.steps.at(m) == steps and family.bandwidth(m) == bandwidth


def member_of(point: Point, frontier: Frontier) -> Family | None:
    """The family of which a member costs what the point costs."""
    for family in frontier.families:
        if is_member(family, point.steps, point.bandwidth):
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
        for line in proved_of(family, frontier):
            page.text(f"  {line}")


def optimal_for(point: Point, proof: Proof | None) -> str:
    """Among which algorithms nothing costs less, or how far the point is from the proved bound."""
    scope = "open" if proof is None else proof.scope_text
    if scope == "all":
        return "every C"
    words = ["open" if proof is None else _limits(proof)]
    if point.bound and point.bound < point.bandwidth:
        words.append(nearness(point.bandwidth, point.bound))
    words = [word for word in words if word != "open"]
    return "; ".join(words) or "not proved"


def proved_of(family: Family, frontier: Frontier) -> Iterator[str]:
    """How near the members are to what is proved for their S, and up to which S something is; not
    those that cost more than something else."""
    best = "optimal for every C"
    found: dict[str, list[int]] = {best: []}
    for proof in () if frontier.evidence is None else frontier.evidence.proofs:
        if proof.best is None or not is_member(family, proof.steps, proof.best):
            continue
        words = best if proof.scope is Scope.ALL else nearness(proof.best, proof.bound)
        if proof.scope is Scope.CHUNKS:
            words += f" (optimal for {_limits(proof)})"
        found.setdefault(words, []).append(proof.steps)
    last = max((max(steps) for steps in found.values() if steps), default=None)
    if last is not None:
        of = "" if len(frontier.families) == 1 else f" of C = {family.chunks}"
        told = "; ".join(
            f"S = {runs_in_words(steps)} {words}" for words, steps in found.items() if steps
        )
        proved = "Proved" if found[best] else "How near to what is proved"
        yield f"{proved}{of} up to S = {last}: {told}."


def _limits(proof: Proof) -> str:
    """The limits of a scope."""
    return proof.scope_text.replace("chunks<=", "C <= ").replace("rounds<=", "R <= ")


def open_lines(frontier: Frontier) -> Iterator[str]:
    """What is open, a line for each claim; but one for S of which the same is known and proved, or
    of which a pipeline has the best and the same is proved.
    """
    claims = list(frontier.open)
    while claims:
        first = claims.pop(0)
        last = first
        while claims and _is_alike(last, claims[0], frontier):
            last = claims.pop(0)
        yield _words(first, last, frontier)


def _is_alike(claim: OpenClaim, later: OpenClaim, frontier: Frontier) -> bool:
    """Whether a claim goes on in another one, of the next S, with what is proved and known."""
    if claim.most_steps is None or later.most_steps is None:
        return False
    if (claim.most_steps + 1, claim.low, claim.reason) != (
        later.least_steps,
        later.low,
        later.reason,
    ):
        return False
    of_members = [_is_of_member(one, frontier) for one in (claim, later)]
    single = claim.most_steps == claim.least_steps and later.most_steps == later.least_steps
    return all(of_members) and single if any(of_members) else claim.high == later.high


def _is_of_member(claim: OpenClaim, frontier: Frontier) -> bool:
    """Whether the best that is known is that of a member of a family (or, in files before version
    4, less than what is said)."""
    costs = [family.cost_within(claim.least_steps) for family in frontier.families]
    high = claim.high
    return high is not None and any(cost is not None and cost <= high for cost in costs)


def _words(claim: OpenClaim, last: OpenClaim, frontier: Frontier) -> str:
    """Claims from one to another, where the members of a family have less with every step more."""
    most = last.most_steps
    if most == claim.least_steps or not _is_of_member(claim, frontier):
        return str(replace(claim, most_steps=most))

    evidence = frontier.evidence
    proofs = () if evidence is None else evidence.proofs
    bounds = {proof.steps: proof.bound for proof in proofs}  # for every C, as `low` is not

    def known(steps: int) -> str:
        costs = (family.cost_within(steps) for family in frontier.families)
        cost = min(cost for cost in costs if cost is not None)
        return (
            f"{cost} with {counted(steps, 'step')} ({nearness(cost, bounds.get(steps, claim.low))}"
        )

    told = known(claim.least_steps)
    told += ", nearer with more)" if most is None else f") to {known(most)})"
    whole = replace(claim, most_steps=most)
    return str(whole).replace(f"below {claim.high}:", f"below that of the pipeline, {told}:", 1)
