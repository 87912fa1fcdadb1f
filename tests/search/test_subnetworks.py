"""A collective within groups is no worse on the whole machine than on the nodes of each group."""

from __future__ import annotations

from fractions import Fraction

import pytest

import syncoll
from syncoll import Frontier, Topology
from syncoll.model.groups import topology_within
from syncoll.trust import violations

# A ring of five nodes and a line of three, with slow links between them.
RING = {(i, (i + 1) % 5): 2 for i in range(5)} | {((i + 1) % 5, i): 1 for i in range(5)}
LINE = {(5, 6): 1, (6, 5): 1, (6, 7): 3, (7, 6): 3}
BETWEEN = {(0, 5): 1, (5, 0): 1, (3, 7): 1, (7, 3): 1}
WHOLE = Topology.from_links("ring and line", 8, dict(sorted((RING | LINE | BETWEEN).items())))
GROUPS = (0, 1, 2, 3, 4), (7, 6, 5)


def cost(found: Frontier, steps: int) -> Fraction | None:
    return min((p.bandwidth for p in found.points if p.steps <= steps), default=None)


@pytest.mark.parametrize("name", ["allgather", "reducescatter", "allreduce"])
def test_groups_are_searched_on_their_own_nodes(name: str) -> None:
    text = "[" + ",".join("[" + ",".join(map(str, group)) + "]" for group in GROUPS) + "]"
    whole = syncoll.pareto(WHOLE, f"{name} within {text}", backend="bfb")
    alone = [syncoll.pareto(topology_within(WHOLE, group), name, backend="bfb") for group in GROUPS]
    assert all(one.points for one in alone)
    for point in whole.points:
        assert not violations(point.instance, point.algorithm)
    for steps in {point.steps for one in alone for point in one.points}:
        costs = [cost(one, steps) for one in alone]
        if None not in costs:
            least = cost(whole, steps)
            assert least is not None
            assert least <= max(one for one in costs if one is not None)


def test_groups_with_different_collectives_share_a_switch() -> None:
    """Rounds count all groups, which send through the same bounds."""
    found = syncoll.pareto("bus(5)", "2 * allgather within [[0,1]] + gather within [[4,2,3]]")
    assert found.points
    # Two units each way, and one from each of two nodes.
    assert found.least_bandwidth == cost(found, 99) == 6


def test_groups_that_need_other_nodes_are_searched_whole() -> None:
    found = syncoll.pareto("ring(4)", "allgather within [[0,2],[1,3]]", max_steps=2)
    assert cost(found, 2) == found.least_bandwidth == 1
