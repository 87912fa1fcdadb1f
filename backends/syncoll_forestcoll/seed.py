"""Algorithms from optimal forests: pipelines send each tree's share down it in segments.

An algorithm of few steps has few chunks.  So forests of fewer trees for each root come first: they
fit the links less well, but are lower and need a smaller C (ForestColl paper, section 4.5).
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd

import numpy as np

from syncoll.errors import ModelError, UsageError
from syncoll.model import Collective, Fabric, Forest, RelationTable, Topology
from syncoll.plugins import Answer, Proposal
from syncoll.plugins.turns import Proposals, Question, ResumingSeed, Turn
from syncoll.results import Family
from syncoll.routing import bottleneck, imbalance
from syncoll.scheduling import MOST_SENDS, Costs, StepTree, schedule_trees, waves_of_streams
from syncoll.scheduling.packing import TreePacking
from syncoll.trust.forest import verify_forest
from syncoll_forestcoll.branching import branching, with_direct_copies
from syncoll_forestcoll.collectives import weighted_broadcast
from syncoll_forestcoll.few_steps import PART, few_steps
from syncoll_forestcoll.shortening import shortened

_FEW_TREES = (1, 2, 3, 4, 6, 8, 12, 16)
"""Numbers of trees for each root that are tried below the optimal one."""

_SEGMENTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_FEW_SEGMENTS = 4
_MANY_CHUNKS = 256
"""More than a few segments are tried if k times their number is at most this."""

_MOST_FRUITLESS = 6
"""Numbers of chunks above the optimal k tried in succession without a gain."""

_MOST_SECONDS = 10.0
"""Longest work on shortening the trees of a forest."""

_REASONABLE_SECONDS = 20.0
"""Without a time limit, no work is begun after these if there is an algorithm."""

_TIMES = (1, 2, 3, 4, 6, 8, 9)
"""The multiples of the trees tried in waves."""

_LATE = 64
"""Waves of the member by which families are compared."""


def _refusal(topology: Topology, collective: Collective) -> str:
    if collective.combining:
        return "the collective combines; the search reverses broadcasts of this seed instead"
    if topology.num_nodes < 2:
        return "a collective needs at least two nodes"
    fabric = _fabric(topology)
    if fabric is None:
        return "links share bandwidths; describe the network with its switches instead"
    uneven = imbalance(fabric, fabric.multicast)
    if uneven is not None:
        return f"{uneven}; trees need equal bandwidth into and out of each switch"
    shares = _shares(topology, collective)
    if shares is None:
        return "every chunk must go from one node to all nodes, as the trees do"
    sends = _least_sends(topology, shares)
    if sends > MOST_SENDS:
        return (
            f"its algorithms have at least {sends} sends, more than the limit of {MOST_SENDS}; "
            "`syncoll forest` packs the trees alone"
        )
    return ""


class ForestSeed(ResumingSeed):
    """Proposes pipelined forests."""

    turn_seconds = _REASONABLE_SECONDS

    @staticmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether every chunk goes from one node to all, over links whose bandwidths are known."""
        reason = _refusal(topology, collective)
        return Answer(not reason, reason)

    def proposals(self, asked: Question) -> Proposals:
        """For each number of trees and segments the algorithms that are better than all before.
        Raises `ModelError` if a node cannot be reached.  Raises `UsageError` if bandwidths need
        integers beyond 64 bits.
        """
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        limits, fixed_k = turn.limits, int(asked.options["k"])
        fabric, shares = _fabric(topology), _shares(topology, collective)
        assert fabric is not None
        assert shares is not None
        if turn.is_over:
            return
        forests = _Forests(topology, fabric, shares, turn)
        ks = [fixed_k] if fixed_k else forests.ks()
        most = MOST_SENDS // _least_sends(topology, shares)
        shapes = _shapes(ks, limits.max_chunks, most)
        if not shapes:
            raise ModelError(
                f"{collective.name} on {topology.name}: with k = {min(ks)} algorithms have "
                f"more than {MOST_SENDS} sends",
                topology.origin,
                f"a k of at most {most}",
            )
        everything = limits.deadline()  # the first algorithm may take all of it
        found = Costs()
        fruitless: set[int] = set()
        few: Proposals = iter(())
        if topology.counts_copies and not fixed_k:
            few = few_steps(topology, collective, turn)
        # The optimal k may be in the hundreds, and a wave has all trees.  The larger k comes
        # first: its waves have the lower limit of R/C, also if the first of them cost more.
        for k in [k for k in ks if k * _LATE <= most][:-3:-1]:
            for family in best_waves(topology, collective, forests.of(k), limits.max_chunks):
                first = family.member(family.first)
                fits_in = limits.allow(steps=first.steps, rounds=first.rounds)
                if fits_in and found.are_new(first.steps, first.rounds, first.chunks):
                    yield Proposal(first.chunks, first.algorithm, f"k = {k}, waves", family)
        going = True
        while shapes or going:
            going = False
            for made in few:
                if going := made is None:
                    break
                found.are_new(made.algorithm.steps, made.algorithm.rounds, made.chunks)
                yield made
            later: list[tuple[int, int]] = []
            for k, segments in shapes:
                if len(fruitless) > _MOST_FRUITLESS:
                    later = []
                    break
                if found.known and not forests.in_time(k):
                    later.append((k, segments))
                    continue
                trees = forests.of(k)
                if not trees:
                    continue
                if k * segments > max(ks):
                    fruitless.add(k * segments)
                until = turn.part(PART) if found.known else everything
                within = replace(limits, seconds=None, until=until)
                for one in schedule_trees(
                    topology, collective, trees, within, (segments,), found.known
                ):
                    found.are_new(one.algorithm.steps, one.algorithm.rounds, one.chunks)
                    fruitless.clear()
                    yield Proposal(one.chunks, one.algorithm, f"k = {k}, {one.note}")
                if until.passed or k in forests.unfinished:
                    later.append((k, segments))
            shapes = later
            if shapes or going:
                yield None
                forests.go_on()


