"""A lowered fabric never carries more than its cables, and loses no relevant capacity."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from syncoll.errors import ModelError
from syncoll.model import BandwidthBound, Fabric, Link, Topology
from syncoll.routing import Routing, as_topology, route
from tests.oracles.fabrics import a100, bigraph, fat_tree, leaf_spine, mi250, p2_16xlarge, torus

from .conftest import Cuts, Model

SHIPPED = [
    a100(1),
    a100(2),
    mi250(2, 8),
    p2_16xlarge(),
    fat_tree(4, 3),
    bigraph(4, 3),
    bigraph(6, 2),
    leaf_spine([[4, 4], [3], [1, 1]], [25, 50, 10], [[200, 200], [100, 100], [20, 0]]),
    leaf_spine([[2], [2]], [25, 25], [[25, 25], [25, 25]]),
]


def loads(routing: Routing, link: Link) -> dict[Link, Fraction]:
    """The share of a send over each link of the fabric."""
    load: dict[Link, Fraction] = defaultdict(Fraction)
    for parts in routing.pieces_of(link):
        for path, share in parts:
            for ends in pairwise(path):
                load[ends] += share
    return dict(load)


def check_routes(fabric: Fabric, routing: Routing) -> None:
    """Every send flows along cables, through switches alone, from its source to its destination."""
    for source, destination in routing.topology.links:
        balance: dict[int, Fraction] = defaultdict(Fraction)
        for (u, v), share in loads(routing, (source, destination)).items():
            assert share > 0
            assert (u, v) in fabric.bandwidths
            assert u == source or u >= fabric.num_nodes
            assert v == destination or v >= fabric.num_nodes
            balance[u] -= share
            balance[v] += share
        for parts in routing.pieces.values():
            assert all(len(set(path)) == len(path) for path, _ in parts)
        expected = {source: -1, destination: 1}
        assert all(rest == expected.get(vertex, 0) for vertex, rest in balance.items())
        assert balance[destination] == 1


def random_step(topology: Topology, random: Random) -> dict[tuple[int, int], Fraction]:
    """Chunks on some links, as many as B allows in one round: no link's could be raised."""
    room = {i: bound.chunks_per_round for i, bound in enumerate(topology.bounds)}
    within: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, bound in enumerate(topology.bounds):
        for link in bound.links:
            within[link].append(i)
    sent: dict[tuple[int, int], Fraction] = {}
    for link in random.sample(topology.links, len(topology.links)):
        most = min(room[i] for i in within[link])
        sent[link] = most * random.choice((Fraction(1), Fraction(1), Fraction(1, 3), Fraction(0)))
        for i in within[link]:
            room[i] -= sent[link]
    for link in topology.links:
        rest = min(room[i] for i in within[link])
        sent[link] += rest
        for i in within[link]:
            room[i] -= rest
    return sent


def check_loads(fabric: Fabric, routing: Routing, random: Random) -> None:
    """Sends every send of a full round along its shares and counts every cable exactly."""
    sent = random_step(routing.topology, random)
    load: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for link, chunks in sent.items():
        for ends, share in loads(routing, link).items():
            load[ends] += chunks * share
    for ends, chunks in load.items():
        assert chunks * fabric.chunk_bandwidth <= fabric.bandwidths[ends]


@pytest.mark.parametrize("fabric", SHIPPED, ids=lambda fabric: str(fabric.name)[:24])
def test_no_round_loads_a_cable_beyond_its_bandwidth(fabric: Fabric) -> None:
    routing = route(fabric)
    check_routes(fabric, routing)
    for seed in range(4):
        check_loads(fabric, routing, Random(seed))


def test_no_round_loads_a_cable_of_a_random_fabric(fabrics: list[Fabric]) -> None:
    kinds = set()
    for seed, fabric in enumerate(fabrics):
        routing = route(fabric)
        check_routes(fabric, routing)
        for turn in range(3):
            check_loads(fabric, routing, Random(3 * seed + turn))
        kinds.add((bool(routing.removed), len(routing.topology.links) > 0))
    assert kinds >= {(True, True), (False, True)}, "fabrics of both kinds were drawn"


