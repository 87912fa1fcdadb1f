"""Cores: a few nodes that exchange what each of them has collected, until each has everything.

A single node needs no exchange.  Two cores of equal size whose nodes are joined one to one, in both
directions, make one of twice the size, in one step more (recursive doubling).  And nodes all of
which are joined to each other exchange in a single step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from syncoll.model import Topology

__all__ = ["Core", "cores"]

_LARGEST = 16
_MOST_OF_SIZE = 400
_LARGEST_CLIQUE = 4


@dataclass(frozen=True)
class Core:
    """Nodes and how they exchange.

    Args:
        nodes: ascending.
        sends: (step from 0, position of the link) of the exchange.
        steps: how many steps it takes.
    """

    nodes: tuple[int, ...]
    sends: tuple[tuple[int, int], ...]
    steps: int


def cores(topology: Topology, roots: list[int], most_steps: int) -> list[Core]:
    """Single nodes, and cores with one of them that exchange in so many steps at most.

    Args:
        roots: nodes of which each symmetry class has one.
    """
    number = {link: i for i, link in enumerate(topology.links)}
    nodes = topology.num_nodes
    both = [
        {b for b in range(nodes) if (a, b) in number and (b, a) in number} for a in range(nodes)
    ]
    found = [Core((v,), (), 0) for v in range(nodes)]
    result = [one for one in found if one.nodes[0] in roots]
    random = np.random.default_rng(nodes)
    for steps in range(1, most_steps + 1):
        if len(found[0].nodes) * 2 > _LARGEST:
            break
        made: dict[tuple[tuple[int, int], ...], Core] = {}
        by_node: dict[int, list[Core]] = {}
        for one in found:
            for v in one.nodes:
                by_node.setdefault(v, []).append(one)
        for one in found:
            for core in _doubled(one, by_node, both, number, steps):
                made.setdefault(core.sends, core)
        found = list(made.values())
        if not found:
            break
        if len(found) > _MOST_OF_SIZE:
            kept = random.permutation(len(found))[:_MOST_OF_SIZE]
            found = [found[i] for i in np.sort(kept).tolist()]
        result += [one for one in found if set(one.nodes) & set(roots)]
    if most_steps >= 1:
        result += [one for one in _cliques(both, number) if set(one.nodes) & set(roots)]
    return result


def _doubled(
    one: Core,
    by_node: dict[int, list[Core]],
    both: list[set[int]],
    number: dict[tuple[int, int], int],
    steps: int,
) -> Iterator[Core]:
    first = one.nodes[0]
    for partner in both[first]:
        for other in by_node.get(partner, []):
            if set(one.nodes) & set(other.nodes):
                continue
            matched = _matched(list(one.nodes), set(other.nodes), both)
            if matched is None:
                continue
            last = [(steps - 1, number[a, b]) for a, b in matched]
            last += [(steps - 1, number[b, a]) for a, b in matched]
            nodes = tuple(sorted((*one.nodes, *other.nodes)))
            yield Core(nodes, tuple(sorted((*one.sends, *other.sends, *last))), steps)


def _matched(
    left: list[int], right: set[int], both: list[set[int]]
) -> list[tuple[int, int]] | None:
    """A partner in `right` for each node in `left`."""
    if not left:
        return []
    for partner in sorted(both[left[0]] & right):
        rest = _matched(left[1:], right - {partner}, both)
        if rest is not None:
            return [(left[0], partner), *rest]
    return None


def _cliques(both: list[set[int]], number: dict[tuple[int, int], int]) -> Iterator[Core]:
    count = 0
    for size in range(3, _LARGEST_CLIQUE + 1):
        for a in range(len(both)):
            for rest in combinations(sorted(b for b in both[a] if b > a), size - 1):
                if all(y in both[x] for x, y in combinations(rest, 2)):
                    nodes = (a, *rest)
                    sends = tuple((0, number[x, y]) for x in nodes for y in nodes if x != y)
                    yield Core(nodes, sends, 1)
                    count += 1
                    if count >= _MOST_OF_SIZE:
                        return
