"""The verifier finds every damage to a forest, and errors give the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from syncoll.errors import ModelError, UsageError, VerificationError
from syncoll.model.fabric import Fabric
from syncoll.routing import cut_ratio
from syncoll.routing.network import Network
from syncoll.routing.reduction import is_feasible
from syncoll.routing.splitting import split_switch
from syncoll.trust.forest import verify_forest
from syncoll_forestcoll.collectives import weighted_broadcast
from syncoll_forestcoll.pack import pack_by_order
from syncoll_forestcoll.packing_by_growth import pack_by_growth
from tests.oracles.fabrics import a100, mi250, random_fabric, torus
from tests.oracles.forests import allgather, broadcast, reduce, reducescatter


@pytest.fixture(scope="module")
def forest():
    return allgather(a100(2)).forest


def test_trees_read_from_the_root_down(forest) -> None:
    for number, tree in enumerate(forest.trees()):
        depth = {tree.root: 0}
        for tail, head, path in tree.edges:
            assert (path[0], path[-1]) == (tail, head)
            depth[head] = depth[tail] + 1
        assert len(depth) == 16
        assert max(depth.values()) == forest.heights[number]


def test_a_link_too_busy(forest) -> None:
    tight = replace(forest, scale=forest.scale * Fraction(99, 100))
    with pytest.raises(VerificationError, match=r"carries .* trees"):
        verify_forest(tight)


def test_a_missing_tree(forest) -> None:
    fewer = replace(
        forest,
        roots=forest.roots[1:],
        multiplicity=forest.multiplicity[1:],
        entering=forest.entering[1:],
    )
    with pytest.raises(VerificationError, match="trees are rooted at node"):
        verify_forest(fewer)


def test_a_route_over_no_link(forest) -> None:
    path = forest.routes[0]
    for bad in ((path[0], path[-1]), (*path[:-1], path[-1] + 1)):
        with pytest.raises(VerificationError, match="route"):
            verify_forest(replace(forest, routes=(bad, *forest.routes[1:])))


def test_a_route_through_a_node() -> None:
    plan = allgather(torus(2, 2))
    routes = list(plan.forest.routes)
    i = next(i for i, path in enumerate(routes) if path == (0, 1))
    routes[i] = (0, 2, 3, 1)
    with pytest.raises(VerificationError, match="passes through a node"):
        verify_forest(replace(plan.forest, routes=tuple(routes)))


def test_every_changed_entry_is_found() -> None:
    """Any other route in any place breaks the tree, or at least changes the link loads."""
    forest = allgather(mi250(1)).forest
    random = Random(5)
    found = 0
    for _ in range(200):
        tree, node = random.randrange(forest.num_trees), random.randrange(16)
        entering = forest.entering.copy()
        entering[tree, node] = random.choice([-1, *range(len(forest.routes))])
        same = entering[tree, node] == forest.entering[tree, node]
        head = forest.routes[entering[tree, node]][-1] if entering[tree, node] >= 0 else -1
        try:
            verify_forest(replace(forest, entering=entering))
        except VerificationError:
            assert not same
            found += 1
        else:
            # Only another route into the same node can pass, when the links have room for it.
            assert same or head == node
    assert found > 150


def test_a_circle(forest) -> None:
    into = {}
    for i, path in enumerate(forest.routes):
        into.setdefault((path[0], path[-1]), i)
    entering = forest.entering.copy()
    root = int(forest.roots[0])
    u, v = next((u, v) for u, v in into if (v, u) in into and root not in (u, v))
    entering[0, v], entering[0, u] = into[u, v], into[v, u]
    with pytest.raises(VerificationError, match="circle"):
        verify_forest(replace(forest, entering=entering))


def test_a_cut_that_proves_nothing() -> None:
    fabric = torus(3, 3)
    with pytest.raises(VerificationError, match="no compute node outside"):
        cut_ratio(fabric, [1] * 9, range(9))
    with pytest.raises(VerificationError, match="no data starts inside"):
        cut_ratio(fabric, [1] + [0] * 8, {3, 4})


def test_unbalanced_switches_are_refused() -> None:
    fabric = Fabric.from_links(
        "funnel", 3, 1, [(0, 3, 2), (3, 1, 2), (3, 2, 2), (1, 0, 1), (2, 0, 1)]
    )
    with pytest.raises(ModelError, match="switch 0 receives 2 and sends 4"):
        allgather(fabric)


def test_wrong_arguments_are_refused_with_a_reason() -> None:
    with pytest.raises(ModelError, match="no other node to send to"):
        allgather(Fabric.from_links("one", 1, 1, [(0, 1, 1)], both_ways=True))
    with pytest.raises(ModelError, match="no path leads from node 0 to node 1"):
        allgather(Fabric.from_links("apart", 2, 0, []))
    with pytest.raises(ModelError, match="no path leads from node 0 to node 1"):
        broadcast(Fabric.from_links("wrong way", 2, 0, [(1, 0, 1)]), 0)
    with pytest.raises(ModelError, match="broadcast from 9"):
        broadcast(torus(3, 3), 9)
    with pytest.raises(ModelError, match="a reduction to 9"):
        reduce(torus(3, 3), 9)
    chain = Fabric.from_links("chain", 3, 0, [(0, 1, 1), (1, 2, 1)])
    with pytest.raises(ModelError, match="chain: no path leads from node 2 to node 1"):
        reduce(chain, 1)
    with pytest.raises(ModelError, match="chain: no path leads from node 1 to node 0"):
        reducescatter(chain)
    with pytest.raises(ModelError, match="weights"):
        weighted_broadcast(torus(3, 3), [1, -1] * 4 + [0])
    with pytest.raises(UsageError, match="k is 0"):
        allgather(torus(3, 3), fixed_k=0)


def test_bandwidths_beyond_64_bits_are_refused() -> None:
    fabric = Fabric.from_links(
        "fine",
        3,
        1,
        [(v, 3, Fraction(10**30 + v, 10**30 + 7 * v + 1)) for v in range(3)],
        both_ways=True,
    )
    with pytest.raises(UsageError, match="64-bit"):
        allgather(fabric)


def test_one_way_broadcast_needs_no_way_back() -> None:
    assert broadcast(Fabric.from_links("down", 3, 0, [(0, 1, 2), (1, 2, 1)]), 0).algbw == 1


def _network(
    demand: Sequence[int], terminals: Iterable[int], capacities: Mapping[tuple[int, int], int]
) -> Network:
    """A network in which every link is its own path."""
    network = Network(demand, terminals)
    for ends, capacity in capacities.items():
        network.add(*ends, [(ends, capacity)])
    return network


def _complete(nodes: int, demand: int) -> Network:
    return _network(
        [demand] * nodes,
        range(nodes),
        {(u, v): demand for u in range(nodes) for v in range(nodes) if u != v},
    )


def test_packing_by_order_finds_stars() -> None:
    network = _complete(5, 3)
    links = sorted(network.pieces)
    packed = pack_by_order(network, links)
    assert packed is not None
    for block in packed.blocks:
        (v,) = block.vertices
        for start, arc in zip(block.starts, block.arcs[:, 0], strict=True):
            assert (arc < 0 and start // 3 == v) or links[arc] == (start // 3, v)


def test_packing_by_order_fails_on_a_narrow_chord() -> None:
    """A directed ring with a chord that shortens a way, but is too narrow for all trees."""
    network = _network([1] * 4, range(4), {(0, 1): 3, (1, 2): 3, (2, 3): 3, (3, 0): 3, (0, 2): 1})
    assert is_feasible(network)
    assert pack_by_order(network, sorted(network.pieces)) is None
    packed = pack_by_growth(network, sorted(network.pieces))
    assert packed.total == 4


def test_splitting_keeps_all_flows() -> None:
    for seed in range(60):
        random = Random(seed)
        fabric = random_fabric(random, irregular=bool(seed % 2))
        plan = weighted_broadcast(fabric, [1] * fabric.num_nodes)
        network = _network(
            [plan.forest.k] * fabric.num_nodes + [0] * fabric.num_switches,
            range(fabric.num_nodes),
            {ends: int(b * plan.forest.scale) for ends, b in fabric.bandwidths.items()},
        )
        assert is_feasible(network)
        for w in network.switches():
            split_switch(network, w, lambda u, t: False)
            assert not network.out[w]
            assert not network.into[w]
            assert is_feasible(network)


def test_is_feasible_can_say_no() -> None:
    network = _complete(4, 2)
    network.take(0, 1, 2)
    assert is_feasible(network) is False


def test_heights_by_hand() -> None:
    plan = broadcast(Fabric.from_links("chain", 5, 0, [(v, v + 1, 1) for v in range(4)]), 0)
    assert plan.forest.heights.tolist() == [4]
    assert np.array_equal(plan.forest.parents, [[-1, 0, 1, 2, 3]])
