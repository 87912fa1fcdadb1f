"""The seed: for a broadcast, families of pipelines, and their first members as points.

A linear program gives the rate, chunks over rounds (`rate`).  A wave has as many trees, and a step
as many rounds, as make up that rate, or a multiple, which allows for shallower trees.  For each of
these, trees of the fewest levels are found (`trees`), then the ramps are filled (`waves`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from syncoll.deadline import Deadline
from syncoll.model import Algorithm, Collective, Topology
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits
from syncoll.plugins.turns import Turn
from syncoll.results import Family, Part
from syncoll.scheduling import family_of_waves
from syncoll_pipelines.rate import best_rate
from syncoll_pipelines.trees import Tree, find_trees
from syncoll_pipelines.waves import TreeWaves, find_waves

__all__ = ["PipelineSeed", "fits"]

_MOST_FLOWS = 40_000
"""Links times nodes up to which the rate is computed, and trees are chosen together."""

_MORE_LEVELS = 6
"""Trees have at most so many levels more than the farthest node is away."""

_MORE_STEPS = 3
"""A wave has at most so many steps more than its trees need."""

_TIMES = (1, 2, 3, 4, 6, 7, 8)
"""Times the least trees and rounds that make up the rate."""

_MOST_IDLE = 2
"""After so many of these that brought nothing better there is no more to expect."""

_SHARE_OF_FIRST_PASS = 0.2
"""The part of the solver's work for each question in a first pass over all: mostly it finds then
what it finds at all, and spends the rest on the proof that there is nothing better."""

_Task = Callable[[Deadline], tuple[TreeWaves | None, bool]]
"""A question to the solver, until some time: what was found, and whether that is settled."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether all chunks start at the same one node and every node needs them."""
    if collective.combining or collective.ways:
        return Answer(False, f"{collective.name} is not a broadcast; pipelines distribute trees")
    nodes = topology.num_nodes
    least = collective.least_chunks(nodes)
    if least is None or nodes < 2:
        return Answer(False, f"{collective.name} has no chunks in proportion to C here")
    table = collective.table_on(topology, least)
    if len(table) != least or not table.post.all() or len(_roots(table.pre)) != 1:
        return Answer(False, "not all chunks start at the same one node and are needed everywhere")
    if len(topology.links) * nodes > _MOST_FLOWS:
        return Answer(False, "there are too many links to choose all trees together")
    return Answer(True, "trees from one node, wave after wave")


def _roots(pre: np.ndarray) -> list[int]:
    """The nodes where chunks start."""
    found = np.flatnonzero(pre.any(axis=0)).tolist()
    return found if pre.all(axis=0).sum() == len(found) else []


class PipelineSeed:
    """Pipelines, as a seed."""

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Generator[Proposal | None, SeedLimits | None, None]:
        """The members of few steps of each family that is better than those before."""
        if fits(topology, collective).ok:
            turn = Turn(limits)
            yield from turn.run(self._proposals(topology, collective, turn, options))

    def _proposals(
        self,
        topology: Topology,
        collective: Collective,
        turn: Turn,
        options: Mapping[str, OptionValue],
    ) -> Iterator[Proposal | None]:
        unit = collective.least_chunks(topology.num_nodes)
        assert unit is not None
        (root,) = _roots(collective.table_on(topology, unit).pre)
        while (rate := best_rate(topology, root, turn.until.seconds)) is None:
            if not turn.is_over:
                return
            yield None
        search = _Search(topology, root, rate, unit, options)
        while True:
            for waves in search.found(turn.until):
                yield from _proposals(topology, collective, waves, turn.limits, options)
            if search.ended:
                return
            yield None


