"""Least covers: bounds that together contain given links, with the least bandwidth.

Bounds are taken in ascending order of cost per contained link (greedy set cover, Chvátal 1979). The
same prices are a dual solution.  On most machines it proves that no cover costs less; otherwise an
integer program finds covers of few links.
"""

from fractions import Fraction

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.bounding.rationals import NEAR
from syncoll.linear import GrowingProgram
from syncoll.model import Topology, ranges

_MOST_EXACT = 1_000
"""Covers of more links are greedy only."""

_SECONDS = 2.0
"""Time limit of an integer program; then the greedy cover is used."""


class Covers:
    """The bounds of a topology as arrays, from which covers are chosen.

    Args:
        only: ``[B]``, the bounds that may be chosen; None for all.

    Attributes:
        share: ``[L]``, a part of the bandwidth of each link's bounds, in chunks per round: every
            cover of some links costs at least the sum of their parts.
    """

    def __init__(self, topology: Topology, only: Bools | None = None) -> None:
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

    def around(self, group: Ints, count: int) -> Floats:
        """``[count]``: a lower bound on the cost of covering the links of each `group` ``[L]``."""
        link = np.repeat(np.arange(len(group)), self._counts)
        keys = self._bound * count + group[link]
        _, key, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        part = np.full(len(group), np.inf)
        np.minimum.at(part, link, self.rates[self._bound] / sizes[key])
        return np.bincount(group, weights=part, minlength=count).astype(np.float64)

    def least(self, links: Ints) -> tuple[int, ...] | None:
        """The cheapest cover of some links within the limits; None if a link is in no bound."""
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
        if len(links) > _MOST_EXACT or float(self.cost(found)) <= proved * (1 + NEAR):
            return found
        program = GrowingProgram(mip_rel_gap=0.0)
        program.add_rows(np.ones(len(links)), np.full(len(links), np.inf))
        order = np.argsort(column, kind="stable")
        entries = sizes, link[order], np.ones(len(order))
        program.add_columns(self.rates[bounds], 0.0, 1.0, entries, integer=True)
        program.run(_SECONDS)
        taken = np.zeros(len(bounds)) if program.columns is None else program.columns
        exact = bounds[taken > 0.5]
        if not np.isin(np.arange(len(links)), link[np.isin(which, exact)]).all():
            return found
        return min(tuple(exact.tolist()), found, key=self.cost)

    def _greedy(self, bounds: Ints, column: Ints, link: Ints, sizes: Ints) -> tuple[int, ...]:
        """The cover from bounds in ascending order of cost per link."""
        link, ends = link[np.argsort(column, kind="stable")], np.cumsum(sizes)
        covered = np.zeros(int(link.max()) + 1, dtype=np.int64)
        rates, left = self.rates[bounds], len(covered)
        chosen: list[int] = []
        for i in np.argsort(rates / sizes, kind="stable").tolist():
            members = link[ends[i] - sizes[i] : ends[i]]
            fresh = int((covered[members] == 0).sum())
            if fresh:
                chosen.append(i)
                covered[members] += 1
                left -= fresh
                if not left:
                    break
        for i in sorted(chosen, key=lambda i: (-rates[i], i)):
            members = link[ends[i] - sizes[i] : ends[i]]
            if (covered[members] > 1).all():
                covered[members] -= 1
                chosen.remove(i)
        return tuple(sorted(bounds[chosen].tolist()))
