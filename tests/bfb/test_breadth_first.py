"""Breadth-first broadcasts are optimal on tori and hypercubes, and otherwise the best of their
kind.
"""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from syncoll.linear import LinearProgram
from syncoll.model import OrbitAlgorithm, Topology
from syncoll.plugins import SeedLimits
from syncoll.routing import as_topology
from syncoll_bfb import RECORD

from .conftest import SPECS, propose


@pytest.mark.parametrize(
    ("network", "steps", "bandwidth"),
    [
        ("torus(4,4)", 4, Fraction(15, 4)),
        ("torus(8,8)", 8, Fraction(63, 4)),
        ("torus(3,5)", 3, Fraction(7, 2)),
        ("torus(4,4,4)", 6, Fraction(63, 6)),
        ("hypercube(6)", 6, Fraction(63, 6)),
        ("ring(7)", 3, Fraction(3)),
        ("twisted_torus(4,8)", 4, Fraction(31, 4)),
        ("slim_fly(5)", 2, Fraction(7)),
        ("mesh(8,8)", 14, Fraction(34)),
    ],
)
def test_known_figures(network: str, steps: int, bandwidth: Fraction) -> None:
    (found,) = propose(network)
    assert found.algorithm.steps == steps
    assert Fraction(found.algorithm.rounds, found.chunks) == bandwidth


def test_broadcast_from_a_root_without_incoming_links() -> None:
    links = {(0, 1): 1, (0, 2): 1, (1, 2): 2, (2, 1): 2}
    (found,) = propose(Topology.from_links("outwards", 3, links), "broadcast")
    assert (found.algorithm.steps, found.algorithm.rounds, found.chunks) == (1, 1, 1)


def test_costs_match_the_papers_linear_program() -> None:
    """On random networks of uneven links R/C equals the optimum of the paper's linear program.

    Pal et al., section 5.1: for each node and distance minimise U, where the load of a link (w, u)
    is at most U times its bandwidth.
    """
    random = np.random.default_rng(5)
    for seed in range(25):
        graph = nx.gnp_random_graph(7, 0.5, seed=seed, directed=True)
        if not nx.is_strongly_connected(graph):
            continue
        matrix = np.zeros((7, 7), dtype=int)
        for a, b in graph.edges:
            matrix[a, b] = random.integers(1, 4)
        network = Topology.from_matrix("random", matrix.tolist())
        (found,) = propose(network)
        distance = dict(nx.all_pairs_shortest_path_length(graph))
        rounds = {}
        for u in graph:
            for step in range(1, 1 + max(distance[v][u] for v in graph)):
                rounds[step] = max(
                    rounds.get(step, 0.0), _least_load(graph, matrix, distance, u, step)
                )
        got = Fraction(found.algorithm.rounds, found.chunks)
        assert float(got) == pytest.approx(sum(rounds.values()))


def _least_load(graph: nx.DiGraph, matrix: np.ndarray, distance: dict, u: int, step: int) -> float:
    ways = [
        (v, w)
        for v in graph
        if distance[v][u] == step
        for w in graph.predecessors(u)
        if distance[v][w] == step - 1
    ]
    sources = sorted({v for v, _ in ways})
    links = sorted(graph.predecessors(u))
    entries = [(sources.index(v), 1 + k, 1.0) for k, (v, _) in enumerate(ways)]
    entries += [(len(sources) + links.index(w), 1 + k, -1.0) for k, (_, w) in enumerate(ways)]
    entries += [(len(sources) + i, 0, float(matrix[w, u])) for i, w in enumerate(links)]
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
    costs = np.zeros(1 + len(ways))
    costs[0] = 1.0
    low = np.concatenate([np.ones(len(sources)), np.zeros(len(links))])
    high = np.concatenate([np.ones(len(sources)), np.full(len(links), np.inf)])
    program = LinearProgram(costs, rows, columns, values.astype(float), low, high)
    optimum = program.minimise()
    assert optimum is not None
    return optimum.value


def test_whole_chunks_over_links_of_fractional_bandwidth() -> None:
    """Two links of 3/2 chunks per round into a node bring 2 chunks in a round, not 3; the best
    admissible C is found.
    """
    size = 5
    half = [
        [Fraction(3, 2) * (abs(a - b) in (1, size - 1)) for b in range(size)] for a in range(size)
    ]
    network = Topology.from_matrix("fractional ring", half)
    for most in range(1, 8):
        *_, last = propose(network, limits=SeedLimits(max_chunks=most))
        steps = last.algorithm.steps
        # In each step the chunks of two sources arrive over separate links.
        best = min(
            Fraction(steps * next(r for r in range(1, 99) if int(Fraction(3, 2) * r) >= c), c)
            for c in range(1, most + 1)
        )
        assert Fraction(last.algorithm.rounds, last.chunks) == best


def test_limits_are_kept() -> None:
    assert propose("torus(4,4)", limits=SeedLimits(max_steps=3)) == []
    (found,) = propose("torus(4,4)", limits=SeedLimits(max_chunks=3))
    assert found.chunks <= 3
    (found,) = propose("torus(3,3)", "broadcast(root = 4)")
    assert found.algorithm.steps == 2


@pytest.mark.parametrize(
    ("network", "collective", "reason"),
    [
        ("torus(3,3)", "alltoall", "not every chunk goes from one node to all"),
        ("torus(3,3)", "reducescatter", "the collective combines"),
    ],
)
def test_unsupported_questions_are_refused_with_a_reason(
    network: str, collective: str, reason: str
) -> None:
    where = as_topology(SPECS.topology(network))
    answer = RECORD.fits(where, SPECS.collective(collective))
    assert not answer.ok
    assert reason in answer.reason


def test_large_torus_is_stored_as_sends_of_one_node() -> None:
    """A list of all sends would take gigabytes; the orbit form is verified directly."""
    (found,) = propose("torus(8,8,8)")
    algorithm = found.algorithm
    assert isinstance(algorithm, OrbitAlgorithm)
    assert algorithm.num_sends == 512 * 511 * 6
    assert algorithm.representative.num_sends == 511 * 6
    assert (algorithm.steps, algorithm.rounds, found.chunks) == (12, 511, 6)
