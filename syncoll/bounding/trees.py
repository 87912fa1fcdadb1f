"""Prices under which the cheapest trees cost most: column generation with an exact oracle.

The packing's master program has the best prices against the trees so far; the cheapest trees under
them are found by dynamic programming, and added.  Their cost is a bound under any prices, and no
prices exceed the master's value.

`find_tree_prices` proves the strongest bound for S steps (`syncoll.certificates.trees`). Prices of
a single demand are equal on orbits of bounds under symmetry, which leaves few of them.  The trees
of known algorithms are a warm start.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.bounding.orbit_model import OrbitModel
from syncoll.bounding.rationals import NEAR, Rounding, rationalise
from syncoll.certificates.chunk_classes import Demand
from syncoll.certificates.informed_sets import set_orbits, uninformed
from syncoll.certificates.priced import Priced
from syncoll.certificates.steiner import NO_TREE, affordable, backwards, cheapest_tree, is_of_sets
from syncoll.certificates.trees import Trees
from syncoll.clock import took
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Algorithm, RelationTable, Topology
from syncoll.packing.master import Master
from syncoll.symmetry.orbits import automorphisms_fixing

Sends = Counter[tuple[int, int]]
"""Number of occurrences of each (link, step) in a tree."""

_SHARE = 0.8
"""The share of the time for generating trees: the rest is for the exact check."""

_UNITS_PER_SUM, _UNITS_PER_EXACT_SUM = 2e-8, 4e-8
"""Work units for a sum of the dynamic programming: 1e-8 s by sets of destinations, 4e-8 s by sets
of informed nodes.  And for one of an exact check, which looks at all sets, without symmetry."""

_AFRESH = 3
"""Interval of turns that price trees under the master's prices.  Other turns take prices half way
to them: the master's prices oscillate, and trees that are cheap near earlier ones last longer.
(dgx1 broadcast, S = 3: 13 turns instead of 17; hypercube(4), S = 5: 16 instead of 18.)"""


@dataclass(frozen=True, eq=False)
class TreeOracle:
    """Finds the cheapest tree of one demand.

    Args:
        demand: on the reversed topology for trees that lead into its source.
        weight: the number of chunks that take such trees.
        members: ``[L, b]``, number of times that a price counts for a send over a link.
        first: the first of these b among all prices.
        into: whether trees lead into the source.
        sets: orbits of sets of informed nodes, see `InformedSets`.
    """

    topology: Topology
    demand: Demand
    weight: int
    members: Floats
    first: int
    into: bool = False
    sets: Ints | None = None

    @property
    def where(self) -> Topology:
        """The topology on which trees lead out of the source."""
        return self.topology.reversed() if self.into else self.topology

    def cheapest(self, prices: Floats, below: float) -> tuple[float, Floats | None]:
        """The cost of the cheapest tree under prices ``[B, S]``, and its load ``[b, S]``.  If no
        tree costs less than `below`, there is no load."""
        on_links = (self.members @ self.own(prices)).T
        if self.into:
            on_links = backwards(self.topology, on_links)
        found = cheapest_tree(self.where, self.demand, on_links, float(NO_TREE), below, self.sets)
        took(_UNITS_PER_SUM * found.sums)
        cost = float(found.cost)
        return (below, None) if cost >= below else (cost, self.load(found.tree(), len(on_links)))

    def units_of_check(self, steps: int) -> float:
        """Work units of the exact cost of its cheapest tree."""
        sums = 0.5 * self.topology.num_nodes * 3.0 ** len(self.demand.destinations)
        if is_of_sets(self.where, self.demand):
            sums = 3.0 ** len(uninformed(self.where, self.demand))
        return _UNITS_PER_EXACT_SUM * steps * sums

    def own(self, prices: Floats) -> Floats:
        """``[b, S]``, the prices that its trees pay."""
        return prices[self.first : self.first + self.members.shape[1]]

    def load(self, sends: Sends, steps: int) -> Floats:
        """``[b, S]``, the number of times that the sends of a tree pay each price."""
        links = np.zeros((self.members.shape[0], steps))
        for (link, step), times in sends.items():
            links[link, step] += times
        if self.into:
            links = backwards(self.where, links.T).T
        load: Floats = self.members.T @ links
        return load


def orbits_of_sets(where: Topology, demand: Demand, images: Sequence[Ints]) -> Ints | None:
    """The orbits of sets of informed nodes under automorphisms that keep a demand and its prices;
    None if trees are not found by such sets."""
    if not images or not is_of_sets(where, demand):
        return None
    return set_orbits(uninformed(where, demand), images)


def find_prices(
    master: Master,
    oracles: Sequence[TreeOracle],
    prices: Floats,
    proof: Callable[[Rounding, Floats], Priced],
    check: Callable[[Priced], Fraction],
    until: Deadline,
    more_than: Fraction | None = None,
    hopeless: Fraction | float | None = None,
    is_late: Callable[[int], bool] = lambda _: False,
) -> tuple[Fraction, Priced] | None:
    """The best bound by columns of some oracles, and its proof; None if it was given up, is at most
    `more_than`, or takes too long to check.

    Args:
        master: with the columns that are known.
        oracles: one for each demand of the master.
        prices: ``[B, S]``, to begin with.
        proof: the exact proof by rounded prices ``[B, S]``.
        check: the bound of a proof.
        until: deadline; bounds proved by then count.
        more_than: a bound up to this is not returned.
        hopeless: gives up where no prices prove more than this.
        is_late: whether to give up; asked in the first turn after each oracle, with the number of
            oracles so far.
    """
    units = sum(oracle.units_of_check(prices.shape[1]) for oracle in oracles)
    if units > until.left():
        return None
    found = _best_prices(master, oracles, prices, until.share(_SHARE), hopeless, is_late)
    if found is None:
        return None
    value, best = found

    def checked(made: Priced) -> Fraction:
        took(units)
        return check(made)

    return rationalise(best, value, lambda how: proof(how, best), checked, until, more_than)


def _best_prices(
    master: Master,
    oracles: Sequence[TreeOracle],
    prices: Floats,
    until: Deadline,
    hopeless: Fraction | float | None,
    is_late: Callable[[int], bool],
) -> tuple[float, Floats] | None:
    """The best prices found, ``[B, S]``, and about their bound."""
    best_value, best, turn = 0.0, prices, 0
    while True:
        loads = []
        value = 0.0
        for k, oracle in enumerate(oracles):
            if until.passed:
                return best_value, best
            cost, load = oracle.cheapest(prices, master.cheapest(k, prices) + NEAR)
            value += cost * oracle.weight
            loads.append(load)
            if not turn and is_late(k + 1):
                return None
        if value > best_value:
            best_value, best = value, prices
        if best_value >= master.value * (1 - NEAR):
            return best_value, best
        for k, load in enumerate(loads):
            if load is not None:
                master.add(k, load, first=oracles[k].first)
        optimum = master.solve(until.seconds)
        if optimum is None:
            return best_value, best
        turn += 1
        if hopeless is not None and master.value <= float(hopeless) * (1 + NEAR):
            return None
        prices = optimum if turn % _AFRESH == 0 else (prices + optimum) / 2


def find_tree_prices(
    topology: Topology,
    demands: Sequence[Demand],
    steps: int,
    until: Deadline = NEVER,
    more_than: Fraction | None = None,
    known: Iterable[tuple[int, Sends]] = (),
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind found in the time, with its certificate; None when a chunk has no
    source or too many destinations, or the bound is at most `more_than`.

    Args:
        demands: sources and destinations, within reach in S steps.
        until: deadline; bounds proved by then count.
        more_than: a bound up to this, of flows for instance, is not returned; ends early when no
            prices can prove more.
        known: trees to begin with, each with the position of its demand.
    """
    if not demands or not all(affordable(topology, demand) for demand in demands):
        return None
    images: list[Ints] = []
    if len(demands) == 1:
        images = automorphisms_fixing(topology, (demands[0].sources, demands[0].destinations))
    model = OrbitModel(topology, steps, images)
    oracles = [
        TreeOracle(
            topology,
            demand,
            demand.count,
            model.members,
            first=0,
            sets=orbits_of_sets(topology, demand, images),
        )
        for demand in demands
    ]
    rates = [float(rate) for rate in model.rates]
    master = Master(rates, [demand.count for demand in demands], steps)
    for k, sends in known:
        master.add(k, oracles[k].load(sends, steps))
    return find_prices(
        master,
        oracles,
        model.even_prices(),
        lambda rounding, prices: Priced(steps, model.priced(prices, rounding), Trees()),
        lambda proof: proof.check(topology, demands),
        until,
        more_than or Fraction(0),
        more_than,
    )


def trees_of(
    algorithm: Algorithm, table: RelationTable, topology: Topology, demands: Sequence[Demand]
) -> Iterator[tuple[int, Sends]]:
    """The different trees of an algorithm's chunks, each with the position of its demand."""
    number = {(one.sources, one.destinations): k for k, one in enumerate(demands)}
    trees: dict[int, Sends] = {}
    for chunk, source, destination, step in algorithm.sends.tolist():
        trees.setdefault(chunk, Sends())[topology.link_index[source, destination], step] += 1
    seen = set()
    for chunk, sends in trees.items():
        pre, post = table.pre[chunk], table.post[chunk]
        ends = (tuple(np.flatnonzero(some).tolist()) for some in (pre, post & ~pre))
        k = number.get((next(ends), next(ends)))
        if k is not None and (k, *sorted(sends)) not in seen:
            seen.add((k, *sorted(sends)))
            yield k, sends
