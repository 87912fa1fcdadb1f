"""The seed: for allreduces, families of waves (`waves`), and their first members as points."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from syncoll.model import Collective, Topology
from syncoll.plugins import Answer, Proposal, SeedLimits
from syncoll.plugins.turns import Proposals, Question, ResumingSeed, Turn
from syncoll.results import Family, Part
from syncoll.scheduling import MOST_SENDS, family_of_waves
from syncoll_inswitch.problem import Problem, groups_of, kinds_of, least_chunks
from syncoll_inswitch.ramps import ramp, wave
from syncoll_inswitch.waves import MOST_CHUNKS, copied_at_once

_MOST_LINKS = MOST_SENDS >> 8
"""Most links; a wave has as many sends, or more if bandwidths are fractions; limits memory."""


class InSwitchSeed(ResumingSeed):
    """Proposes waves of sums and of copies."""

    @staticmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether nodes need every chunk that they contribute to, and rails join their boxes."""
        if not topology.counts_copies:
            return Answer(False, "no switch copies or reduces")
        if not collective.combining:
            return Answer(False, "the collective does not combine contributions")
        if len(topology.links) > _MOST_LINKS:
            return Answer(False, "the topology has too many links")
        if collective.least_chunks(topology.num_nodes) != 1:
            return Answer(False, f"the chunks of {collective.name} are not proportional to C here")
        table = collective.tabulate(topology.num_nodes, 1)
        if not all(np.array_equal(*ends) for ends, _ in kinds_of(table)):
            return Answer(False, "not every node that contributes to a chunk needs it")
        groups = groups_of(topology, table)
        if groups is None:
            return Answer(False, "no rails join the boxes of the nodes")
        if all(len(box) == 1 for boxes, _ in groups for box in boxes.nodes):
            return Answer(False, "no two nodes of a group share a switch")
        if least_chunks(groups) > MOST_CHUNKS:
            return Answer(False, f"a wave would have more than {MOST_CHUNKS} chunks")
        return Answer(True)

    def proposals(self, asked: Question) -> Proposals:
        """The first members of each family, and ramps if there are several boxes."""
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        limits = turn.limits
        groups = groups_of(topology, collective.tabulate(topology.num_nodes, 1))
        assert groups is not None  # it fits
        problem = Problem(topology, collective, tuple(groups))
        steps = min(int(asked.options["steps"]), limits.max_steps or int(asked.options["steps"]))
        boxes = {len(boxes.nodes) for boxes, _ in groups}
        ramps = problem.does_all and len(boxes) == 1 < max(boxes)
        # With two boxes, ramps are as good as all members but one.
        one_member = ramps and boxes == {2} and limits.max_chunks is None
        for times in problem.times():
            if turn.is_over:
                yield None
            waves = _Waves(problem, times, head=asked.options["head"] == "yes")
            for one in waves.proposals(limits, steps):
                yield one
                if one_member and one.family is not None:
                    break
                if turn.is_over:
                    yield None
            if ramps and times == 1:
                yield from _ramps(problem, limits, steps, turn)


def _ramps(problem: Problem, limits: SeedLimits, most_steps: int, turn: Turn) -> Proposals:
    """The best ramp for each number of steps, see `ramps`."""
    scaled = [(boxes, count * problem.least // boxes.chunks) for boxes, count in problem.groups]
    for steps in range(2, most_steps + 1):
        if turn.is_over:
            yield None
        found = ramp(scaled, problem.least, steps, limits.max_chunks)
        if found is None:
            continue
        chunks = problem.least * sum(found.times)
        part = problem.part([found.moves(boxes, each) for boxes, each in scaled], chunks)
        if limits.max_rounds is None or part.algorithm.rounds <= limits.max_rounds:
            yield Proposal(chunks, part.algorithm, f"{len(found.kinds)} kinds of chunks")


class _Waves:
    """Waves of one size, `times` the chunks of a wave; a `head` is copied in the first step."""

    def __init__(self, problem: Problem, times: int, *, head: bool) -> None:
        self._problem = problem
        chunks = problem.least * times
        self._wave = problem.part(
            [wave(boxes, count * chunks // boxes.chunks) for boxes, count in problem.groups], chunks
        )
        self._head = None
        if head and all(len(boxes.nodes) == 1 and boxes.are_even for boxes, _ in problem.groups):
            self._head = problem.part(
                [copied_at_once(boxes.nodes[0], count * times) for boxes, count in problem.groups],
                times,
            )

    def proposals(self, limits: SeedLimits, most_steps: int) -> Iterator[Proposal]:
        """Algorithms of one wave and more; all with enough waves are members of a family."""
        topology, both = self._problem.topology, self._problem.does_all
        # If only one direction is shared by copies or sums, the head may not pay: both forms are
        # tried.
        for head in (self._head,) if both else dict.fromkeys((None, self._head)):
            family = self._family(head)
            for m in range(0 if head is not None else 1, most_steps - self._wave.steps + 2):
                chunks = self._wave.chunks * m + (0 if head is None else head.chunks)
                if limits.max_chunks is not None and chunks > limits.max_chunks:
                    break
                point = self._loose(head, m).member(m)
                whole = self._problem.placed(
                    point.instance.table, point.algorithm, chunks
                ).algorithm
                rounds = tuple(max(1, least) for least in whole.least_rounds(topology))
                if limits.max_rounds is None or sum(rounds) <= limits.max_rounds:
                    known = family if family is not None and m >= family.first else None
                    note = f"{m} waves"
                    yield Proposal(chunks, replace(whole, rounds_per_step=rounds), note, known)

    def _loose(self, head: Part | None, m: int) -> Family:
        """A family that constructs members; its first step is so long that R/C falls with m."""
        plenty = self._wave.rounds + (0 if head is None else head.rounds)
        most = 1 + self._wave.chunks + (0 if head is None else head.chunks)
        return Family(self._wave, (plenty,), m, (plenty * most,), (), head)

    def _family(self, head: Part | None) -> Family | None:
        """The family with the fewest rounds in each step."""
        depth = self._wave.steps
        m = 2 * depth
        rounds = self._loose(head, m).member(m).algorithm.least_rounds(self._problem.topology)
        usual = rounds[depth]
        up, down = rounds[: depth - 1], rounds[len(rounds) - depth + 1 :]
        return family_of_waves(self._wave, usual, up, down, head=head)
