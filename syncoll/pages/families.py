"""Families of algorithms in the page of a frontier: a line for each, in closed form."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from syncoll.pages.page import PageParts, paged, short_fraction, table
from syncoll.results import Family, Frontier, Growth, OpenClaim, Point, Proof, Scope
from syncoll.units import format_size, microseconds
from syncoll.wording import counted, in_short, nearness, runs_in_words

if TYPE_CHECKING:
    from syncoll.simulating.message_times import MessageTimes


def time_cells(seconds: Sequence[Fraction]) -> dict[str, str]:
    """The cells of times for the sizes of `MessageTimes`."""
    from syncoll.simulating.message_times import SHOWN_SIZES  # checks load no simulation

    names = (f">{format_size(size)} us" for size in SHOWN_SIZES)
    return dict(zip(names, map(microseconds, seconds), strict=True))


@paged
def families_table(frontier: Frontier, times: "MessageTimes | None" = None) -> PageParts:
    """A table of the families of a frontier, with times if they are known."""
    if not frontier.families:
        return
    rows = []
    for family in frontier.families:
        limit = short_fraction(family.limit)
        if family.limit == frontier.least_bandwidth:
            limit += ", the bound"
        by_step = in_short(family.rounds)
        up, down = (in_short(ramp) for ramp in (family.ramp_up, family.ramp_down))
        sends = [sum(part.algorithm.num_sends for part in family.fixed)]
        sends.append(family.wave.algorithm.num_sends)
        rows.append(
            {
                **({} if times is None else time_cells(times.of_family(family))),
                ">steps S": family.steps,
                ">rounds R": family.rounds_needed,
                ">chunks C": family.chunks,
                "for": f"m >= {family.first}",
                "R/C falls to": limit,
                "R by step": " ".join(part for part in (up, f"({by_step})", down) if part),
                ">sends": Growth(*sends),
                "found by": f"seed/{family.found_by}",
            }
        )
    yield "Pipelines: m waves of chunks, one after the other, for every m"
    yield ""
    yield table(rows, ("sends", "R by step", "found by", "rounds R", "for", "chunks C"))
    for family in frontier.families:
        yield from (f"  {line}" for line in proved_of(family, frontier))


def optimal_for(point: Point, frontier: Frontier) -> str:
    """The algorithms among which the point is optimal, or its gap to the proved bound."""
    proof, simple = frontier.proof(point), frontier.is_simple(point)
    scope = "open" if proof is None else proof.scope_text
    if scope == "all" and not simple:
        return "every C"
    words = ["simple" if simple else "open" if proof is None else _limits(proof)]
    if point.bound and point.bound < point.bandwidth:
        words.append(nearness(point.bandwidth, point.bound, in_table=True))
        if words[-1] == "optimal":
            return "optimal"
    words = [word for word in words if word != "open"]
    return "; ".join(words) or "not proved"


def proved_of(family: Family, frontier: Frontier) -> Iterator[str]:
    """The gaps of the members to the bounds for their S, up to the last S with a bound; members
    that cost more than another algorithm are left out."""
    best = "optimal for every C"
    found: dict[str, list[int]] = {best: []}
    for proof in () if frontier.evidence is None else frontier.evidence.proofs:
        if proof.best is None or not family.has(proof.steps, proof.best):
            continue
        words = best if proof.scope is Scope.ALL else nearness(proof.best, proof.bound)
        if proof.scope is Scope.CHUNKS:
            words += f" (optimal for {_limits(proof)})"
        found.setdefault(words, []).append(proof.steps)
    last = max((max(steps) for steps in found.values() if steps), default=None)
    if last is not None:
        of = "" if len(frontier.families) == 1 else f" of C = {family.chunks}"
        gaps = "; ".join(
            f"S = {runs_in_words(steps)} {words}" for words, steps in found.items() if steps
        )
        proved = "Proved" if found[best] else "Gaps to the bounds"
        yield f"{proved}{of} up to S = {last}: {gaps}."


def _limits(proof: Proof) -> str:
    return proof.scope_text.replace("chunks<=", "C <= ").replace("rounds<=", "R <= ")


def open_lines(frontier: Frontier) -> Iterator[str]:
    """A line for each open claim.  Claims for consecutive S share a line if their bounds and best
    costs are equal, or their bounds are and a pipeline has the best costs."""
    claims = list(frontier.open)
    while claims:
        first = claims.pop(0)
        last = first
        while claims and _is_alike(last, claims[0], frontier):
            last = claims.pop(0)
        yield _words(first, last, frontier)


def _is_alike(claim: OpenClaim, later: OpenClaim, frontier: Frontier) -> bool:
    """Whether a claim for the next S shares the line of a claim, see `open_lines`."""
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
    """Whether a member of a family has the best known cost (files before version 4 state a cost
    that may be higher)."""
    costs = [family.cost_within(claim.least_steps) for family in frontier.families]
    high = claim.high
    return high is not None and any(cost is not None and cost <= high for cost in costs)


def _words(claim: OpenClaim, last: OpenClaim, frontier: Frontier) -> str:
    """A line for the claims from one to another; costs of members fall with every step."""
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

    costs = known(claim.least_steps)
    costs += ", nearer with more)" if most is None else f") to {known(most)})"
    whole = replace(claim, most_steps=most)
    return str(whole).replace(f"below {claim.high}:", f"below that of the pipeline, {costs}:", 1)
