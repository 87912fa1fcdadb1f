"""The seed: for an allreduce, families of waves (`waves`), and their first members as points."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from syncoll.model import Collective, Counting, Topology
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits
from syncoll.results import Family, Part
from syncoll.scheduling import family_of_waves
from syncoll_inswitch.boxes import Boxes, boxes_of
from syncoll_inswitch.ramps import ramp
from syncoll_inswitch.waves import Moves, algorithm_of, copied_at_once, wave

__all__ = ["InSwitchSeed", "fits"]

_ALL = (Counting.SOURCES, Counting.DESTINATIONS)

_MOST_LINKS = 1 << 14
"""A wave has as many sends, and more of them where bandwidths are not whole."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether every node contributes to every chunk and needs it, around switches that do more."""
    if not topology.counts_copies:
        return Answer(False, "no switch copies or adds up")
    if not collective.combining:
        return Answer(False, "it does not combine")
    if len(topology.links) > _MOST_LINKS:
        return Answer(False, "there are too many links")
    if collective.irregular or collective.least_chunks(topology.num_nodes) != 1:
        return Answer(False, f"{collective.name} has no chunks in proportion to C here")
    table = collective.tabulate(topology.num_nodes, 1)
    if len(table) != 1 or not (table.pre.all() and table.post.all()):
        return Answer(False, "not every node contributes to every chunk and needs it")
    if boxes_of(topology) is None:
        return Answer(False, "its nodes are not in boxes of equal size with rails between them")
    return Answer(True)


class InSwitchSeed:
    """Sums and copies of them, wave after wave, as a seed."""

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Generator[Proposal | None, SeedLimits | None]:
        """The members of few steps of each family, and ramps of two boxes."""
        boxes = boxes_of(topology)
        if boxes is None or not fits(topology, collective).ok:
            return
        steps = int(options["steps"])
        ramps = len(boxes) == 2 and _does_all(topology)
        for times in _times(topology, boxes):
            waves = _Waves(topology, collective, boxes, times, head=options["head"] == "yes")
            for one in waves.proposals(limits, steps):
                yield one
                if ramps and limits.max_chunks is None and one.family is not None:
                    break  # a ramp is as good as any other member
        if ramps:
            yield from _ramps(topology, boxes, limits, steps)


def _does_all(topology: Topology) -> bool:
    """Whether switches copy and add up."""
    return {bound.counts for bound in topology.bounds} >= set(_ALL)


def _ramps(
    topology: Topology, boxes: Boxes, limits: SeedLimits, most_steps: int
) -> Generator[Proposal | None, SeedLimits | None]:
    """For each number of steps the best that two boxes do, see `ramps`."""
    rates, until = [float(bound.chunks_per_round) for bound in topology.bounds], limits.deadline()
    for steps in range(3, min(most_steps, limits.max_steps or most_steps) + 1):
        if until.passed:
            more = yield None
            if more is None:
                return
            until = more.deadline()
        found = ramp(len(boxes[0]), max(rates), min(rates), steps, limits.max_chunks)
        if found is None:
            return
        algorithm = algorithm_of(found.moves(boxes), topology.num_nodes)
        rounds = tuple(max(1, least) for least in algorithm.least_rounds(topology))
        if limits.max_rounds is None or sum(rounds) <= limits.max_rounds:
            chunks = len(boxes[0]) * sum(found.times)
            note = f"{len(found.kinds)} kinds of chunks"
            yield Proposal(chunks, replace(algorithm, rounds_per_step=rounds), note)


def _times(topology: Topology, boxes: Boxes) -> list[int]:
    """How many chunks stand for one: such that no step has a part of a round to spare, too."""
    widest = max(bound.chunks_per_round for bound in topology.bounds)
    slowest = min(bound.chunks_per_round for bound in topology.bounds)
    parts = len(boxes) if len(boxes) > 2 else 1
    ratio = Fraction(widest) / slowest
    return sorted({1, ratio.numerator if len(boxes) > 1 else 1, parts})


class _Waves:
    """Waves on one machine.

    Args:
        times: how many chunks stand for one.
        head: whether a chunk more is copied in the first step.
    """

    def __init__(
        self,
        topology: Topology,
        collective: Collective,
        boxes: Boxes,
        times: int,
        *,
        head: bool,
    ) -> None:
        self._topology, self._collective = topology, collective
        self._wave = self._part(wave(boxes, times))
        self._head = None
        if head and len(boxes) == 1:
            self._head = self._part(copied_at_once(boxes[0], times))

    def _part(self, moves: Moves) -> Part:
        algorithm = algorithm_of(moves, self._topology.num_nodes)
        chunks = 1 + int(algorithm.sends[:, 0].max())
        rounds = tuple(max(1, least) for least in algorithm.least_rounds(self._topology))
        algorithm = replace(algorithm, rounds_per_step=rounds)
        instance = self._collective.instantiate(
            self._topology, chunks=chunks, steps=algorithm.steps, rounds=algorithm.rounds
        )
        return Part(instance, algorithm)

    def proposals(self, limits: SeedLimits, most_steps: int) -> Iterator[Proposal]:
        """Members of a family, and what has fewer waves than its least member."""
        if limits.max_steps is not None:
            most_steps = min(most_steps, limits.max_steps)
        both = _does_all(self._topology)
        # Where cables back count copies, what is added up leaves room for them in the first step.
        for head in (self._head,) if both else dict.fromkeys((None, self._head)):
            family = self._family(head)
            for m in range(0 if head is not None else 1, most_steps - self._wave.steps + 2):
                chunks = self._wave.chunks * m + (0 if head is None else head.chunks)
                if limits.max_chunks is not None and chunks > limits.max_chunks:
                    break
                whole = self._loose(head, m).member(m).algorithm
                rounds = tuple(max(1, least) for least in whole.least_rounds(self._topology))
                if limits.max_rounds is None or sum(rounds) <= limits.max_rounds:
                    known = family if family is not None and m >= family.first else None
                    note = f"{m} waves"
                    yield Proposal(chunks, replace(whole, rounds_per_step=rounds), note, known)

    def _loose(self, head: Part | None, m: int) -> Family:
        """A family with rounds for everything at once, to put its members together."""
        plenty = self._wave.rounds + (0 if head is None else head.rounds)
        return Family(self._wave, (plenty * self._wave.chunks,), m, (), (), head)

    def _family(self, head: Part | None) -> Family | None:
        """The family with the fewest rounds in each step."""
        depth = self._wave.steps
        m = 2 * depth
        rounds = self._loose(head, m).member(m).algorithm.least_rounds(self._topology)
        usual = rounds[depth]
        up, down = rounds[: depth - 1], rounds[len(rounds) - depth + 1 :]
        return family_of_waves(self._wave, usual, up, down, head=head)
