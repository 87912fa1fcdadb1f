"""Least covers: bounds that together contain some links, with as little bandwidth as possible.

Bounds are taken in ascending order of cost per contained link (greedy set cover, Chvátal 1979).
The same prices are a dual solution.  On most machines it proves that no cover costs less; otherwise
branch and bound finds covers of few links.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from syncoll.arrays import BoolArray, FloatArray, IntArray
from syncoll.model import Topology
from syncoll.model.rows import ranges

__all__ = ["Covers"]


_MOST_EXACT = 1_000
"""Covers of more links are greedy only."""

_MOST_BRANCHES, _MOST_WORK = 5_000, 400_000
"""Limits on branches, and on branches times links, of the search for a least cover."""

_EQUAL = 1e-9


class Covers:
    """The bounds of a topology as arrays, from which covers are chosen.

    Args:
        only: ``[B]``, the bounds that may be chosen; None for all.

    Attributes:
        share: ``[L]``, a part of the bandwidth of each link's bounds, in chunks per round: every
            cover of some links costs at least the sum of their parts.
    """

    def __init__(self, topology: Topology, only: BoolArray | None = None) -> None:
        self.topology = topology
        bounds, links = topology.bounds, len(topology.links)
        usable = [i for i in range(len(bounds)) if only is None or only[i]]
        self.rates = np.array([float(bound.chunks_per_round) for bound in bounds])
        members = [topology.bound_links[i] for i in usable]
        sizes = np.array([len(one) for one in members], dtype=np.int64)
        link = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
        order = np.argsort(link, kind="stable")
        self._bound = np.repeat(np.array(usable, dtype=np.int64), sizes)[order]
        self._counts = np.bincount(link, minlength=links)
        self._first = np.cumsum(self._counts) - self._counts
        part = np.repeat(self.rates[usable] / sizes, sizes)
        self.share = np.full(links, np.inf)
        np.minimum.at(self.share, link, part)

    def cost(self, cover: tuple[int, ...]) -> Fraction:
        """Chunks per round of all bounds of a cover."""
        return sum((self.topology.bounds[i].chunks_per_round for i in cover), Fraction(0))

    def around(self, group: IntArray, count: int) -> FloatArray:
        """``[count]``: a lower bound on the cost of covering the links of each group.

        Args:
            group: ``[L]``, the group that each link is in.
        """
        link = np.repeat(np.arange(len(group)), self._counts)
        keys = self._bound * count + group[link]
        _, key, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        part = np.full(len(group), np.inf)
        np.minimum.at(part, link, self.rates[self._bound] / sizes[key])
        return np.bincount(group, weights=part, minlength=count).astype(np.float64)

    def least(self, links: IntArray) -> tuple[int, ...] | None:
        """The cheapest cover of some links found within the limits.

        Args:
            links: positions of links, ascending.

        Returns:
            Positions of bounds, ascending; None when no bound that may be chosen contains a link.
        """
        counts = self._counts[links]
        if not len(links) or not counts.all():
            return None if len(links) else ()
        which = self._bound[ranges(self._first[links], counts)]
        link = np.repeat(np.arange(len(links)), counts)
        bounds, column = np.unique(which, return_inverse=True)
        sizes = np.bincount(column)
        price = (self.rates[bounds] / sizes)[column]
        if (sizes == 1).all():  # each link has the narrowest of its bounds
            order = np.lexsort((column, price, link))
            first = np.cumsum(counts) - counts
            return tuple(sorted(which[order[first]].tolist()))
        found = self._greedy(bounds, column, link, sizes)
        proved = float(np.minimum.reduceat(price, np.cumsum(counts) - counts).sum())
        if len(links) > _MOST_EXACT or float(self.cost(found)) <= proved * (1 + _EQUAL):
            return found
        reach: dict[int, set[int]] = {}
        for i, one in zip(which.tolist(), link.tolist(), strict=True):
            reach.setdefault(i, set()).add(one)
        exact = self._least({i: frozenset(reach[i]) for i in sorted(reach)})
        return min(exact, found, key=self.cost)

    def _greedy(
        self, bounds: IntArray, column: IntArray, link: IntArray, sizes: IntArray
    ) -> tuple[int, ...]:
        """The cover from bounds in ascending order of cost per link."""
        order = np.argsort(column, kind="stable")
        members = np.split(link[order], np.cumsum(sizes)[:-1])
        covered = np.zeros(int(link[-1]) + 1, dtype=np.int64)
        rates, left = self.rates[bounds], len(covered)
        chosen: list[int] = []
        for i in np.argsort(rates / sizes, kind="stable").tolist():
            fresh = int((covered[members[i]] == 0).sum())
            if fresh:
                chosen.append(i)
                covered[members[i]] += 1
                left -= fresh
                if not left:
                    break
        for i in sorted(chosen, key=lambda i: (-rates[i], i)):
            if (covered[members[i]] > 1).all():
                covered[members[i]] -= 1
                chosen.remove(i)
        return tuple(sorted(bounds[chosen].tolist()))

    def _least(self, reach: dict[int, frozenset[int]]) -> tuple[int, ...]:
        """A least cover, or the best one found within the limits.

        Args:
            reach: the links of each bound.
        """
        cost = {i: self.topology.bounds[i].chunks_per_round for i in reach}
        of_link: dict[int, list[int]] = {}
        for i, links in reach.items():
            for link in links:
                of_link.setdefault(link, []).append(i)

        def is_dominated(i: int) -> bool:
            """Whether another bound covers as much for no more; of equal bounds the first stays."""
            return any(
                reach[i] <= reach[j]
                and cost[j] <= cost[i]
                and ((cost[j], -len(reach[j]), j) < (cost[i], -len(reach[i]), i))
                for j in min((of_link[link] for link in reach[i]), key=len)
                if j != i
            )

        useful = [i for i in reach if not is_dominated(i)]
        chosen: list[int] = []
        for part in _components({i: reach[i] for i in useful}):
            chosen += _least_cover_of(part, {i: reach[i] for i in useful if reach[i] & part}, cost)
        return tuple(sorted(chosen))


def _components(reach: dict[int, frozenset[int]]) -> Iterator[frozenset[int]]:
    """The links, split such that no bound reaches into two parts."""
    rest = list(reach.values())
    while rest:
        part = set(rest.pop())
        while True:
            touching = [other for other in rest if not part.isdisjoint(other)]
            if not touching:
                break
            rest = [other for other in rest if part.isdisjoint(other)]
            part.update(*touching)
        yield frozenset(part)


def _least_cover_of(
    links: frozenset[int], reach: dict[int, frozenset[int]], cost: dict[int, Fraction]
) -> list[int]:
    """Branch and bound on the link that the fewest bounds contain."""
    best: list[int] = []
    best_cost: Fraction | None = None
    stack: list[tuple[frozenset[int], list[int], Fraction]] = [(links, [], Fraction(0))]
    branches = 0
    while stack:
        missing, chosen, spent = stack.pop()
        if best_cost is not None and spent >= best_cost:
            continue
        if not missing:
            best, best_cost = chosen, spent
            continue
        branches += 1
        if branches > min(_MOST_BRANCHES, _MOST_WORK // len(links)) and best_cost is not None:
            break
        containing: dict[int, list[int]] = {link: [] for link in missing}
        for i, part in reach.items():
            for link in part & missing:
                containing[link].append(i)
        options = min(containing.items(), key=lambda item: (len(item[1]), item[0]))[1]
        # The last one pushed is popped first: the cheapest per link that it covers.
        options.sort(key=lambda i: cost[i] / len(reach[i] & missing), reverse=True)
        stack += [(missing - reach[i], [*chosen, i], spent + cost[i]) for i in options]
    return best
