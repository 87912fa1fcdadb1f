"""Finding prices for trees that share sends (`certificates.gossip`), by generating trees.

A linear program has the prices of bounds, and of each tree's links the shares, and says that no
tree found so far costs less than what is proved of it; the cheapest trees under its shares are
found by dynamic programming, and added.  Prices are the same for bounds that automorphisms
exchange, and shares for links that those exchange which keep the node of the tree: averages cost no
less.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.bounding.duals import denominators, readable
from syncoll.bounding.setting import CombiningSetting
from syncoll.certificates.chunk_classes import ChunkClasses, Demand
from syncoll.certificates.gossip import Gossip, GossipTree
from syncoll.certificates.informed_sets import set_orbits, uninformed
from syncoll.certificates.priced import Priced
from syncoll.certificates.steiner import NEVER, affordable, backwards, cheapest_tree, is_of_sets
from syncoll.clock import now, remembered
from syncoll.deadline import NEVER as NO_END, Deadline
from syncoll.linear import GrowingProgram
from syncoll.model import Topology
from syncoll.symmetry.fixing import automorphisms_fixing, link_orbits

__all__ = ["find_gossip"]


_SHARE = 0.8
"""The part of the time after which no further trees are generated: the rest is for the check."""

_AFRESH = 3
"""In each so-manieth turn trees are looked for under the best shares, else half way to them."""

_LEAST_TURNS = 12
"""Before so many turns there is seldom a bound that is of use: where there is no time for them it
is not begun."""

_MOST_REMEMBERED = 256


def _turns() -> dict[int, tuple[int, float]]:
    """By topology: the S that were skipped for lack of time, and the seconds of a turn."""
    return remembered("turns of gossip", dict)


_BEGUN_WITH = 60
"""Trees of each kind that the program begins with: without any it looks far from its optimum."""

_NEAR = 1e-9
_MOST_ROUNDED = 0.97
"""A chunk takes whole sends, which may prove so much more than the linear program, where all links
are alike."""


def find_gossip(
    topology: Topology,
    shape: ChunkClasses,
    steps: int,
    deadline: Deadline = NO_END,
    more_than: Fraction = Fraction(0),
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind found in the time, with its certificate.

    Args:
        shape: what has to be combined.
        more_than: only a bound above this is of use.

    Returns:
        None where no tree is affordable, or has as few steps, or nothing above `more_than` is
        proved.
    """
    until = deadline if deadline.is_never else deadline.share(_SHARE)
    machine = hash(topology.links)
    tried_steps, seconds = _turns().get(machine, (steps, 0.0))
    if tried_steps <= steps and seconds * _LEAST_TURNS > until.left():
        return None  # more steps take longer
    setting = CombiningSetting(topology, shape, steps)
    kinds = _kinds(setting)
    if not kinds or any(kind.distance > steps for kind in kinds):
        return None
    master = _Master(setting, kinds)
    random = np.random.default_rng(steps)
    for k, kind in enumerate(kinds):
        for _ in range(_BEGUN_WITH):
            master.add(k, kind.any(steps, random))
    rounded = _MOST_ROUNDED if len(setting.sizes) == 1 else 1.0
    best_value, best = 0.0, master.first()
    tried = best
    began = now()
    while True:
        trees = []
        for k, kind in enumerate(kinds):
            if until.passed:
                break
            trees.append(kind.cheapest(tried.of(k), master.least(k, tried.of(k)) + _NEAR))
            if not master.turn:
                turn = (now() - began) / len(trees) * len(kinds)
                if turn * _LEAST_TURNS > until.left():
                    if len(_turns()) >= _MOST_REMEMBERED:
                        _turns().clear()
                    _turns()[machine] = steps, turn
                    return None
        if len(trees) < len(kinds):
            break
        costs = [cost for cost, _ in trees]
        value = sum(cost * kind.weight for cost, kind in zip(costs, kinds, strict=True))
        if value > best_value:
            best_value, best = value, tried
        if best_value >= master.value * (1 - _NEAR):
            break
        if master.value <= float(more_than) * rounded * (1 + _NEAR):
            return None
        for k, (_, sends) in enumerate(trees):
            if sends is not None:
                master.add(k, sends)
        optimum = master.solve(until)
        if optimum is None:
            break
        tried = optimum if master.turn % _AFRESH == 0 else tried.half_way(optimum)
    return _certified(setting, kinds, best, best_value, more_than, deadline)


