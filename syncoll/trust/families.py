"""Checks that every member of a family is a valid algorithm, for all m at once.

Each part (wave, head, tail) is replayed by itself, since no chunk's sends depend on another's.
Loads remain.  Take an m so large that II steps or more lie between the beginning (head, first
waves, ramp up) and the end.  In a member of a larger m every step has the load and the rounds of
some step of that member.  It is therefore enough to count the loads of the members up to that m.

Loads are counted from the parts, not from `syncoll.results.Family.member`; the first two members
are also replayed.
"""

import numpy as np

from syncoll.certificates import ChunkClasses
from syncoll.errors import VerificationError
from syncoll.model import Topology
from syncoll.model.counting import bound_loads
from syncoll.results import Family, Frontier
from syncoll.trust.replay import is_valid_summed, require_valid, without_sums

_MOST_CELLS = 1 << 28
"""Bounds times steps of all counted members; a file that needs more would stall its reader."""


def require_family(family: Family) -> None:
    """Raises `VerificationError` unless all members of a family are valid algorithms."""
    parts = [family.wave, *family.fixed]
    of_wave = family.wave.instance
    shape = ChunkClasses.of(of_wave, family.wave.chunks, combining=of_wave.combining)
    for part in parts:
        own = part.instance
        _require(
            own.topology.same_as(of_wave.topology)
            and own.collective == of_wave.collective
            and own.combining == of_wave.combining,
            "its parts are about different problems",
        )
        classes = ChunkClasses.of(own, part.chunks, combining=own.combining)
        _require(classes.proportional(shape), "its parts have chunks in different proportions")
        require_valid(own, part.algorithm)
    _require_room(family)
    for m in (family.first, family.first + 1):
        member = family.member(m)
        stated = family.steps.at(m), family.rounds_needed.at(m), family.chunks.at(m)
        costs = member.steps, member.rounds, member.chunks
        _require(costs == stated, f"member {m} costs S, R, C = {costs}, not {stated}")
        require_valid(member.instance, member.algorithm)


def require_consistent(frontier: Frontier) -> None:
    """Checks that no family of a frontier beats a proved bound or a point.  Raises
    `VerificationError` if one does, is not a family, or costs the same as another."""
    evidence = frontier.evidence
    forms = [(one.first, one.steps, one.rounds_needed, one.chunks) for one in frontier.families]
    for i, family in enumerate(frontier.families):
        if forms.index(forms[i]) < i:
            raise VerificationError(f"families[{i}] costs the same as an earlier one")
        try:
            require_family(family)
        except VerificationError as error:
            raise VerificationError(f"families[{i}]: {error}") from error
        own = family.wave.instance
        found = ChunkClasses.of(own, family.wave.chunks, combining=own.combining)
        if evidence is not None and not (
            evidence.scaling and found.proportional(evidence.shapes[0].shape)
        ):
            raise VerificationError(f"families[{i}] is about other chunks than the proofs")
        least = frontier.least_steps, frontier.least_bandwidth
        if family.steps.at(family.first) < least[0] or family.limit < least[1]:
            raise VerificationError(f"families[{i}] costs less than the bounds {least}")
        for proof in () if evidence is None else evidence.proofs:
            cost = family.cost_within(proof.steps)
            if cost is not None and cost < proof.bound:
                raise VerificationError(
                    f"families[{i}] costs {cost} with {proof.steps} steps, below {proof.bound}"
                )
        for point in frontier.points:
            if family.beats(point.steps, point.bandwidth, point.chunks):
                raise VerificationError(
                    f"families[{i}] beats the point ({point.steps}, {point.bandwidth})"
                )


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise VerificationError(f"not a family of algorithms: {message}")


def _require_room(family: Family) -> None:
    """Checks that no step of any member sends more than its rounds allow."""
    depth, interval = family.wave.steps, family.interval
    head = 0 if family.head is None else family.head.steps
    tail = 0 if family.tail is None else family.tail.steps
    begins = max(depth, head, len(family.ramp_up))
    ends = max(depth, tail, len(family.ramp_down))
    last = max(family.first, 1 - (depth - begins - ends - interval) // interval)
    bounds = family.topology.bounds
    cells = len(bounds) * (begins + ends + 2 * interval) * (last + 1 - family.first)
    _require(cells <= _MOST_CELLS, "its ramps are too long to be checked")
    counted = _counted(family)
    waves = bound_loads(counted, family.wave.algorithm)
    rates = [(b.chunks_per_round.numerator, b.chunks_per_round.denominator) for b in bounds]
    numerator, denominator = np.array(rates, dtype=object).reshape(-1, 2).T
    for m in range(family.first, last + 1):
        steps = depth + (m - 1) * interval
        total = np.zeros((len(bounds), steps), dtype=np.int64)
        for number in range(m):
            total[:, number * interval : number * interval + depth] += waves
        if family.head is not None:
            total[:, :head] += bound_loads(counted, family.head.algorithm)
        if family.tail is not None:
            total[:, steps - tail :] += bound_loads(counted, family.tail.algorithm)
        for step, rounds in enumerate(family.rounds_of(m)):
            over = np.flatnonzero(total[:, step] * denominator > numerator * rounds)
            for i in over[:1].tolist():
                what = bounds[i].label or f"{len(bounds[i].links)} links"
                text = f"step {step} of member {m} sends {total[i, step]} chunks over {what}, more "
                _require(False, f"{text}than {bounds[i].chunks_per_round * rounds}")


def _counted(family: Family) -> Topology:
    """The topology whose bounds count the parts.

    Sends of different chunks never count as one, but switches add up for all parts or for none: if
    one part needs the summands, every send of the others counts, too.
    """
    topology = family.topology
    if not (topology.counts_copies and family.wave.instance.combining):
        return topology
    parts = [family.wave, *family.fixed]
    summed = all(is_valid_summed(part.instance, part.algorithm) for part in parts)
    return topology if summed else without_sums(topology)
