"""The seed: for a broadcast, families of pipelines, and their first members as points.

Trees without times attain the bound of flows (Edmonds, Edge-disjoint branchings, 1973), so the
bound is the rate, chunks over rounds.  The trees of a wave and the rounds of a step are numerator
and denominator of the rate, or a multiple, which allows for shallower trees.  For each multiple,
trees of the fewest levels are found (`trees`), then the ramps are filled (`waves`).
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from syncoll.bounding import rounds_bound
from syncoll.bounding.at_once import least_cut
from syncoll.bounding.rationals import TOLERANCE
from syncoll.certificates.chunk_classes import Demand
from syncoll.deadline import Deadline
from syncoll.model import Algorithm, Collective, Topology
from syncoll.plugins import Answer, Options, Proposal
from syncoll.plugins.turns import Proposals, Question, ResumingSeed, Turn
from syncoll.results import Family, Part
from syncoll.scheduling import family_of_waves
from syncoll_pipelines.trees import Tree, TreeWaves, find_trees
from syncoll_pipelines.waves import find_waves

_MOST_FLOWS = 40_000
"""Most links times nodes for which flows give the rate; else a cut does, which trees may miss."""

_MOST_LINKS = 10_000
"""Most links for which all trees of a wave are chosen together."""

_MORE_LEVELS = 6
"""Most levels of a tree beyond the distance of the farthest node."""

_MORE_STEPS = 3
"""Most steps of a wave beyond the levels of its trees."""

_TIMES = (1, 2, 3, 4, 6, 7, 8)
"""Multiples of the rate's numerator and denominator that are tried."""

_MOST_IDLE = 2
"""The search ends after this many multiples without a gain."""

_SHARE_OF_FIRST_PASS = 0.2
"""The part of the solver's work for each solve in a first pass over all multiples: later work
mostly proves that nothing better exists."""

_LARGEST_DENOMINATOR = 64
"""Of a rate; limits the number of trees that are chosen together."""

_Asked = Callable[[Deadline], tuple[TreeWaves | None, bool]]
"""Solves a model until a deadline: the waves found, and whether the answer is final."""