def test_the_heaviest_round_for_each_cable(fabrics: list[Fabric], model: Model) -> None:
    """By linear programming: the largest load that B allows is within the cable's bandwidth."""
    for fabric in [*fabrics[:30], bigraph(4, 2), leaf_spine([[2], [1, 1]], [25, 50], [[20], [30]])]:
        routing = route(fabric)
        worth: dict[tuple[int, int], dict[tuple[int, int], Fraction]] = defaultdict(dict)
        for link in routing.topology.links:
            for ends, share in loads(routing, link).items():
                worth[ends][link] = share
        for ends, shares in worth.items():
            chunks = float(fabric.bandwidths[ends] / fabric.chunk_bandwidth)
            assert model.most_sent(routing.topology, shares) <= chunks * (1 + 1e-9)


def test_the_throughput_is_that_of_all_cuts(
    fabrics: list[Fabric], model: Model, cuts: Cuts
) -> None:
    """Brute force over cuts of the fabric, a linear program over trees within B."""
    removed = 0
    for fabric in fabrics:
        routing = route(fabric)
        assert routing.keeps_rate is True
        removed += len(routing.removed)
        expected = cuts.rate(fabric) / fabric.chunk_bandwidth
        assert model.broadcast_rate(routing.topology) == pytest.approx(float(expected), rel=1e-6)
    assert removed > 20, "fabrics were drawn whose shortest routes do not suffice"


@pytest.mark.parametrize("fabric", SHIPPED, ids=lambda fabric: str(fabric.name)[:24])
def test_shipped_networks_keep_their_throughput(fabric: Fabric) -> None:
    assert route(fabric).keeps_rate is True


def bounds(topology: Topology) -> set[BandwidthBound]:
    return set(topology.bounds)


def test_one_switch_is_a_hub() -> None:
    """Every bound is one port's, in one direction, over all partners."""
    topology = as_topology(
        Fabric.from_links("star", 4, 1, [(v, 4, 3) for v in range(4)], both_ways=True)
    )
    expected = []
    for v in range(4):
        others = [u for u in range(4) if u != v]
        expected.append(BandwidthBound(tuple((v, u) for u in others), Fraction(1)))
        expected.append(BandwidthBound(tuple((u, v) for u in others), Fraction(1)))
    assert bounds(topology) == set(expected)
    assert len(topology.bounds) == 8


def test_a_tree_of_switches_has_one_bound_for_each_needed_cable() -> None:
    topology = as_topology(p2_16xlarge())
    assert len(topology.links) == 16 * 15
    served = {bound.label: len(bound.links) for bound in topology.bounds}
    assert served["switch 8 to switch 9"] == served["switch 9 to switch 8"] == 8 * 8
    assert served["switch 0 to switch 8"] == 2 * 14
    assert served["node 5 to switch 2"] == 15
    assert {bound.chunks_per_round for bound in topology.bounds} == {1}
    assert len(topology.bounds) == 50, "none of the 25 cables follows from others"


