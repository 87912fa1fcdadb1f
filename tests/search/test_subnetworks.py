"""A collective within groups is no worse on the whole machine than on the nodes of each group."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import pytest

import syncoll
from syncoll import Frontier, Topology
from syncoll.api import collective, topology
from syncoll.model.groups import topology_within
from syncoll.symmetry.subnetwork import symmetric_subnetwork
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


def with_chord(nodes: int, chord: tuple[int, int], wide: int = 1) -> Topology:
    """A ring with one link more, and one link of a higher bandwidth."""
    links = {(i, (i + 1) % nodes): 1 for i in range(nodes)}
    links |= {(b, a): 1 for a, b in links} | {chord: 1, chord[::-1]: 1, (0, 1): wide, (1, 0): wide}
    return Topology.from_links(f"ring({nodes}) and a link", nodes, dict(sorted(links.items())))


def test_a_link_that_breaks_the_symmetry_makes_nothing_worse() -> None:
    """A seed that follows the links it is given has points of the ring, too."""
    less = syncoll.pareto("ring(9)", "allgather", backend="bfb")
    more = syncoll.pareto(with_chord(9, (2, 5)), "allgather", backend="bfb")
    assert less.points
    for point in less.points:
        least = cost(more, point.steps)
        assert least is not None
        assert least <= point.bandwidth


@pytest.mark.parametrize("wide", [1, 2])
def test_the_symmetric_subnetwork_of_a_ring_and_a_link(wide: int) -> None:
    whole, ring = with_chord(16, (3, 9), wide), topology("ring(16)")
    found = symmetric_subnetwork(whole, collective("allgather"))
    assert found is not None
    assert found.same_as(ring)


@pytest.mark.parametrize("name", ["ring(6)", "mesh(3,3)", "dgx1", "hub(4)", "line(5)"])
def test_machines_without_a_more_symmetric_subnetwork(name: str) -> None:
    assert symmetric_subnetwork(topology(name), collective("allgather")) is None


def test_bounds_of_a_subnetwork_are_not_logged_as_the_machine_s() -> None:
    class Seen(syncoll.Observer):
        bounds: ClassVar[list[Fraction]] = []

        def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
            self.bounds.append(bandwidth)

    found = syncoll.pareto(with_chord(8, (0, 4)), "alltoall", max_steps=4, progress=Seen())
    assert cost(found, 4) == Fraction(15, 16)
    proved = [one for one in found.log if one.kind == "proved"]
    own = [one.bandwidth for one in proved if one.collective == "alltoall"]
    assert own
    assert max(*own, *Seen.bounds) <= Fraction(15, 16)
    less = [one.bandwidth for one in proved if one.collective == "alltoall, sub-network"]
    assert max(less) == 1


def test_seeds_have_no_second_turn_after_optimal_whole_rounds() -> None:
    pair = Topology.from_links("pair", 2, {(0, 1): 1, (1, 0): 1}, grains=3)
    found = syncoll.pareto(pair, "allgather", max_chunks=1, work=4)
    assert [(point.steps, point.rounds) for point in found.points] == [(1, 1)]
    assert {engine.turns for engine in found.engines if engine.engine == "bfb"} == {1}


def test_whole_rounds_are_searched_first() -> None:
    links = {(i, (i + 1) % 5): 3 for i in range(5)} | {((i + 1) % 5, i): 1 for i in range(5)}
    whole = Topology.from_links("two speeds", 5, dict(sorted(links.items())))
    fine = Topology.from_links("two speeds", 5, dict(sorted(links.items())), grains=3)
    coarse = syncoll.pareto(whole, "allgather", max_chunks=2, work=4)
    found = syncoll.pareto(fine, "allgather", max_chunks=2, work=4)
    assert coarse.points
    for point in coarse.points:
        least = cost(found, point.steps)
        assert least is not None
        assert least <= point.bandwidth
    assert any(point.rounds % 1 for point in found)
