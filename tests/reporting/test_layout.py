"""Nodes and switches have distinct, reproducible places that follow from links, not names."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import syncoll
from syncoll.model import Fabric, Topology
from syncoll.reporting.layout import lay_out
from syncoll.reporting.switches import cabled, cables_entry
from syncoll.routing import as_topology

from .conftest import unpacked

KINDS = {
    "torus(4,4)": "a torus of 4 x 4",
    "torus(2,3,4)": "a torus of 2 x 3 x 4",
    "mesh(3,5)": "a mesh of 3 x 5",
    "hypercube(5)": "a hypercube of 5 dimensions",
    "ring(8)": "a circle",
    "dgx1": "a circle",
    "a100(boxes=2)": "2 boxes",
    "mi250(boxes=2)": "2 boxes",
    "dgx_h100(boxes=4)": "4 boxes",
    "fat_tree(8)": "8 boxes",
    "slim_fly(5)": "springs",
}


@pytest.mark.parametrize("name", KINDS)
def test_structure_is_recognised_without_the_name(name: str) -> None:
    known = syncoll.topology(name)
    topology = Topology("x", known.num_nodes, known.links, known.bounds, fabric=known.fabric)
    found, again = lay_out(topology), lay_out(topology)
    assert found.kind == KINDS[name]
    assert np.array_equal(found.places, again.places)
    assert found.places.shape == (known.num_nodes, 2)
    assert found.bends.shape == (len(known.links),)
    apart = np.linalg.norm(found.places[:, None] - found.places[None], axis=-1)
    assert (apart + np.eye(known.num_nodes)).min() > 0.2, "no two nodes in one place"
    if found.boxes:
        assert sorted(n for box in found.boxes for n in box) == list(range(known.num_nodes))


def test_both_directions_of_a_link_are_distinct() -> None:
    topology = syncoll.topology("torus(4,4)")
    layout = lay_out(topology)
    middles = set()
    for i, ((a, b), bend) in enumerate(zip(topology.links, layout.bends, strict=True)):
        if i in layout.broken:
            continue
        way = layout.places[b] - layout.places[a]
        right = np.array([-way[1], way[0]]) / np.linalg.norm(way)
        middle = (layout.places[a] + layout.places[b]) / 2 + bend * right
        middles.add(tuple(np.round(middle, 3)))
    assert len(middles) == len(topology.links) - len(layout.broken)


def test_grid_with_a_changed_link_is_not_recognised() -> None:
    torus = syncoll.topology("torus(4,4)")
    wires = dict.fromkeys(torus.links, 1)
    fewer = {link: 1 for link in torus.links if link not in ((5, 6), (6, 5))}
    for links in (fewer, {**wires, (0, 5): 1}):
        assert "torus" not in lay_out(Topology.from_links("x", 16, links)).kind


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_few_nodes(nodes: int) -> None:
    links = {(a, b): 1 for a in range(nodes) for b in range(nodes) if a != b}
    assert lay_out(Topology.from_links("few", nodes, links)).places.shape == (nodes, 2)


MACHINES = ["dgx_h100(boxes=2)", "a100(boxes=2)", "mi300x(boxes=2)", "dgx_h100(boxes=4)"]


@pytest.mark.parametrize("name", [*MACHINES, "fat_tree(8)", "p2_16xlarge", "nvl72"])
def test_switches_have_places_of_their_own(name: str) -> None:
    topology = syncoll.topology(name)
    assert cabled(topology) is not None
    layout = lay_out(topology, switched=True)
    assert topology.fabric is not None
    assert len(layout.switches) == topology.fabric.num_switches
    every = np.vstack([layout.places, layout.switches])
    apart = np.linalg.norm(every[:, None] - every[None], axis=-1)
    assert (apart + np.eye(len(every))).min() > 0.3
    for box, frame in zip(layout.boxes, layout.frames, strict=True):
        assert frame[: len(box)] == box
        assert all(vertex >= topology.num_nodes for vertex in frame[len(box) :])


@pytest.mark.parametrize("name", MACHINES)
def test_second_column_of_boxes_mirrors_the_first(name: str) -> None:
    layout = lay_out(syncoll.topology(name), switched=True)
    middle = layout.places[:, 0].min() + np.ptp(layout.places[:, 0]) / 2
    for left, right in zip(layout.boxes[::2], layout.boxes[1::2], strict=True):
        own, other = layout.places[list(left)], layout.places[list(right)]
        assert np.allclose(own[:, 0] - middle, middle - other[:, 0])
        assert np.allclose(own[:, 1], other[:, 1])


def test_network_cards_belong_to_their_boxes() -> None:
    layout = lay_out(syncoll.topology("a100(boxes=2)"), switched=True)
    assert layout.frames[0] == (*range(8), 16, *range(18, 26))
    assert layout.frames[1] == (*range(8, 16), 17, *range(26, 34))


@pytest.mark.parametrize("name", MACHINES)
def test_cables_carry_the_loads_of_links(name: str) -> None:
    topology = syncoll.topology(name)
    network = cabled(topology)
    assert network is not None
    entry = cables_entry(network)
    ends = unpacked(entry["ends"]).reshape(-1, 2).tolist()
    lanes = unpacked(entry["lanes"]).reshape(-1, entry["hops"])
    next_way = 0
    for link, ways in zip(topology.links, unpacked(entry["strands"]).tolist(), strict=True):
        shares = unpacked(entry["share"])[next_way : next_way + ways]
        assert sum(entry["shares"][i] for i in shares) == 1
        for row in lanes[next_way : next_way + ways]:
            hops = [ends[lane - 1] for lane in row.tolist() if lane]
            assert (hops[0][0], hops[-1][1]) == link
            assert all(a[1] == b[0] for a, b in pairwise(hops))
        next_way += ways


def test_links_around_a_torus_are_stubs() -> None:
    torus = syncoll.topology("torus(4,5)")
    layout = lay_out(torus)
    around = {
        i
        for i, (a, b) in enumerate(torus.links)
        if abs(a // 5 - b // 5) > 1 or abs(a % 5 - b % 5) > 1
    }
    assert set(layout.broken) == around
    assert len(around) == 2 * (4 + 5)
    assert lay_out(syncoll.topology("mesh(4,5)")).broken == ()


def test_switch_without_links_has_a_place() -> None:
    fabric = Fabric.from_links("star", 4, 2, [(n, 4, 10) for n in range(4)], both_ways=True)
    topology = as_topology(fabric)
    layout = lay_out(topology, switched=True)
    assert layout.switches.shape == (2, 2)
    assert np.isfinite(layout.switches).all()
