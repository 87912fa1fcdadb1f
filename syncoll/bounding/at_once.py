"""Quick bounds, proved before any linear program and for any time limit.

The cuts are around each node, around each box, and around the nodes on either side of a shared
bound; with switches, around the nodes behind a switch or a cable.  Combining collectives add the
sends between all nodes and between boxes.  The work for each set is linear in the links.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.bounding.covers import Covers
from syncoll.bounding.cuts import across, amounts_across
from syncoll.bounding.network import CELLS
from syncoll.certificates.certificate import RoundsBound
from syncoll.certificates.chunk_classes import ChunkClasses, Demand, DemandList, DemandView
from syncoll.certificates.cut import Cut
from syncoll.certificates.parts import Parts, sends_between
from syncoll.model import BandwidthBound, Counting, Fabric, Topology
from syncoll.model.width_clusters import boxes_by_width

_MOST_WIDTHS = 3
"""Limit on the link widths by which nodes are grouped into boxes."""


def physical(fabric: Fabric) -> Topology:
    """A network as a topology whose last nodes are its switches: for bounds before routes are
    known.  A send of the network passes one of these links or more."""
    room = fabric.chunk_bandwidth
    bounds = [
        BandwidthBound((ends,), rate / room, "", fabric.counting(ends))
        for ends, rate in fabric.bandwidths.items()
    ]
    return Topology(fabric.name, fabric.num_vertices, tuple(fabric.bandwidths), tuple(bounds))


def bound_at_once(topology: Topology, shape: ChunkClasses, switches: int = 0) -> RoundsBound:
    """The best bound on R for any number of steps that takes no search.

    In a combining collective the contribution of one node must enter every other node, and their
    contributions must leave them.  So the readings of one node cover all nodes.

    Args:
        switches: the number of nodes, the last ones, that are switches, see `physical`.
    """
    known = _node_sets(topology, switches)
    if not shape.combining:
        return _cut(known, shape.demands(DemandView.MOVING))
    if shape.ends_alone:
        readings: list[tuple[DemandView, int | None]] = [(DemandView.INVERSE, None)]
    else:
        node = shape.classes.sets[int(shape.classes.second[0])][:1]
        readings = [(r, n) for r in (DemandView.SPREAD, DemandView.COLLECT) for n in node]
    best = known.sends(shape)
    for reading, one in readings:
        bound = _cut(known, shape.demands(reading, one), against=reading.mirrored)
        if bound.rounds > best.rounds:
            best = replace(bound, reading=reading, node=one)
    return best


def least_cut(topology: Topology, demands: Sequence[Demand]) -> RoundsBound:
    """The best bound of these cuts."""
    return _cut(_node_sets(topology), DemandList.of(demands))


@dataclass(frozen=True, eq=False)
class _NodeSets:
    """The sets of nodes of a topology around which a cut may be narrow."""

    topology: Topology
    switches: int = 0

    @cached_property
    def covers(self) -> Covers:
        return Covers(self.topology)

    @cached_property
    def sides(self) -> Bools:
        """``[S, P]``: sets of two nodes or more, none of them a complement of one."""
        nodes, found = self.topology.num_nodes, [np.zeros((0, self.topology.num_nodes), dtype=bool)]
        for label in self._boxes:
            found.append(label[None, :] == np.unique(label)[:, None])
        members = [one for one in self.topology.bound_links if len(one) > 1]
        some = [self.topology.ends[one, end] for one in members for end in (0, 1)]
        fabric, own = self.topology.fabric, nodes - self.switches
        at: dict[int, list[int]] = {}  # the nodes at each switch
        for ends in fabric.bandwidths if fabric else self.topology.links:
            if min(ends) < own <= max(ends):
                at.setdefault(max(ends), [max(ends)] if self.switches else []).append(min(ends))
        some += [np.array(one, dtype=np.int64) for one in at.values()]
        rows = np.repeat(np.arange(len(some)), [len(one) for one in some])
        table = np.zeros((len(some), nodes), dtype=bool)
        table[rows, np.concatenate(some) if some else rows] = True
        sides = np.concatenate([*found, table])
        sizes = sides.sum(axis=1)
        sides = sides[(sizes > 1) & (sizes < nodes)]
        sides = np.unpackbits(
            np.unique(np.packbits(sides, axis=1), axis=0), axis=1, count=nodes
        ).astype(bool)
        sides = sides[np.argsort(sides.sum(axis=1), kind="stable")]
        most = 128 * CELLS // (1 + len(self.topology.links))
        return sides[: max(1, most)]  # the ones with few nodes first

    @cached_property
    def _boxes(self) -> list[Ints]:
        return boxes_by_width(self.topology, _MOST_WIDTHS)

    def cut(self, demands: DemandList, *, against: bool = False) -> RoundsBound:
        """The best cut around a set or its complement; `against` reverses the demands' links."""
        best = RoundsBound(Fraction(0), None, None)
        nodes = self.topology.num_nodes
        if not len(demands) or not self.topology.links:
            return best
        ends = self.topology.ends.T
        tail, head = ends[::-1] if against else ends
        share, sides = self.covers.share, self.sides
        amounts = [_around(demands, nodes)]
        if len(sides):
            amounts += [amounts_across(sides, demands), amounts_across(~sides, demands)]
        rooms = [self.covers.around(end, nodes) for end in (tail, head)]
        if len(sides):
            between = np.zeros((nodes, nodes))
            between[tail, head] = share
            rooms += [across(sides, between), across(sides, between.T)]
        amount, room = np.concatenate(amounts), np.concatenate(rooms)
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where((amount > 0) & (room > 0), amount / room, 0.0)
        covered, proved = 0, 0.0
        for i in np.argsort(-most, kind="stable").tolist():
            if most[i] <= proved or covered > CELLS:
                break
            inside = self._inside(i)
            links = np.flatnonzero(inside[tail] & ~inside[head])
            covered += len(links)
            cover = self.covers.least(links)
            assert cover is not None
            if float(amount[i]) <= proved * float(self.covers.cost(cover)):
                continue
            cut = Cut(tuple(np.flatnonzero(inside).tolist()))
            rounds = cut.amount(demands) / self.covers.cost(cover)
            best = RoundsBound(rounds, None, Cut.covered(cut.nodes, cover))
            proved = float(best.rounds) * (1 + 1e-12)
        return best

    def _inside(self, number: int) -> Bools:
        """``[P]``, the set of a cut by its number: nodes, their complements, sides, their
        complements."""
        nodes, sides = self.topology.num_nodes, self.sides
        if number < 2 * nodes:
            kept, number = divmod(number, nodes)
            side: Bools = np.arange(nodes) == number
        else:
            kept, number = divmod(number - 2 * nodes, len(sides))
            side = sides[number]
        return np.logical_not(side) if kept else side

    def sends(self, shape: ChunkClasses) -> RoundsBound:
        """The bound of the sends between all nodes, or between boxes."""
        best = RoundsBound(Fraction(0), None, None)
        counting = np.array(
            [bound.counts is Counting.SENDS for bound in self.topology.bounds], dtype=bool
        )
        covers = self.covers if counting.all() else Covers(self.topology, counting)
        source, target = self.topology.ends.T
        for parts in self._partitions():
            crossing = parts[source] != parts[target]
            if len(np.unique(parts)) == len(parts):  # each send first leaves a compute node
                crossing &= source < len(parts) - self.switches
            links = np.flatnonzero(crossing)
            cover = covers.least(links)
            if not cover:
                continue
            named = tuple(np.unique(parts, return_inverse=True)[1].tolist())
            rounds = sends_between(named, shape.classes) / covers.cost(cover)
            if rounds > best.rounds:
                proof = Parts.priced(named, dict.fromkeys(cover, Fraction(1)))
                best = RoundsBound(rounds, None, proof)
        return best

    def _partitions(self) -> Iterator[Ints]:
        """``[P]``: for each node the number of its part."""
        nodes = self.topology.num_nodes
        yield np.arange(nodes)
        yield from self._boxes
        for sides in (self.sides, self.sides[::-1]):
            parts = np.arange(nodes)
            free = np.ones(nodes, dtype=bool)
            for side in sides:
                if free[side].all():
                    parts[side], free[side] = side.argmax(), False
            if not free.all():
                yield parts


_node_sets, _cut = lru_cache(maxsize=4)(_NodeSets), lru_cache(maxsize=2)(_NodeSets.cut)


def _around(demands: DemandList, nodes: int) -> Floats:
    """``[2 P]``: the number of chunks that must leave each node, then the number that must enter
    each."""
    counts = demands.counts.astype(np.float64)
    own = demands.first_node
    leaving = np.bincount(own[own >= 0], counts[own >= 0], minlength=nodes)
    needed = np.bincount(demands.second, counts, minlength=len(demands.sets))
    entering = needed @ demands.members(nodes)
    return np.concatenate([leaving, entering])
