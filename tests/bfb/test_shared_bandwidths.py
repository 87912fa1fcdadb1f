"""Breadth-first broadcasts if links into different nodes share bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import highspy
import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import syncoll_bfb.seed
import syncoll_bfb.sharing
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError
from syncoll.model import Topology
from syncoll.plugins import Proposal, SeedLimits
from syncoll.routing import as_topology
from syncoll.symmetry import FreeGroup, LinkOrbits, free_symmetry
from syncoll.testing.instances import random_topology
from syncoll_bfb import RECORD
from syncoll_bfb.seed import choices
from syncoll_bfb.sharing import LinkClasses, SharedStep, receptions
from tests.oracles.fabrics import random_fabric

from .conftest import SPECS, propose

MOST_CHUNKS = 840


def cost(proposal: Proposal) -> Fraction:
    return Fraction(proposal.algorithm.rounds, proposal.chunks)


def least_loads(network: Topology) -> list[float]:
    """U of each step: every receiver, source and link in the program, and every bound."""
    graph = nx.DiGraph(list(network.links))
    distance = dict(nx.all_pairs_shortest_path_length(graph))
    nodes = range(network.num_nodes)
    loads = []
    for step in range(1, 1 + max(distance[v][u] for v in nodes for u in nodes)):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        most = solver.addVariable(obj=1.0)
        over = {link: [] for link in network.links}
        for u in nodes:
            for v in nodes:
                if distance[v][u] == step:
                    ways = {}
                    for w in graph.predecessors(u):
                        if distance[v][w] == step - 1:
                            ways[w] = solver.addVariable()
                            over[w, u].append(ways[w])
                    solver.addConstr(sum(ways.values()) == 1)
        for bound in network.bounds:
            used = [x for link in bound.links for x in over[link]]
            if used:
                solver.addConstr(sum(used) <= float(bound.chunks_per_round) * most)
        solver.run()
        loads.append(solver.getInfo().objective_function_value)
    return loads


def shared_steps(network: Topology, group: FreeGroup) -> list[SharedStep]:
    """The seed's linear programs, solved, whether bandwidths are shared or not."""
    ways = LinkClasses.of(network, LinkOrbits.of(network, group))
    arriving = list(receptions(network, group, np.arange(network.num_nodes)))
    steps = [
        SharedStep([one for one in arriving if one.step == step], ways)
        for step in range(1 + max(one.step for one in arriving))
    ]
    assert all(step.solve(NEVER) for step in steps)
    return steps


def random_network(seed: int) -> Topology | None:
    """Links of their own bandwidths among seven nodes."""
    graph = nx.gnp_random_graph(7, 0.5, seed=seed, directed=True)
    if not nx.is_strongly_connected(graph):
        return None
    random = Random(seed)
    matrix = [[0] * 7 for _ in range(7)]
    for a, b in graph.edges:
        matrix[a][b] = random.randint(1, 3)
    return Topology.from_matrix("random", matrix)


EXACT = [as_topology(SPECS.topology(name)) for name in ("torus(3,5)", "torus(4,4)", "mesh(3,4)")]
EXACT += [network for network in map(random_network, range(12)) if network is not None]


@pytest.mark.parametrize("network", EXACT, ids=lambda network: network.name)
def test_flow_and_linear_program_agree(network: Topology) -> None:
    assert syncoll_bfb.seed._rates(network) is not None  # solved by flow
    (exact,) = propose(network)
    for group in (FreeGroup.trivial(network.num_nodes), free_symmetry(network)):
        steps = shared_steps(network, group)
        *_, found = choices(steps, 1, range(1, MOST_CHUNKS + 1), NEVER)
        assert cost(exact) <= found.cost <= cost(exact) * Fraction(10005, 10000)
        assert sum(step.load for step in steps) == pytest.approx(float(cost(exact)))


@pytest.mark.parametrize(
    ("network", "steps", "best"),
    [
        ("a100(boxes=2)", 2, Fraction(56, 13)),
        ("dgx_h100(boxes=2)", 2, None),
        ("a100(boxes=3)", 2, None),
        ("mi300x(boxes=2)", 2, None),
        ("hub(8)", 1, Fraction(7)),
        ("dgx_a100", 1, Fraction(7, 12)),
        ("fat_tree(4)", 1, None),
    ],
)
def test_networks_of_boxes_and_switches(network: str, steps: int, best: Fraction | None) -> None:
    where = as_topology(SPECS.topology(network))
    found = propose(where)
    assert {one.algorithm.steps for one in found} == {steps}
    assert best is None or cost(found[-1]) == best
    loads = least_loads(where)
    assert float(cost(found[-1])) == pytest.approx(sum(loads), rel=6e-4)
    costs = [cost(one) for one in found]
    assert costs == sorted(set(costs), reverse=True)


