"""Who knows a sum first: prices that whatever combines one chunk has to pay, case by case.

Take one chunk of a collective that combines, with two contributors at least.  Let t be the number
of steps after which some node v holds all contributions for the first time.  Three things are so:

* from every contributor other than v a way leads to v in these t steps, and such ways can be chosen
  to be a tree into v: each node waits for what it sends on, so they enter other nodes than v in the
  first t - 1 steps only;
* no node knew everything before, so each node but v that needs the sum is sent something in step t
  or later that completes it.  These sends are none of the tree's;
* from every contributor a way leads to every node that needs the sum.

With prices as in `prices` each send has to pay, from its own price, its shares for the ways that
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
summands are the 2 (P - 1) sends of `partition` (the argument is Harary & Schwenk's, 1974); without
these it is a relaxation of gossiping.  Cases that automorphisms exchange which keep the prices have
equal costs: one is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.certificates.classes import ChunkClass
from syncoll.certificates.every_send import require_every_send
from syncoll.certificates.pricing import Parts, PricedSymmetry, in_sends, link_prices
from syncoll.errors import VerificationError
from syncoll.model import Topology

__all__ = ["CompletionCase", "CompletionCertificate", "Send", "first_complete"]

Send = tuple[int, int, bool]
"""Position of the link, step, and whether it is made."""

Table = npt.NDArray[Any]
"""Whole numbers over a common denominator."""


_LARGEST = 1 << 62


@dataclass(frozen=True)
class CompletionCase:
    """How prices are shared where a node knows everything first.

    Args:
        chunks: position of the class of chunks.
        node: v.
        after: t, the number of steps after which it knows everything.
        ways: (contributor, node that needs it) to shares for the ways between them.
        collects: contributor to shares for its ways to v in t steps.
        sends: (position of the link, step, whether that send is made), for each by which cases of
            the same class, node and steps are divided, in this order.
    """

    chunks: int
    node: int
    after: int
    ways: Mapping[tuple[int, int], Parts]
    collects: Mapping[int, Parts]
    sends: tuple[Send, ...] = ()


@dataclass(frozen=True)
class CompletionCertificate:
    """Proves a lower bound on R for combining collectives in at most `steps` steps.

    Args:
        steps: S.
        totals: (position of the bound in the topology, step) to its price above 0.
        automorphisms: for each of some the node to which each node goes; they keep the links, the
            bounds with their prices, and the chunks.
        cases: of those that these exchange one each.
    """

    steps: int
    totals: Parts
    automorphisms: tuple[tuple[int, ...], ...]
    cases: tuple[CompletionCase, ...]

    def check(self, topology: Topology, classes: Sequence[ChunkClass]) -> Fraction:
        """The bound on R for these chunks.

        Raises:
            VerificationError: when a rule is broken, or a case is missing.
        """
        require_every_send(topology, (i for i, _ in self.totals))
        prices = link_prices(topology, self.steps, self.totals)
        symmetry = PricedSymmetry(topology, self.steps, self.totals, classes)
        orbit = symmetry.orbits(self.automorphisms).nodes
        least: dict[int, Fraction] = {}
        covered: dict[tuple[int, int, int], dict[int, list[tuple[Send, ...]]]] = {}
        for case in self.cases:
            if not 0 <= case.chunks < len(classes):
                raise VerificationError(f"a case of chunks {case.chunks}: there are none")
            if not 0 <= case.node < topology.num_nodes or not 1 <= case.after <= self.steps:
                raise VerificationError(
                    f"a case of node {case.node} after {case.after} steps: there is none"
                )
            cost = self._cost(topology, classes[case.chunks], case, prices)
            if cost is not None:
                least[case.chunks] = min(cost, least.get(case.chunks, cost))
            alike = covered.setdefault((case.chunks, orbit[case.node], case.after), {})
            alike.setdefault(case.node, []).append(case.sends)
        bound = Fraction(0)
        for k, cost in least.items():
            one = classes[k]
            for node, first in enumerate(first_complete(topology, one)):
                for after in range(first, self.steps + 1):
                    alike = covered.get((k, orbit[node], after), {})
                    if not any(_is_all(divided) for divided in alike.values()):
                        raise VerificationError(
                            f"node {node} may know the sum of chunks {k} first, after {after} "
                            "steps, and no case says what that costs"
                        )
            bound += in_sends(cost, prices) * one.count
        return bound

    def _cost(
        self,
        topology: Topology,
        chunks: ChunkClass,
        case: CompletionCase,
        prices: list[list[Fraction]],
    ) -> Fraction | None:
        """What such a chunk costs at least in a case; None where there is no such chunk."""
        pre, post = frozenset(chunks.pre), frozenset(chunks.post)
        if len(pre) < 2 or not post:
            raise VerificationError(f"nothing is combined of chunks {case.chunks}")
        for u, d in case.ways:
            if u not in pre or d not in post or u == d:
                raise VerificationError(f"no contribution has to get from node {u} to node {d}")
        for u in case.collects:
            if u not in pre or u == case.node:
                raise VerificationError(f"node {u} has nothing to send to node {case.node}")
        parts = [*case.ways.values(), *case.collects.values()]
        denominators = {p.denominator for some in parts for p in some.values()}
        scale = lcm(*denominators, *{p.denominator for row in prices for p in row})
        whole = max((sum(row) for row in prices), default=Fraction(0)) * self.steps * scale
        kind: type = np.int64 if whole < _LARGEST // topology.num_nodes**2 else object
        tables: Table = np.zeros((len(parts), self.steps, len(topology.links)), dtype=kind)
        for table, some in zip(tables, parts, strict=True):
            for (link, step), part in some.items():
                if not 0 <= link < len(topology.links) or not 0 <= step < self.steps or part < 0:
                    raise VerificationError(f"a share of {part} of link {link}, step {step}")
                if part > prices[step][link]:
                    raise VerificationError(f"a share of link {link}, step {step} above its price")
                table[step, link] = int(part * scale)
        made = np.zeros((self.steps, len(topology.links)), dtype=bool)
        never_made = made.copy()
        for link, step, is_made in case.sends:
            if not 0 <= link < len(topology.links) or not 0 <= step < self.steps:
                raise VerificationError(f"a send over link {link} in step {step}: there is none")
            (made if is_made else never_made)[step, link] = True
        rest: Table = np.array([[int(p * scale) for p in row] for row in prices], dtype=kind)
        rest = rest.reshape(self.steps, len(topology.links)) - tables[: len(case.ways)].sum(axis=0)
        if (rest < tables[len(case.ways) :].sum(axis=0)).any():
            raise VerificationError("shares exceed the price of a link in a step")
        left: Table = rest - tables[len(case.ways) :].sum(axis=0)
        never = int(whole) + 1
        tables[:, never_made] = never
        costs = _ways(topology, tables[: len(case.ways)], [u for u, _ in case.ways], never)
        paid = [costs[i, d] for i, (_, d) in enumerate(case.ways)]
        into_v = tables[len(case.ways) :, : case.after]
        costs = _ways(topology, into_v, list(case.collects), never)
        paid += costs[:, case.node].tolist()
        if not case.sends and any(cost >= never for cost in paid):
            raise VerificationError(f"node {case.node} cannot know all after {case.after} steps")
        for d in sorted(post - {case.node}):
            into = list(topology.in_links[d])
            if not into:
                raise VerificationError(f"no link leads to node {d}")
            late = np.s_[case.after - 1 :, into]
            if not made[late].any():
                paid.append(min(rest[late][~never_made[late]], default=never))
        if any(cost >= never for cost in paid):
            return None  # nothing is of this case
        paid += left[made].tolist()
        return Fraction(sum(int(cost) for cost in paid), scale)


def _is_all(divided: Sequence[tuple[Send, ...]]) -> bool:
    """Whether these are all ways to make some sends or not."""
    left = [(divided, 0)]  # those that agree in so many first sends
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


def _ways(topology: Topology, tables: Table, sources: Sequence[int], never: int) -> Table:
    """``[K, P]``: for each of ``[K, T, L]`` what the cheapest ways from a node cost in T steps."""
    costs = np.full((len(tables), topology.num_nodes), never, dtype=tables.dtype)
    costs[np.arange(len(tables)), list(sources)] = 0
    for step in range(tables.shape[1]):
        before = costs.copy()
        for i, (a, b) in enumerate(topology.links):
            np.minimum(costs[:, b], before[:, a] + tables[:, step, i], out=costs[:, b])
    return costs
