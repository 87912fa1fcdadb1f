from __future__ import annotations

from fractions import Fraction

import pytest

from syncoll.errors import ModelError
from syncoll.model.fabric import Fabric, FabricLink
from tests.oracles.fabrics import a100, mi250, p2_16xlarge, torus


def test_parallel_links_add_up() -> None:
    fabric = Fabric.from_links("pair", 2, 0, [(0, 1, 1), (0, 1, Fraction(1, 3))], both_ways=True)
    assert fabric.bandwidths == {(0, 1): Fraction(4, 3), (1, 0): Fraction(4, 3)}
    assert fabric.is_symmetric


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ([(0, 1, -1)], "bandwidth -1 on link"),
        ([(0, 1, 0)], "bandwidth 0 on link"),
        ([(0, 1, 5), (0, 1, -3)], "bandwidth -3 on link"),
        ([(0, 0, 1)], "joins a vertex to itself"),
        ([(0, 7, 1)], "names vertex 7"),
        ([(-1, 0, 1)], "names vertex -1"),
    ],
)
def test_bad_links_are_named(links: list[tuple[int, int, int]], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Fabric.from_links("bad", 2, 1, links)


def test_links_must_be_sorted_and_distinct() -> None:
    a, b = FabricLink(0, 1, Fraction(1)), FabricLink(1, 0, Fraction(1))
    for links in ((b, a), (a, a)):
        with pytest.raises(ModelError, match="not sorted and distinct"):
            Fabric("bad", 2, 0, links)


def test_no_compute_node() -> None:
    with pytest.raises(ModelError, match="0 nodes"):
        Fabric.from_links("none", 0, 2, [])


def test_unreachable_nodes_are_named() -> None:
    fabric = Fabric.from_links("one way", 3, 0, [(0, 1, 1), (1, 2, 1)])
    fabric.require_reachable([0])
    with pytest.raises(ModelError, match="from node 1 to node 0"):
        fabric.require_reachable([0, 1])


def test_reversal_is_an_involution() -> None:
    fabric = Fabric.from_links("chain", 2, 1, [(0, 2, 3), (2, 1, 2)])
    turned = fabric.reversed()
    assert turned.name == "chain^-1"
    assert turned.bandwidths == {(2, 0): 3, (1, 2): 2}
    assert turned.reversed() == fabric


def test_sizes_of_the_papers_networks() -> None:
    assert (a100(2).num_nodes, a100(2).num_switches) == (16, 2 + 16 + 2)
    assert a100(2).ingress()[0] == 325
    # Seven xGMI links a GPU at most, and one share of the InfiniBand switch.
    assert max(mi250(2).egress()[:32]) == 7 * 50 + 16
    assert len(torus(4, 4).links) == 64
    assert len(torus(2, 3).links) == 6 + 12
    assert p2_16xlarge().num_vertices == 26