def check_against_the_linear_program(network: Topology) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syncoll_bfb.seed, "_MOST_LINKS", 0)  # disables flow
        found = propose(network)
    loads = least_loads(network)
    assert float(cost(found[-1])) >= sum(loads) * (1 - 1e-6)
    lost = len(loads) / MOST_CHUNKS  # each step takes whole rounds
    assert float(cost(found[-1])) <= sum(loads) * 1.001 + lost


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), irregular=st.booleans())
@example(seed=757, irregular=True)  # every C takes a round more than its bound
def test_random_switched_networks(seed: int, irregular: bool) -> None:
    check_against_the_linear_program(as_topology(random_fabric(Random(seed), irregular=irregular)))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_random_shared_bounds(seed: int) -> None:
    network = random_topology(seed, most_nodes=7)
    graph = nx.DiGraph(list(network.links))
    graph.add_nodes_from(range(network.num_nodes))
    if nx.is_strongly_connected(graph):
        check_against_the_linear_program(network)
    else:
        with pytest.raises(ModelError, match="cannot be reached"):
            propose(network)


def buses(nodes: int, links: int, number: int) -> Topology:
    """A random network in which many links share buses at random."""
    random = Random(nodes)
    chosen = {(v, (v + 1) % nodes) for v in range(nodes)}
    while len(chosen) < links:
        a, b = random.sample(range(nodes), 2)
        chosen.add((a, b))
    ordered = sorted(chosen)
    shared = [
        (random.sample(ordered, random.randint(2, links // 4)), random.randint(1, 6))
        for _ in range(number)
    ]
    own = {link: random.randint(1, 4) for link in ordered}
    return Topology.from_links("buses", nodes, own, shared)


def test_whole_chunks_lose_little_on_a_larger_network() -> None:
    network = buses(24, 96, 30)
    found = propose(network)
    assert float(cost(found[-1])) == pytest.approx(sum(least_loads(network)), rel=5e-4)
    assert found[0].chunks <= 8


def test_many_links_into_a_node() -> None:
    """Two sides of 16 nodes, each linked to all of the other side: 16 links into every node."""
    matrix = [[int((a < 16) != (b < 16)) for b in range(32)] for a in range(32)]
    found = propose(Topology.from_matrix("sides", matrix))
    assert cost(found[-1]) == 1 + Fraction(15, 16)
    assert found[-1].algorithm.steps == 2


def test_other_collectives_and_limits() -> None:
    for one in propose("a100(boxes=2)", "broadcast(root = 3)"):
        assert one.algorithm.steps == 2
    assert propose("a100(boxes=2)", limits=SeedLimits(max_steps=1)) == []
    found = propose("a100(boxes=2)", limits=SeedLimits(max_chunks=5))
    assert max(one.chunks for one in found) <= 5
    network = buses(24, 96, 30)
    assert propose(network, limits=SeedLimits(until=Deadline.after(0.0))) == []


def test_too_large_programs_are_refused_with_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syncoll_bfb.sharing, "_MOST_ENTRIES", 100)
    with pytest.raises(ModelError, match=r"linear program of \d+ entries, more than 100"):
        propose(buses(12, 36, 10))
    monkeypatch.setattr(syncoll_bfb.seed, "_MOST_CELLS", 100)
    with pytest.raises(ModelError, match="pairs of links and sources, more than 100"):
        propose(buses(12, 36, 10))
    where = as_topology(SPECS.topology("a100(boxes=2)"))
    answer = RECORD.fits(where, SPECS.collective("allgather"))
    assert not answer.ok
    assert "links, too many for its linear programs" in answer.reason


def test_rounding_without_time_is_still_whole() -> None:
    """Without time for improvements only largest remainders are used."""
    (*_, step) = shared_steps(buses(24, 96, 30), FreeGroup.trivial(24))
    whole = step.whole(3, Deadline.after(0.0))
    for one, senders in zip(step.receptions, step.deal(whole, 3), strict=True):
        assert senders.shape == (len(one.sources), 3)
        _may_send(one.senders, one.usable, senders)
    assert whole.rounds >= step.least_rounds(3)


def _may_send(links: Sequence[int], usable: np.ndarray, senders: np.ndarray) -> None:
    for allowed, dealt in zip(usable, senders, strict=True):
        assert set(dealt.tolist()) <= set(np.asarray(links)[allowed].tolist())
