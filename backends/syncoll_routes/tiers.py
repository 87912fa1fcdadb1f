"""Ways on machines of two tiers: boxes with fast links inside, and cards between them.

One linear program over boxes balances data between boxes over the cards of both; equal cards of a
box are merged (`LinearProgram`).  Ways over other boxes are left out; the dual prices show that
they cannot help if cards are scarce.  Data that leaves by another node's card goes there first, and
data that arrives at another node goes on, both over links of the box.

FAST (Lei et al., arXiv 2505.09764) balances data in the same way within servers.  Against incast it
sends between servers in rounds of one-to-one transfers, by Birkhoff's decomposition.  A step here
bounds the sends and receptions of each card; loads within these bounds are a sum of such rounds
(Koenig).

Direct ways are assigned first, then ways with a hop inside one of the two boxes only.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.deadline import Deadline
from syncoll.model import BandwidthBound, Topology
from syncoll.model.width_clusters import boxes_by_width
from syncoll.scheduling.link_sets import LinkSets
from syncoll_routes.congestion import CongestionRouter, Routes, merged
from syncoll_routes.dealing import dealt, overlaps
from syncoll_routes.flows import least_load

NEAR = 1.01
"""Short ways within this factor of the least rounds are taken as optimal."""

_SHORT = 3
"""A link inside a box, one between, and another inside."""

_ENOUGH = 0.6
"""Loads inside boxes below this part of the cards' load do not lengthen ways: small loads make the
steps before and after the cards shorter."""

_PARTS, _PASSES = 24, 4
"""Parts and passes for ways inside boxes if direct links are not enough."""


@dataclass(frozen=True, eq=False)
class Tiers:
    """The boxes of a machine.

    Args:
        box: ``[P]``, numbers from 0.
        between: ``[links]``, whether a link joins two boxes.
        near: ``[links]``, whether it is inside a box and shares no bound with a link between boxes.
    """

    topology: Topology
    box: Ints
    between: Bools
    near: Bools

    @classmethod
    def of(cls, topology: Topology) -> "Tiers | None":
        """The largest boxes, joined pairwise and connected inside, or None."""
        for label in boxes_by_width(topology):
            box = np.unique(label, return_inverse=True)[1].reshape(-1)
            count = int(box.max()) + 1
            from_to = box[topology.ends]
            between = from_to[:, 0] != from_to[:, 1]
            pairs = np.unique(from_to[between] @ [count, 1])
            if len(pairs) < count * (count - 1):
                continue
            near = ~between
            for members in topology.bound_links:
                if between[members].any():
                    near[members] = False
            found = cls(topology, box, between, near)
            if (found.inside.distances[box[:, None] == box] < topology.num_nodes).all():
                return found
        return None

    @cached_property
    def inside(self) -> Topology:
        """The links within boxes alone."""
        kept = {link for link, near in zip(self.topology.links, self.near, strict=True) if near}
        bounds = []
        for bound, members in zip(self.topology.bounds, self.topology.bound_links, strict=True):
            if self.near[members].any():
                links = tuple(link for link in bound.links if link in kept)
                bounds.append(BandwidthBound(links, bound.chunks_per_round))
        name, nodes = f"{self.topology.name} inside", self.topology.num_nodes
        return Topology(name, nodes, tuple(sorted(kept)), tuple(bounds))

    def routes(
        self, pairs: Ints, amounts: Ints, until: Deadline, *, plain: bool = False
    ) -> tuple[Routes, bool] | None:
        """Ways of integer amounts, and whether they are provably optimal; None if time ran out.

        Args:
            pairs: ``[N, 2]``, different nodes.
            amounts: ``[N]``.
            plain: use only direct links inside boxes; None if these do not suffice.
        """
        sets = LinkSets(self.topology, 8 * int(amounts.sum()) + 1)
        boxes = int(self.box.max()) + 1
        from_to = self.box[pairs]
        leaves = from_to[:, 0] != from_to[:, 1]
        crossing = np.bincount(from_to[leaves] @ [boxes, 1], amounts[leaves], boxes * boxes)
        dealing = self.carried(sets, crossing.astype(np.int64), until)
        if dealing is None:
            return None
        links, carried, least = dealing
        over, pair, amount = self._assigned(pairs, amounts, leaves, links, carried)
        # Data that stays in its box has link -1.
        near = np.flatnonzero(~leaves)
        over = np.concatenate([over, np.full(len(near), -1)])
        pair, amount = np.concatenate([pair, near]), np.concatenate([amount, amounts[near]])
        found = self._joined(sets, pairs, pair, amount, over, until, plain)
        if found is None:
            return None
        return found, found.links.shape[1] <= _SHORT and found.rounds <= least * NEAR

    def carried(
        self, sets: LinkSets, crossing: Ints, until: Deadline
    ) -> tuple[Ints, Ints, float] | None:
        """Links between boxes, whole loads of least rounds on them, and a lower bound on the
        rounds; None if time ran out.

        Args:
            crossing: ``[boxes * boxes]``, the data from box to box.
        """
        boxes = int(self.box.max()) + 1
        links = np.flatnonzero(self.between)
        key = self.box[self.topology.ends[links]] @ [boxes, 1]
        used = crossing[key] > 0
        links, key = links[used], key[used]
        if not len(links):
            return links, links, 0.0
        shared = self._shares(sets, links, key, crossing, until)
        if shared is None:
            return None
        shares, least = shared
        return links, dealt(key, shares, sets.of_link[links], sets.rounds_per_send), least

    @cached_property
    def direct(self) -> Ints:
        """``[P, P]``, the link inside a box from node to node; -1 without one."""
        found = np.full((self.topology.num_nodes,) * 2, -1, dtype=np.int64)
        near = np.flatnonzero(self.near)
        found[self.topology.ends[near, 0], self.topology.ends[near, 1]] = near
        return found

    @cached_property
    def is_meshed(self) -> bool:
        """Whether each node of a box has a link to each other one."""
        apart = self.box[:, None] != self.box
        return bool((apart | (self.direct >= 0) | np.eye(len(apart), dtype=bool)).all())

    def _shares(
        self, sets: LinkSets, links: Ints, key: Ints, crossing: Ints, until: Deadline
    ) -> tuple[Floats, float] | None:
        """``[links]``, loads between boxes of least rounds; and a lower bound on the rounds."""
        needed, group = np.unique(key, return_inverse=True)
        amounts = crossing[needed].astype(np.float64)
        entries = group.reshape(-1), np.arange(len(links)), 1.0
        optimum = least_load(sets, links, amounts, entries, until)
        if optimum is None:
            return None
        carried, prices = optimum
        least = self._least(prices * sets.rounds_per_send, sets, crossing) / prices.sum()
        return carried, float(least)

    def _least(self, prices: Floats, sets: LinkSets, crossing: Ints) -> float:
        """The cost of all data between boxes on the cheapest ways."""
        boxes = int(self.box.max()) + 1
        links = np.flatnonzero(self.between)
        start, end = self.box[self.topology.ends[links]].T
        cost = np.full((boxes, boxes), np.inf)
        np.minimum.at(cost, (start, end), prices[sets.of_link[links]].sum(axis=1))
        np.fill_diagonal(cost, 0.0)
        for over in range(boxes):
            cost = np.minimum(cost, cost[:, [over]] + cost[[over]])
        return float((crossing.reshape(boxes, boxes) * cost).sum())

    def _assigned(
        self, pairs: Ints, amounts: Ints, leaves: Bools, links: Ints, carried: Ints
    ) -> tuple[Ints, Ints, Ints]:
        """Divides the load of each link among pairs: (link, pair, amount)."""
        nodes = self.topology.num_nodes
        left: Ints = np.where(leaves, amounts, 0)
        room = carried.copy()
        start, end = self.topology.ends[links].T
        found: list[tuple[Ints, Ints, Ints]] = []
        first, last, box = pairs[:, 0], pairs[:, 1], self.box
        keys: list[tuple[Ints, Ints]] = [
            (first * nodes + last, start * nodes + end),
            (first * nodes + box[last], start * nodes + box[end]),
            (box[first] * nodes + last, box[start] * nodes + end),
            (box[first] * nodes + box[last], box[start] * nodes + box[end]),
        ]
        for mine, its in keys:
            pair, slot, amount = overlaps(mine, left, its, room)
            np.subtract.at(left, pair, amount)
            np.subtract.at(room, slot, amount)
            found.append((links[slot], pair, amount))
        over, whose, parts = zip(*found, strict=True)
        return np.concatenate(over), np.concatenate(whose), np.concatenate(parts)

    def _joined(
        self,
        sets: LinkSets,
        pairs: Ints,
        pair: Ints,
        amount: Ints,
        over: Ints,
        until: Deadline,
        plain: bool,
    ) -> Routes | None:
        """Complete ways: inside a box, over a link between boxes, and inside again."""
        nodes = self.topology.num_nodes
        crossing = over >= 0
        first = np.where(crossing, self.topology.ends[over, 0], pairs[pair, 1])
        last = np.where(crossing, self.topology.ends[over, 1], pairs[pair, 1])
        legs = (pairs[pair, 0] * nodes + first, last * nodes + pairs[pair, 1])
        key = np.concatenate(legs)
        moving = key // nodes != key % nodes
        needed, which = np.unique(key[moving], return_inverse=True)
        total = np.bincount(which.reshape(-1), np.tile(amount, 2)[moving], len(needed))
        ends = np.stack([needed // nodes, needed % nodes], axis=1)
        inner = self._inside(sets, ends, total.astype(np.int64), over, amount, until, plain)
        if inner is None:
            return None
        room, inner_key = inner.amount.copy(), needed[inner.pair]
        rows = over[:, None]
        for number in range(2):
            leg = legs[number]
            still = leg // nodes == leg % nodes
            goes: Ints = np.where(still, 0, amount)
            own, way, part = overlaps(leg, goes, inner_key, room)
            np.subtract.at(room, way, part)
            kept = np.flatnonzero(still)
            none = np.full((len(kept), inner.links.shape[1]), -1)
            inside = np.concatenate([inner.links[way], none])
            own = np.concatenate([own, kept])
            amount = np.concatenate([part, amount[kept]])
            rows = np.concatenate([inside, rows[own]][:: -1 if number else 1], axis=1)
            pair, legs = pair[own], (legs[0][own], legs[1][own])
        return merged(sets, pair, amount, rows)

    def _inside(
        self,
        sets: LinkSets,
        ends: Ints,
        total: Ints,
        over: Ints,
        amount: Ints,
        until: Deadline,
        plain: bool,
    ) -> Routes | None:
        """Ways inside boxes: over the direct link, if it exists and is not too busy."""
        near = np.flatnonzero(self.near)
        links = self.direct[ends[:, 0], ends[:, 1]]
        crossing = over >= 0
        most = sets.busiest(over[crossing], amount[crossing])
        found: Routes | None = None
        if (links >= 0).all():
            found = merged(sets, np.arange(len(ends)), total, links[:, None])
            if found.rounds <= most:
                return found
        if plain:
            return None
        routing, enough = CongestionRouter(self.inside, ends), most * _ENOUGH
        routes = routing.routes(total, _PARTS, _PASSES, until, enough)
        links = np.where(routes.links >= 0, near[routes.links], -1)
        other = merged(sets, routes.pair, routes.amount, links)
        return other if found is None or other.rounds < found.rounds else found