@dataclass(frozen=True, eq=False)
class _Kind:
    """The trees of one node, which stand for those of all nodes like it.

    Args:
        where: the topology; reversed for trees that end at the node.
        chunks: position of the class of chunks.
        alike: how many nodes are like it.
        orbit: ``[L]``, of links under the automorphisms that keep the node, numbered from 0.
        sets: orbits of sets of informed nodes, see `InformedSets`.
    """

    topology: Topology
    chunks: int
    node: int
    into: bool
    demand: Demand
    alike: int
    orbit: IntArray
    sets: IntArray | None

    @property
    def weight(self) -> int:
        """How many trees of chunks it stands for."""
        return self.alike * self.demand.count

    @property
    def distance(self) -> int:
        """The fewest steps of a tree."""
        topology = self.topology.reversed() if self.into else self.topology
        return int(topology.distances[self.node, list(self.demand.destinations)].max())

    def any(self, steps: int, random: np.random.Generator) -> Counter[tuple[int, int]]:
        """Some tree of shortest ways, with any steps that do."""
        topology = self.topology.reversed() if self.into else self.topology
        far = topology.distances[self.node]
        wanted, above = set(self.demand.destinations), dict[int, int]()
        below = np.zeros(topology.num_nodes, dtype=np.int64)  # links of the longest way onward
        for node in np.argsort(-far, kind="stable").tolist():
            if node == self.node or node not in wanted:
                continue
            ways = [i for i in topology.in_links[node] if far[topology.links[i][0]] < far[node]]
            above[node] = int(random.choice(ways))
            source = topology.links[above[node]][0]
            wanted.add(source)
            below[source] = max(below[source], below[node] + 1)
        sends: Counter[tuple[int, int]] = Counter()
        has = {self.node: 0}
        for node in sorted(above, key=lambda node: int(far[node])):
            source = topology.links[above[node]][0]
            step = int(random.integers(has[source], steps - below[node]))
            has[node] = step + 1
            sends[above[node], step] += 1
        return self._forwards(sends, steps) if self.into else sends

    def _forwards(self, sends: Counter[tuple[int, int]], steps: int) -> Counter[tuple[int, int]]:
        """Sends of a tree on the reversed topology, backwards in time, as those of the machine."""
        number, links = self.topology.link_index, self.topology.reversed().links
        return Counter(
            {
                (number[links[link][::-1]], steps - 1 - step): times
                for (link, step), times in sends.items()
            }
        )

    def cheapest(
        self, shares: FloatArray, below: float
    ) -> tuple[float, Counter[tuple[int, int]] | None]:
        """The cheapest tree under shares ``[S, orbits]``: its cost, and its sends as (link, step);
        None where the known ones are as cheap.

        Args:
            below: what the cheapest that is known costs.
        """
        prices, where = shares[:, self.orbit], self.topology
        if self.into:
            prices, where = backwards(where, prices), where.reversed()
        found = cheapest_tree(where, self.demand, prices, float(NEVER), below, self.sets)
        cost = float(found.cost)
        if cost >= below:
            return below, None
        sends = found.tree()
        if self.into:
            sends = self._forwards(sends, len(prices))
        return cost, sends


def _kinds(setting: CombiningSetting) -> list[_Kind]:
    """One for each orbit of nodes, each class of chunks, and each direction."""
    topology, found = setting.topology, []
    for k, one in enumerate(setting.classes):
        if len(one.pre) < 2 or not one.post:
            continue
        for into, here, there in ((False, one.pre, one.post), (True, one.post, one.pre)):
            for node in here:
                others = tuple(n for n in there if n != node)
                if setting.node[node] != node or not others:
                    continue
                demand = Demand((node,), others, one.count)
                where = topology.reversed() if into else topology
                if not affordable(where, demand):
                    return []
                images = automorphisms_fixing(topology, setting.alike_beside(node))
                sets = None
                if images and is_of_sets(where, demand):
                    sets = set_orbits(uninformed(where, demand), images)
                orbit = link_orbits(topology, images)
                alike = int((setting.node == node).sum())
                found.append(_Kind(topology, k, node, into, demand, alike, orbit, sets))
    return found


