"""Trees made cheaper: the steps are the best there are, and a descent ends at a tree that holds."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest

from syncoll.deadline import NEVER
from syncoll.model import Topology
from syncoll.packing.arrivals import ArrivalSearch
from syncoll.packing.problem import PackingProblem
from syncoll.plugins import PluginManager
from syncoll.spec import SpecLibrary

_LIBRARIES = PluginManager.discover().spec_libraries.values()
SPECS = SpecLibrary([record.folder for record in _LIBRARIES])
NODES, STEPS = 5, 4


def network(seed: int) -> PackingProblem:
    """A random strongly connected network, with a broadcast."""
    graph = nx.compose(
        nx.gnp_random_graph(NODES, 0.4, seed=seed, directed=True),
        nx.cycle_graph(NODES, create_using=nx.DiGraph),
    )
    links = dict.fromkeys(graph.edges, 1)
    topology = Topology.from_links("random", NODES, links)
    return PackingProblem(topology, SPECS.collective("broadcast"), NEVER)


def best_steps(problem: PackingProblem, into: np.ndarray, prices: np.ndarray) -> float:
    """The least cost of a tree, by trying all steps."""
    links = into[into >= 0]
    least = np.inf
    for steps in product(range(STEPS), repeat=len(links)):
        at = dict(zip(problem.links.target[links].tolist(), steps, strict=True))
        senders = problem.links.source[links].tolist()
        if all(at.get(u, -1) < step for u, step in zip(senders, steps, strict=True)):
            least = min(least, float(prices[list(steps), links].sum()))
    return least


@pytest.mark.parametrize("seed", range(4))
def test_steps_are_the_cheapest(seed: int) -> None:
    problem, random = network(seed), np.random.default_rng(seed)
    prices = random.random((STEPS, len(problem.links.source)))
    search = ArrivalSearch(problem.links, STEPS)
    trees = []
    for _ in range(4):
        weights = random.random(len(problem.links.source))
        graph = nx.DiGraph()
        for link, (u, v) in enumerate(zip(problem.links.source, problem.links.target, strict=True)):
            graph.add_edge(int(u), int(v), weight=weights[link], link=link)
        into = np.full(NODES, -1)
        for path in nx.single_source_dijkstra_path(graph, 0).values():
            for u, v in nx.utils.pairwise(path):
                into[v] = graph.edges[u, v]["link"]
        trees.append(into)
    has = np.tile(np.arange(NODES) == 0, (len(trees), 1))
    costs, steps = search.timed(np.stack(trees), has, prices)
    for into, cost, step in zip(trees, costs, steps, strict=True):
        assert cost == pytest.approx(best_steps(problem, into, prices))
        if np.isfinite(cost):
            used = into >= 0
            assert prices[step[used], into[used]].sum() == pytest.approx(cost)
        senders = set(problem.links.source[into[into >= 0]].tolist()) - {0}
        for lacking in senders:
            cut = np.where(np.arange(NODES) == lacking, -1, into)[None]
            assert search.timed(cut, has[:1], prices)[0][0] == np.inf


@pytest.mark.parametrize("seed", range(4))
def test_a_descent_ends_at_a_tree_that_costs_no_more(seed: int) -> None:
    problem, random = network(seed), np.random.default_rng(seed)
    prices = 0.1 + random.random((STEPS, len(problem.links.source)))
    search = ArrivalSearch(problem.links, STEPS)
    has = np.arange(NODES)[None, :] == 0
    graph = nx.DiGraph(
        zip(problem.links.source.tolist(), problem.links.target.tolist(), strict=True)
    )
    reached = nx.single_source_shortest_path_length(graph, 0)
    arrivals = np.array([[reached[node] for node in range(NODES)]])
    at_once = search.descended(arrivals, has, ~has, prices, NEVER.sooner(0.0))
    into = search.descended(arrivals, has, ~has, prices, NEVER)
    assert (into[0, 1:] >= 0).all()
    assert into[0, 0] == -1
    before, after = (search.timed(one, has, prices)[0][0] for one in (at_once, into))
    assert np.isfinite(after)
    assert after <= before + 1e-9