def test_bounds_that_follow_from_others_are_left_out() -> None:
    """The sends of two nodes never exceed the uplink of their switch."""
    wide = Fabric.from_links(
        "wide", 4, 2, [*((v, 4 + v // 2, 1) for v in range(4)), (4, 5, 2)], both_ways=True
    )
    assert not any("switch 0 to switch 1" in bound.label for bound in as_topology(wide).bounds)
    narrow = Fabric.from_links(
        "narrow",
        4,
        2,
        [*((v, 4 + v // 2, 1) for v in range(4)), (4, 5, Fraction(3, 2))],
        both_ways=True,
    )
    assert any("switch 0 to switch 1" in bound.label for bound in as_topology(narrow).bounds)


def test_a_direct_link_does_not_hide_a_wider_switch() -> None:
    """The shortest route alone would carry 4 of 11."""
    fabric = Fabric.from_links("both", 2, 1, [(0, 1, 4), (0, 2, 7), (1, 2, 7)], both_ways=True)
    routing = route(fabric)
    assert routing.removed == (2,)
    assert {bound.links: bound.chunks_per_round for bound in routing.topology.bounds} == {
        ((0, 1),): Fraction(11, 4),
        ((1, 0),): Fraction(11, 4),
    }
    assert loads(routing, (0, 1)) == {
        (0, 1): Fraction(4, 11),
        (0, 2): Fraction(7, 11),
        (2, 1): Fraction(7, 11),
    }


def test_spines_that_differ_are_dealt_out_together() -> None:
    """Else one of them would become direct links, and the other one a longer way."""
    uplinks = [[30, 20], [30, 20], [20, 30]]
    fabric = leaf_spine([[1, 1, 1, 1]] * 3, [25] * 3, uplinks)
    routing = route(fabric)
    spines = (12 + 3, 12 + 4)
    assert routing.removed == spines
    leaving = [b for b in routing.topology.bounds if b.label.startswith("switch 0 to switch")]
    assert sum(b.chunks_per_round for b in leaving) * fabric.chunk_bandwidth == 30 + 20
    used = {ends for link in routing.topology.links for ends in loads(routing, link)}
    assert {(12, spine) for spine in spines} <= used


def test_both_layers_of_a_bigraph_pass_data_on() -> None:
    routing = route(bigraph(4, 8))
    assert routing.removed == ()
    assert routing.bypassed == (32, 33, 34, 35)
    through = {path for path, _ in (x for x in routing.pieces[32, 33])}
    assert through == {(32, 34, 33), (32, 35, 33)}


def test_a_network_card_next_to_a_fast_switch_is_no_route() -> None:
    """In a box of a100(2) data between GPUs takes the NVSwitch only, which costs nothing."""
    fabric = a100(2)
    routing = route(fabric)
    assert not routing.removed
    assert loads(routing, (0, 2)).keys() == {(0, 16), (16, 2)}
    assert loads(routing, (0, 8)).keys() == {(0, 18), (18, 34), (34, 26), (26, 8)}
    assert (0, 9) not in routing.paths, "cards of the other parity are on another switch"


def test_a_reversed_fabric_lowers_to_the_reversed_topology() -> None:
    fabric = Fabric.from_links(
        "lop-sided", 3, 1, [(0, 3, 4), (1, 3, 2), (3, 1, 3), (3, 2, 3), (2, 0, 3), (1, 0, 1)]
    )
    turned = as_topology(fabric.reversed())
    assert turned.links == as_topology(fabric).reversed().links
    assert bounds(turned) == bounds(as_topology(fabric).reversed())
    assert as_topology(fabric).reversed().fabric == fabric.reversed()


def test_a_fabric_without_switches_is_itself() -> None:
    fabric = torus(3, 3, bandwidth=5)
    topology = as_topology(fabric)
    assert topology.links == tuple(sorted(fabric.bandwidths))
    assert all(bound.chunks_per_round == 1 for bound in topology.bounds)
    assert topology.fabric is fabric
    assert Fabric.of(topology) is fabric


def test_unbalanced_switches_are_kept_where_routes_are_single() -> None:
    """Nothing has to be removed, so nothing is asked of them."""
    fabric = Fabric.from_links(
        "funnel", 3, 1, [(0, 3, 2), (3, 1, 2), (3, 2, 2), (1, 0, 1), (2, 0, 1)]
    )
    routing = route(fabric)
    assert routing.keeps_rate is None
    assert routing.topology.links == ((0, 1), (0, 2), (1, 0), (2, 0))


def test_unbalanced_switches_where_routes_part() -> None:
    links = [(v, w, 5) for v in range(3) for w in (3, 4)]
    links += [(w, v, w + v) for v in range(3) for w in (3, 4)]
    with pytest.raises(ModelError, match=r"from node 1 to node 0.*switch 0 receives 15 and sends"):
        route(Fabric.from_links("skew", 3, 2, links))


def test_nodes_that_no_switch_joins_have_no_link() -> None:
    fabric = Fabric.from_links("two", 4, 2, [(v, 4 + v // 2, 1) for v in range(4)], both_ways=True)
    routing = route(fabric)
    assert routing.topology.links == ((0, 1), (1, 0), (2, 3), (3, 2))
    assert routing.keeps_rate is None


def test_too_many_routes_are_refused_before_they_are_written_out() -> None:
    with pytest.raises(ModelError, match="too many routes"):
        route(fat_tree(8, 8), most_links=4031)
    with pytest.raises(ModelError, match="too many routes"):
        route(fat_tree(8, 8), most_shared=10_000)
