"""The cost of a chunk that boxes exchange: the method `boxes` of docs/certificates.md."""

from functools import cache, reduce
from itertools import combinations, permutations, product
from math import inf
from operator import or_
from typing import Any

from .machine import Nodes


def exchange(boxes: int, inner: list[int], outer: list[int], given: int, needed: int) -> int:
    """The cost of a chunk that boxes exchange: rules 2 to 5 of `boxes`."""
    steps, least = range(len(inner)), {tuple(1 << x for x in range(boxes)): 0}
    for t in steps:
        early, late = min(inner[:t] + outer[: t + 1]), min(inner[t + 1 :] + outer[t:])
        twice = max(0, early + late - outer[t])
        head = min(
            min(inner[: e + 1] + outer[:e]) * (given - 1)
            + min(inner[max(e, t + 1) :] + outer[e:]) * (needed - 1)
            for e in steps[t:]
        )
        after: dict[Nodes, Any] = {}
        for state, cost in least.items():
            for new, k, a, d, b, h in exchanges(state):
                m = min((given - 1) * d, (needed - 1) * (b + h))
                now = cost + k * outer[t] + (given * a - k) * early + (needed * b + h - k) * late
                after[new] = min(now + head * h - m * twice, after.get(new, inf))
        least = after
    return least[(2**boxes - 1,) * boxes]


@cache
def exchanges(state: Nodes) -> set[tuple[Nodes, int, int, int, int, int]]:
    """The states after a step, from the boxes that each box knows, as bits; and k, a, d, b, h."""
    every, full = range(len(state)), 2 ** len(state) - 1
    options = [dict[int, int]() for _ in every]
    for x, n in product(every, every):
        for some in combinations([state[y] for y in every if y != x], n):
            union = reduce(or_, some, state[x])
            for has in range(full + 1):
                if state[x] | has == has and has | union == union:
                    options[x].setdefault(has, n)
    found, before = set(), known(state)
    for choice in product(*(one.items() for one in options)):
        new, k = tuple(has for has, _ in choice), sum(n for _, n in choice)
        leaving = known(new) - before
        filled = {x for x in every if new[x] == full != state[x]}
        a, b = len([x for x in leaving if state[x] < full]), len(filled & known(new))
        found.add((renumbered(new), k, a, len(leaving), b, len(filled) - b))
    return found


@cache
def known(state: Nodes) -> frozenset[int]:
    """The boxes that others know."""
    every = range(len(state))
    return frozenset(x for x in every if any(state[y] >> x & 1 for y in every if y != x))


@cache
def renumbered(state: Nodes) -> Nodes:
    """The least of the states that differ from one by the numbers of the boxes."""
    every = range(len(state))
    return min(
        tuple(sum(1 << y for y in every if state[order[x]] >> order[y] & 1) for x in every)
        for order in permutations(every)
    )
