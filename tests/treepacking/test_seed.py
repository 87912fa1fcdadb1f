"""The seed's proposals are valid and near the packing's cost; refusals have a reason."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from random import Random

import networkx as nx
import numpy as np
import pytest

import syncoll_treepacking
from syncoll.errors import ModelError
from syncoll.model import Algorithm, Collective, Topology
from syncoll.plugins import PluginManager, SeedLimits
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid
from syncoll_treepacking.demand import Demand
from syncoll_treepacking.integral import integral_packings, low_packings, oriented
from syncoll_treepacking.links import LinkSystem
from syncoll_treepacking.oracle import ArborescenceOracle, SpanningTreeOracle, TreeColumn, low_trees
from syncoll_treepacking.search import pack

pytestmark = pytest.mark.usefixtures("counted_work")

Found = list[tuple[int, int, int]]


@pytest.fixture(scope="module")
def library() -> SpecLibrary:
    records = PluginManager.discover().spec_libraries.values()
    return SpecLibrary.load([record.folder for record in records])


def proposals(
    topology: Topology, collective: Collective, limits: SeedLimits | None = None
) -> Found:
    """(S, R, C) of everything proposed; each is verified."""
    found: Found = []
    assert syncoll_treepacking.RECORD.fits(topology, collective).ok
    seed = syncoll_treepacking.RECORD.load()
    limits = SeedLimits(max_chunks=48, seconds=0.15) if limits is None else limits
    for proposal in seed.propose(topology, collective, limits, {"seconds": 1.0}):
        algorithm: Algorithm = proposal.algorithm.tightened(topology)
        steps, rounds = algorithm.steps, algorithm.rounds
        instance = collective.instantiate(
            topology, chunks=proposal.chunks, steps=steps, rounds=rounds
        )
        require_valid(instance, algorithm)
        assert proposal.note
        found.append((steps, rounds, proposal.chunks))
    return found


@pytest.mark.parametrize(
    ("network", "asked"),
    [
        ("dgx1", "broadcast(root = 3)"),
        ("dgx1", "allgather"),
        ("dgx1", "allreduce"),
        ("ring(5)", "broadcast"),
        ("ring(5)", "allgather"),
        ("hypercube(3)", "allreduce"),
        ("hub(5)", "allgather"),
        ("hub(5)", "allreduce"),
        ("dgx_a100", "allreduce"),
        ("torus(3,3)", "multi_broadcast(0, 4)"),
    ],
)
def test_proposals_are_valid(library: SpecLibrary, network: str, asked: str) -> None:
    topology, collective = library.topology(network), library.collective(asked)
    assert proposals(topology, collective)


def test_a_line_allreduces_at_one_round_a_chunk(library: SpecLibrary) -> None:
    """Reducescatter then allgather take four thirds of a round for each chunk."""
    found = proposals(library.topology("line(3)"), library.collective("allreduce"))
    assert (2, 2, 1) in found
    assert min(Fraction(r, c) for _, r, c in found) == Fraction(
        33, 32
    )  # 32 chunks, 1 more step to fill


def test_dgx1_allreduce_nears_the_packing(library: SpecLibrary) -> None:
    limits = SeedLimits(max_chunks=400, seconds=1.0)
    found = proposals(library.topology("dgx1"), library.collective("allreduce"), limits)
    assert min(Fraction(r, c) for _, r, c in found) < Fraction(7, 24) * Fraction(4, 3)
    assert min(s for s, _, _ in found) == 4  # twice the diameter


def test_limits_are_kept(library: SpecLibrary) -> None:
    limits = SeedLimits(max_steps=5, max_rounds=7, max_chunks=6, seconds=0.2)
    for asked in ("broadcast", "allgather", "allreduce"):
        found = proposals(library.topology("dgx1"), library.collective(asked), limits)
        assert found
        assert all(s <= 5 and r <= 7 and c <= 6 for s, r, c in found)


def test_no_proposal_is_dominated_by_an_earlier_one(library: SpecLibrary) -> None:
    found = proposals(library.topology("hypercube(3)"), library.collective("broadcast"))
    for i, (steps, rounds, chunks) in enumerate(found):
        cost = Fraction(rounds, chunks)
        assert not any(s <= steps and Fraction(r, c) <= cost for s, r, c in found[:i])


@pytest.mark.parametrize("asked", ["alltoall", "gather", "scatter", "reduce"])
def test_other_collectives_are_refused_with_a_reason(library: SpecLibrary, asked: str) -> None:
    topology, collective = library.topology("ring(4)"), library.collective(asked)
    answer = syncoll_treepacking.RECORD.fits(topology, collective)
    assert not answer.ok
    assert answer.reason
    with pytest.raises(ModelError):
        next(
            syncoll_treepacking.RECORD.load().propose(
                topology, collective, SeedLimits(), {"seconds": 1.0}
            )
        )


def test_networks_are_refused_with_a_reason(library: SpecLibrary) -> None:
    one_way = Topology.from_links("one way", 3, {(0, 1): 1, (1, 2): 1, (2, 0): 1})
    fits = syncoll_treepacking.RECORD.fits
    refused = fits(one_way, library.collective("allreduce"))
    assert not refused.ok
    assert "both directions" in refused.reason
    assert fits(one_way, library.collective("allgather")).ok


def test_recognised_by_the_table_not_by_the_name() -> None:
    pre = [[1, 0, 0], [1, 0, 0], [0, 0, 1]]
    mine = Collective.from_arrays("whatever", pre, [[1, 1, 1]] * 3)
    demand = Demand.of(mine, 3)
    assert isinstance(demand, Demand)
    assert demand.sources == {0: 2, 2: 1}
    assert demand.shares == {0: Fraction(2, 3), 2: Fraction(1, 3)}
    ring = Topology.from_links("ring", 3, {(a, b): 1 for a in range(3) for b in range(3) if a != b})
    assert proposals(ring, mine)


def test_integral_packings_get_cheaper_and_count_right(library: SpecLibrary) -> None:
    oracle = SpanningTreeOracle(LinkSystem.undirected(library.topology("dgx1")))
    packing = pack(oracle)
    before: Fraction | None = None
    for whole in integral_packings(packing, packing.pool):
        assert sum(count for _, count in whole.trees) == whole.parts
        links = np.array([link for tree, count in whole.trees for link in tree.used * count])
        loads = oracle.system.load(links, np.zeros_like(links), 1)[:, 0].tolist()
        cost = max(
            Fraction(load, whole.parts) / capacity
            for load, capacity in zip(loads, oracle.system.capacities, strict=True)
        )
        assert cost == whole.cost
        assert before is None or cost < before
        before = cost
    assert before == Fraction(7, 24)


@pytest.mark.parametrize("seed", range(20))
def test_rooted_at_the_centre_a_tree_is_lowest(seed: int) -> None:
    graph: nx.Graph[int] = nx.random_labeled_tree(3 + seed, seed=seed)
    edges = tuple((min(u, v), max(u, v)) for u, v in graph.edges)
    column = TreeColumn(0, tuple(range(len(edges))), edges)
    tree = oriented(column, None, 2)
    assert tree.height == nx.radius(graph)
    assert {(min(u, v), max(u, v)) for u, v in tree.edges} == set(edges)
    assert oriented(column, 1).root == 1
    assert oriented(column, 1).height == nx.eccentricity(graph, 1)


def test_shallow_trees_are_as_low_as_can_be(library: SpecLibrary) -> None:
    topology = library.topology("torus(3,4)")
    shares = {3: Fraction(1, 2), 7: Fraction(1, 2)}
    oracle = ArborescenceOracle(LinkSystem.rooted(topology, shares), shares)
    turns = [*low_trees(oracle, 16), *low_trees(oracle, 16, Random(1))]
    assert len({tree for turn in turns for tree in turn}) > 2
    for turn in turns:
        assert [column.group for column in turn] == [0, 1]
        for column in turn:
            root = oracle.roots[column.group]
            assert oriented(column, root).height == topology.distances[root].max()


def test_shallow_trees_share_the_links_of_a_cube(library: SpecLibrary) -> None:
    """Three trees of 7 links on 12 links: with 4 turns none carries more than 3 of them."""
    oracle = SpanningTreeOracle(LinkSystem.undirected(library.topology("hypercube(3)")))
    found = list(low_packings(oracle, low_trees(oracle, 16)))
    assert found[0].cost == 1
    assert found[-1].cost < Fraction(5, 4) * pack(oracle).cost
    for whole in found:
        assert {oriented(tree, None).height for tree, _ in whole.trees} == {3}


def test_the_record_loads_no_solver() -> None:
    code = (
        "import sys, syncoll_treepacking; syncoll_treepacking.RECORD; "
        "sys.exit('highspy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
