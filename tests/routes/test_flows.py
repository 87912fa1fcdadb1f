"""Routes from flows: whole, and as good as the best division over ways."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import syncoll
from syncoll.bounding import rounds_bound
from syncoll.certificates import ChunkClasses, DemandView
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.testing.instances import connected_topology
from syncoll_routes.flows import Flows


@pytest.mark.parametrize("to_few", [False, True])
def test_routes_meet_the_bound(to_few: bool) -> None:
    rng = random.Random(8 + to_few)
    for _ in range(6):
        topology = connected_topology(rng, 6)
        nodes = topology.num_nodes
        sizes = np.zeros((nodes, nodes), dtype=int)
        for a in range(nodes):
            for b in range(2 if to_few else nodes):
                sizes[a, b] = rng.randint(0, 9) * (a != b)
        sizes[0, 1] += 1
        pairs = np.argwhere(sizes)
        amounts = sizes[pairs[:, 0], pairs[:, 1]] * 60
        found = Flows(topology, pairs).routes(amounts, Deadline.after(20))
        assert found is not None
        load = Counter[tuple[int, int]]()
        for pair, amount, row in zip(found.pair, found.amount, found.links, strict=True):
            way = [topology.links[i] for i in row[row >= 0]]
            assert [a for a, _ in way] + [way[-1][1]] == [pairs[pair, 0]] + [b for _, b in way]
            assert way[-1][1] == pairs[pair, 1]
            assert len({a for a, _ in way}) == len(way)
            for link in way:
                load[link] += amount
        assert np.bincount(found.pair, found.amount).tolist() == amounts.tolist()
        fullest = max(
            Fraction(sum(load[link] for link in bound.links)) / bound.chunks_per_round
            for bound in topology.bounds
        )
        assert float(fullest) == pytest.approx(found.rounds)
        assert bound_of(topology, sizes) * 60 <= fullest <= bound_of(topology, sizes) * 61


def bound_of(topology: Topology, sizes: np.ndarray) -> Fraction:
    """A lower bound on any division over ways."""
    table = syncoll.collective("alltoallv", sizes).table_on(topology, 1)
    needs = ChunkClasses.of(table, 1).demands(DemandView.MOVING)
    return rounds_bound(topology, needs, seconds=5).rounds


def test_a_flow_that_was_solved_serves_multiples() -> None:
    topology = syncoll.topology("torus(3,3)")
    pairs = np.array([(0, 4), (0, 8), (5, 1)])
    flows = Flows(topology, pairs)
    once = flows.routes(np.array([30, 10, 20]), Deadline.after(20))
    many = flows.routes(np.array([90, 30, 60]), Deadline.after(0))
    assert once is not None
    assert many is not None
    assert many.rounds == pytest.approx(3 * once.rounds, rel=0.1)
