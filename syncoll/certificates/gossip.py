"""Gossip: trees that every contribution and every sum needs, which share the sends of a chunk.

Take one chunk of a collective that combines.  Its sends hold, for each contributor u, a tree from u
to every node that needs the sum; and for each node d that needs the sum, a tree into d from every
contributor.  One send may be in all of these trees, because it carries a partial sum; so each send
divides its price among them.  With prices as in `prices` a chunk costs at least

    the cheapest tree from each contributor, under its shares,
    + the cheapest tree into each node that needs the sum, under its shares.

Trees into a node are those out of it on the reversed topology, backwards in time.  On a hypercube
in as many steps as it has dimensions flows from node to node prove 5/6 (3 dimensions) and 15/22 (4
dimensions) for an allreduce, these trees 1, and recursive doubling has 1.

Of trees that automorphisms exchange one stands for all.  Let the automorphisms keep the prices;
take for each node of an orbit the average of the images of one's shares.  A cheapest tree under an
average costs at least the average of the cheapest trees.  And over an orbit of links the shares of
all these nodes add up, in each step, to the size of the orbit of nodes times what the one's shares
add up to, evenly: so they keep the prices if that is no more than the prices of these links
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from syncoll.certificates.classes import ChunkClass, Demand
from syncoll.certificates.every_send import require_every_send
from syncoll.certificates.pricing import Orbits, Parts, PricedSymmetry, in_sends, link_prices
from syncoll.certificates.trees import (
    MOST_DESTINATIONS,
    NEVER,
    Costs,
    affordable,
    cheapest_tree,
)
from syncoll.errors import VerificationError
from syncoll.model import Topology

__all__ = ["GossipCertificate", "GossipTree", "backwards"]


@dataclass(frozen=True)
class GossipTree:
    """What the trees of one node pay.

    Args:
        chunks: position of the class of chunks.
        node: where the trees start, or end.
        into: whether they end there.
        shares: of the prices of links; missing entries are free.
    """

    chunks: int
    node: int
    into: bool
    shares: Parts

    def demand(self, classes: Sequence[ChunkClass]) -> Demand:
        """What its trees connect; on the reversed topology where they end at the node.

        Raises:
            VerificationError: when the node has nothing to send or to get.
        """
        if not 0 <= self.chunks < len(classes):
            raise VerificationError(f"a tree of chunks {self.chunks}: there are none")
        one = classes[self.chunks]
        here, there = (one.post, one.pre) if self.into else (one.pre, one.post)
        others = tuple(node for node in there if node != self.node)
        if self.node not in here or not others:
            way = "into" if self.into else "out of"
            raise VerificationError(f"no tree of chunks {self.chunks} leads {way} node {self.node}")
        return Demand((self.node,), others, one.count)


@dataclass(frozen=True)
class GossipCertificate:
    """Proves a lower bound on R for combining collectives in at most `steps` steps.

    Args:
        steps: S.
        totals: (position of the bound in the topology, step) to its price above 0.
        automorphisms: for each of some the node to which each node goes; they keep the links, the
            bounds with their prices, and the chunks.
        trees: of those that these exchange one.
    """

    steps: int
    totals: Parts
    automorphisms: tuple[tuple[int, ...], ...]
    trees: tuple[GossipTree, ...]

    def check(self, topology: Topology, classes: Sequence[ChunkClass]) -> Fraction:
        """The bound on R for these chunks.

        Raises:
            VerificationError: when a rule is broken.
        """
        require_every_send(topology, (i for i, _ in self.totals))
        prices = link_prices(topology, self.steps, self.totals)
        symmetry = PricedSymmetry(topology, self.steps, self.totals, classes)
        orbits = symmetry.orbits(self.automorphisms)
        seen: set[tuple[int, int, bool]] = set()
        cost = [Fraction(0)] * len(classes)
        for tree in self.trees:
            demand = tree.demand(classes)
            key = tree.chunks, orbits.nodes[tree.node], tree.into
            if key in seen:
                raise VerificationError(f"trees of node {tree.node} or of one like it twice")
            seen.add(key)
            alike = orbits.nodes.count(orbits.nodes[tree.node])
            cost[tree.chunks] += alike * self._cheapest(topology, tree, demand)
        self._require_shares(topology, orbits, prices)
        return sum(
            (in_sends(each, prices) * one.count for each, one in zip(cost, classes, strict=True)),
            Fraction(0),
        )

    def _require_shares(
        self, topology: Topology, orbits: Orbits, prices: list[list[Fraction]]
    ) -> None:
        """Passes when all shares together are no more than the prices."""
        sums: dict[tuple[int, int, int], Fraction] = {}
        for tree in self.trees:
            alike = orbits.nodes.count(orbits.nodes[tree.node])
            for (link, step), share in tree.shares.items():
                at = tree.chunks, orbits.links[link], step
                sums[at] = sums.get(at, Fraction(0)) + alike * share
        for (_, link, step), total in sums.items():
            # The automorphisms keep the prices: all links of an orbit have the same.
            if total > orbits.links.count(link) * prices[step][link]:
                raise VerificationError(
                    f"shares exceed the price of link {link}, or of those like it, in step {step}"
                )

    def _cheapest(self, topology: Topology, tree: GossipTree, demand: Demand) -> Fraction:
        """What the cheapest tree of one node costs."""
        scale = lcm(*(share.denominator for share in tree.shares.values()))
        shares = np.zeros((self.steps, len(topology.links)), dtype=object)
        for (link, step), share in tree.shares.items():
            if not 0 <= link < len(topology.links) or not 0 <= step < self.steps or share < 0:
                raise VerificationError(f"a share of {share} of link {link}, step {step}")
            shares[step, link] = int(share * scale)
        # No tree has more sends than there are nodes and steps: small sums fit machine words.
        most = int(shares.max(initial=0)) * (topology.num_nodes * self.steps + 1)
        exact: Costs = shares.astype(np.int64) if most < NEVER >> 2 else shares
        if tree.into:
            exact, topology = backwards(topology, exact), topology.reversed()
        if not affordable(topology, demand):
            raise VerificationError(
                f"a tree with {len(demand.destinations)} other ends; trees are looked at for "
                f"{MOST_DESTINATIONS} at most"
            )
        never = max(NEVER, 4 * most)
        cost = int(cheapest_tree(topology, demand, exact, never).cost)
        if cost >= never:
            raise VerificationError(f"no tree of node {tree.node} has only {self.steps} steps")
        return Fraction(cost, scale)


def backwards(topology: Topology, prices: Costs) -> Costs:
    """``[S, L]`` of a topology for the reversed topology, backwards in time."""
    number = topology.link_index
    return prices[::-1][:, [number[b, a] for a, b in topology.reversed().links]]
