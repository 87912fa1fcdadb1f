"""The seed's proposals are valid and near the packing's cost; refusals have a reason."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import chain

import networkx as nx
import numpy as np
import pytest

import syncoll_treepacking
from syncoll.arrays import Floats
from syncoll.deadline import NEVER
from syncoll.errors import ModelError
from syncoll.model import Algorithm, Collective, Topology
from syncoll.packing.trees import TimedTree
from syncoll.plugins import PluginManager, SeedLimits
from syncoll.spec import SpecLibrary
from syncoll.symmetry import FreeGroup
from syncoll.trust import require_valid
from syncoll_treepacking.oracle import SpanningTrees
from syncoll_treepacking.seed import sources_of

pytestmark = pytest.mark.usefixtures("counted_work")

Found = list[tuple[int, int, int]]


@pytest.fixture(scope="module")
def library() -> SpecLibrary:
    records = PluginManager.discover().spec_libraries.values()
    return SpecLibrary([record.folder for record in records])


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
    assert sources_of(mine, 3) == {0: 2, 2: 1}
    ring = Topology.from_links("ring", 3, {(a, b): 1 for a in range(3) for b in range(3) if a != b})
    assert proposals(ring, mine)


@pytest.mark.parametrize("seed", range(20))
def test_rooted_at_the_centre_a_tree_is_lowest(seed: int) -> None:
    """A chunk goes up the only spanning tree and down again in twice its radius."""
    graph: nx.Graph[int] = nx.random_labeled_tree(3 + seed, seed=seed)
    topology = Topology.from_networkx(graph, "tree")
    for low in (False, True):
        (((_, tree), *_), _) = cheap(SpanningTrees(topology, {}, trivial(topology), low=low))
        assert tree.length == 2 * nx.radius(graph)
        assert {int(link) for link in tree.links} == set(range(len(topology.links)))


def test_low_trees_are_as_low_as_can_be(library: SpecLibrary) -> None:
    topology = library.topology("torus(3,4)")
    oracle = SpanningTrees(topology, {3: 1, 7: 1}, trivial(topology), low=True)
    trees = [*chain(*map(enumerate, oracle.greedy(16, 1, NEVER))), *cheap(oracle)[0]]
    assert len({tree for _, tree in trees}) > 4
    for demand, tree in trees:
        assert tree.length == topology.distances[(3, 7)[demand]].max() == oracle.least_steps


def test_a_low_tree_is_the_cheapest_of_its_height(library: SpecLibrary) -> None:
    """Each node of a cube takes its cheapest link from a nearer node, by the prices of steps."""
    topology = library.topology("hypercube(3)")
    oracle = SpanningTrees(topology, {0: 1}, trivial(topology), low=True)
    prices = np.random.default_rng(1).random((len(oracle.network.rate), 3))
    on_links, far = oracle.network.on_links(prices), topology.distances[0]
    least = sum(
        min(
            on_links[far[a], i]
            for i, (a, b) in enumerate(topology.links)
            if b == node and far[a] < far[b]
        )
        for node in range(1, 8)
    )
    assert oracle.cheap(prices, np.full(1, np.inf), [], NEVER)[1][0] == pytest.approx(least)


def test_greedy_trees_share_the_links_of_a_cube(library: SpecLibrary) -> None:
    """Seven trees of 7 links on 12 links: none carries more than 5 of them."""
    topology = library.topology("hypercube(3)")
    oracle = SpanningTrees(topology, {}, trivial(topology), low=True)
    load = sum(oracle.load(tree, 1) for (tree,) in oracle.greedy(7, 1, NEVER))
    assert np.max(load) <= 5


def trivial(topology: Topology) -> FreeGroup:
    return FreeGroup.trivial(topology.num_nodes)


def cheap(oracle: SpanningTrees) -> tuple[list[tuple[int, TimedTree]], Floats]:
    """All trees of a turn, by equal prices."""
    none = np.full(len(oracle.counts), np.inf)
    return oracle.cheap(np.ones((len(oracle.network.rate), 1)), none, [], NEVER)


def test_the_record_loads_no_solver() -> None:
    code = (
        "import sys, syncoll_treepacking; syncoll_treepacking.RECORD; "
        "sys.exit('highspy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
