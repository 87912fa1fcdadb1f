"""All connected graphs of up to 4 nodes: no bound exceeds the optimum of brute force, and points
that are called optimal are optimal.

Chunks meet in the loads alone, so the least R/C in S steps is the optimum of mixtures of ways for
one chunk: a linear program over all ways.  Its columns are generated: the cheapest way under given
prices is a shortest path through all states, the contributions at every node after a step.  A node
sends all of them, and hearing of a contribution twice does no harm: algorithms that combine may do
no better.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from syncoll.clock import counting
from syncoll.ledger import SearchRequest
from syncoll.linear import LinearProgram
from syncoll.model import Topology
from syncoll.plugins import PluginManager
from syncoll.plugins.options import resolve_options
from syncoll.searching import AnswerSource, ChosenSeed, Seeding, search
from syncoll.spec import SpecLibrary

F = Fraction
EVERY = os.environ.get("SYNCOLL_EVERY_GRAPH") == "1"
"""Whether no graph is left out, which takes some minutes more."""

SEEDS = ("treepairs", "recursive_doubling", "treepacking")
Prices = Sequence[Sequence[float]]
Way = list[tuple[int, int]]
"""Links, each with its step."""

MANAGER = PluginManager.discover()
SPECS = SpecLibrary([record.folder for record in MANAGER.spec_libraries.values()])


def networks(nodes: int) -> Iterator[Topology]:
    """Each graph with links of bandwidth 1, and with others."""
    for graph in nx.graph_atlas_g():
        if graph.number_of_nodes() != nodes or not nx.is_connected(graph):
            continue
        links = sorted([*graph.edges, *((b, a) for a, b in graph.edges)])
        name = f"{nodes} nodes, {graph.number_of_edges()} edges"
        yield Topology.from_links(name, nodes, dict.fromkeys(links, F(1)))
        random_ = random.Random(len(links))
        widths = {link: random_.choice([F(1), F(2), F(3, 2)]) for link in links}
        yield Topology.from_links(f"{name}, uneven", nodes, widths)


def cheapest(topology: Topology, prices: Prices) -> tuple[float, Way] | None:
    """The cheapest way to deal with one chunk; None where the steps do not suffice."""
    nodes = topology.num_nodes
    everything = (1 << nodes) - 1
    states: dict[tuple[int, ...], tuple[float, Way]] = {
        tuple(1 << n for n in range(nodes)): (0.0, [])
    }
    for step, now in enumerate(prices):
        last = step == len(prices) - 1
        after: dict[tuple[int, ...], tuple[float, Way]] = {}
        for state, (cost, way) in states.items():
            choices = []
            for node in range(nodes):
                into = [
                    (now[i], i, state[a])
                    for i, (a, b) in enumerate(topology.links)
                    if b == node and state[a] & ~state[node]
                ]
                known: dict[int, tuple[float, list[int]]] = {}
                for count in range(len(into) + 1):
                    for some in combinations(into, count):
                        mask, paid = state[node], sum(price for price, _, _ in some)
                        for _, _, more in some:
                            mask |= more
                        if last and mask != everything:
                            continue
                        if mask not in known or paid < known[mask][0]:
                            known[mask] = paid, [i for _, i, _ in some]
                choices.append([(mask, *rest) for mask, rest in known.items()])
            for chosen in product(*choices):
                key = tuple(mask for mask, _, _ in chosen)
                paid = cost + sum(price for _, price, _ in chosen)
                if key not in after or paid < after[key][0] - 1e-12:
                    after[key] = paid, way + [(i, step) for _, _, some in chosen for i in some]
        states = after
    return min(states.values(), default=None)


def least_cost(topology: Topology, steps: int) -> float | None:
    """The least R/C of all mixtures; None where the steps do not suffice."""
    links = len(topology.links)
    rates = [float(topology.bounds[i].chunks_per_round) for i in range(links)]
    assert [bound.links for bound in topology.bounds] == [(link,) for link in topology.links]
    prices = [[1 / (links * rate) for rate in rates] for _ in range(steps)]
    loads: list[np.ndarray] = []
    value = np.inf
    while True:
        found = cheapest(topology, prices)
        if found is None:
            return None
        if loads and found[0] >= value - 1e-9:
            return value
        load = np.zeros((steps, links))
        for link, step in found[1]:
            load[step, link] += 1
        loads.append(load)
        # min sum r, and the loads of a mixture are no more than rate * r
        cells = steps * links
        step, link = np.divmod(np.arange(cells), links)
        used = [np.flatnonzero(one.ravel()) for one in loads]
        mixed = np.repeat(np.arange(len(loads)), [len(one) for one in used])
        program = LinearProgram(
            np.concatenate([np.ones(steps), np.zeros(len(loads))]),
            np.concatenate([np.arange(cells), *used, np.full(len(loads), cells)]),
            np.concatenate([step, steps + mixed, steps + np.arange(len(loads))]),
            np.concatenate([-np.array(rates)[link], np.ones(len(mixed)), np.ones(len(loads))]),
            np.append(np.full(cells, -np.inf), 1.0),
            np.append(np.zeros(cells), 1.0),
        )
        optimum = program.minimise_unreduced(60.0)
        assert optimum is not None
        value = optimum.value
        prices = (-optimum.row_duals[:cells]).reshape(steps, links).tolist()


def check(topology: Topology, most: int) -> int:
    """Compares the frontier of a search with brute force; returns the number of settled S."""
    asked = SPECS.collective("allreduce")
    records = [MANAGER.seeds[name] for name in SEEDS]
    options = [resolve_options(one.options, {}, one.name) for one in records]
    chosen = [ChosenSeed(*one, named=True) for one in zip(records, options, strict=True)]
    failures: list[str] = []
    seeding = Seeding(chosen, failures.append)
    request = SearchRequest(topology, asked, max_steps=most, time_limit=2.0)
    with counting():
        frontier = search(request, AnswerSource(None, seeding=seeding))
    assert not failures
    assert frontier.evidence is not None
    settled = 0
    for steps in range(1, most + 1):
        truth = least_cost(topology, steps)
        best = min((p.bandwidth for p in frontier.points if p.steps <= steps), default=None)
        if truth is None:
            assert steps < frontier.least_steps
            assert best is None
            continue
        proofs = [one for one in frontier.evidence.proofs if one.steps >= steps]
        bound = max([frontier.least_bandwidth, *(one.bound for one in proofs)])
        assert float(bound) <= truth + 1e-9, (topology.name, steps)
        assert best is not None
        assert float(best) >= truth - 1e-9
        settled += best == bound
        if best == bound:
            assert float(best) == pytest.approx(truth)
    return settled


@pytest.mark.parametrize("nodes", [2, 3])
def test_up_to_three_nodes(nodes: int) -> None:
    settled = sum(check(topology, 3) for topology in networks(nodes))
    assert settled >= nodes


def test_four_nodes() -> None:
    some = list(networks(4))[:: 1 if EVERY else 3]  # with links alike, and with others, in turn
    assert sum(check(topology, 2) for topology in some) >= 2


@pytest.mark.slow
def test_four_nodes_and_more_steps() -> None:
    """Graphs with up to 4 edges only: others have too many states."""
    few = [topology for topology in networks(4) if len(topology.links) <= 8]
    few = few if EVERY else few[1::3]
    assert sum(check(topology, 3) for topology in few) >= len(few)
