"""Finds prices for trees that share sends (`certificates.trees.Gossip`).

The master program has the prices of bounds, and for each kind of trees the shares of links; rules
keep the shares below the prices.  Prices are equal on orbits of bounds under automorphisms, and
shares on orbits of links under the automorphisms that keep the node of the tree.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.bounding.orbit_model import OrbitModel
from syncoll.bounding.rationals import NEAR, WHOLE_SENDS, Rounding, excess
from syncoll.bounding.rounds import BoundsMemory
from syncoll.bounding.trees import Sends, TreeOracle, find_prices, orbits_of_sets
from syncoll.certificates.chunk_classes import ChunkClasses, Demand
from syncoll.certificates.link_prices import LinkPrices, Place
from syncoll.certificates.priced import Priced
from syncoll.certificates.steiner import affordable
from syncoll.certificates.trees import Gossip, GossipTree
from syncoll.clock import now
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Topology
from syncoll.packing.master import Master

_LEAST_TURNS = 15
"""Bounds of fewer turns seldom prove more than flows: without time for them none is begun."""

_BEGUN_WITH = 60
"""Random trees of each kind in the first program: without any its prices are useless."""


def find_gossip(
    topology: Topology,
    shape: ChunkClasses,
    steps: int,
    deadline: Deadline = NEVER,
    more_than: Fraction = Fraction(0),
    memory: BoundsMemory | None = None,
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind found in the time, with its certificate; None if no tree is
    affordable, trees need more steps, or the bound is at most `more_than`.

    Args:
        more_than: a bound up to this is not returned.
        memory: keeps the least S for which there was no time.
    """
    late = None if memory is None else memory.late_gossip
    if late is not None and late[0] <= steps and late[1] * _LEAST_TURNS > deadline.left():
        return None  # more steps take longer
    model = OrbitModel.of(topology, shape, steps)
    kinds = _kinds(model)
    if not kinds or any(kind.distance > steps for kind in kinds):
        return None
    master = _master(model, kinds)
    random = np.random.default_rng(steps)
    for k, kind in enumerate(kinds):
        for _ in range(_BEGUN_WITH):
            tree = kind.any(steps, random)
            master.add(k, kind.oracle.load(tree, steps), first=kind.oracle.first)
    began = now()

    def is_late(asked: int) -> bool:
        turn = (now() - began) / asked * len(kinds)
        if turn * _LEAST_TURNS <= deadline.left():
            return False
        if memory is not None:
            memory.late_gossip = steps, turn
        return True

    rounded = 1 - WHOLE_SENDS if len(model.rates) == 1 else 1.0  # where all links are alike
    return find_prices(
        master,
        [kind.oracle for kind in kinds],
        _first_prices(model, kinds),
        lambda rounding, prices: _rational(model, kinds, prices, rounding),
        lambda proof: proof.check(topology, model.classes),
        deadline,
        more_than,
        float(more_than) * rounded,
        is_late,
    )


@dataclass(frozen=True, eq=False)
class _Kind:
    """The trees of one node, which represent the trees of the `alike` nodes like it.  `orbit`
    ``[L]`` numbers links under the automorphisms that keep the node, from 0."""

    oracle: TreeOracle
    chunks: int
    node: int
    alike: int
    orbit: Ints

    @property
    def distance(self) -> int:
        """The fewest steps of a tree."""
        ends = list(self.oracle.demand.destinations)
        return int(self.oracle.where.distances[self.node, ends].max())

    def any(self, steps: int, random: np.random.Generator) -> Sends:
        """A random tree of shortest paths out of the node, in any valid steps."""
        topology = self.oracle.where
        far = topology.distances[self.node]
        wanted, above = set(self.oracle.demand.destinations), dict[int, int]()
        below = np.zeros(topology.num_nodes, dtype=np.int64)  # links of the longest path onward
        for node in np.argsort(-far, kind="stable").tolist():
            if node == self.node or node not in wanted:
                continue
            ways = [i for i in topology.in_links[node] if far[topology.links[i][0]] < far[node]]
            above[node] = int(random.choice(ways))
            source = topology.links[above[node]][0]
            wanted.add(source)
            below[source] = max(below[source], below[node] + 1)
        sends = Sends()
        has = {self.node: 0}
        for node in sorted(above, key=lambda node: int(far[node])):
            source = topology.links[above[node]][0]
            step = int(random.integers(has[source], steps - below[node]))
            has[node] = step + 1
            sends[above[node], step] += 1
        return sends