def _shapes(ks: Sequence[int], max_chunks: int | None, most: int) -> list[tuple[int, int]]:
    """(k, segments), fewest chunks first, of at most `most` parts."""
    shapes = [
        (k, segments)
        for k in ks
        for segments in _SEGMENTS
        if (segments <= _FEW_SEGMENTS or k * segments <= _MANY_CHUNKS)
        and k * segments <= most
        and (max_chunks is None or segments == 1 or k * segments <= max_chunks)
    ]
    return sorted(shapes, key=lambda shape: (shape[0] * shape[1], -shape[0]))


class _Forests:
    """Forests of several k, as trees between nodes."""

    def __init__(
        self, topology: Topology, fabric: Fabric, shares: tuple[int, ...], turn: Turn
    ) -> None:
        self._topology, self._fabric, self._shares = topology, fabric, shares
        self._turn = turn
        self._trees: dict[int, list[StepTree]] = {}
        self._below_best: set[int] = set()
        self._longest = 0.0
        self.unfinished: set[int] = set()
        """The k whose trees were not shortened to the end for lack of time."""

    def go_on(self) -> None:
        """Drops unfinished trees, to construct them again with more time."""
        for k in self.unfinished:
            del self._trees[k]
        self.unfinished.clear()

    def ks(self) -> list[int]:
        """The numbers of trees to try, up to the optimal one."""
        best = branching(self._fabric, bottleneck(self._fabric, self._shares)).reach.k
        self._below_best = {k for k in _FEW_TREES if k < best}
        return [*sorted(self._below_best), best]

    def in_time(self, k: int) -> bool:
        """Whether time is left; new trees need as much as the slowest of other k took."""
        return self._turn.until.left() > (0.0 if k in self._trees else self._longest)

    def of(self, k: int) -> list[StepTree]:
        """The trees of one k; empty if a k below the optimal one would unbalance a switch."""
        if k not in self._trees:
            before = self._turn.until.left()
            try:
                forest = weighted_broadcast(self._fabric, self._shares, fixed_k=k).forest
            except UsageError:
                if k not in self._below_best:
                    raise
                self._trees[k] = []
                return []
            until = self._turn.part(PART)
            forest = shortened(forest, until.working(_MOST_SECONDS))
            if until.passed:
                self.unfinished.add(k)
            verify_forest(forest)
            self._trees[k] = _trees(forest, self._topology)
            self._longest = max(self._longest, before - self._turn.until.left())
        return self._trees[k]


