"""Switches: the least payment for a sum where switches copy and add up.

There (`syncoll.model.counting`) leaving a node and entering one have separate prices.  Data that
leave different nodes count separately on cables towards switches, and data that enter different
nodes on cables behind them.  Take a chunk to which P nodes contribute and whose sum they need, and
let k nodes know it after t steps, and none before.  For t > 1 and k > 1, the contributions of n of
the nodes first leave them in step t, as one of v values each; all but v - 1 are copies.  A chunk
pays at least the cheapest of these cases.  docs/certificates.md has the rules and their proof.
"""

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


@dataclass(frozen=True)
class Switches(Argument):
    """The cheapest way to form each sum in switches that copy and add up; there is no witness."""

    method = "switches"
    words = "prices on leaving and entering nodes, for any use of switches that copy and add up"
    of_sums = True
    every_send = False

    def pays(self, prices: LinkPrices, asked: Sequence[ChunkClass]) -> Fraction:
        """The cost of all sums that their contributors need."""
        sizes, topology = summed(asked), prices.topology
        if not sizes:
            raise VerificationError("no two nodes need a sum to which both contribute")
        if not prices.steps:
            raise VerificationError("the proof is about no step")
        if None in (out := leaving(topology)):
            raise VerificationError(
                f"no bound counts copies over all links of node {out.index(None)} as one"
            )
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
    """0 if a bound has a price for leaving a node, 1 for entering one; None for neither."""
    bound = topology.bounds[number]
    if bound.counts is not Counting.SENDS:
        return int(bound.counts is Counting.DESTINATIONS)
    return next((end for end in (0, 1) if len({link[end] for link in bound.links}) == 1), None)


def doubled_costs(
    nodes: int, leave: Sequence[Any], enter: Sequence[Any], key: Callable[[Any], Any] | None = None
) -> Iterator[Any]:
    """For each t twice the least cost of a chunk.

    Between the computed values costs are linear, or concave, in n, v and k.

    Args:
        nodes: P of the group.
        leave: for each step the price of leaving a node, a number or a vector.
        enter: the price of entering one.
        key: by which prices are compared.
    """
    steps, values = len(leave), {nodes - 1, nodes - 2, nodes - 3}
    for d in range((nodes - 2).bit_length() + 1):  # both ends of each number of doublings
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
    """For each of these numbers of nodes twice the cost of entering them from a step on."""
    entering = list(accumulate(reversed(enter), cheapest))[::-1]
    found = {}
    for left in numbers:
        from_here = [
            2 * (a + b + (left - 1) * c) for a, b, c in zip(leave, enter, entering, strict=True)
        ]
        found[left] = list(accumulate(reversed(from_here), cheapest))[::-1]
    return found