def _kinds(model: OrbitModel) -> list[_Kind]:
    """One for each orbit of nodes, each class of chunks, and each direction."""
    topology, found = model.topology, list[_Kind]()
    first = len(model.rates)
    for k, one in enumerate(model.classes):
        if len(one.pre) < 2 or not one.post:
            continue
        for into, here, there in ((False, one.pre, one.post), (True, one.post, one.pre)):
            for node in here:
                others = tuple(n for n in there if n != node)
                if model.node[node] != node or not others:
                    continue
                demand = Demand((node,), others, one.count)
                where = topology.reversed() if into else topology
                if not affordable(where, demand):
                    return []
                around = model.fixing(node)
                members = np.eye(int(around.links.max()) + 1)[around.links]
                alike = int((model.node == node).sum())
                sets = orbits_of_sets(where, demand, around.automorphisms)
                oracle = TreeOracle(topology, demand, alike * one.count, members, first, into, sets)
                first += members.shape[1]
                found.append(_Kind(oracle, k, node, alike, around.links))
    return found


def _master(model: OrbitModel, kinds: list[_Kind]) -> Master:
    """The program without trees: no link's shares for a class of chunks exceed its price."""
    rates = [float(rate) for rate in model.rates]
    shares = sum(kind.oracle.members.shape[1] for kind in kinds)
    master = Master([*rates, *[0.0] * shares], [kind.oracle.weight for kind in kinds], model.steps)
    links = model.links
    for chunks in sorted({kind.chunks for kind in kinds}):
        for link, first in zip(*np.unique(links, return_index=True), strict=True):
            same = links == link
            rule = {
                int(b): -float(same.sum() * model.members[first, b])
                for b in np.flatnonzero(model.members[first])
            }
            for kind in kinds:
                if kind.chunks == chunks:
                    paid = kind.oracle.members[same].sum(axis=0)
                    for i in np.flatnonzero(paid).tolist():
                        rule[kind.oracle.first + i] = kind.alike * float(paid[i])
            for step in range(model.steps):
                master.limit({(b, step): value for b, value in rule.items()})
    return master


def _first_prices(model: OrbitModel, kinds: list[_Kind]) -> Floats:
    """Even prices, divided among all trees evenly."""
    totals = model.even_prices()
    on_links = model.members @ totals
    shares = []
    for kind in kinds:
        nodes = sum(other.alike for other in kinds if other.chunks == kind.chunks)
        share = np.full((kind.oracle.members.shape[1], model.steps), np.inf)
        np.minimum.at(share, kind.orbit, on_links / nodes)
        shares.append(share)
    return np.concatenate([totals, *shares])


def _rational(model: OrbitModel, kinds: list[_Kind], prices: Floats, rounding: Rounding) -> Priced:
    """The proof by exact prices, whose shares are cut where their sum exceeds the price."""
    topology = model.topology
    totals = model.priced(prices[: len(model.rates)], rounding)
    priced = LinkPrices.of(topology, model.steps, totals)
    links = model.links
    sizes, first = np.bincount(links).tolist(), np.unique(links, return_index=True)[1].tolist()
    sums: dict[tuple[int, int, int], Fraction] = {}
    shares: list[dict[Place, Fraction]] = []
    for kind in kinds:
        floats = kind.oracle.own(prices)
        exact = [[rounding(value) for value in row] for row in floats.tolist()]
        own = {
            (link, step): share
            for link, orbit in enumerate(kind.orbit.tolist())
            for step, share in enumerate(exact[orbit])
            if share > NEAR
        }
        shares.append(own)
        for (link, step), share in own.items():
            at = kind.chunks, int(links[link]), step
            sums[at] = sums.get(at, Fraction(0)) + kind.alike * share
    less = excess(sums, lambda at: sizes[at[1]] * priced.price(first[at[1]], at[2]))
    trees = tuple(
        GossipTree(
            kind.chunks,
            kind.node,
            kind.oracle.into,
            {
                (link, step): part
                for (link, step), share in own.items()
                if (part := share * less.get((kind.chunks, int(links[link]), step), Fraction(1)))
            },
        )
        for kind, own in zip(kinds, shares, strict=True)
        if own  # without payments it proves nothing
    )
    return Priced(model.steps, totals, Gossip(model.generators, trees))