class _Search:
    """The search for waves, in turns."""

    def __init__(
        self,
        topology: Topology,
        root: int,
        rate: Fraction,
        unit: int,
        options: Mapping[str, OptionValue],
    ) -> None:
        self._topology, self._root, self._rate = topology, root, rate
        self._seconds, self._cells = float(options["seconds"]), int(options["cells"])
        self._far = int(topology.distances[root].max())
        self._best: TreeWaves | None = None
        self._tasks = self._all(_order(topology, root, rate, unit))
        self._task: _Task | None = next(self._tasks, None)

    @property
    def ended(self) -> bool:
        return self._task is None

    def found(self, ends: Deadline) -> Iterator[TreeWaves]:
        """Waves, each better than those before, until the time is over."""
        while self._task is not None:
            waves, settled = self._task(ends)
            late = ends.passed and not settled
            if waves is not None and (self._best is None or waves.lost < self._best.lost):
                self._best = waves
                yield waves
            if late:
                return  # again, with more time
            self._task = next(self._tasks, None)

    def _all(self, order: Sequence[int]) -> Iterator[_Task]:
        """What is asked of the solver, question after question; each looks at the answers."""
        for share in (_SHARE_OF_FIRST_PASS, 1.0):
            idle = 0
            for times in order:
                if idle >= _MOST_IDLE:
                    break
                before = self._best
                yield from self._of(times, share)
                idle = 0 if self._best is not before else idle + 1

    def _of(self, times: int, share: float) -> Iterator[_Task]:
        """Waves of so many trees: of the fewest levels, then with a tail, then in more steps.

        Args:
            times: multiple of the least trees and rounds of the rate.
            share: of the solver's work for each question; below 1 a level that fails ends the
                search.
        """
        topology, root, seconds = self._topology, self._root, share * self._seconds
        chunks, rounds = self._rate.numerator * times, self._rate.denominator * times
        answers: list[TreeWaves | None] = []
        unsettled: list[bool] = []

        def is_small(depth: int) -> bool:
            """Whether all is chosen together for so many steps."""
            more = max(1, depth - self._far)
            return chunks * len(topology.links) * depth * more <= self._cells

        def trees(depth: int) -> _Task:
            def ask(until: Deadline) -> tuple[TreeWaves | None, bool]:
                found, none = find_trees(topology, root, chunks, rounds, depth, seconds, until)
                waves = None if found is None else TreeWaves.of(found, rounds, depth)
                answers.append(waves)
                unsettled.append(found is None and not none)
                return None if is_small(depth) else waves, not unsettled[-1]

            return ask

        def whole(depth: int, known: TreeWaves | None) -> _Task:
            def ask(until: Deadline) -> tuple[TreeWaves | None, bool]:
                waves, settled = find_waves(
                    topology, root, chunks, rounds, depth, seconds, known, until
                )
                answers.append(waves)
                return waves, settled

            return ask

        known: TreeWaves | None = None
        for depth in range(self._far, self._far + _MORE_LEVELS + 1):
            yield trees(depth)
            known, hard = answers[-1], unsettled[-1]
            if known is not None or (hard and share < 1):
                break
        if known is None:
            return
        most = known.depth + _MORE_STEPS
        for depth in range(known.depth, most + 1):
            if not is_small(depth):
                return
            yield whole(depth, known)
            waves = answers[-1]
            if waves is None or (depth > known.depth and waves.lost >= known.lost):
                return
            known = waves


def _order(topology: Topology, root: int, rate: Fraction, unit: int) -> list[int]:
    """Multiples of the least trees and rounds, the most promising first.

    With a tree for each link out of the root the trees can be flattest.
    """
    flat = -(-len(topology.out_links[root]) // rate.numerator)
    order = sorted({flat, *_TIMES}, key=lambda times: (times != flat, times))
    return [times for times in order if rate.numerator * times % unit == 0]


def _proposals(
    topology: Topology,
    collective: Collective,
    waves: TreeWaves,
    limits: SeedLimits,
    options: Mapping[str, OptionValue],
) -> Iterator[Proposal]:
    """The members of few steps."""
    family = family_of(topology, collective, waves)
    if family is None:
        return
    most = int(options["steps"])
    if limits.max_steps is not None:
        most = min(most, limits.max_steps)
    last = family.within(max(most, family.steps.at(family.first)))
    assert last is not None
    for m in range(family.first, last + 1):
        rounds, chunks = family.rounds_needed.at(m), family.chunks.at(m)
        if not limits.allow(rounds=rounds, chunks=chunks):
            return
        note = f"{len(waves.wave)} trees, {m} waves"
        yield Proposal(chunks, family.member(m).algorithm, note, family)


def family_of(topology: Topology, collective: Collective, waves: TreeWaves) -> Family | None:
    """The family of waves started in every step; None where R/C would not fall."""
    wave = _part(topology, collective, waves.wave, waves.depth)
    tail = _part(topology, collective, waves.tail, waves.depth - 1) if waves.tail else None
    return family_of_waves(wave, waves.rounds, waves.ramp_up, waves.ramp_down, tail=tail)


def _part(topology: Topology, collective: Collective, trees: Sequence[Tree], steps: int) -> Part:
    """Trees as an algorithm of as many chunks, in so many steps."""
    links = topology.links
    sends = [(chunk, *links[link], step) for chunk, tree in enumerate(trees) for link, step in tree]
    bare = Algorithm((1,) * steps, np.array(sends, dtype=np.int64))
    rounds = tuple(max(1, least) for least in bare.least_rounds(topology))
    algorithm = Algorithm(rounds, bare.sends)
    instance = collective.instantiate(
        topology, chunks=len(trees), steps=steps, rounds=algorithm.rounds
    )
    return Part(instance, algorithm)