class PipelineSeed(ResumingSeed):
    """Proposes pipelines."""

    @staticmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether all chunks start at one node and every node needs them."""
        if collective.combining or collective.ways:
            return Answer(False, f"{collective.name} is not a broadcast")
        nodes = topology.num_nodes
        least = collective.least_chunks(nodes)
        if least is None or nodes < 2:
            return Answer(False, f"the chunks of {collective.name} are not proportional to C here")
        roots = collective.table_on(topology, least).roots
        if roots is None or len(roots) != least or len(set(roots.tolist())) != 1:
            return Answer(False, "not all chunks start at one node and are needed at every node")
        if len(topology.links) > _MOST_LINKS:
            return Answer(False, "there are too many links to choose all trees together")
        return Answer(True, "trees from one node, in waves of chunks")

    def proposals(self, asked: Question) -> Proposals:
        """The first members of each family that is better than the families before."""
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        return _Search(topology, collective, turn, asked.options).proposals()


class _Search:
    """The search for waves, in turns."""

    def __init__(
        self, topology: Topology, collective: Collective, turn: Turn, options: Options
    ) -> None:
        self._topology, self._collective, self._turn = topology, collective, turn
        self._seconds, self._cells = float(options["seconds"]), int(options["cells"])
        self._most_steps = int(options["steps"])
        unit = collective.least_chunks(topology.num_nodes)
        assert unit is not None  # it fits
        roots = collective.table_on(topology, unit).roots
        assert roots is not None
        self._root = int(roots[0])
        self._unit = unit
        self._far = int(topology.distances[self._root].max())
        self._best: TreeWaves | None = None

    def proposals(self) -> Proposals:
        """The first members of ever better families, while there is time."""
        while (rate := self._rate()) is None:
            if not self._turn.is_over:
                return
            yield None
        # Trees are lowest if each link out of the root has a tree of its own.
        flat = -(-len(self._topology.out_links[self._root]) // rate.numerator)
        order = sorted({flat, *_TIMES}, key=lambda times: (times != flat, times))
        for share in (_SHARE_OF_FIRST_PASS, 1.0):
            idle = 0
            for times in order:
                if rate.numerator * times % self._unit or idle >= _MOST_IDLE:
                    continue
                before = self._best
                yield from self._of(rate.numerator * times, rate.denominator * times, share)
                idle = 0 if self._best is not before else idle + 1

    def _rate(self) -> Fraction | None:
        """The largest rate at which chunks reach every node, or a bound on it for large machines;
        None if it is not computed."""
        topology = self._topology
        others = tuple(node for node in range(topology.num_nodes) if node != self._root)
        demands, skipped = [Demand((self._root,), others, 1)], list[bool]()
        if len(topology.links) * topology.num_nodes > _MOST_FLOWS:
            bound = least_cut(topology, demands)
        else:
            seconds = self._turn.until.seconds
            bound = rounds_bound(
                topology, demands, seconds=seconds, left_out=lambda: skipped.append(True)
            )
        if skipped or not bound.rounds:
            return None
        rate = 1 / bound.rounds
        found = rate.limit_denominator(_LARGEST_DENOMINATOR)
        # Otherwise rounded down: trees at that rate are near the best.
        if abs(found - rate) > TOLERANCE:
            found = Fraction(int(rate * _LARGEST_DENOMINATOR), _LARGEST_DENOMINATOR)
        return found or None

    def _of(self, chunks: int, rounds: int, share: float) -> Proposals:
        """Waves of `chunks` trees: of the fewest levels, then with a tail, then in more steps.

        With a `share` of the solver's work below 1 the first level without an answer is the last.
        """
        place = self._topology, self._root, chunks, rounds
        seconds = share * self._seconds
        known: TreeWaves | None = None
        for depth in range(self._far, self._far + _MORE_LEVELS + 1):
            known, settled = yield from self._asked(partial(find_trees, *place, depth, seconds))
            if known is not None or (share < 1 and not settled):
                break
        if known is None:
            return
        yield from self._improved(known)
        for depth in range(known.depth, known.depth + _MORE_STEPS + 1):
            if not self._is_small(chunks, depth):
                return
            waves, _ = yield from self._asked(partial(find_waves, *place, depth, seconds, known))
            yield from self._improved(waves)
            if waves is None or (depth > known.depth and waves.lost >= known.lost):
                return
            known = waves

    def _is_small(self, chunks: int, depth: int) -> bool:
        """Whether one model can choose trees, steps and tail."""
        more = max(1, depth - self._far)
        return chunks * len(self._topology.links) * depth * more <= self._cells

    def _asked(
        self, ask: _Asked
    ) -> Generator[Proposal | None, None, tuple[TreeWaves | None, bool]]:
        """The answer, and whether it is final; solves again in the next turn if time ran out."""
        while True:
            waves, settled = ask(self._turn.until)
            if settled or not self._turn.is_over:
                return waves, settled
            yield from self._improved(waves)
            yield None

    def _improved(self, waves: TreeWaves | None) -> Iterator[Proposal]:
        """The first members of a family, if it is better than all before."""
        if waves is None or (self._best is not None and waves.lost >= self._best.lost):
            return
        self._best = waves
        family = family_of(self._topology, self._collective, waves)
        if family is None:
            return
        limits = self._turn.limits
        most = min(self._most_steps, limits.max_steps or self._most_steps)
        last = family.within(max(most, family.steps.at(family.first)))
        assert last is not None
        for m in range(family.first, last + 1):
            rounds, chunks = family.rounds_needed.at(m), family.chunks.at(m)
            if not limits.allow(rounds=rounds, chunks=chunks):
                return
            note = f"{len(waves.wave)} trees, {m} waves"
            yield Proposal(chunks, family.member(m).algorithm, note, family)


def family_of(topology: Topology, collective: Collective, waves: TreeWaves) -> Family | None:
    """The family of waves started in every step; None if R/C would not fall."""
    wave = _part(topology, collective, waves.wave, waves.depth)
    tail = _part(topology, collective, waves.tail, waves.depth - 1) if waves.tail else None
    return family_of_waves(wave, waves.rounds, waves.ramp_up, waves.ramp_down, tail=tail)


def _part(topology: Topology, collective: Collective, trees: Sequence[Tree], steps: int) -> Part:
    """The algorithm that sends a chunk down each tree, in `steps` steps."""
    links = topology.links
    sends = [(chunk, *links[link], step) for chunk, tree in enumerate(trees) for link, step in tree]
    algorithm = Algorithm((1,) * steps, np.array(sends, dtype=np.int64))
    algorithm = algorithm.with_least_rounds(topology)
    instance = collective.instantiate(
        topology, chunks=len(trees), steps=steps, rounds=algorithm.rounds
    )
    return Part(instance, algorithm)
