"""Algorithm 1 against a literal implementation of it, and against the paper's figures."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest

from syncoll.deadline import NEVER
from syncoll.errors import ModelError
from syncoll.model import Fabric, Topology
from syncoll.spec import SpecLibrary
from syncoll.symmetry.products import find_products
from syncoll_multitree.construction import (
    ORDERS,
    TURNS,
    TimedTrees,
    multitree,
    places_of,
    usual_turns,
)
from syncoll_multitree.quotient import TranslationQuotient, fewest_steps, neighbour_orders
from syncoll_multitree.switched import SEARCHES
from syncoll_multitree.translations import find_translations
from tests.oracles.fabrics import bigraph, fat_tree, leaf_spine, random_fabric
from tests.oracles.multitrees import RoutedTrees, connection_unit, multitree_on_fabric, translated

Rows = list[tuple[int, int, int, int]]


def by_the_book(topology: Topology, neighbours: Sequence[Sequence[int]], rounds: int = 1) -> Rows:
    """Algorithm 1, lines 1 to 14, with a copy of the graph for each time step."""
    trees: list[list[int]] = [[root] for root in range(topology.num_nodes)]
    found: Rows = []
    step = 0
    while any(len(tree) < topology.num_nodes for tree in trees):
        graph = Counter(
            {b.links[0]: b.capacity(rounds) for b in topology.bounds if len(b.links) == 1}
        )
        before = [list(tree) for tree in trees]
        added = True
        while added:
            added = False
            for t, tree in enumerate(trees):
                pair = next(
                    (
                        (p, c)
                        for p in before[t]
                        for c in neighbours[p]
                        if graph[p, c] and c not in tree
                    ),
                    None,
                )
                if pair is not None:
                    graph[pair] -= 1
                    tree.append(pair[1])
                    found.append((t, *pair, step))
                    added = True
        step += 1
        assert step <= topology.num_nodes**2
    return found


def rows(trees: TimedTrees) -> Rows:
    return [(t, p, c, s) for t, p, c, s in trees.edges.tolist()]


def require_spanning(trees: TimedTrees, nodes: int) -> None:
    """Every tree reaches every node once, from nodes that it had before the time step."""
    came = [{int(root): -1} for root in trees.roots]
    for tree, parent, child, step in rows(trees):
        assert child not in came[tree]
        assert came[tree][parent] < step
        came[tree][child] = step
    assert all(len(have) == nodes for have in came)


def random_topology(seed: int) -> Topology:
    """Strongly connected, with links of bandwidth 1 to 3 that need not be there both ways."""
    rng = random.Random(seed)
    nodes = rng.randint(2, 8)
    ring = rng.sample(range(nodes), nodes)
    links = {(a, b): rng.randint(1, 3) for a, b in zip(ring, ring[1:] + ring[:1], strict=True)}
    for _ in range(rng.randint(0, 3 * nodes)):
        a, b = rng.sample(range(nodes), 2)
        links[a, b] = rng.randint(1, 3)
    return Topology.from_links(f"random {seed}", nodes, links)


def test_the_mesh_of_figure_3(specs: SpecLibrary) -> None:
    """The sequence of allocations, and the time steps, of the paper's example."""
    trees = multitree(specs.topology("mesh(2,2)"), order="far", turns="root")
    assert rows(trees) == [
        (0, 0, 2, 0), (1, 1, 3, 0), (2, 2, 0, 0), (3, 3, 1, 0),
        (0, 0, 1, 0), (1, 1, 0, 0), (2, 2, 3, 0), (3, 3, 2, 0),
        (0, 2, 3, 1), (1, 3, 2, 1), (2, 0, 1, 1), (3, 1, 0, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(12))
def test_random_networks_by_the_book(order: str, seed: int) -> None:
    topology = random_topology(seed)
    key = ORDERS[order](topology.links)
    neighbours = [
        [topology.links[i][1] for i in sorted(out, key=lambda i: key(topology.links[i]))]
        for out in topology.out_links
    ]
    for rounds in (1, 2):
        made = multitree(topology, rounds=rounds, order=order, turns="root")
        assert rows(made) == by_the_book(topology, neighbours, rounds)


@pytest.mark.parametrize("turns", [*TURNS, "any"])
@pytest.mark.parametrize("seed", range(8))
def test_links_are_used_as_often_as_they_may_be(turns: str, seed: int) -> None:
    topology = random_topology(100 + seed)
    trees = multitree(topology, turns=turns)
    require_spanning(trees, topology.num_nodes)
    used = Counter((p, c, s) for _, p, c, s in rows(trees))
    width = {b.links[0]: b.chunks_per_round for b in topology.bounds}
    assert all(count <= width[p, c] for (p, c, _), count in used.items())


def test_wider_links_are_parallel_unit_links() -> None:
    narrow = {(0, 1): 1, (1, 2): 1, (2, 0): 1}
    wide = Topology.from_links("wide", 3, dict.fromkeys(narrow, 3))
    assert multitree(Topology.from_links("narrow", 3, narrow)).num_steps == 2
    assert multitree(wide).num_steps == 2  # the distance
    half = Topology.from_links("half", 3, {link: Fraction(1, 2) for link in narrow})
    assert multitree(half, rounds=2).num_steps == 2
    with pytest.raises(ModelError, match="no tree from node 0 reaches node 1"):
        multitree(half, rounds=1)


@pytest.mark.parametrize("symmetric", [True, False])
def test_shared_bounds_are_pools(symmetric: bool, specs: SpecLibrary) -> None:
    topology = specs.topology("hub(5)")
    translations = find_translations(topology) if symmetric else ()
    trees = translated(topology, translations) if symmetric else multitree(topology)
    require_spanning(trees, 5)
    sent = Counter((p, s) for _, p, _, s in rows(trees))
    came = Counter((c, s) for _, _, c, s in rows(trees))
    assert max(sent.values()) == max(came.values()) == 1
    # Each node receives 4 chunks, one a time step; in turns by root the last one comes too late.
    assert trees.num_steps == (4 if symmetric else 5)


@pytest.mark.parametrize("network", ["mesh(4,4)", "mesh(3,5)", "line(6)"])
def test_taller_trees_go_first_where_nodes_differ(network: str, specs: SpecLibrary) -> None:
    topology = specs.topology(network)
    assert usual_turns(topology, range(topology.num_nodes)) == "height"
    assert usual_turns(specs.topology("torus(4,4)"), range(16)) == "root"
    taller = multitree(topology, turns="height")
    # In the first time step the trees of the corners, or ends, take their links first.
    height = topology.distances.max(axis=1)
    first = [height[tree] for tree in taller.edges[: topology.num_nodes, 0].tolist()]
    assert first == sorted(first, reverse=True)
    assert taller.num_steps <= multitree(topology, turns="root").num_steps


def renumbered(topology: Topology, seed: int) -> Topology:
    """The same links and bandwidths between nodes with other numbers."""
    number = list(range(topology.num_nodes))
    random.Random(seed).shuffle(number)
    widths = {b.links[0]: b.chunks_per_round for b in topology.bounds}
    links = {(number[a], number[b]): width for (a, b), width in widths.items()}
    return Topology.from_links(f"{topology.name} renumbered", topology.num_nodes, links)


def test_steps_of_the_papers_networks(specs: SpecLibrary) -> None:
    for network, steps in (("torus(8,8)", 17), ("mesh(4,4)", 8), ("mesh(8,8)", 32)):
        assert multitree(specs.topology(network)).num_steps == steps


@pytest.mark.parametrize(
    ("network", "steps"),
    [("torus(4,4)", 4), ("torus(8,8)", 16), ("torus(4,8)", 8), ("torus(5,3)", 4),
     ("torus(16,16)", 64), ("torus(4,4,4)", 11), ("torus(5,4,3)", 10), ("hypercube(4)", 4),
     ("hypercube(6)", 11), ("ring(7)", 3)],
)  # fmt: skip
def test_the_best_order_takes_the_fewest_steps(
    network: str, steps: int, specs: SpecLibrary
) -> None:
    """For any numbering of nodes; each node receives all chunks over its own links."""
    given = specs.topology(network)
    assert steps == -(-(given.num_nodes - 1) // len(given.in_links[0]))
    costs = set()
    for topology in (given, renumbered(given, 1)):
        groups = find_translations(topology)
        grown = [fewest_steps([TranslationQuotient(topology, g)], 1, 3, NEVER, 6) for g in groups]
        costs.add(tuple(trees.cost for trees in grown))
        assert translated(topology, groups).num_steps == steps
    assert len(costs) == 1


def test_orders_of_neighbours_on_tori(specs: SpecLibrary) -> None:
    """4 and 16 time steps with the ends of a dimension outermost, 5 and 17 in all other orders."""
    for network, least in (("torus(4,4)", 4), ("torus(8,8)", 16)):
        topology = specs.topology(network)
        quotient = TranslationQuotient(topology, find_translations(topology)[0])
        assert [*map(sum, quotient.vectors)] == [1, -1 % math.isqrt(topology.num_nodes)] * 2
        for order in permutations(range(4)):
            outermost = {order[0], order[3]} in ({0, 1}, {2, 3})
            assert quotient.grow(1, 1, order).cost[0] == least + (not outermost)
    orders = list(neighbour_orders([[0, 1], [2, 3]]))
    assert orders[:2] == [(0, 2, 3, 1), (2, 0, 1, 3)]
    assert len(set(orders)) == len(orders) == 6
    assert len(set(neighbour_orders([[0, 1], [2, 3], [4, 5]]))) == 90
    assert len(set(neighbour_orders([[0], [1], [2]]))) == 6


@pytest.mark.parametrize("network", ["torus(4,4)", "hypercube(3)", "torus(5,3)"])
def test_one_tree_stands_for_all(network: str, specs: SpecLibrary) -> None:
    """Algorithm 1 word for word, with the same order at every node, makes the same trees."""
    topology = renumbered(specs.topology(network), 4)
    for group in find_translations(topology):
        quotient = TranslationQuotient(topology, group)
        for order in list(quotient.orders())[:3]:
            vectors = [tuple(v) for v in group.vectors(topology.links).tolist()]
            neighbours = [
                [
                    next(topology.links[i][1] for i in out if vectors[i] == quotient.vectors[k])
                    for k in order
                ]
                for out in topology.out_links
            ]
            grown = quotient.grow(1, 1, order)
            assert sorted(rows(grown.expand())) == sorted(by_the_book(topology, neighbours))
            algorithm = grown.expand().to_algorithm(
                np.arange(topology.num_nodes), grown.rounds_per_step
            )
            assert algorithm.least_rounds(topology) == list(grown.rounds_per_step)


@pytest.mark.parametrize(
    ("network", "kinds", "sizes"),
    [("torus(3,6)", ["ring", "complete"], [6, 3]), ("mesh(2,5)", ["line", "complete"], [5, 2]),
     ("hypercube(5)", ["ring", "ring", "complete"], [4, 4, 2]), ("line(5)", ["line"], [5]),
     ("mesh(3,2,4)", ["line", "line", "complete"], [4, 3, 2]), ("ring(9)", ["ring"], [9]),
     ("fully_connected(5)", ["complete"], [5]), ("star(5)", [], []), ("amd_z52", ["ring"], [8])],
)  # fmt: skip
def test_products_are_recognised(
    network: str, kinds: list[str], sizes: list[int], specs: SpecLibrary
) -> None:
    topology = renumbered(specs.topology(network), 2)
    products = find_products(topology)
    assert [len(kinds) > 0, "hypercube" in network] == [len(products) > 0, len(products) > 1]
    for product in products[:1]:
        assert (list(product.kinds), list(product.sizes)) == (kinds, sizes)
        assert product.even
        # Links join neighbours in one factor.
        places = np.unravel_index(product.places, product.sizes)
        for a, b in topology.links:
            apart = [int(abs(along[a] - along[b])) for along in places]
            ((kind, size, by),) = [x for x in zip(kinds, sizes, apart, strict=True) if x[2] > 0]
            assert kind == "complete" or by == 1 or (kind == "ring" and by == size - 1)


@pytest.mark.parametrize("network", ["mesh(3,5)", "mesh(3,8)", "mesh(2,3,4)", "line(6)"])
def test_meshes_do_not_depend_on_numbers(network: str, specs: SpecLibrary) -> None:
    made = set()
    for topology in (specs.topology(network), renumbered(specs.topology(network), 3)):
        places = places_of(topology)
        roots = np.argsort(places).tolist()
        trees = multitree(topology, roots, places=places)
        require_spanning(trees, topology.num_nodes)
        made.add(tuple((int(places[a]), int(places[b]), s) for _, a, b, s in rows(trees)))
    assert len(made) == 1


@pytest.mark.parametrize(
    "network", ["torus(4,4)", "torus(3,5)", "hypercube(4)", "ring(7)", "fully_connected(6)"]
)
def test_translated_trees_are_trees_of_the_network(network: str, specs: SpecLibrary) -> None:
    topology = specs.topology(network)
    symmetry = find_translations(topology)
    assert symmetry
    trees = translated(topology, symmetry)
    require_spanning(trees, topology.num_nodes)
    used = Counter((p, c, s) for _, p, c, s in rows(trees))
    width = {b.links[0]: b.chunks_per_round for b in topology.bounds if len(b.links) == 1}
    assert all(count <= width[p, c] for (p, c, _), count in used.items())


def test_irregular_networks_have_no_translations(specs: SpecLibrary) -> None:
    for network in ("mesh(4,4)", "dgx1", "line(4)"):
        assert not find_translations(specs.topology(network))


# --- switches -------------------------------------------------------------------------------------


def require_routed(made: RoutedTrees, fabric: Fabric) -> None:
    """Spanning trees whose ways exist, pass no node, and fit the connections of each time step."""
    require_spanning(made.timed, fabric.num_nodes)
    used: Counter[tuple[int, int, int]] = Counter()
    for (_, parent, child, step), path in zip(rows(made.timed), made.paths, strict=True):
        assert (path[0], path[-1]) == (parent, child)
        assert all(vertex >= fabric.num_nodes for vertex in path[1:-1])
        used.update((a, b, step) for a, b in pairwise(path))
    for (a, b, _), count in used.items():
        assert count * made.unit <= fabric.bandwidths[a, b]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("seed", range(30))
def test_random_fabrics(search: str, seed: int) -> None:
    fabric = random_fabric(random.Random(seed), irregular=seed % 2 == 1)
    turns = TURNS[seed % 3]
    require_routed(multitree_on_fabric(fabric, search=search, turns=turns), fabric)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(8))
def test_a_fabric_without_switches_is_algorithm_1(order: str, seed: int) -> None:
    topology = random_topology(200 + seed)
    for turns in TURNS:
        for search in SEARCHES:
            routed = multitree_on_fabric(
                Fabric.of(topology), unit=Fraction(1), search=search, order=order, turns=turns
            )
            assert rows(routed.timed) == rows(multitree(topology, order=order, turns=turns))
            assert all(len(path) == 2 for path in routed.paths)


@pytest.mark.parametrize(
    "fabric", [fat_tree(4, 4), fat_tree(4, 1), bigraph(4, 4)], ids=lambda fabric: fabric.name
)
def test_nonblocking_networks_take_p_minus_1_steps(fabric: Fabric) -> None:
    made = multitree_on_fabric(fabric)
    require_routed(made, fabric)
    assert made.timed.num_steps == fabric.num_nodes - 1


def test_nodes_on_the_same_switch_come_first() -> None:
    fabric = fat_tree(4, 4)
    made = multitree_on_fabric(fabric)
    first = [path for row, path in zip(rows(made.timed), made.paths, strict=True) if row[3] < 3]
    assert first
    assert all(len(path) == 3 for path in first)  # over the leaf switch alone


def test_a_smaller_unit_takes_fewer_steps() -> None:
    fabric = leaf_spine([[4, 4], [2, 1]], [25, 50], [[100, 0], [50, 50]])
    assert connection_unit(fabric) == 25
    wide = multitree_on_fabric(fabric, unit=Fraction(25, 2))
    require_routed(wide, fabric)
    assert wide.timed.num_steps < multitree_on_fabric(fabric).timed.num_steps
    with pytest.raises(ModelError, match="a unit of bandwidth 0"):
        multitree_on_fabric(fabric, unit=Fraction(0))
    with pytest.raises(ModelError, match="no path leads from node"):
        multitree_on_fabric(fabric, unit=Fraction(60))  # narrower cards have no connection
