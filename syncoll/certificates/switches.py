"""Switches: what any way to form a sum pays where switches copy and add up.

There (`syncoll.model.counting`) what leaves a node and what enters one are priced apart: what
leaves different nodes counts apart on cables towards switches, and what enters different nodes on
those behind.  Take a chunk to which P nodes contribute and whose sum they need, and say that k
nodes know it after t steps, and nobody before.  For t > 1 and k > 1, what n of the nodes contribute
leaves them in step t at first, as one of v values each, all but v - 1 of which are copies.  A chunk
pays no less than the cheapest of these cases.  docs/certificates.md has the rules and their proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any

from syncoll.certificates.chunk_classes import ChunkClass
from syncoll.certificates.link_prices import LinkPrices
from syncoll.certificates.priced import Argument
from syncoll.errors import VerificationError
from syncoll.model import Counting, Topology

__all__ = ["Switches", "doubled_costs", "leaving", "summed"]


@dataclass(frozen=True)
class Switches(Argument):
    """The cheapest way to form each sum in switches that copy and add up; there is no witness."""

    method = "switches"
    words = "prices on what leaves and enters nodes, however switches copy and add up"
    of_sums = True
    every_send = False

    def pays(self, prices: LinkPrices, asked: Sequence[ChunkClass]) -> Fraction:
        """What all sums that their contributors need cost together."""
        sizes, topology = summed(asked), prices.topology
        if not sizes:
            raise VerificationError("no two nodes contribute to what the same ones need")
        if not prices.steps:
            raise VerificationError("it is about no step")
        if None in (out := leaving(topology)):
            raise VerificationError(f"copies over all links of node {out.index(None)} count apart")
        sides = [
            {at: price for at, price in prices.bounds.items() if _side(topology, at[0]) == side}
            for side in (0, 1)
        ]
        leave, enter = (
            [Fraction(row.min()) / one.units for row in one.wholes.astype(object)]
            for one in (LinkPrices.of(topology, prices.steps, side) for side in sides)
        )
        costs = (count * min(doubled_costs(n, leave, enter)) for n, count in sizes.items())
        return sum(costs, Fraction(0)) / 2


def summed(classes: Iterable[ChunkClass]) -> dict[int, int]:
    """By number of contributors, at least 2, the chunks whose sum the contributors need."""
    sizes: Counter[int] = Counter()
    for one in classes:
        if one.pre == one.post and len(one.pre) > 1:
            sizes[len(one.pre)] += one.count
    return dict(sorted(sizes.items()))


def leaving(topology: Topology) -> list[int | None]:
    """For each node the narrowest bound that counts copies over all its links; None without."""
    found: list[int | None] = [None] * topology.num_nodes
    bounds = topology.bounds
    for i in sorted(range(len(bounds)), key=lambda i: bounds[i].chunks_per_round, reverse=True):
        if bounds[i].counts is Counting.SOURCES:
            members = set(topology.bound_links[i].tolist())
            for node, links in enumerate(topology.out_links):
                if links and members.issuperset(links):
                    found[node] = i
    return found


def _side(topology: Topology, number: int) -> int | None:
    """0 where a bound prices what leaves a node, 1 for what enters one; None for neither."""
    bound = topology.bounds[number]
    if bound.counts is not Counting.SENDS:
        return int(bound.counts is Counting.DESTINATIONS)
    return next((end for end in (0, 1) if len({link[end] for link in bound.links}) == 1), None)


def doubled_costs(
    nodes: int, leave: Sequence[Any], enter: Sequence[Any], key: Callable[[Any], Any] | None = None
) -> Iterator[Any]:
    """For each t twice the least that a chunk costs.

    In n, v and k costs are linear, or concave, between the values that are looked at.

    Args:
        nodes: P of the group.
        leave: for each step the price of what leaves a node, a number or a vector.
        enter: of what enters one.
        key: by which prices are compared.
    """
    steps, values = len(leave), {nodes - 1, nodes - 2, nodes - 3}
    for d in range((nodes - 2).bit_length() + 1):  # those with as many doublings, first and last
        values |= {(1 << d >> 1) + 1, min(1 << d, nodes - 1)}
    cheapest = partial(min, key=key)
    out, into = (list(accumulate(side, cheapest)) for side in (leave, enter))
    known = {2, nodes - 1, nodes}.union(*({v + 1, v + 2} for v in values))
    left = {nodes - 1, *(nodes - k for k in known)}
    later = _least_later(left & set(range(1, nodes)), leave, enter, cheapest)
    for t in range(1, steps + 1):
        a, b = 2 * leave[t - 1], 2 * enter[t - 1]
        late = {0: 0 * a} | {left: each[t] for left, each in later.items() if t < steps}
        found = []
        if t < steps:
            found.append(2 * (nodes - 1) * out[t - 1] + b + late[nodes - 1])
        before = 2 * out[max(0, t - 2)]
        times = nodes - 1 if t == 1 else 1
        some_k = [k for k in {2, nodes - 1, nodes} if k > 1 and nodes - k in late]
        found += [nodes * before + times * k * b + late[nodes - k] for k in some_k]
        for v in values if t > 1 else ():
            d = (v - 1).bit_length()
            one = v * a + 2 * d * into[t - 2]
            for k in {v + 1, v + 2, nodes - 1, nodes}:
                for n in {1, 2, 3, nodes - d}:
                    if 0 < v < k <= nodes and nodes - k in late and 0 < n <= nodes - d:
                        copies = n * (k - v) * enter[t - 1] if n > 2 and v < k - 1 else 0 * a
                        entered = k * b + copies + late[nodes - k]
                        found.append(n * one + (nodes - n) * before + entered)
        yield min(found, key=key)


def _least_later(
    numbers: Iterable[int], leave: Sequence[Any], enter: Sequence[Any], cheapest: Callable[..., Any]
) -> dict[int, list[Any]]:
    """For each of these numbers of nodes twice what entering them costs from a step on."""
    entering = list(accumulate(reversed(enter), cheapest))[::-1]
    found = {}
    for left in numbers:
        from_here = [
            2 * (a + b + (left - 1) * c) for a, b, c in zip(leave, enter, entering, strict=True)
        ]
        found[left] = list(accumulate(reversed(from_here), cheapest))[::-1]
    return found
