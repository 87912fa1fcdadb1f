"""Trees: a chunk pays for a cheapest tree of sends, the strongest bound for S steps.

The useful sends of one chunk form a tree in the time-expanded network, from its source to every
node that needs it.  So they cost at least as much as the cheapest such tree.  The flow relaxations
allow a chunk to be split over many paths; a tree does not.  For broadcast on a 3-cube in 3 steps
flows prove 5/6, trees 1, and an algorithm has 1. With the best prices no bound on R/C that holds
for every C is stronger: the dual is a fractional packing of trees, which is an algorithm once C and
R clear its denominators.

*Gossip*: the sends of a combined chunk contain a tree from each contributor to every node that
needs the sum, and a tree into each of these from every contributor.  A send may be in all of them,
because it carries a partial sum.  It divides its price among them, and a chunk pays the cheapest
trees under their shares.  On a hypercube in as many steps as it has dimensions flows prove 5/6 (3
dimensions) and 15/22 (4 dimensions) for an allreduce, these trees 1, and recursive doubling has 1.
One tree represents an orbit under automorphisms: for each node the average of its images' shares
counts, under which a cheapest tree costs no less.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from syncoll.certificates.chunk_classes import ChunkClass, Demand, NodeNumber
from syncoll.certificates.link_prices import LinkPrices, Prices
from syncoll.certificates.priced import Argument, SumsArgument
from syncoll.certificates.steiner import tree_cost
from syncoll.errors import VerificationError
from syncoll.wording import runs_in_words


@dataclass(frozen=True)
class Trees(Argument):
    """Cheapest trees, computed by dynamic programming; there is no witness."""

    method = "trees"
    words = "prices on the links, paid by trees"

    def pays(self, prices: LinkPrices, asked: Sequence[Demand]) -> Fraction:
        """The sum of the cheapest trees of all chunks."""
        costs = (tree_cost(prices, demand) * demand.count for demand in asked)
        return sum(costs, Fraction(0))


@dataclass(frozen=True)
class GossipTree:
    """The payment of the trees of one node.

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
        """The demand of its trees; on the reversed topology where they end at the node.  Raises
        `VerificationError` when the node has nothing to send or to get."""
        if not 0 <= self.chunks < len(classes):
            raise VerificationError(
                f"tree of node {self.node}: chunk class {self.chunks} does not exist: the "
                f"collective has classes 0 to {len(classes) - 1}"
            )
        one = classes[self.chunks]
        here, there = (one.post, one.pre) if self.into else (one.pre, one.post)
        others = tuple(node for node in there if node != self.node)
        if self.node not in here or not others:
            way, side = ("into", "end") if self.into else ("out of", "start")
            raise VerificationError(
                f"a tree of chunk class {self.chunks} leads {way} node {self.node}, but "
                + (
                    f"these chunks {side} only at nodes {runs_in_words(here)}"
                    if self.node not in here
                    else "no other node sends or needs these chunks"
                )
            )
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
        """The cost of a chunk of each class."""
        nodes, links = prices.orbits(classes, self.automorphisms)
        seen: set[tuple[int, int, bool]] = set()
        cost: dict[int, Fraction] = {}
        sums: dict[tuple[int, int, int], Fraction] = {}
        for tree in self.trees:
            demand, prices_of_tree = tree.demand(classes), prices.parts(tree.prices)
            key = tree.chunks, nodes[tree.node], tree.into
            if key in seen:
                raise VerificationError(f"two trees of node {tree.node} or its orbit")
            seen.add(key)
            alike = nodes.count(nodes[tree.node])
            paid = alike * tree_cost(prices_of_tree, demand, into=tree.into)
            cost[tree.chunks] = cost.get(tree.chunks, Fraction(0)) + paid
            for (link, step), share in tree.prices.items():
                at = tree.chunks, links[link], step
                sums[at] = sums.get(at, Fraction(0)) + alike * share
        for (_, link, step), total in sums.items():
            # The automorphisms keep the prices: all links of an orbit have the same.
            if total > links.count(link) * prices.price(link, step):
                raise VerificationError(
                    f"shares exceed the price of link {link}, or of its orbit, in step {step}"
                )
        return cost
