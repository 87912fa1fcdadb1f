from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import pytest

from syncoll.linear import LinearProgram
from syncoll.model import Fabric, Topology
from tests.oracles.fabrics import random_fabric

INFINITY = float("inf")


class Rows:
    """A linear program, entry by entry: maximise one variable."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, terms: Mapping[int, float], low: float, high: float) -> None:
        self.entries += [(len(self.low), column, value) for column, value in terms.items()]
        self.low.append(low)
        self.high.append(high)

    def most(self, objective: Mapping[int, float], columns: int) -> float:
        costs = np.zeros(columns)
        for column, value in objective.items():
            costs[column] = -value
        rows, places, values = (list(x) for x in zip(*self.entries, strict=True))
        optimum = LinearProgram(
            costs,
            np.array(rows, dtype=np.int64),
            np.array(places, dtype=np.int64),
            np.array(values, dtype=np.float64),
            np.array(self.low),
            np.array(self.high),
        ).minimise_unreduced()
        assert optimum is not None
        return -optimum.value


class Model:
    """The loads that B allows, by its definition: sums of sends over link sets."""

    @staticmethod
    def most_sent(topology: Topology, worth: Mapping[tuple[int, int], Fraction]) -> float:
        """The largest total worth of sends in one round that B allows."""
        number = {link: i for i, link in enumerate(topology.links)}
        rows = Rows()
        for bound in topology.bounds:
            terms = dict.fromkeys((number[link] for link in bound.links), 1.0)
            rows.add(terms, 0.0, float(bound.chunks_per_round))
        objective = {number[link]: float(value) for link, value in worth.items()}
        return rows.most(objective, len(number))

    @staticmethod
    def broadcast_rate(topology: Topology) -> float:
        """The rate at which all nodes can broadcast at once, however many steps it takes.

        For each root, capacities on the links that carry a flow of the rate to every other node:
        they carry trees of that rate (Edmonds).  Together they obey B.
        """
        links, nodes = topology.links, topology.num_nodes
        number = {link: i for i, link in enumerate(links)}
        many = len(links)
        pairs = [(r, d) for r in range(nodes) for d in range(nodes) if r != d]
        rate = nodes * many + len(pairs) * many
        rows = Rows()
        for bound in topology.bounds:
            used = {r * many + number[link]: 1.0 for r in range(nodes) for link in bound.links}
            rows.add(used, 0.0, float(bound.chunks_per_round))
        for i, (root, end) in enumerate(pairs):
            first = nodes * many + i * many
            for j in range(many):
                rows.add({first + j: 1.0, root * many + j: -1.0}, -INFINITY, 0.0)
            for node in range(nodes):
                if node != root:
                    terms = {first + j: 1.0 for j, link in enumerate(links) if link[1] == node}
                    terms |= {first + j: -1.0 for j, link in enumerate(links) if link[0] == node}
                    rows.add(terms | ({rate: -1.0} if node == end else {}), 0.0, 0.0)
        return rows.most({rate: 1.0}, rate + 1)


@pytest.fixture
def model() -> Model:
    return Model()


class Cuts:
    """The bandwidth out of sets of compute nodes, with each switch on its better side."""

    @staticmethod
    def of(
        num_nodes: int, num_vertices: int, links: Mapping[tuple[int, int], Fraction]
    ) -> dict[frozenset[int], Fraction]:
        found: dict[frozenset[int], Fraction] = {}
        switches = range(num_nodes, num_vertices)
        for inside in subsets(range(num_nodes)):
            if 0 < len(inside) < num_nodes:
                found[inside] = min(
                    sum((b for (u, v), b in links.items() if u in s and v not in s), Fraction(0))
                    for s in (inside | extra for extra in subsets(switches))
                )
        return found

    @classmethod
    def rate(cls, fabric: Fabric) -> Fraction:
        """The rate at which all nodes can broadcast at once (ForestColl paper, equation 1)."""
        cuts = cls.of(fabric.num_nodes, fabric.num_vertices, fabric.bandwidths)
        return min(leaving / len(inside) for inside, leaving in cuts.items())


def subsets(items: Collection[int]) -> list[frozenset[int]]:
    return [frozenset(x) for n in range(len(items) + 1) for x in combinations(items, n)]


@pytest.fixture
def cuts() -> Cuts:
    return Cuts()


def some_fabrics(first: int, count: int, most_nodes: int) -> list[Fabric]:
    """Random fabrics, half of them irregular."""
    found: list[Fabric] = []
    seed = first
    while len(found) < count:
        fabric = random_fabric(Random(seed), irregular=bool(seed % 2))
        if fabric.num_nodes <= most_nodes:
            found.append(fabric)
        seed += 1
    return found


@pytest.fixture
def fabrics() -> list[Fabric]:
    """Eighty of up to four compute nodes and four switches."""
    return some_fabrics(0, 80, 4)
