"""Trees on machines whose switches copy: a node's sends through one of them are one send."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from syncoll.model import BandwidthBound, Collective, Counting, Fabric, Topology
from syncoll.model.counting import bound_loads, links_together
from syncoll.plugins import SeedLimits
from syncoll.routing import as_topology
from syncoll.scheduling import Scheduled, StepTree, schedule_trees, waves_of_streams
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.packing import TreePacking
from syncoll.trust import require_valid
from syncoll.trust.families import require_family
from tests.scheduling.conftest import random_tree


def machine(nodes: int, switches: int, links: list[tuple[int, int, int]], copying: list[int]):
    fabric = Fabric.from_links("copying", nodes, switches, links, both_ways=True)
    return as_topology(replace(fabric, multicast=tuple(copying)))


def star(nodes: int) -> Topology:
    return machine(nodes, 1, [(v, nodes, 1) for v in range(nodes)], [nodes])


def leaves(count: int, below: int, *, copying: bool = True) -> Topology:
    """Leaves that copy under a spine that does not."""
    nodes = count * below
    links = [(v, nodes + v // below, 2) for v in range(nodes)]
    links += [(nodes + leaf, nodes + count, 1) for leaf in range(count)]
    return machine(nodes, count + 1, links, list(range(nodes, nodes + count)) if copying else [])


def in_a_row() -> Topology:
    """Two switches that copy, one behind the other."""
    links = [(0, 5, 2), (1, 5, 2), (5, 6, 1), (2, 6, 2), (3, 6, 2), (4, 6, 1)]
    return machine(5, 2, links, [5, 6])


def collective(nodes: int, root: int, needed: list[int] | None = None) -> Collective:
    ends = set(range(nodes)) if needed is None else {root, *needed}
    return Collective.from_relations(
        "to some",
        lambda _, c: c,
        lambda c, n, _p, _c: (c >= 0) & (n == root),
        lambda c, n, _p, _c: (c >= 0) & np.isin(n, sorted(ends)),
    )


def scheduled(topology: Topology, asked: Collective, trees: list[StepTree]) -> list[Scheduled]:
    found = list(schedule_trees(topology, asked, trees, SeedLimits(), (1, 2, 4)))
    for one in found:
        algorithm = one.algorithm
        instance = asked.instantiate(
            topology, chunks=one.chunks, steps=algorithm.steps, rounds=algorithm.rounds
        )
        require_valid(instance, algorithm)
    return found


def flat(nodes: int, root: int = 0) -> StepTree:
    return StepTree(root, 1, tuple((root, v) for v in range(nodes) if v != root))


def test_a_star_is_one_send() -> None:
    found = scheduled(star(6), collective(6, 0), [flat(6)])
    best = min(found, key=lambda one: one.algorithm.steps)
    assert (best.algorithm.steps, best.algorithm.rounds, best.chunks) == (1, 1, 1)
    assert len(best.algorithm.sends) == 5
    plain = scheduled(star(6).conservative, collective(6, 0), [flat(6)])
    assert min(one.algorithm.rounds for one in plain) == 5


def test_unneeded_copies_are_not_sent() -> None:
    (one,) = scheduled(star(6), collective(6, 0, [2, 4]), [flat(6)])
    assert sorted(one.algorithm.sends[:, 2].tolist()) == [2, 4]
    assert one.algorithm.rounds == 1


def test_links_of_a_node_that_share_a_copying_cable_go_together() -> None:
    topology = in_a_row()
    group = links_together(topology, Counting.SOURCES)
    names = defaultdict(set)
    for (a, _), number in zip(topology.links, group.tolist(), strict=True):
        names[a].add(number)
    assert all(len(numbers) == 1 for numbers in names.values())
    assert len(set.union(*names.values())) == topology.num_nodes
    assert set(links_together(star(3).conservative, Counting.SOURCES).tolist()) == {-1}


def test_behind_a_switch_that_forwards_each_copy_counts() -> None:
    """From leaf to leaf the spine's cable carries one copy for each node, unless the tree goes
    there once."""
    topology = leaves(2, 3)
    straight = scheduled(topology, collective(6, 0), [flat(6)])
    assert min(Fraction(x.algorithm.rounds, x.chunks) for x in straight) == 3
    relayed = StepTree(0, 1, ((0, 1), (0, 2), (0, 3), (3, 4), (3, 5)))
    found = scheduled(topology, collective(6, 0), [relayed])
    assert min(x.algorithm.steps for x in found) == 2
    few = min(Fraction(x.algorithm.rounds, x.chunks) for x in found)
    assert few < Fraction(3, 2)


def test_bounds_on_copies_and_on_sends_of_the_same_links() -> None:
    links = ((0, 1), (0, 2))
    bounds = (
        BandwidthBound(links, Fraction(1), "copies", Counting.SOURCES),
        BandwidthBound(links, Fraction(3), "sends"),
        BandwidthBound(links, Fraction(4), "wider"),
    )
    sets = LinkSets(Topology("both", 3, links, bounds), 10, {2: (0, 1)})
    assert sets.size == 2
    assert sets.rounds(sets.load(np.array([2]), np.array([3]))) == 3
    assert sets.rounds(sets.load(np.array([0, 1]), np.array([3, 3]))) == 6
    narrow = replace(bounds[1], chunks_per_round=Fraction(1, 2))
    sets = LinkSets(Topology("both", 3, links, (bounds[0], narrow)), 10, {2: (0, 1)})
    assert sets.rounds(sets.load(np.array([2]), np.array([3]))) == 12


@pytest.mark.parametrize("topology", [star(4), leaves(2, 2), leaves(3, 2), in_a_row()])
def test_random_trees_need_the_rounds_of_the_bounds(topology: Topology) -> None:
    """Schedules need exactly their claimed rounds; sends through a copying switch go at once."""
    nodes = topology.num_nodes
    group = links_together(topology, Counting.SOURCES)
    for seed in range(12):
        random = Random(seed)
        root = random.randrange(nodes)
        trees = [random_tree(random, topology, root) for _ in range(random.randint(1, 3))]
        needed = random.sample(range(nodes), random.randint(1, nodes))
        if set(needed) <= {root}:
            continue
        for one in scheduled(topology, collective(nodes, root, needed), trees):
            algorithm = one.algorithm
            loads = bound_loads(topology, algorithm)
            least = [
                max(
                    -(-int(load) // bound.chunks_per_round)
                    for bound, load in zip(topology.bounds, loads[:, step], strict=True)
                )
                for step in range(algorithm.steps)
            ]
            assert list(algorithm.rounds_per_step) == [max(1, rounds) for rounds in least]
            steps: dict[tuple[int, int], set[int]] = defaultdict(set)
            for chunk, a, b, step in algorithm.sends.tolist():
                number = int(group[topology.link_index[a, b]])
                if number >= 0:
                    steps[chunk, number].add(step)
            assert all(len(found) == 1 for found in steps.values())


def test_waves_of_copies_are_a_family() -> None:
    topology = leaves(3, 2)
    asked = collective(6, 0)
    tree = StepTree(0, 1, ((0, 1), (0, 2), (2, 3), (2, 4), (4, 5)))
    packing = TreePacking(topology, [tree])
    streams = packing.deal(asked.tabulate(6, 2))
    family = waves_of_streams(topology, asked, streams, 2)
    assert family is not None
    require_family(family)
    assert family.limit == 1
