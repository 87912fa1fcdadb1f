"""Bounds that are known from the literature or by a short argument."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from syncoll.bounding import rounds_bound
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.relaxation import Relaxation, RelaxationKind
from syncoll.certificates import demands
from syncoll.model import Collective, Topology
from tests.oracles.classics import (
    allgather,
    alltoall,
    broadcast,
    bus,
    dgx1,
    gather,
    hub,
    line,
    one_way_ring,
    ring,
    scatter,
)

F = Fraction

KNOWN = [
    # The SCCL paper, tables 4 and 5; dgx1's allgather and gather by the cut around one node.
    (dgx1(), allgather(), None, 1, F(7, 6)),
    (dgx1(), allgather(), 2, 1, F(3, 2)),
    (dgx1(), allgather(), 3, 1, F(7, 6)),
    (dgx1(), gather(), None, 1, F(7, 6)),
    (dgx1(), gather(), 2, 1, F(3, 2)),
    (dgx1(), alltoall(), None, 8, F(1, 3)),
    (dgx1(), broadcast(), None, 1, F(1, 6)),
    (dgx1(), broadcast(), 2, 1, F(1)),
    (dgx1(), broadcast(), 3, 1, F(1, 2)),
    (dgx1(), broadcast(), 4, 1, F(1, 3)),
    (dgx1(), broadcast(), 5, 1, F(5, 18)),
    (ring(8), allgather(), None, 1, F(7, 2)),
    (ring(8), gather(), None, 1, F(7, 2)),
    (ring(8), alltoall(), None, 8, F(1)),
    (ring(8), broadcast(), None, 1, F(1, 2)),
    # Each node has one port of bandwidth 1 in, or all share one bus.
    (hub(5), allgather(), None, 1, F(4)),
    (hub(5), scatter(), None, 1, F(4)),
    (hub(5), broadcast(), None, 1, F(1)),
    (bus(5), allgather(), None, 1, F(20)),
    (bus(5), broadcast(), None, 1, F(4)),
    (bus(4), alltoall(), None, 4, F(3)),
    # The first and the last link of a line carry all data.
    (line(5), allgather(), None, 1, F(4)),
    (line(5), broadcast(2), None, 1, F(1)),
    (one_way_ring(4), allgather(), None, 1, F(3)),
    (ring(6, F(3, 2)), allgather(), None, 1, F(5, 3)),
    (one_way_ring(3, F(2, 3)), broadcast(), None, 1, F(3, 2)),
]


def name_of(case: object) -> str:
    return getattr(case, "name", str(case))


@pytest.mark.parametrize(("topology", "collective", "steps", "chunks", "cost"), KNOWN, ids=name_of)
def test_known_bound(
    topology: Topology, collective: Collective, steps: int | None, chunks: int, cost: Fraction
) -> None:
    needs = demands(collective.tabulate(topology.num_nodes, chunks))
    bound = rounds_bound(topology, needs, steps)
    assert bound.rounds / chunks == cost
    assert bound.steps in (steps, None)
    assert bound.method in ("prices", "cut")
    assert bound.certificate is not None
    assert bound.certificate.check(topology, needs) == bound.rounds


@pytest.mark.parametrize(("topology", "collective", "steps", "chunks", "cost"), KNOWN, ids=name_of)
def test_the_bound_is_the_optimum_of_the_best_relaxation(
    topology: Topology, collective: Collective, steps: int | None, chunks: int, cost: Fraction
) -> None:
    """The exact certificate proves the optimum of the linear program in floats."""
    needs = demands(collective.tabulate(topology.num_nodes, chunks))
    network = TimeExpandedNetwork.of(topology, steps)
    optima = []
    for kind in RelaxationKind:
        solved = Relaxation(network, needs, kind).solve()
        assert solved is not None
        value, certificate, _ = solved
        exact = Fraction(value).limit_denominator(5000)
        assert abs(float(exact) - value) < 1e-9
        assert certificate.check(topology, needs) == exact
        optima.append(exact)
    assert max(optima) == cost * chunks
    assert rounds_bound(topology, needs, steps).rounds == max(optima)


def test_more_chunks_scale_the_bound() -> None:
    for chunks in (1, 2, 5):
        needs = demands(allgather().tabulate(8, chunks))
        assert rounds_bound(dgx1(), needs, 2).rounds == F(3, 2) * chunks


class TestSeveralSources:
    """Chunks that start at more than one node; the bound must allow the best one."""

    def bound(self, topology: Topology, pre: list[list[int]], post: list[list[int]]) -> Fraction:
        collective = Collective.from_arrays("many", np.array(pre) > 0, np.array(post) > 0)
        return rounds_bound(topology, demands(collective.tabulate(topology.num_nodes, 1))).rounds

    def test_from_both_ends_of_a_line(self) -> None:
        # Half of the chunks can enter from either side, each then passing both nodes.
        assert self.bound(line(4), [[1, 0, 0, 1]] * 3, [[0, 1, 1, 0]] * 3) == F(3, 2)
        assert self.bound(line(4), [[1, 0, 0, 0]] * 3, [[0, 1, 1, 0]] * 3) == 3
        assert self.bound(line(4), [[1, 0, 0, 1]] * 3, [[0, 1, 0, 0]] * 3) == F(3, 2)
        assert self.bound(line(4), [[1, 0, 0, 0]] * 3, [[0, 1, 0, 0]] * 3) == 3

    def test_a_source_that_cannot_get_there_is_no_help(self) -> None:
        topology = Topology.from_links("y", 3, {(0, 1): 1, (1, 2): 1})
        assert self.bound(topology, [[1, 0, 1]] * 2, [[0, 1, 0]] * 2) == 2

    def test_mixed_demands_share_the_links(self) -> None:
        # One chunk can only come from node 0, two from either side of node 1.
        pre = [[1, 0, 0], [1, 0, 1], [1, 0, 1]]
        assert self.bound(line(3), pre, [[0, 1, 0]] * 3) == F(3, 2)

    def test_chunks_in_place_cost_nothing(self) -> None:
        assert self.bound(line(3), [[1, 1, 1]], [[1, 1, 1]]) == 0
        assert self.bound(line(3), [[1, 1, 0]], [[1, 1, 1]]) == 1
