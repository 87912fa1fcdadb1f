"""Completions: the cases of the node that completes a sum first, and the cost of a chunk in each.

Let node v be the first to hold all contributions to a chunk, after t steps.  Up to then they come
to v in a tree.  From step t on each other node that needs the sum is sent the rest of it, by a send
outside the tree.  A way leads from each contributor to each node that needs the sum.  Each send
divides its price among the ways that use it.  With the rest it pays for being a send of the tree,
or for completing a node.  A chunk pays the cost of its cheapest case.

A case may be divided by whether a given send is made: a made one pays all of the rest, and
completes its node for no more; a send that is not made is on no way.  Without steps the tree and
the completing sends are the 2 (P - 1) sends of `parts`. docs/certificates.md has the rules and
their proof.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from syncoll.certificates.chunk_classes import ChunkClass, NodeNumber
from syncoll.certificates.link_prices import LinkPrices, Prices, Table, in_words, total
from syncoll.certificates.priced import SumsArgument
from syncoll.certificates.ways import cheapest_ways
from syncoll.errors import VerificationError
from syncoll.model import Topology

Send = tuple[int, int, bool]
"""Position of the link, step, and whether it is made."""


@dataclass(frozen=True)
class Way:
    """The part of the prices that the ways of a contribution to a node pay.

    Args:
        prices: of links, missing ones are free; in files rows of link (position in
            interconnect.links), step, price.
    """

    source: NodeNumber
    destination: NodeNumber
    prices: Prices


@dataclass(frozen=True)
class CompletionCase:
    """The shares of prices in the case that a given node completes the sum first.

    Args:
        chunks: position in the classes of the shape.
        node: v, which holds all contributions first.
        after: t, the number of steps after which it holds them.
        ways: shares of the ways from contributors to nodes that need the sum.
        collects: shares of the ways from contributors to v in t steps.
        sends: for each send by which cases of the same class, node and steps are divided, in this
            order, the position of its link, its step, and whether it is made.
        automorphisms: further ones that keep the node; a way stands for its images under them, and
            the shares of the images of a link add up.
    """

    chunks: int
    node: NodeNumber
    after: int
    ways: tuple[Way, ...]
    collects: tuple[Way, ...]
    sends: tuple[Send, ...] = ()
    automorphisms: tuple[tuple[NodeNumber, ...], ...] = ()


@dataclass(frozen=True)
class Completions(SumsArgument):
    """Cases of the node that completes a sum first, in at most S steps.

    Args:
        cases: one for each orbit of cases under the automorphisms.
    """

    cases: tuple[CompletionCase, ...]

    method = "completions"
    words = "prices on the links, for any node that completes a sum first"

    def costs(self, prices: LinkPrices, classes: Sequence[ChunkClass]) -> dict[int, Fraction]:
        """The cost of a chunk in its cheapest case."""
        topology, steps = prices.topology, len(prices.wholes)
        orbit, _ = prices.orbits(classes, self.automorphisms)
        least: dict[int, Fraction] = {}
        covered: dict[tuple[int, int, int], dict[int, list[tuple[Send, ...]]]] = {}
        for case in self.cases:
            if not 0 <= case.chunks < len(classes):
                raise VerificationError(
                    f"case of node {case.node}: chunk class {case.chunks} does not exist: the "
                    f"collective has classes 0 to {len(classes) - 1}"
                )
            if not 0 <= case.node < topology.num_nodes or not 1 <= case.after <= steps:
                raise VerificationError(
                    f"no case of node {case.node} after {case.after} steps is possible"
                )
            cost = _cost(prices, classes, case)
            if cost is not None:
                least[case.chunks] = min(cost, least.get(case.chunks, cost))
            alike = covered.setdefault((case.chunks, orbit[case.node], case.after), {})
            alike.setdefault(case.node, []).append(case.sends)
        for k in least:
            for node, first in enumerate(first_complete(topology, classes[k])):
                for after in range(first, steps + 1):
                    alike = covered.get((k, orbit[node], after), {})
                    if not any(_is_all(divided) for divided in alike.values()):
                        raise VerificationError(
                            f"node {node} may complete the sum of chunks {k} first, after {after} "
                            "steps, and no case has the cost of that"
                        )
        return least


def _cost(
    prices: LinkPrices, classes: Sequence[ChunkClass], case: CompletionCase
) -> Fraction | None:
    """The least cost of such a chunk in a case; None if the case has no chunks."""
    topology, (steps, links) = prices.topology, prices.wholes.shape
    chunks = classes[case.chunks]
    _require_ends(chunks, case)
    first = np.array(prices.orbits(classes, case.automorphisms)[1], dtype=np.int64)
    sizes = np.maximum(np.bincount(first, minlength=links), 1)  # of orbits, at their first links
    if any(case.sends or images[case.node] != case.node for images in case.automorphisms):
        raise VerificationError(f"automorphisms move node {case.node} or sends of its case")
    shares = [one.prices for one in (*case.ways, *case.collects)]
    for share in shares:
        prices.require_parts(share)
    whole, largest = lcm(*sizes.tolist()), int(sizes.max(initial=1))
    units, rest = prices.finer(part / whole for share in shares for part in share.values())
    never = sum(max(row, default=0) for row in rest.tolist()) * topology.num_nodes * largest + 1
    # Sums over alike links of each pair's shares fit machine words, or use Python's integers.
    rest = in_words(rest, never * topology.num_nodes**2 * largest)
    tables: Table = np.zeros((len(shares), steps, links), dtype=rest.dtype)
    for table, share in zip(tables, shares, strict=True):
        for (link, step), part in share.items():
            amount = int(part * units)
            if amount > rest[step, link] * int(sizes[first[link]]):
                raise VerificationError(f"a share of link {link}, step {step} above its price")
            table[step, link] = amount
    made = np.zeros((steps, links), dtype=bool)
    never_made = made.copy()
    for link, step, is_made in case.sends:
        if not 0 <= link < links or not 0 <= step < steps:
            raise VerificationError(f"a send over link {link} in step {step}, which does not exist")
        (made if is_made else never_made)[step, link] = True

    def averaged(shares: Table) -> Table:
        """``[S, L]``: the sum of some shares, divided equally among alike links."""
        sums = np.zeros_like(rest)
        np.add.at(sums.T, first, shares.sum(axis=0).T)
        part: Table = (sums // sizes)[:, first]
        return part

    rest = rest - averaged(tables[: len(case.ways)])
    left: Table = rest - averaged(tables[len(case.ways) :])
    if (left < 0).any():
        raise VerificationError("shares exceed the price of a link in a step")
    tables[:, never_made] = never
    paid = _paid(topology, case.ways, tables[: len(case.ways)], never)
    paid += _paid(topology, case.collects, tables[len(case.ways) :, : case.after], never)
    if not case.sends and any(cost >= never for cost in paid):
        raise VerificationError(f"node {case.node} cannot hold all after {case.after} steps")
    for d in sorted({*chunks.post} - {case.node}):
        into = list(topology.in_links[d])
        if not into:
            raise VerificationError(f"no link leads to node {d}")
        late = np.s_[case.after - 1 :, into]
        if not made[late].any():
            paid.append(min(rest[late][~never_made[late]], default=never))
    if any(cost >= never for cost in paid):
        return None  # no chunk is of this case
    paid += left[made].tolist()
    return Fraction(total(paid)) / units


def _paid(topology: Topology, ways: Sequence[Way], tables: Table, never: int) -> list[Any]:
    """The cost of each way under its prices ``[K, S, L]``; `never` or more if it does not exist."""
    if not ways:
        return []
    ends = [one.destination for one in ways]
    costs, unreached = cheapest_ways(topology, tables.shape[1], tables.transpose(1, 2, 0), ends)
    paid = [costs[one.source, i] for i, one in enumerate(ways)]
    return [never if cost >= unreached else cost for cost in paid]


def _require_ends(chunks: ChunkClass, case: CompletionCase) -> None:
    """Checks that each way is one that a contribution takes, and none occurs twice."""
    if len(chunks.pre) < 2 or not chunks.post:
        raise VerificationError(f"chunks {case.chunks} are not combined")
    for verb, ways, ends in (
        ("has to get", case.ways, {*chunks.post}),
        ("has to be collected", case.collects, {case.node}),
    ):
        seen = {(one.source, one.destination) for one in ways}
        if len(seen) < len(ways):
            raise VerificationError("a case has two shares for one way")
        for u, d in seen:
            if u not in chunks.pre or d not in ends or u == d:
                raise VerificationError(f"no contribution {verb} from node {u} to node {d}")


def _is_all(divided: Sequence[tuple[Send, ...]]) -> bool:
    """Whether these are all combinations of making some sends or not."""
    left = [(divided, 0)]  # sends that agree up to a depth
    while left:
        alike, depth = left.pop()
        if any(len(sends) == depth for sends in alike):
            continue
        if not alike:
            return False
        link, step, _ = alike[0][depth]
        parts: dict[bool, list[tuple[Send, ...]]] = {False: [], True: []}
        for sends in alike:
            if sends[depth][:2] != (link, step):
                return False
            parts[sends[depth][2]].append(sends)
        left += [(part, depth + 1) for part in parts.values()]
    return True


def first_complete(topology: Topology, chunks: ChunkClass) -> Iterator[int]:
    """For each node the least number of steps after which it may hold all contributions."""
    for node in range(topology.num_nodes):
        yield int(topology.distances[list(chunks.pre), node].max())