@dataclass(frozen=True, eq=False)
class _Prices:
    """Prices ``[S, orbits of bounds]``, each of one bound, and of each kind of trees the shares."""

    totals: FloatArray
    shares: list[FloatArray]

    def of(self, k: int) -> FloatArray:
        return self.shares[k]

    def half_way(self, other: _Prices) -> _Prices:
        """The mean of two."""
        shares = [(a + b) / 2 for a, b in zip(self.shares, other.shares, strict=True)]
        return _Prices((self.totals + other.totals) / 2, shares)


class _Master:
    """The best prices and shares against some trees.

    Attributes:
        turn: how often it was solved.
        value: no prices prove more.
    """

    def __init__(self, setting: CombiningSetting, kinds: list[_Kind]) -> None:
        self.setting, self.kinds = setting, kinds
        self.turn, self.value = 0, float("inf")
        steps, orbits = setting.steps, len(setting.sizes)
        sizes = [int(kind.orbit.max()) + 1 for kind in kinds]
        ends = np.cumsum([steps * orbits, *(steps * size for size in sizes)])
        self._first, self._sizes = ends[:-1], sizes
        costs = [-float(kind.weight) for kind in kinds]
        self._paid = int(ends[-1])
        self._program = GrowingProgram([*np.zeros(self._paid), *costs])
        self._links = link_orbits(setting.topology, setting.generators)
        self._of_links = np.bincount(self._links)
        self._known: list[list[FloatArray]] = [[] for _ in kinds]
        rates = np.array([float(rate) for rate in setting.rates])
        for step in range(steps):  # what a round costs
            row = {step * orbits + b: rates[b] * float(setting.sizes[b]) for b in range(orbits)}
            self._program.add(row, -np.inf, 1.0)
        for chunks in sorted({kind.chunks for kind in kinds}):
            self._share(chunks)

    def _share(self, chunks: int) -> None:
        """No link's shares for a class of chunks are more than its price."""
        setting, steps, orbits = self.setting, self.setting.steps, len(self.setting.sizes)
        for link, first in zip(*np.unique(self._links, return_index=True), strict=True):
            row: dict[int, float] = {}
            for b in np.flatnonzero(setting.members[first]).tolist():
                row[b] = -float(self._of_links[link] * setting.members[first, b])
            for step in range(steps):
                whole = {step * orbits + b: value for b, value in row.items()}
                for kind, at, size in zip(self.kinds, self._first, self._sizes, strict=True):
                    if kind.chunks != chunks:
                        continue
                    there = np.bincount(kind.orbit[self._links == link], minlength=size)
                    for i in np.flatnonzero(there).tolist():
                        whole[int(at) + step * size + i] = float(kind.alike * there[i])
                self._program.add(whole, -np.inf, 0.0)

    def first(self) -> _Prices:
        """Even prices, divided among all trees evenly."""
        setting = self.setting
        rates = np.array([float(rate) for rate in setting.rates]) * setting.sizes
        totals = np.repeat((1 / (rates * len(rates)))[None, :], setting.steps, axis=0)
        on_links = totals @ setting.members.T
        shares = []
        for kind, size in zip(self.kinds, self._sizes, strict=True):
            nodes = sum(other.alike for other in self.kinds if other.chunks == kind.chunks)
            share = np.full((setting.steps, size), np.inf)
            for link, orbit in enumerate(kind.orbit.tolist()):
                share[:, orbit] = np.minimum(share[:, orbit], on_links[:, link] / nodes)
            shares.append(share)
        return _Prices(totals, shares)

    def add(self, k: int, sends: Counter[tuple[int, int]]) -> None:
        """A tree: what is proved of its kind is no more than it costs."""
        kind, size = self.kinds[k], self._sizes[k]
        load = np.zeros((self.setting.steps, size))
        for (link, step), times in sends.items():
            load[step, kind.orbit[link]] += times
        flat = load.ravel()
        row = {int(self._first[k]) + int(i): -float(flat[i]) for i in np.flatnonzero(flat)}
        self._program.add(row | {self._paid + k: 1.0}, -np.inf, 0.0)
        self._known[k].append(flat)

    def least(self, k: int, shares: FloatArray) -> float:
        """What the cheapest known tree of a kind costs."""
        if not self._known[k]:
            return float("inf")
        return float((np.array(self._known[k]) @ shares.ravel()).min())

    def solve(self, until: Deadline) -> _Prices | None:
        """The best prices; None when the time ran out."""
        optimum = self._program.minimise(None if until.is_never else max(until.left(), 0.01))
        if optimum is None:
            return None
        self.turn += 1
        self.value = -optimum.value
        columns, steps = np.maximum(optimum.columns, 0.0), self.setting.steps
        parts = np.split(columns[: self._paid], self._first)
        return _Prices(parts[0].reshape(steps, -1), [part.reshape(steps, -1) for part in parts[1:]])


