"""Removing, bypassing and merging switches keeps cuts, by brute force over all of them."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from syncoll.model import Fabric
from syncoll.routing import bottleneck, route
from syncoll.routing.merging import merge_switches
from syncoll.routing.network import Network
from syncoll.routing.optimality import network_of
from syncoll.routing.reduction import is_feasible
from syncoll.routing.retention import keeps_rate
from syncoll.routing.shortest import shortest_routes
from syncoll.routing.switch_removal import (
    bypass_transit,
    remove_by_leaves,
    remove_switch,
    remove_switches,
)
from tests.oracles.fabrics import fat_tree

from .conftest import Cuts, Model

_MANY = 1 << 20


def scaled(fabric: Fabric, parts: int = 3) -> Network:
    """The network at the optimal throughput, with `parts` units for each tree."""
    optimum = bottleneck(fabric)
    scale = optimum.scale * parts
    return network_of(fabric, [optimum.k * parts] * fabric.num_nodes, lambda b: int(b * scale))


def check_cuts(network: Network, nodes: int, cuts: Cuts) -> None:
    """Checks that every set of nodes can still send its data, and that the optimum is tight."""
    links = {(u, v): Fraction(units) for u, v, units in network.links()}
    found = cuts.of(nodes, network.num_vertices, links)
    assert all(leaving >= sum(network.demand[v] for v in s) for s, leaving in found.items())
    assert any(leaving == sum(network.demand[v] for v in s) for s, leaving in found.items())


def check_pieces(network: Network, before: dict[tuple[int, int], int]) -> None:
    """Checks that paths run along the first network's links, within their capacities."""
    used: dict[tuple[int, int], int] = defaultdict(int)
    for (u, v), pieces in network.pieces.items():
        assert network.out[u][v] == sum(units for _, units in pieces)
        for path, units in pieces:
            assert (path[0], path[-1]) == (u, v)
            for ends in pairwise(path):
                used[ends] += units
    assert all(units <= before[ends] for ends, units in used.items())


@pytest.mark.parametrize("guess", [True, False])
def test_removing_all_switches(fabrics: list[Fabric], guess: bool, cuts: Cuts) -> None:
    for fabric in fabrics:
        network = scaled(fabric)
        before = {(u, v): units for u, v, units in network.links()}
        check_cuts(network, fabric.num_nodes, cuts)
        remove_switches(network, guess=guess)
        assert not network.switches()
        check_cuts(network, fabric.num_nodes, cuts)
        check_pieces(network, before)


def leaf_spine(rng: Random, most: int) -> Fabric:
    """Leaves of up to `most` nodes, under two spines."""
    sizes = [rng.randint(2, most) for _ in range(rng.randint(2, 3))]
    nodes, links, ends = sum(sizes), [], iter(range(sum(sizes)))
    for i, size in enumerate(sizes):
        links += [(next(ends), nodes + i, rng.randint(1, 2)) for _ in range(size)]
        links += [(nodes + i, nodes + len(sizes) + j, rng.randint(1, 3)) for j in range(2)]
    return Fabric.from_links("leaves", nodes, len(sizes) + 2, links, both_ways=True)


def test_removing_switches_leaf_by_leaf(fabrics: list[Fabric], cuts: Cuts) -> None:
    rng, done = Random(2), 0
    for fabric in [*fabrics, *(leaf_spine(rng, 3) for _ in range(40))]:
        network = scaled(fabric)
        before = {(u, v): units for u, v, units in network.links()}
        groups = remove_by_leaves(network)
        if groups is None:
            assert before == {(u, v): units for u, v, units in network.links()}
            continue
        assert not network.switches()
        check_cuts(network, fabric.num_nodes, cuts)
        check_pieces(network, before)
        done += 1
    assert done > 20


def test_removing_switches_one_by_one(fabrics: list[Fabric], cuts: Cuts) -> None:
    for seed, fabric in enumerate(fabrics[:40]):
        network = scaled(fabric)
        before = {(u, v): units for u, v, units in network.links()}
        for switch in Random(seed).sample(network.switches(), len(network.switches())):
            remove_switch(network, switch)
            assert switch not in network.switches()
            check_cuts(network, fabric.num_nodes, cuts)
            check_pieces(network, before)
            assert is_feasible(network)


def test_bypassing_transit_traffic(fabrics: list[Fabric], cuts: Cuts) -> None:
    done = 0
    for fabric in fabrics:
        network = scaled(fabric, 12)
        before = {(u, v): units for u, v, units in network.links()}
        for switch in network.switches():
            untouched = {(u, v): units for u, v, units in network.links()}
            if bypass_transit(network, switch):
                done += untouched != {(u, v): units for u, v, units in network.links()}
            else:
                assert untouched == {(u, v): units for u, v, units in network.links()}
            check_cuts(network, fabric.num_nodes, cuts)
            check_pieces(network, before)
    assert done > 5


def test_merging_changes_no_cut(cuts: Cuts) -> None:
    """Switches with the same neighbours, in the same proportions: one of twice the width."""
    random = Random(7)
    for _ in range(20):
        nodes = random.randint(2, 4)
        widths = [random.randint(1, 5) for _ in range(nodes)]
        links = [
            (v, nodes + s, Fraction(width * factor, 2))
            for s, factor in enumerate((1, 2, 3))
            for v, width in enumerate(widths)
        ]
        links.append((0, 1, Fraction(1)))
        fabric = Fabric.from_links("sides", nodes, 3, links, both_ways=True)
        merged = merge_switches(fabric)
        assert dict(merged.members) == {
            nodes: (
                (nodes, Fraction(1, 6)),
                (nodes + 1, Fraction(1, 3)),
                (nodes + 2, Fraction(1, 2)),
            )
        }
        assert cuts.of(nodes, nodes + 3, merged.fabric.bandwidths) == cuts.of(
            nodes, nodes + 3, fabric.bandwidths
        )
        for path in [(0, nodes, 1), (1, 0)]:
            shares = dict(merged.expand(path))
            assert sum(shares.values()) == 1
            assert len(shares) == (3 if len(path) == 3 else 1)


def test_switches_that_differ_are_not_merged() -> None:
    links = [(0, 2, 1), (1, 2, 2), (0, 3, 2), (1, 3, 1)]
    assert not merge_switches(Fabric.from_links("sides", 2, 2, links, both_ways=True)).members


def test_the_roots_of_a_fat_tree_are_merged() -> None:
    merged = merge_switches(fat_tree(3, 4))
    assert merged.members.keys() == {12 + 4}
    assert route(fat_tree(3, 4)).removed == ()


def test_whether_routes_keep_the_rate(fabrics: list[Fabric], model: Model, cuts: Cuts) -> None:
    """Against a linear program over trees, on shortest routes alone, which often lose."""
    answers = {True: 0, False: 0}
    for fabric in fabrics:
        routes = shortest_routes(fabric.num_nodes, fabric.num_vertices, fabric.bandwidths, _MANY)
        assert routes is not None
        if routes.partings:
            continue
        routing = route(fabric)
        rate = cuts.rate(fabric)
        answer = keeps_rate(fabric.num_nodes, fabric.bandwidths, routes.paths, rate)
        answers[answer] += 1
        assert answer is (not routing.removed)
        # A rate that is certainly out of reach, and one that is certainly within reach.
        assert not keeps_rate(fabric.num_nodes, fabric.bandwidths, routes.paths, rate * 2)
        least = min(fabric.bandwidths[e] for e in fabric.bandwidths) / fabric.num_nodes**3
        assert keeps_rate(fabric.num_nodes, fabric.bandwidths, routes.paths, least)
    assert min(answers.values()) > 10
