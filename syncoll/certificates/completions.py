"""Who knows a sum first: prices that whatever combines one chunk has to pay, case by case.

Take one chunk of a collective that combines, with two contributors at least.  Let t be the number
of steps after which some node v holds all contributions for the first time.  Three things are so:

* from every contributor other than v a way leads to v in these t steps, and such ways can be chosen
  to be a tree into v: each node waits for what it sends on, so they enter other nodes than v in the
  first t - 1 steps only;
* no node knew everything before, so each node but v that needs the sum is sent something in step t
  or later that completes it.  The tree has none of these sends;
* from every contributor a way leads to every node that needs the sum.

Each send has to pay, from its own price, its shares for the ways that
use it; and with what is left it pays for being a send of the tree, in shares again, or for
completing a node.  So in the case (v, t) a chunk costs at least

    the cheapest ways from each contributor to each node that needs it, under their shares,
    + the cheapest ways from each contributor to v in t steps, under their shares of the rest,
    + for each node other than v that needs it the least rest of a link into it, from step t on,

and a chunk costs at least the least of all cases.  What it costs is a sum of prices, too: where all
prices are multiples of one number the least multiple that is no less holds as well (that of a ring
with equal links is a whole number of sends).  A case may be
divided further by whether some send is made: a made one pays all that is left of its price, and
completes its node for no more; one that is not made is of no way.  Without steps the last two
summands are the 2 (P - 1) sends of `parts` (the argument is Harary & Schwenk's, 1974); without
these it is a relaxation of gossiping.  Cases that automorphisms exchange which keep the prices have
equal costs: one is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from syncoll.certificates.chunk_classes import ChunkClass, NodeNumber
from syncoll.certificates.link_prices import LinkPrices, Prices, Table, in_words, total
from syncoll.certificates.priced import SumsArgument
from syncoll.certificates.ways import cheapest_ways
from syncoll.errors import VerificationError
from syncoll.model import Topology

__all__ = ["CompletionCase", "Completions", "Send", "Way", "first_complete"]

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
    """How prices are shared where a node knows everything first.

    Args:
        chunks: position in the classes of the shape.
        node: v, which knows everything first.
        after: t, the number of steps after which it knows everything.
        ways: shares of the ways from contributors to nodes that need the sum.
        collects: shares of the ways from contributors to v in t steps.
        sends: for each send by which cases of the same class, node and steps are divided, in this
            order, the position of its link, its step, and whether it is made.
    """

    chunks: int
    node: NodeNumber
    after: int
    ways: tuple[Way, ...]
    collects: tuple[Way, ...]
    sends: tuple[Send, ...] = ()


@dataclass(frozen=True)
class Completions(SumsArgument):
    """Cases of which node knows a sum first, in at most S steps.

    Args:
        cases: one for each orbit of cases under the automorphisms.
    """

    cases: tuple[CompletionCase, ...]

    method = "completions"
    words = "prices on the links, whichever node knows a sum first"

    def costs(self, prices: LinkPrices, classes: Sequence[ChunkClass]) -> dict[int, Fraction]:
        """What a chunk costs in its cheapest case."""
        topology, steps = prices.topology, len(prices.wholes)
        orbit = prices.orbits(classes, self.automorphisms).nodes
        least: dict[int, Fraction] = {}
        covered: dict[tuple[int, int, int], dict[int, list[tuple[Send, ...]]]] = {}
        for case in self.cases:
            if not 0 <= case.chunks < len(classes):
                raise VerificationError(f"a case of chunks {case.chunks}: there are none")
            if not 0 <= case.node < topology.num_nodes or not 1 <= case.after <= steps:
                raise VerificationError(
                    f"no case of node {case.node} after {case.after} steps is possible"
                )
            cost = _cost(prices, classes[case.chunks], case)
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
                            f"node {node} may know the sum of chunks {k} first, after {after} "
                            "steps, and no case says what that costs"
                        )
        return least


def _cost(prices: LinkPrices, chunks: ChunkClass, case: CompletionCase) -> Fraction | None:
    """What such a chunk costs at least in a case; None where there is no such chunk."""
    topology, (steps, links) = prices.topology, prices.wholes.shape
    _require_ends(chunks, case)
    shares = [one.prices for one in (*case.ways, *case.collects)]
    for share in shares:
        prices.require_parts(share)
    units, rest = prices.finer(part for share in shares for part in share.values())
    never = sum(max(row, default=0) for row in rest.tolist()) * topology.num_nodes + 1
    # Sums of a cost of a way for each pair of nodes fit machine words, or Python's integers do.
    rest = in_words(rest, never * topology.num_nodes**2)
    tables: Table = np.zeros((len(shares), steps, links), dtype=rest.dtype)
    for table, share in zip(tables, shares, strict=True):
        for (link, step), part in share.items():
            amount = int(part * units)
            if amount > rest[step, link]:
                raise VerificationError(f"a share of link {link}, step {step} above its price")
            table[step, link] = amount
    made = np.zeros((steps, links), dtype=bool)
    never_made = made.copy()
    for link, step, is_made in case.sends:
        if not 0 <= link < links or not 0 <= step < steps:
            raise VerificationError(f"a send over link {link} in step {step}: there is none")
        (made if is_made else never_made)[step, link] = True
    rest = rest - tables[: len(case.ways)].sum(axis=0)
    left: Table = rest - tables[len(case.ways) :].sum(axis=0)
    if (left < 0).any():
        raise VerificationError("shares exceed the price of a link in a step")
    tables[:, never_made] = never
    paid = _paid(topology, case.ways, tables[: len(case.ways)], never)
    paid += _paid(topology, case.collects, tables[len(case.ways) :, : case.after], never)
    if not case.sends and any(cost >= never for cost in paid):
        raise VerificationError(f"node {case.node} cannot know all after {case.after} steps")
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
    """The cost of each way under its prices ``[K, S, L]``; `never` or more where there is none."""
    if not ways:
        return []
    ends = [one.destination for one in ways]
    costs, unreached = cheapest_ways(topology, tables.shape[1], tables.transpose(1, 2, 0), ends)
    paid = [costs[one.source, i] for i, one in enumerate(ways)]
    return [never if cost >= unreached else cost for cost in paid]


def _require_ends(chunks: ChunkClass, case: CompletionCase) -> None:
    """Each way is one that a contribution takes, none twice."""
    if len(chunks.pre) < 2 or not chunks.post:
        raise VerificationError(f"nothing is combined of chunks {case.chunks}")
    for what, ways, ends in (
        ("has to get", case.ways, {*chunks.post}),
        ("has to be collected", case.collects, {case.node}),
    ):
        seen = {(one.source, one.destination) for one in ways}
        if len(seen) < len(ways):
            raise VerificationError("a case has two shares for one way")
        for u, d in seen:
            if u not in chunks.pre or d not in ends or u == d:
                raise VerificationError(f"no contribution {what} from node {u} to node {d}")


def _is_all(divided: Sequence[tuple[Send, ...]]) -> bool:
    """Whether these are all ways to make some sends or not."""
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
