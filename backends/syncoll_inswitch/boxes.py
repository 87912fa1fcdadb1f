"""Boxes: nodes around switches that copy or reduce, and the rails between them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, permutations, product
from math import gcd, lcm

import numpy as np

from syncoll.model import Counting, Topology
from syncoll.model.components import least_connected

_MOST_WEIGHT = 64
"""Most chunks of a rail for each chunk of the slowest rail; limits memory."""


@dataclass(frozen=True)
class Boxes:
    """Nodes, box by box, and the rails on which boxes exchange their sums.

    Args:
        nodes: the nodes of each box, ascending.
        rails: one node of each box; links both ways join it to the other nodes of its box and of
            the rail.  Rails are disjoint.
        weights: the chunks of each rail, in proportion to its bandwidth.
        wide: chunks per round of the narrowest cable to a switch.
        narrow: chunks per round of the rails, in units of their weights.
    """

    nodes: tuple[tuple[int, ...], ...]
    rails: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    wide: Fraction
    narrow: Fraction

    @property
    def chunks(self) -> int:
        """The sum of the rails' weights."""
        return sum(self.weights)

    @cached_property
    def roots(self) -> tuple[tuple[int, ...], ...]:
        """The rail of each chunk, rails of equal weight in turn."""
        turns = range(max(self.weights))
        rails = tuple(zip(self.rails, self.weights, strict=True))
        return tuple(rail for turn in turns for rail, weight in rails if turn < weight)

    @property
    def are_even(self) -> bool:
        """Whether every node is on a rail, and all rails have the same bandwidth."""
        on_rails = len(self.rails) * len(self.nodes)
        return set(self.weights) == {1} and on_rails == sum(map(len, self.nodes))


def neighbours(topology: Topology) -> list[int]:
    """``[P]``: for each node the least node around the same switches."""
    shared = [b.links for b in topology.bounds if b.counts is not Counting.SENDS]
    pairs = np.array([*chain.from_iterable(shared)], dtype=np.int64).reshape(-1, 2)
    found: list[int] = least_connected(topology.num_nodes, pairs).tolist()
    return found


def boxes_of(topology: Topology, among: Iterable[int], near: Sequence[int]) -> Boxes | None:
    """Groups nodes by the switches that they are around; None if no rail joins the boxes."""
    by_box: dict[int, list[int]] = {}
    for node in sorted(among):
        by_box.setdefault(near[node], []).append(node)
    nodes = tuple(map(tuple, by_box.values()))
    roots = tuple(
        tuple(node for node in box if all(_joined(topology, node, other) for other in box))
        for box in nodes
    )
    rails = _rails(topology, nodes, roots)
    if not rails:
        return None
    wide = _narrowest(topology, ((a, b) for box in nodes for a in box for b in box))
    weights = _weights([_narrowest(topology, product(rail, rail)) for rail in rails])
    return Boxes(nodes, rails, weights, wide, _rate_of_rails(topology, rails, weights))


def _joined(topology: Topology, one: int, other: int) -> bool:
    """Whether two nodes are the same or have links both ways."""
    links = topology.link_index
    return one == other or ((one, other) in links and (other, one) in links)


def _rails(
    topology: Topology, nodes: Sequence[tuple[int, ...]], roots: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """For each root of the smallest box a root of every other box, all joined with one another.
    Roots at the same place of their boxes are preferred."""
    smallest = min(range(len(roots)), key=lambda i: len(roots[i]))
    used: set[int] = set()
    found = []
    for root in roots[smallest]:
        place = nodes[smallest].index(root)
        rail = {smallest: root}
        for i, candidates in enumerate(roots):
            if i == smallest:
                continue
            fit = [
                node
                for node in candidates
                if node not in used and all(_joined(topology, node, at) for at in rail.values())
            ]
            if not fit:
                break
            rail[i] = min(fit, key=lambda node: abs(nodes[i].index(node) - place))
        if len(rail) == len(roots):
            found.append(tuple(rail[i] for i in range(len(roots))))
            used.update(rail.values())
    return tuple(found)


def _narrowest(topology: Topology, pairs: Iterable[tuple[int, int]]) -> Fraction:
    """Chunks per round of the narrowest bound of the pairs that have a link; 1 if no pair has."""
    links = [topology.link_index[pair] for pair in pairs if pair in topology.link_index]
    bounds = {i for link in links for i in topology.link_bounds[link]}
    rates = (Fraction(topology.bounds[i].chunks_per_round) for i in bounds)
    return min(rates, default=Fraction(1))


def _rate_of_rails(
    topology: Topology, rails: Sequence[tuple[int, ...]], weights: Sequence[int]
) -> Fraction:
    """Chunks per round of all rails in units of their weights, within the bounds that they share.
    A chunk loads a bound by the number of the bound's links that leave one node."""
    load: dict[int, Fraction] = {}
    for rail, weight in zip(rails, weights, strict=True):
        for pair in permutations(rail, 2):
            for i in topology.link_bounds[topology.link_index[pair]]:
                load[i] = load.get(i, Fraction(0)) + Fraction(weight, len(rail) - 1)
    rates = (Fraction(topology.bounds[i].chunks_per_round) / part for i, part in load.items())
    return min(rates, default=Fraction(1))


def _weights(rates: Sequence[Fraction]) -> tuple[int, ...]:
    """Small integers in proportion to the rates, approximately."""
    ratios = [min(rate / min(rates), Fraction(_MOST_WEIGHT)) for rate in rates]
    common = lcm(*(ratio.denominator for ratio in ratios))
    if max(ratios) * common > _MOST_WEIGHT:
        return tuple(max(1, int(ratio)) for ratio in ratios)
    weights = [int(ratio * common) for ratio in ratios]
    return tuple(weight // gcd(*weights) for weight in weights)
