"""Packing: weighted trees, what they cost, and why nothing is cheaper, all in exact rationals.

Everything about a packing can be counted again without the program that found it: that its trees
are trees, what they load each row with, and what its certificate proves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm

from syncoll.errors import VerificationError
from syncoll_treepacking.certificate import Certificate
from syncoll_treepacking.oracle import Column, Oracle

__all__ = ["PackedTree", "Packing", "packing_cost"]


@dataclass(frozen=True)
class PackedTree:
    """A tree of a packing.

    Args:
        weight: the part of all data that it carries.
        tree: which links it uses.
    """

    weight: Fraction
    tree: Column


@dataclass(frozen=True, eq=False)
class Packing:
    """Trees that carry one unit of data together.

    Args:
        oracle: what they are packed into.
        trees: with weights above 0 that add up to the share of each group.
        cost: C, the time for one unit of data: the most that a row carries for its capacity.
        bound: what the certificate proves; no packing costs less.
        certificate: why.
        programs: how many linear programs were solved.
        pool: every tree that was generated.
        seconds: how long it took.
    """

    oracle: Oracle
    trees: tuple[PackedTree, ...]
    cost: Fraction
    bound: Fraction
    certificate: Certificate
    programs: int
    pool: tuple[Column, ...]
    seconds: float

    @property
    def is_optimal(self) -> bool:
        """Whether the certificate proves that nothing is cheaper."""
        return self.cost == self.bound

    @property
    def rate(self) -> Fraction:
        """Data per unit of time: 1 / C."""
        return 1 / self.cost

    @property
    def loads(self) -> tuple[Fraction, ...]:
        """What each row carries for one unit of data."""
        return _loads(self.oracle, [t.tree for t in self.trees], [t.weight for t in self.trees])

    def verify(self) -> None:
        """Counts everything again.

        Raises:
            VerificationError: when a tree is not one, the weights do not add up, or the cost or the
                bound is not what is claimed.
        """
        for packed in self.trees:
            _require_tree(self.oracle, packed.tree)
        columns = [packed.tree for packed in self.trees]
        cost = packing_cost(self.oracle, columns, [packed.weight for packed in self.trees])
        if cost != self.cost:
            raise VerificationError(f"the packing costs {cost}, not {self.cost}")
        bound = self.certificate.check(self.oracle)
        if bound != self.bound:
            raise VerificationError(f"the certificate proves {bound}, not {self.bound}")


def _loads(
    oracle: Oracle, columns: Sequence[Column], weights: Sequence[Fraction]
) -> tuple[Fraction, ...]:
    """What each row carries."""
    used = [(tree, weight) for tree, weight in zip(columns, weights, strict=True) if weight]
    common = lcm(*(weight.denominator for _, weight in used))
    on_link = [0] * len(oracle.system.ends)
    for tree, weight in used:
        whole = weight.numerator * (common // weight.denominator)
        for link in tree.links:
            on_link[link] += whole
    total = [0] * oracle.system.num_rows
    for load, use in zip(on_link, oracle.system.uses, strict=True):
        for row, times in use:
            total[row] += times * load
    return tuple(Fraction(load, common) for load in total)


def packing_cost(
    oracle: Oracle, columns: Sequence[Column], weights: Sequence[Fraction]
) -> Fraction:
    """C: the most that a row carries for its capacity.

    Args:
        oracle: what the trees are packed into.
        columns: the trees.
        weights: the part of all data that each carries.

    Raises:
        VerificationError: when the weights of a group do not add up to its share, or one is
            negative.
    """
    for group, share in enumerate(oracle.shares):
        pairs = zip(columns, weights, strict=True)
        mine = [weight for tree, weight in pairs if tree.group == group and weight]
        if any(weight < 0 for weight in mine) or _sum(mine) != share:
            raise VerificationError(f"weights of group {group} add up to {_sum(mine)}, not {share}")
    loads = _loads(oracle, columns, weights)
    return max(x / c for x, c in zip(loads, oracle.system.capacities, strict=True))


def _sum(values: Sequence[Fraction]) -> Fraction:
    common = lcm(*(value.denominator for value in values))
    return Fraction(sum(v.numerator * (common // v.denominator) for v in values), common)


def _require_tree(oracle: Oracle, column: Column) -> None:
    """Checks that a column is a tree that spans the compute nodes, along links that exist.

    Raises:
        VerificationError: saying why it is not one.
    """
    system = oracle.system
    number = system.link_numbers
    used: list[int] = []
    root = oracle.roots[column.group]
    for route in column.routes:
        if any(v < system.num_nodes for v in route[1:-1]):
            raise VerificationError(f"route {route} passes through a compute node")
        for u, v in pairwise(route):
            link = number.get((u, v), None if system.directed else number.get((v, u)))
            if link is None:
                raise VerificationError(f"route {route} uses ({u}, {v}), which is not a link")
            used.append(link)
    if tuple(sorted(used)) != column.links:
        raise VerificationError("the links of a tree are not those of its routes")
    leader = list(range(system.num_nodes))

    def head(node: int) -> int:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for route in column.routes:
        a, b = head(route[0]), head(route[-1])
        if a == b:
            raise VerificationError(f"route {route} closes a cycle")
        leader[a] = b
    if len(column.routes) != system.num_nodes - 1:
        raise VerificationError("a tree does not span all nodes")
    if root is not None and sorted(r[-1] for r in column.routes) != [
        node for node in range(system.num_nodes) if node != root
    ]:
        raise VerificationError(f"a tree does not lead away from node {root}")
