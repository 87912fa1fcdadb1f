"""Cheaper timed trees from given ones, by changing the steps by which nodes have the chunk.

If the arrival of the chunk at each node is fixed, each node takes the cheapest send that comes in
time from a node that has it by then: the cost of a tree is a function of the arrivals alone.  They
are improved one at a time, always the one that saves most, for many trees at once in flat arrays (a
local search; a turn takes links times steps for each tree).  If the sender of each node is fixed,
the cheapest steps follow exactly, from the last step backwards.
"""

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.deadline import Deadline
from syncoll.packing.column_generation import TINY
from syncoll.packing.network import Links

_IMPOSSIBLE = 1e5
"""An impossible send costs more than any tree by this factor.  It is finite, so a descent that
begins with some can remove them."""

MOST_CELLS = 1 << 21
"""Limit on trees times links times steps in one array; limits memory, and is the unit of all such
limits of packings.  Half of it is worthwhile in one turn of column generation."""

_MOST_TURNS = 10
"""Arrivals that may change in one descent, for each node; limits work."""


class ArrivalSearch:
    """Looks for cheap timed trees of S steps near given ones.

    A batch of K trees is an array ``into``, ``[K, P]``: the link by which each node gets the chunk,
    as its position in the given ones, and -1 if the node has it already or does not get it.

    Args:
        links: sorted by target.
        steps: S.
    """

    def __init__(self, links: Links, steps: int) -> None:
        self.num_nodes, self.steps = links.num_nodes, steps
        self._source, self._target = links.source, links.target
        self._links = np.arange(len(self._source))
        self._heads, self._first = np.unique(self._target, return_index=True)
        self._head_of = np.searchsorted(self._heads, self._target)
        self.by_source = np.argsort(self._source, kind="stable")
        self._tails, self._first_out = np.unique(self._source[self.by_source], return_index=True)
        self._never = steps + 1

    @property
    def batch(self) -> int:
        """Number of trees that are improved at once at little cost."""
        return max(1, MOST_CELLS // 2 // max(1, len(self._links) * (self.steps + 2)))

    def timed(self, into: Ints, has: Bools, prices: Floats) -> tuple[Floats, Ints]:
        """The cheapest steps for trees: their costs, ``[K]``, and the step of each node's send.

        Args:
            into: ``[K, P]``.
            has: ``[K, P]``, where the chunk starts.
            prices: ``[S, L]``, above 0.

        Returns:
            An infinite cost where S steps are too few, or a sender never has the chunk; steps
            ``[K, P]``, -1 without a send.
        """
        count, nodes = into.shape
        used = into >= 0
        place = np.flatnonzero(used)
        link = into[used]
        sender = place // nodes * nodes + self._source[link]
        price = prices[:, link]
        # The cost of the subtree below a node, if it gets the chunk by a step.
        below = np.zeros(count * nodes)
        below[sender] = np.inf
        least = np.full(len(place), np.inf)
        is_best = np.zeros((self.steps, len(place)), dtype=bool)
        for step in range(self.steps - 1, -1, -1):
            cost = price[step] + below[place]
            is_best[step] = cost < least
            np.minimum(least, cost, out=least)
            below = np.bincount(sender, least, count * nodes)
        chosen = np.full(len(place), -1)
        holds = has.ravel().copy()
        for step in range(self.steps):
            # The first step after which all later ones cost more.
            sent = is_best[step] & holds[sender] & (chosen < 0)
            chosen[sent] = step
            holds[place[sent]] = True
        costs = np.where(chosen >= 0, price[chosen, np.arange(len(place))], np.inf)
        steps = np.full(count * nodes, -1)
        steps[place] = chosen
        total: Floats = np.bincount(place // nodes, costs, count).astype(np.float64)
        return total, steps.reshape(count, nodes)

    def descended(
        self, arrivals: Ints, has: Bools, needs: Bools, prices: Floats, until: Deadline
    ) -> Ints:
        """Trees that no change of a single arrival makes cheaper.

        Args:
            arrivals: ``[K, P]``, number of steps after which a node has the chunk; 0 at its
                sources, ``S + 1`` if it does not arrive.
            has: ``[K, P]``, where it starts.
            needs: ``[K, P]``, where it has to arrive.

        Returns:
            The trees, ``[K, P]``.
        """
        tables = _Tables(self, prices)
        block = max(1, MOST_CELLS // max(1, len(self._links) * (self.steps + 2)))
        blocks = [slice(i, i + block) for i in range(0, len(arrivals), block)]
        found = [self._descended(arrivals[b], has[b], needs[b], tables, until) for b in blocks]
        after = np.concatenate(found)
        return self._into(after, has, tables)

    def _descended(
        self, arrivals: Ints, has: Bools, needs: Bools, tables: "_Tables", until: Deadline
    ) -> Ints:
        arrivals = arrivals.copy()
        live = np.arange(len(arrivals))
        for _ in range(_MOST_TURNS * self.num_nodes):
            gain = self._gains(arrivals[live], has[live], needs[live], tables)
            best = gain.reshape(len(live), -1).argmax(axis=1)
            saves = gain.reshape(len(live), -1)[np.arange(len(live)), best] > tables.tiny
            live, best = live[saves], best[saves]
            if not len(live) or until.passed:
                break
            node, arrival = np.divmod(best, self.steps + 2)
            arrivals[live, node] = arrival
        return arrivals

    def _gains(self, arrivals: Ints, has: Bools, needs: Bools, tables: "_Tables") -> Floats:
        """``[K, P, S + 2]``: the saving of a tree if the chunk comes to a node by another step."""
        count, nodes = arrivals.shape
        rows = np.arange(count)[:, None]
        # The cost of a node's own send, by arrival.
        pays = np.full((count, nodes, self.steps + 2), tables.impossible)
        pays[:, self._heads] = np.minimum.reduceat(
            tables.by_sender[self._links, arrivals[:, self._source]], self._first, axis=1
        )
        pays[:, :, 0] = tables.forbidden
        pays[:, :, self._never] = np.where(needs, tables.forbidden, 0.0)
        pays[has] = np.where(np.arange(self.steps + 2) == 0, 0.0, tables.forbidden)
        now = np.take_along_axis(pays, arrivals[:, :, None], 2)[:, :, 0]
        # The costs of the others without it: the second best link where it is their best.
        each = tables.by_sender[self._links, arrivals[:, self._source], arrivals[:, self._target]]
        best = self._best(each)
        others = np.minimum.reduceat(each, self._first, axis=1)[:, self._head_of]
        without = each.copy()
        without[rows, best] = tables.forbidden
        second = np.minimum.reduceat(without, self._first, axis=1)[:, self._head_of]
        others = np.where(self._links == best[:, self._head_of], second, others)
        others[has[:, self._target]] = 0.0
        heads = self._target[self.by_source]
        onward = tables.by_receiver[self._links, arrivals[:, heads]]
        np.minimum(onward, others[:, self.by_source, None], out=onward)
        pays[:, self._tails] += np.add.reduceat(onward, self._first_out, axis=1)
        total = now.copy()
        total[:, self._tails] += np.add.reduceat(now[:, heads], self._first_out, axis=1)
        return np.asarray(total[:, :, None] - pays)

    def _best(self, each: Floats) -> Ints:
        """``[K, heads]``: the cheapest link into each node."""
        least = np.minimum.reduceat(each, self._first, axis=1)[:, self._head_of]
        place = np.where(each == least, self._links, len(self._links))
        return np.asarray(np.minimum.reduceat(place, self._first, axis=1))

    def _into(self, arrivals: Ints, has: Bools, tables: "_Tables") -> Ints:
        into = np.full(arrivals.shape, -1)
        for i, row in enumerate(arrivals):
            each = tables.by_sender[self._links, row[self._source], row[self._target]]
            into[i, self._heads] = self._best(each[None, :])[0]
        into[has | (arrivals == self._never)] = -1
        return into


class _Tables:
    """The cheapest send over each link between two arrivals, ``[L, S + 2, S + 2]``.

    `by_sender` has the arrivals at a link's source first, `by_receiver` at its target.  A send
    without a step costs `impossible`, choices that are never made cost `forbidden`; savings below
    `tiny` are ignored.
    """

    def __init__(self, search: ArrivalSearch, prices: Floats) -> None:
        steps, nodes = search.steps, search.num_nodes
        dearest = float(prices.max())
        self.impossible = _IMPOSSIBLE * dearest * nodes
        self.forbidden = self.impossible * nodes
        self.tiny = TINY * dearest
        self.by_sender = np.full((prices.shape[1], steps + 2, steps + 2), self.impossible)
        for step in range(steps):
            within = np.minimum.accumulate(prices[step:].T, axis=1)
            self.by_sender[:, step, step + 1 : steps + 1] = within
        self.by_sender[:, :, steps + 1] = 0.0
        self.by_receiver = np.ascontiguousarray(self.by_sender.transpose(0, 2, 1)[search.by_source])
