"""Hamiltonian cycles and sets of them, against brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import networkx as nx
import numpy as np
import pytest

from syncoll.model import Topology
from syncoll.spec import SpecLibrary
from syncoll_classics.hamiltonian import a_cycle, find_circuits, known_cycles
from syncoll_classics.packing import RingSet, pack_rings, rings_bound
from syncoll_classics.tours import Cycle


def links_of(cycle: Cycle) -> list[tuple[int, int]]:
    return list(zip(cycle, (*cycle[1:], cycle[0]), strict=True))


def all_cycles(topology: Topology) -> list[Cycle]:
    links = set(topology.links)
    orders = ((0, *rest) for rest in permutations(range(1, topology.num_nodes)))
    return [order for order in orders if links.issuperset(links_of(order))]


def holds(topology: Topology, rings: tuple[Cycle, ...], rounds: int) -> bool:
    load = Counter(link for ring in rings for link in links_of(ring))
    return all(
        sum(load[link] for link in bound.links) <= bound.chunks_per_round * rounds
        for bound in topology.bounds
    )


def check(topology: Topology, found: RingSet) -> None:
    for ring in found.rings:
        assert sorted(ring) == list(range(topology.num_nodes))
        assert ring[0] == 0
        assert set(topology.links).issuperset(links_of(ring))
    assert holds(topology, found.rings, found.rounds)
    assert found.ratio <= rings_bound(topology)
    assert found.proved == (found.ratio == rings_bound(topology))


@pytest.mark.parametrize("seed", range(30))
def test_a_cycle_is_found_if_and_only_if_one_exists(
    seed: int, random_topology: Callable[..., Topology]
) -> None:
    topology = random_topology(3 + seed % 4, seed)
    there = all_cycles(topology)
    found = a_cycle(topology, 5.0)
    if there:
        assert found in there
    else:
        assert isinstance(found, str)
        assert found.startswith("there is no Hamiltonian cycle")


def test_the_petersen_graph_has_none() -> None:
    """No dead end, no articulation point, not bipartite: only a search decides."""
    topology = Topology.from_networkx(nx.petersen_graph(), "petersen")
    assert a_cycle(topology, 10.0) == "there is no Hamiltonian cycle (proved by CP-SAT)"


def test_running_out_of_time_is_not_called_impossible() -> None:
    """GP(n, 2) has no Hamiltonian cycle for n = 5 mod 6, and no short proof of it."""
    edges = [(i, (i + 1) % 101) for i in range(101)]
    edges += [(101 + i, 101 + (i + 2) % 101) for i in range(101)]
    edges += [(i, 101 + i) for i in range(101)]
    topology = Topology.from_networkx(nx.Graph(edges), "generalised Petersen")
    assert a_cycle(topology, 0.2) == "no Hamiltonian cycle was found in 0.2 s"


def small_sets(cycles: list[Cycle], most: int) -> Iterator[tuple[Cycle, ...]]:
    for count in range(1, most + 1):
        yield from combinations_with_replacement(cycles, count)


@pytest.mark.parametrize("seed", range(20))
def test_sets_of_rings_are_the_best_for_their_rounds(
    seed: int, random_topology: Callable[..., Topology]
) -> None:
    topology = random_topology(4 + seed % 2, 50 + seed)
    cycles = all_cycles(topology)
    sets = pack_rings(topology, 5.0)
    assert bool(sets) == bool(cycles)
    for found in sets:
        check(topology, found)
    ratios = [found.ratio for found in sets]
    assert ratios == sorted(set(ratios))
    if sets and len(cycles) <= 8:
        rounds = sets[0].rounds
        best = max(len(s) for s in small_sets(cycles, 4) if holds(topology, s, rounds))
        assert len(sets[0].rings) >= best


@pytest.mark.parametrize(
    ("name", "ratio"),
    [("dgx1", 6), ("p3_16xlarge", 6), ("ring(7)", 2), ("torus(4,4)", 4), ("torus(3,4)", 4),
     ("torus(5,7)", 4), ("hypercube(3)", 3), ("hypercube(4)", 4), ("mesh(4,5)", 2), ("hub(9)", 1),
     ("dgx2", 6), ("bus(5)", Fraction(1, 5)), ("fully_connected(5)", 4)],
)  # fmt: skip
def test_machines_use_all_that_their_ports_have(
    name: str, ratio: int | Fraction, specs: SpecLibrary
) -> None:
    topology = specs.topology(name)
    best = pack_rings(topology, 20.0)[-1]
    check(topology, best)
    assert best.ratio == rings_bound(topology) == ratio
    assert best.proved


def test_dgx1_has_the_six_rings_of_nccl(specs: SpecLibrary) -> None:
    """SCCL paper, section 2.2: one cycle doubled and one single, each both ways."""
    (found,) = pack_rings(specs.topology("dgx1"), 5.0)
    assert (len(found.rings), found.rounds) == (6, 1)
    assert len(found.pairs) == 3
    for ring, back in found.pairs:
        assert {(b, a) for a, b in links_of(ring)} == set(links_of(back))


@pytest.mark.parametrize("rows", range(2, 9))
@pytest.mark.parametrize("columns", range(2, 9))
def test_grids_have_cycles_without_a_search(rows: int, columns: int, specs: SpecLibrary) -> None:
    torus, mesh = (specs.topology(f"{kind}({rows},{columns})") for kind in ("torus", "mesh"))
    assert known_cycles(torus)
    assert bool(known_cycles(mesh)) == (rows * columns % 2 == 0)
    for topology in (torus, mesh):
        for cycle in known_cycles(topology):
            assert sorted(cycle) == list(range(rows * columns))
            assert set(topology.links).issuperset(links_of(cycle))


@pytest.mark.parametrize("side", [4, 9, 32])
def test_large_square_tori_split_into_two_cycles(side: int, specs: SpecLibrary) -> None:
    found = pack_rings(specs.topology(f"torus({side},{side})"), 0.0)[-1]
    assert found.ratio == 4
    used = Counter(link for ring in found.rings for link in links_of(ring))
    assert set(used.values()) == {1}


def test_circuits_prove_that_there_are_no_more(specs: SpecLibrary) -> None:
    ring = specs.topology("ring(5)")
    assert find_circuits(ring, 2, 1, 5.0)[0]
    assert find_circuits(ring, 3, 1, 5.0) == ([], True)
    rings, proved = find_circuits(ring, 2, 2, 5.0, paired=True)
    assert proved
    assert len(rings) == 4
    assert holds(ring, tuple(rings), 2)


def test_a_ring_without_a_reverse_has_no_pairs() -> None:
    matrix = np.roll(np.eye(4, dtype=int), 1, axis=1)
    topology = Topology.from_matrix("one way", matrix)
    (found,) = pack_rings(topology, 1.0)
    assert found.pairs == []
    assert found.rings == ((0, 1, 2, 3),)
