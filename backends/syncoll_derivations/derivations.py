"""Derivations: where each partial sum of a chunk is formed, and the sends that bring it there.

In a network of links and steps the cheapest derivation for one destination follows bottom-up.  To
have a partial sum at a node after a step costs as much as both operands there, or as the sum there
or at a neighbour a step before.  One table serves all destinations.  Several
destinations of a chunk are derived in turn, and sends that others pay for cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.model.associations import Association
from syncoll.packing.column_generation import TINY, Packing, Tuning
from syncoll.packing.network import Links, OrbitNetwork
from syncoll.symmetry import FreeGroup

Added = dict[int, Association]
"""The association of each set of contributors."""

_KEPT, _GAIN, _PATIENCE = 0.5, 1e-3, 8
"""See `Tuning`.  A turn adds a column for each demand.  With few demands there are more turns,"""

_MOST_TURNS = 150
"""... this number divided by the demands."""

_DEAREST = 1e-6
"""Added to each price, relative to the mean, so that derivations have no useless sends."""


@dataclass(frozen=True)
class Demand:
    """Chunks with the same contributors and the same destinations.

    Args:
        whole: the contributors, as bits.
        destinations: other nodes than a single contributor.
        count: chunks, for the least C.
    """

    whole: int
    destinations: tuple[int, ...]
    count: int


@dataclass(frozen=True, eq=False)
class Derivation:
    """The sends of one chunk.

    Args:
        links: ``[K]``.
        steps: ``[K]``.
        sums: ``[K]``, the contributors of the partial sum of each send, as bits.
    """

    links: Ints
    steps: Ints
    sums: tuple[int, ...]


class SumNetwork(OrbitNetwork):
    """A topology whose links are in the order of their targets."""

    def __init__(self, topology: Topology) -> None:
        self.links = links = Links.into(topology)
        super().__init__(topology, FreeGroup.trivial(links.num_nodes), links.number)
        self.into, self.first = np.unique(links.target, return_index=True)

    def arriving(self, before: Floats, price: Floats) -> Floats:
        """``[P]``: the cost to get a sum that has these costs ``[P]`` a step before over a link."""
        best = np.full(len(before), np.inf)
        best[self.into] = np.minimum.reduceat(before[self.links.source] + price, self.first)
        return best


class Oracle:
    """Finds the cheapest derivation of each demand in S steps, exactly for single destinations.

    Args:
        added: the association of each set of contributors.
    """

    def __init__(
        self, network: SumNetwork, demands: Sequence[Demand], added: Added, steps: int
    ) -> None:
        self._network, self._demands, self._added = network, demands, added
        self._steps = steps

    def cheap(
        self, prices: Floats, pays: Floats, shared: Sequence[Sequence[Derivation]], until: Deadline
    ) -> tuple[list[tuple[int, Derivation]], Floats]:
        """See `syncoll.packing.column_generation.Oracle`."""
        tables = self.tables(prices)
        found, costs = [], np.zeros(len(self._demands))
        for i, demand in enumerate(self._demands):
            first = table = tables[demand.whole]
            sends = dict[tuple[int, int, int], None]()
            for destination in sorted(demand.destinations, key=first.final(demand.whole).item):
                if sends:
                    table = Tables(self._network, first.added, first.prices, sends, first)
                cost = float(table.final(demand.whole)[destination])
                if not np.isfinite(cost):
                    return [], np.full(len(self._demands), np.inf)
                costs[i] += cost
                sends.update(dict.fromkeys(table.sends(demand.whole, destination)))
            if costs[i] < pays[i] - TINY:
                sums, links, steps = zip(*sends, strict=True)
                found.append((i, Derivation(np.array(links), np.array(steps), sums)))
        return found, costs

    def tables(
        self, prices: Floats, added: Added | None = None, before: dict[int, Tables] | None = None
    ) -> dict[int, Tables]:
        """The costs of partial sums at prices ``[B, S]`` in some associations, its own by default.
        `before` has tables at the same prices."""
        on_links = self._network.on_links(prices)
        if len(on_links) < self._steps:  # of a packing without steps
            on_links = np.repeat(on_links, self._steps, axis=0)
        on_links = on_links + _DEAREST * on_links.mean() + TINY * TINY
        known = before or {}
        return {
            whole: Tables(self._network, one, on_links, before=known.get(whole))
            for whole, one in (added or self._added).items()
        }

    def least(self, tables: dict[int, Tables]) -> Floats:
        """``[D]``: the least cost of each demand, for its dearest destination alone."""
        dearest = [max(tables[d.whole].final(d.whole)[[*d.destinations]]) for d in self._demands]
        return np.array(dearest)


class Tables:
    """The least costs of partial sums, for each step and node.

    Args:
        prices: ``[S, L]``.
        free: sends that cost nothing: partial sum, link and step.
        before: tables at the same prices; costs that are the same are taken from it.
    """

    def __init__(
        self,
        network: SumNetwork,
        added: Association,
        prices: Floats,
        free: Iterable[tuple[int, int, int]] = (),
        before: Tables | None = None,
    ) -> None:
        self._network, self.added, self.prices = network, added, prices
        self._own: dict[int, Floats] = {}
        for mask, link, step in free:
            self._own.setdefault(mask, prices.copy())[step, link] = 0.0
        self._made, self._have = dict[int, Floats](), dict[int, Floats]()
        shape = len(prices) + 1, network.num_nodes
        masks = [1 << n for n in range(shape[1]) if added.whole >> n & 1]
        for mask in [*masks, *added.parts]:
            two = added.parts.get(mask, ())
            if before is not None and mask not in self._own and mask in before._have:
                alike = two == before.added.parts.get(mask, ())
                if alike and all(self._have[part] is before._have[part] for part in two):
                    self._made[mask], self._have[mask] = before._made[mask], before._have[mask]
                    continue
            if two:
                made = self._have[two[0]] + self._have[two[1]]
            else:
                made = np.full(shape, np.inf)
                made[:, mask.bit_length() - 1] = 0.0
            self._made[mask], self._have[mask] = made, self._spread(mask, made)

    def _spread(self, mask: int, made: Floats) -> Floats:
        prices, have = self._own.get(mask, self.prices), made.copy()
        for step in range(1, len(have)):
            np.minimum(have[step], have[step - 1], out=have[step])
            arriving = self._network.arriving(have[step - 1], prices[step - 1])
            np.minimum(have[step], arriving, out=have[step])
        return have

    def final(self, mask: int) -> Floats:
        """``[P]``: the least cost to have a partial sum at a node in the end."""
        last: Floats = self._have[mask][-1]
        return last

    def sends(self, mask: int, node: int) -> list[tuple[int, int, int]]:
        """Partial sum, link and step of each send of the cheapest derivation."""
        found, links = [], self._network.links
        left = [(mask, len(self.prices), node)]
        while left:
            mask, step, node = left.pop()
            have, made = self._have[mask], self._made[mask]
            while have[step, node] < made[step, node]:
                if have[step - 1, node] <= have[step, node]:
                    step -= 1
                    continue
                low, high = np.searchsorted(links.target, [node, node + 1]).tolist()
                prices = self._own.get(mask, self.prices)[step - 1, low:high]
                link = low + int((have[step - 1, links.source[low:high]] + prices).argmin())
                step, node = step - 1, int(links.source[link])
                found.append((mask, link, step))
            left += [(part, step, node) for part in self.added.parts.get(mask, ())]
        return found


class SumPacking(Packing[Derivation]):
    """Fractional packings of derivations in one association for each set of contributors."""

    def __init__(
        self,
        network: SumNetwork,
        demands: Sequence[Demand],
        added: Added,
        steps: int,
        least_chunks: int,
        *,
        timeless: bool = False,
    ) -> None:
        self.added, self._sums = added, Oracle(network, demands, added, steps)
        counts = [demand.count / least_chunks for demand in demands]
        exact = all(len(demand.destinations) == 1 for demand in demands)
        turns = max(_PATIENCE, _MOST_TURNS // len(demands))
        tuning = Tuning(_KEPT, _GAIN, turns, complete=exact)
        super().__init__(network, counts, steps, self._sums, tuning, timeless=timeless)

    def bounds(self, others: Iterable[Added], until: Deadline) -> Iterator[tuple[float, Added]]:
        """Lower bounds on the values of other associations, by the prices of the best estimate."""
        oracle = self._sums
        own = oracle.tables(self._at_estimate)
        for other in others:
            if until.passed:
                return
            tables = oracle.tables(self._at_estimate, other, own)
            yield float(self.master.counts @ oracle.least(tables)), other

    def run(self, until: Deadline) -> float:
        """The value at rest, or at the deadline."""
        while not self.rested and self.feasible and not until.passed:
            self.improve(until)
        return self.value
