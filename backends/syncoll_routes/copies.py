"""Chunks that go to sets of nodes on machines of two tiers, such as tokens to their experts.

A chunk crosses the network once for each box that needs it, and is copied inside.  The linear
program of `Tiers` divides the copies between boxes over the cards.  A copy takes a card of its own
node, and one of a node that needs it, as far as this division allows.

The times of all sends come from shares of the kinds of sends (`syncoll.scheduling.step_shares`).
Each copy has a number in [0, 1), its phase; its send takes the step in which the share of its kind
passes the phase, so that no copy precedes its chunk.  The phases of copies over the same links are
spread evenly.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syncoll.arrays import Floats, Ints, frozen
from syncoll.deadline import Deadline
from syncoll.model import Algorithm, RelationTable, Topology, ranges
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.step_shares import StepShares, needed_rounds
from syncoll_routes.dealing import overlaps
from syncoll_routes.relays import relieved
from syncoll_routes.tiers import Tiers

_GOLDEN = 0.6180339887498949
"""The multiples of this number modulo 1 are spread evenly over every run of them."""


@dataclass(frozen=True, eq=False)
class _Starts:
    """The nodes from which chunks are sent.  Chunks that start at several nodes take turns.

    Args:
        number, turn: ``[G]``, of each chunk its set of nodes, and its place among their chunks.
        nodes: of all sets, one after the other, by boxes.
        first, count: ``[sets, boxes]``, the place of the nodes of a box among `nodes`.
    """

    number: Ints
    turn: Ints
    nodes: Ints
    first: Ints
    count: Ints

    @classmethod
    def of(cls, table: RelationTable, box: Ints) -> "_Starts":
        sets, number = table.starts.sets, table.starts.number
        row, node = np.nonzero(sets)
        node = node[np.lexsort((node, box[node], row))]
        boxes = int(box.max()) + 1
        cells = np.bincount(row * boxes + box[node], minlength=len(sets) * boxes)
        order = np.argsort(number, kind="stable")
        turn = np.empty(len(number), dtype=np.int64)
        sizes = np.bincount(number, minlength=len(sets))
        turn[order] = ranges(np.zeros(len(sets), dtype=np.int64), sizes)
        shape = len(sets), boxes
        first = np.cumsum(cells) - cells
        return cls(number, turn, node, first.reshape(shape), cells.reshape(shape))

    @property
    def of_chunk(self) -> Ints:
        """``[G]``, the node from which each chunk leaves its box."""
        first, count = self.first[self.number, 0], self.count.sum(axis=1)[self.number]
        return np.asarray(self.nodes[first + self.turn % count])

    def within(self, chunk: Ints, box: Ints) -> Ints:
        """The nodes of boxes in which chunks start that send them inside."""
        place = self.number[chunk], box
        return np.asarray(self.nodes[self.first[place] + self.turn[chunk] % self.count[place]])


@dataclass(frozen=True, eq=False)
class Copies:
    """Sends of chunks, ordered by depth.

    Args:
        chunk, link: ``[E]``, of each send.
        above: ``[E]``, the send that brings the chunk; -1 for none.
        kind: ``[E]``, equal for sends of links of one speed, at one place of trees that are alike.
    """

    tiers: Tiers
    sets: LinkSets
    chunk: Ints
    link: Ints
    above: Ints
    kind: Ints

    @classmethod
    def of(cls, tiers: Tiers, table: RelationTable, until: Deadline) -> "Copies | None":
        """The copies of chunks that start at a node or more; None if time ran out."""
        topology, box, direct = tiers.topology, tiers.box, tiers.direct
        nodes, boxes = topology.num_nodes, int(box.max()) + 1
        sets = LinkSets(topology, len(table) * nodes + 1)
        starts = _Starts.of(table, box)
        row, end = np.nonzero(table.ends.sets)
        size = np.bincount(row, minlength=len(table.ends.sets))
        number = table.ends.number
        chunk = np.repeat(np.arange(len(table)), size[number])
        end = end[ranges((np.cumsum(size) - size)[number], size[number])]
        kept = ~table.starts.sets[table.starts.number[chunk], end]
        chunk, end = chunk[kept], end[kept]
        # A crossing is a chunk and a box that needs it, where it does not start.
        away = starts.count[starts.number[chunk], box[end]] == 0
        crossing, of = np.unique(chunk[away] * boxes + box[end[away]], return_inverse=True)
        crosser, target = np.divmod(crossing, boxes)
        start = starts.of_chunk[crosser]
        pair = box[start] * boxes + target
        dealing = tiers.carried(sets, np.bincount(pair, minlength=boxes * boxes), until)
        if dealing is None:
            return None
        links, room, _ = dealing
        over = _assigned(topology, tiers, start, target, of.reshape(-1), end[away], links, room)
        out, into = topology.ends[over].T
        # Inside a box: from the start to the nodes that need a chunk or send it on, and from the
        # node where it arrives.
        is_inner = np.zeros((len(table), nodes), dtype=bool)
        is_inner[chunk[~away], end[~away]] = True
        passes = ~table.starts.sets[table.starts.number[crosser], out]
        is_inner[crosser[passes], out[passes]] = True
        own, near = np.nonzero(is_inner)
        first = direct[starts.within(own, box[near]), near]
        place = np.searchsorted(own * nodes + near, crosser * nodes + out)
        place = np.where(passes, place, -1)
        later = into[of.reshape(-1)] != end[away]
        cross = of.reshape(-1)[later]
        last = direct[into[cross], end[away][later]]
        above = np.concatenate([np.full(len(own), -1), place, len(own) + cross])
        whole = np.concatenate([own, crosser, crosser[cross]])
        link = np.concatenate([first, over, last])
        assert (link >= 0).all()
        return cls(tiers, sets, whole, link, above, _kinds(sets, link, above))

    def relieved(self) -> "Copies":
        """The same with relays for busy nodes; itself if no node is busier than the cards."""
        link, above = relieved(self.tiers, self.sets, self.chunk, self.link, self.above)
        if link is self.link:
            return self
        kind = _kinds(self.sets, link, above)
        return Copies(self.tiers, self.sets, self.chunk, link, above, kind)

    @cached_property
    def shares(self) -> StepShares:
        """The program for the times of the kinds."""
        above, inner = np.full(int(self.kind.max(initial=-1)) + 1, -1), self.above >= 0
        above[self.kind[inner]] = self.kind[self.above[inner]]
        count = np.ones(len(self.link), dtype=np.int64)
        return StepShares(needed_rounds(self.sets, self.link, self.kind, count, len(above)), above)

    @property
    def most_sends(self) -> float:
        """The least rounds in sends over the slowest link in use."""
        sets = self.sets.of_link[np.unique(self.link)]
        slowest = self.sets.rounds_per_send[sets].max(initial=0.0)
        return self.shares.least_rounds / slowest if slowest else 0.0

    @cached_property
    def _phase(self) -> Floats:
        """``[E]``: the phase of each send, the same in a tree below a first send."""
        root = np.arange(len(self.link))
        for _ in range(self.shares.height - 1):
            root = np.where(self.above[root] >= 0, self.above[root], root)
        # Trees with equal links are neighbours: a random sum stands for the links of a tree.
        code = np.random.default_rng(0).random(len(self.tiers.topology.links))
        tree = np.bincount(root, code[self.link], len(root))
        second = np.full(len(root), -1)
        crossing = self.above >= 0
        second[root[crossing]] = self.link[crossing]
        roots = np.flatnonzero(self.above < 0)
        order = roots[np.lexsort((tree[roots], second[roots], self.link[roots]))]
        phase = np.zeros(len(root))
        phase[order] = np.arange(1, len(order) + 1) * _GOLDEN % 1
        return np.asarray(phase[root])

    def algorithm(self, steps: int, until: Deadline) -> Algorithm | None:
        """An algorithm of some steps, at least the height; None if time ran out."""
        sums = self.shares.sums(steps, until)
        if sums is None:
            return None
        step = np.zeros(len(self.link), dtype=np.int64)
        for kind, shares in enumerate(sums):
            own = np.flatnonzero(self.kind == kind)
            step[own] = np.searchsorted(shares[:-1], self._phase[own], side="right")
        order, sends = self._by_chunk
        sends[:, 3] = step[order]
        by_step = np.argsort(sends[:, 3].astype(np.uint16), kind="stable")
        return Algorithm((1,) * steps, frozen(sends[by_step])).tightened(self.tiers.topology)

    @cached_property
    def _by_chunk(self) -> tuple[Ints, Ints]:
        """The order of chunks, and of the links of each; and sends in this order, without steps."""
        order = np.argsort(self.chunk * len(self.tiers.topology.links) + self.link)
        link = self.link[order]
        return order, np.column_stack([self.chunk[order], self.tiers.topology.ends[link], link])


def _assigned(
    topology: Topology,
    tiers: Tiers,
    start: Ints,
    target: Ints,
    of: Ints,
    end: Ints,
    links: Ints,
    room: Ints,
) -> Ints:
    """The link of each crossing.

    Args:
        start, target: ``[crossings]``, the node of the chunk, and the box that needs it.
        of, end: for each node of that box that needs it: the crossing, and the node.
        links, room: ``[N]``, links between boxes with the number of crossings for each.
    """
    nodes, boxes, box = topology.num_nodes, int(tiers.box.max()) + 1, tiers.box
    out, into = topology.ends[links].T
    found = np.full(len(start), -1)
    room = room.copy()
    order = np.argsort(of, kind="stable")
    count = np.bincount(of, minlength=len(start))
    begin = np.cumsum(count) - count
    every = np.arange(len(start))
    choices: list[tuple[Ints, Ints, Ints]] = []
    for base, left in ((start, out), (box[start], box[out])):
        for number in range(int(count.max(initial=0))):
            own = np.flatnonzero(count > number)
            turn = (own + number) % count[own]  # the nodes of a box take turns
            last = end[order[begin[own] + turn]]
            choices.append((own, base[own] * nodes + last, left * nodes + into))
        choices.append((every, base * boxes + target, left * boxes + box[into]))
    for own, mine, its in choices:
        still = np.flatnonzero(found[own] < 0)
        still = still[np.isin(mine[still], its[room > 0], kind="sort")]
        crossing, slot, amount = overlaps(mine[still], np.ones(len(still), np.int64), its, room)
        taken = own[still[crossing[amount > 0]]]
        found[taken] = links[slot[amount > 0]]
        np.subtract.at(room, slot, amount)
    assert (found >= 0).all()
    return found


def _kinds(sets: LinkSets, link: Ints, above: Ints) -> Ints:
    """``[E]``: kinds of sends by the speeds of the links before it, and the sends after it; a kind
    has a higher number than the kind above it."""
    pace = np.unique(sets.rounds_per_send[sets.of_link].max(axis=1), return_inverse=True)[1]
    below = np.zeros(len(link), dtype=np.int64)
    inner = np.flatnonzero(above >= 0)
    for _ in range(2):
        np.maximum.at(below, above[inner], below[inner] + 1)
    own = pace.reshape(-1)[link] * 3 + below + 1
    code, base = own.copy(), int(own.max(initial=0)) + 1
    for _ in range(2):
        code[inner] = code[above[inner]] * base + own[inner]
    return np.asarray(np.unique(code, return_inverse=True)[1].reshape(-1))
