"""The trees along which chunks are sent, rerouted around a damage.

The edges of a chunk's tree are sends.  A node that lost its send gets the chunk over the cheapest
way from any node that has it, in time for its own sends.  The ways from all (node, step) pairs are
found backwards, a step at a time, over all links at once.  If no way is in time, the nodes below it
are rerouted as well.  This is rip-up and reroute of trees, as in circuit routers.

Reductions are the same backwards in time, on reversed links; so they share one `Budget` with the
distribution.
"""

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.repairing.budget import ADDED_ROUND, Budget

NEVER = 1 << 30
"""Step of arrival of a chunk that does not arrive."""

_MOST_TRIED = 8
"""Most sends tried for each send that must move."""


class Deliveries:
    """The deliveries of all chunks, for their distribution or collection.

    Args:
        budget: the budget of the steps; includes the deliveries.
        begins: ``[G, P]``, the step from which on a node has a chunk without a send, or `NEVER`.
        needed: ``[G, P]``, the nodes where the chunks must end.
        backwards: whether steps count from the last, and links are reversed.

    Attributes:
        step: ``[G, P]``, step of the send of a chunk to a node; -1 for no send.
        source: ``[G, P]``, the sender.
        late: (chunk, node) pairs without their data.
    """

    def __init__(
        self, budget: Budget, begins: Ints, needed: Bools, *, backwards: bool = False
    ) -> None:
        self._budget, self._backwards = budget, backwards
        self._begins, self._needed = begins, needed
        self._last = budget.steps - 1
        ends = budget.ends[:, ::-1] if backwards else budget.ends
        self._from, self._to = ends[:, 0], ends[:, 1]
        self.step: Ints = np.full(begins.shape, -1, dtype=np.int64)
        self.source: Ints = np.full(begins.shape, -1, dtype=np.int64)
        self.late: list[tuple[int, int]] = []

    def take(self, sends: Ints) -> None:
        """Adds the working sends, rows of chunk, source, destination and step on this clock.  Of
        several sends of a chunk to a node the first counts; the tree below a lost one stays, its
        root `late`."""
        has = self._begins.copy()
        due = np.full(has.shape, NEVER, dtype=np.int64)
        lost = np.zeros(has.shape, dtype=bool)
        for step in np.unique(sends[:, 3]).tolist():
            chunk, source, node = sends[sends[:, 3] == step, :3].T
            wanted = (self._begins[chunk, node] > step) & (self.step[chunk, node] < 0)
            chunk, source, node = chunk[wanted], source[wanted], node[wanted]
            ends = (node, source) if self._backwards else (source, node)
            link, known = self._budget.topology.links_of(*ends), has[chunk, source]
            broken = (link < 0) | ((known > step) & (known < NEVER))
            lost[chunk[broken], node[broken]] = True
            chunk, source, node, link, known = (
                array[~broken] for array in (chunk, source, node, link, known)
            )
            # Its sends stay, if its source gets the chunk again before them.
            hangs = known == NEVER
            lost[chunk[hangs], source[hangs]] = True
            np.minimum.at(due, (chunk, source), step)
            late = lost[chunk, node] & (due[chunk, node] <= step)
            _, first = np.unique(chunk * has.shape[1] + node, return_index=True)
            kept = np.zeros(len(chunk), dtype=bool)
            kept[first] = True
            kept &= ~late
            chunk, source, node, link = chunk[kept], source[kept], node[kept], link[kept]
            lost[chunk, node] = False
            self.step[chunk, node], self.source[chunk, node] = step, source
            has[chunk, node] = step + 1
            self._budget.add(link, self._clock(step))
        missing = (self._needed & (self._begins == NEVER)) | lost
        self.late = [(c, n) for c, n in np.argwhere(missing & (self.step < 0)).tolist()]

    def mend(self) -> bool:
        """Reroutes late deliveries; returns whether all arrive in time."""
        waiting = sorted(self.late, key=lambda one: (self._due(*one), one))
        self.late = []
        failed: list[tuple[int, int]] = []
        for chunk, node in waiting:  # by due step, so that no way uses a later delivery
            due = self._due(chunk, node)
            wanted = self._needed[chunk, node] or due < NEVER
            if self.step[chunk, node] >= 0 or not wanted:
                continue
            if not self._bring(chunk, node, min(due, self._last + 1)):
                failed.append((chunk, node))
        again = [(c, other) for c, node in failed for other in (node, *self._cut(c, node))]
        for chunk, node in dict.fromkeys(again):
            lacks = self._needed[chunk, node] and self.step[chunk, node] < 0
            if lacks and not self._bring(chunk, node, self._last + 1):
                return False
        return True

    def move(self, bound: int, step: int, count: int) -> int:
        """Moves this number of sends away from a bound in a step of the budget, without another
        round in any step; returns how many of them could not be moved."""
        tried = 0
        for link in self._budget.topology.bound_links[bound].tolist():
            source, node = int(self._from[link]), int(self._to[link])
            here = (self.step[:, node] == self._clock(step)) & (self.source[:, node] == source)
            for chunk in np.flatnonzero(here).tolist():
                if not count or tried >= _MOST_TRIED * (count + 1):
                    return count
                tried += 1
                count -= self._again(chunk, node)
        return count

    def _again(self, chunk: int, node: int) -> bool:
        """Reroutes a delivery if it costs no round."""
        before = int(self.step[chunk, node]), int(self.source[chunk, node])
        link = self._link(before[1], node)
        due = min(self._due(chunk, node), self._last + 1)
        self._forget(chunk, node)
        if self._bring(chunk, node, due, most=ADDED_ROUND, without=(link, before[0])):
            return True
        self._place(chunk, *before, node)
        return False

    def known(self) -> tuple[Ints, Ints]:
        """A copy of the trees, for `restore`."""
        return self.step.copy(), self.source.copy()

    def restore(self, known: tuple[Ints, Ints]) -> None:
        """Restores the trees; the budget has its own snapshot."""
        self.step, self.source = (array.copy() for array in known)

    def rows(self) -> Ints:
        """``[M, 4]``: the needed sends, forwards."""
        self._prune()
        chunk, node = np.nonzero(self.step >= 0)
        source, step = self.source[chunk, node], self.step[chunk, node]
        if self._backwards:
            return np.stack([chunk, node, source, self._last - step], axis=1)
        return np.stack([chunk, source, node, step], axis=1)

    def _prune(self) -> None:
        """Drops deliveries that are not needed."""
        while True:
            chunk, node = np.nonzero(self.step >= 0)
            used = self._needed.copy()
            used[chunk, self.source[chunk, node]] = True
            idle = np.argwhere((self.step >= 0) & ~used)
            if not len(idle):
                return
            for c, n in idle.tolist():
                self._forget(c, n)

    # Trees --------------------------------------------------------------------------------------

    def _has(self, chunk: int, node: int) -> int:
        """The first step in which a node has a chunk."""
        begins, step = int(self._begins[chunk, node]), int(self.step[chunk, node])
        return min(begins, step + 1) if step >= 0 else begins

    def _due(self, chunk: int, node: int) -> int:
        """The first step in which a node forwards a chunk, or `NEVER`."""
        sent = (self.source[chunk] == node) & (self.step[chunk] >= 0)
        return int(self.step[chunk][sent].min()) if sent.any() else NEVER

    def _cut(self, chunk: int, node: int) -> list[int]:
        """Removes the tree below a node; returns the nodes that then lack the chunk."""
        found, stack = [], [node]
        while stack:
            at = stack.pop()
            for child in np.flatnonzero(self.source[chunk] == at).tolist():
                if self.step[chunk, child] >= 0:
                    self._forget(chunk, child)
                    found.append(child)
                    stack.append(child)
        return found

    def _bring(
        self,
        chunk: int,
        node: int,
        due: int,
        *,
        most: float = np.inf,
        without: tuple[int, int] | None = None,
    ) -> bool:
        """Brings a chunk to a node by a step, on the cheapest way; returns whether a way exists
        that costs less than `most` and avoids the link and the step of `without`."""
        price = self._budget.price[:, ::-1] if self._backwards else self._budget.price
        has = np.where(self.step[chunk] >= 0, self.step[chunk] + 1, NEVER)
        has = np.minimum(has, self._begins[chunk])
        cost = np.full(len(has), np.inf)
        cost[node] = 0.0
        table = [cost] * (due + 1)
        best, start, at = most, -1, -1
        for step in range(due - 1, -1, -1):
            over = price[:, step]
            if without is not None and step == without[1]:
                over = over.copy()
                over[without[0]] = np.inf
            cost = cost.copy()
            np.minimum.at(cost, self._from, over + table[step + 1][self._to])
            table[step] = cost
            here = np.where(has <= step, cost, np.inf)
            least = int(here.argmin())
            if here[least] < best:
                best, start, at = float(here[least]), step, least
        if start < 0:
            return False
        way: list[tuple[int, int, int]] = []
        step = start
        while at != node:
            if table[step + 1][at] > table[step][at]:
                out = np.flatnonzero(self._from == at)
                costs = price[out, step] + table[step + 1][self._to[out]]
                if without is not None and step == without[1]:
                    costs[out == without[0]] = np.inf
                link = int(out[costs.argmin()])
                way.append((at, int(self._to[link]), step))
                at = int(self._to[link])
            step += 1
        for source, to, when in way:
            if self._has(chunk, to) <= when + 1:
                continue  # it has the chunk by then: the way continues from it
            if self.step[chunk, to] >= 0:
                self._forget(chunk, to)
            self._place(chunk, when, source, to)
        return True

    def _place(self, chunk: int, step: int, source: int, node: int) -> None:
        self.step[chunk, node], self.source[chunk, node] = step, source
        self._budget.change(self._link(source, node), self._clock(step), 1)

    def _forget(self, chunk: int, node: int) -> None:
        step, source = int(self.step[chunk, node]), int(self.source[chunk, node])
        self.step[chunk, node] = self.source[chunk, node] = -1
        self._budget.change(self._link(source, node), self._clock(step), -1)

    def _link(self, source: int, node: int) -> int:
        ends = (node, source) if self._backwards else (source, node)
        return self._budget.topology.link_index[ends]

    def _clock(self, step: int) -> int:
        """Converts a step between this clock and that of the budget."""
        return self._last - step if self._backwards else step