def _trees(forest: Forest, topology: Topology) -> list[StepTree]:
    """The trees between compute nodes, which must be links of the topology."""
    nodes = topology.num_nodes
    trees = [StepTree(tree.root, tree.weight, tree.sends(nodes)) for tree in forest.trees()]
    for parent, child in {edge for tree in trees for edge in tree.edges}:
        if (parent, child) not in topology.link_index:
            raise ModelError(
                f"a tree needs a link from node {parent} to node {child} of {topology.name}",
                topology.origin,
                "a link wherever a path through switches joins two nodes",
            )
    return trees


def _fabric(topology: Topology) -> Fabric | None:
    """The network to pack: with switches, or the topology's links if none share bandwidth."""
    if all(len(bound.links) == 1 for bound in topology.bounds):
        return Fabric.of(replace(topology, fabric=None))
    return None if topology.fabric is None else with_direct_copies(topology.fabric)


def _least_sends(topology: Topology, shares: Sequence[int]) -> int:
    """The sends of one tree for each unit of the shares."""
    return sum(shares) // gcd(*shares) * (topology.num_nodes - 1)


def _shares(topology: Topology, collective: Collective) -> tuple[int, ...] | None:
    """The chunks that start at each node; None unless every chunk goes from one node to all."""
    nodes = topology.num_nodes
    chunks = collective.least_chunks(nodes)
    if chunks is None:
        return None
    table: RelationTable = collective.tabulate(nodes, chunks)
    missing = table.post & ~table.pre
    moving = missing.any(axis=1)
    if not moving.any() or (missing[moving].sum(axis=1) != nodes - 1).any():
        return None
    return tuple(int(n) for n in np.count_nonzero(table.pre[moving], axis=0))


def best_waves(
    topology: Topology, collective: Collective, trees: Sequence[StepTree], most_chunks: int | None
) -> list[Family]:
    """The family of waves of all trees with the fewest chunks, then the one that loses the fewest
    rounds if it is better; empty if R/C does not fall.

    A middle step loads the links with all trees together, so R/C tends to the forest's throughput.
    Multiples of the trees may lose fewer rounds in the first and last waves, in which a step of
    several rounds can be shorter.

    Args:
        collective: not combining.
        trees: at least one for each class of chunks, or none at all.
        most_chunks: limit on C of the first members, or None.
    """
    if not trees:
        return []
    packing = TreePacking(topology, trees)
    found: list[Family] = []
    for times, chunks in packing.chunk_counts(collective, _TIMES, most_chunks):
        streams = packing.deal(collective.tabulate(topology.num_nodes, chunks))
        if not times or not 0 < streams.num_sends * _LATE <= MOST_SENDS:
            break
        family = waves_of_streams(topology, collective, streams, chunks)
        if family is None or (
            most_chunks is not None and family.chunks.at(family.first) > most_chunks
        ):
            continue
        if not found or _late(family) < _late(found[-1]):
            found = [*found[:1], family]
    return found


def _late(family: Family) -> Fraction:
    """R/C of the member with `_LATE` waves; families of the same trees have equal steps there."""
    return family.bandwidth(max(family.first, _LATE))
