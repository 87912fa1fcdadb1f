"""Gossip: trees that every contribution and every sum needs, which share the sends of a chunk.

Take one chunk of a collective that combines.  Its sends hold, for each contributor u, a tree from u
to every node that needs the sum; and for each node d that needs the sum, a tree into d from every
contributor.  One send may be in all of these trees, because it carries a partial sum; so each send
divides its price among them.  A chunk costs at least

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

from syncoll.certificates.chunk_classes import ChunkClass, Demand, NodeNumber
from syncoll.certificates.link_prices import LinkPrices, Prices
from syncoll.certificates.priced import SumsArgument
from syncoll.certificates.steiner import tree_cost
from syncoll.errors import VerificationError

__all__ = ["Gossip", "GossipTree"]


@dataclass(frozen=True)
class GossipTree:
    """What the trees of one node pay.

    Args:
        chunks: position in the classes of the shape.
        node: where the trees start, or end.
        into: whether they end there.
        prices: shares of links, missing ones are free; in files rows of link (position in
            interconnect.links), step, price.
    """

    chunks: int
    node: NodeNumber
    into: bool
    prices: Prices

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
class Gossip(SumsArgument):
    """Trees that share sends, for combining collectives.

    Args:
        trees: one for each orbit of nodes under the automorphisms, class and direction.
    """

    trees: tuple[GossipTree, ...]

    method = "gossip"
    words = "prices on the links, paid by trees that share sends"

    def costs(self, prices: LinkPrices, classes: Sequence[ChunkClass]) -> dict[int, Fraction]:
        """What a chunk of each class costs."""
        orbits = prices.orbits(classes, self.automorphisms)
        seen: set[tuple[int, int, bool]] = set()
        cost: dict[int, Fraction] = {}
        sums: dict[tuple[int, int, int], Fraction] = {}
        for tree in self.trees:
            demand, prices_of_tree = tree.demand(classes), prices.parts(tree.prices)
            key = tree.chunks, orbits.nodes[tree.node], tree.into
            if key in seen:
                raise VerificationError(f"trees of node {tree.node} or of one like it twice")
            seen.add(key)
            alike = orbits.nodes.count(orbits.nodes[tree.node])
            paid = alike * tree_cost(prices_of_tree, demand, into=tree.into)
            cost[tree.chunks] = cost.get(tree.chunks, Fraction(0)) + paid
            for (link, step), share in tree.prices.items():
                at = tree.chunks, orbits.links[link], step
                sums[at] = sums.get(at, Fraction(0)) + alike * share
        for (_, link, step), total in sums.items():
            # The automorphisms keep the prices: all links of an orbit have the same.
            if total > orbits.links.count(link) * prices.price(link, step):
                raise VerificationError(
                    f"shares exceed the price of link {link}, or of those like it, in step {step}"
                )
        return cost