def _certified(
    setting: CombiningSetting,
    kinds: list[_Kind],
    prices: _Prices,
    value: float,
    more_than: Fraction,
    deadline: Deadline,
) -> tuple[Fraction, Priced] | None:
    """The prices as rationals that keep the rules whatever the rounding did."""
    best: tuple[Fraction, Priced] | None = None
    every = np.concatenate([prices.totals.ravel(), *(one.ravel() for one in prices.shares)])
    for denominator in denominators(every):
        certificate = _rational(setting, kinds, prices, denominator)
        proved = certificate.check(setting.topology, setting.classes)
        if best is None or proved > best[0]:
            best = proved, certificate
        if float(best[0]) >= value * (1 - _NEAR) or deadline.passed:
            break
    return best if best is not None and best[0] > more_than else None


def _rational(
    setting: CombiningSetting, kinds: list[_Kind], prices: _Prices, denominator: int
) -> Priced:
    topology = setting.topology

    def rounded(value: float) -> Fraction:
        return Fraction(max(0.0, float(value))).limit_denominator(denominator)

    totals: dict[tuple[int, int], Fraction] = {}
    on_links: dict[tuple[int, int], Fraction] = {}
    for step in range(setting.steps):
        each = [rounded(value) for value in prices.totals[step]]
        parts = zip(each, setting.rates, setting.sizes.tolist(), strict=True)
        spent = sum((price * rate * size for price, rate, size in parts), Fraction(0))
        each = [readable(price / spent) if price else price for price in each]
        for bound, orbit in enumerate(setting.bound.tolist()):
            if each[orbit]:
                totals[bound, step] = each[orbit]
                for link in topology.bound_links[bound].tolist():
                    at = link, step
                    on_links[at] = on_links.get(at, Fraction(0)) + each[orbit]
    # Shares are cut where they add up to more than there is.
    links = link_orbits(topology, setting.generators)
    sizes = np.bincount(links).tolist()
    sums: dict[tuple[int, int, int], Fraction] = {}
    shares: list[dict[tuple[int, int], Fraction]] = []
    for k, kind in enumerate(kinds):
        own = {
            (link, step): share
            for step, row in enumerate(prices.of(k))
            for link, orbit in enumerate(kind.orbit.tolist())
            if (share := rounded(row[orbit]))
        }
        shares.append(own)
        for (link, step), share in own.items():
            place = kind.chunks, int(links[link]), step
            sums[place] = sums.get(place, Fraction(0)) + kind.alike * share
    first = np.unique(links, return_index=True)[1].tolist()
    less = {
        at: min(
            Fraction(1), sizes[at[1]] * on_links.get((first[at[1]], at[2]), Fraction(0)) / total
        )
        for at, total in sums.items()
    }
    trees = tuple(
        GossipTree(
            kind.chunks,
            kind.node,
            kind.into,
            {
                (link, step): part
                for (link, step), share in own.items()
                if (part := share * less[kind.chunks, int(links[link]), step])
            },
        )
        for kind, own in zip(kinds, shares, strict=True)
        if own  # what pays nothing proves nothing
    )
    automorphisms = tuple(tuple(images.tolist()) for images in setting.generators)
    return Priced(setting.steps, totals, Gossip(automorphisms, trees))
