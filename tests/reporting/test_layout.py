"""Nodes have places of their own, always the same, by what links say and not by names."""

from __future__ import annotations

import numpy as np
import pytest

import syncoll
from syncoll.model import Topology
from syncoll.reporting.layout import lay_out

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
def test_structure_is_recognised_under_any_name(name: str) -> None:
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
    for (a, b), bend in zip(topology.links, layout.bends, strict=True):
        way = layout.places[b] - layout.places[a]
        right = np.array([-way[1], way[0]]) / np.linalg.norm(way)
        middle = (layout.places[a] + layout.places[b]) / 2 + bend * right
        middles.add(tuple(np.round(middle, 3)))
    assert len(middles) == len(topology.links)


def test_a_grid_with_a_wrong_link_is_not_recognised() -> None:
    torus = syncoll.topology("torus(4,4)")
    wires = dict.fromkeys(torus.links, 1)
    fewer = {link: 1 for link in torus.links if link not in ((5, 6), (6, 5))}
    for links in (fewer, {**wires, (0, 5): 1}):
        assert "torus" not in lay_out(Topology.from_links("x", 16, links)).kind


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_few_nodes(nodes: int) -> None:
    links = {(a, b): 1 for a in range(nodes) for b in range(nodes) if a != b}
    assert lay_out(Topology.from_links("few", nodes, links)).places.shape == (nodes, 2)
