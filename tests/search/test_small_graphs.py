"""Collectives with one root on every connected graph of few nodes: no claim is false.

Brute force tries everything, for every small S and C.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction

import networkx as nx
import pytest

from syncoll.clock import counting
from syncoll.ledger import SearchRequest
from syncoll.model import Topology
from syncoll.searching import AnswerSource
from syncoll.solving import Solver
from tests.search.test_claims import MANAGER, SPECS, examine, seeding

EVERY = os.environ.get("SYNCOLL_EVERY_GRAPH") == "1"
"""Whether no graph is left out, which takes some minutes more."""

COLLECTIVES = ("broadcast", "reduce", "scatter", "gather")


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver(MANAGER, backend="cpsat") as solver:
        yield solver


def graphs(nodes: int) -> Iterator[Topology]:
    """Every connected graph of this number of nodes, with links of one bandwidth and of several."""
    atlas = (g for g in nx.graph_atlas_g() if len(g) == nodes and nx.is_connected(g))
    for number, graph in enumerate(atlas):
        for uneven in (False, True):
            links = {}
            for i, (a, b) in enumerate(graph.edges):
                links[a, b] = Fraction(1 + i % 2 * uneven)
                links[b, a] = Fraction(1, 1 + (i % 3 == 2) * uneven)
            yield Topology.from_links(f"graph{nodes}{number}{uneven}", nodes, links)


def no_claim_is_false(topology: Topology, collective: str, solver: Solver) -> None:
    request = SearchRequest(
        topology,
        SPECS.collective(collective),
        # Of the nodes C of a scatter is a multiple; without a limit there are pipelines.
        max_chunks={"gather": 2, "scatter": topology.num_nodes}.get(collective),
        point_limit=0.2,
        time_limit=0.6,
    )
    with counting():
        assert examine(request, AnswerSource(solver, seeding=seeding()))


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("topology", [*graphs(2), *graphs(3)], ids=str)
def test_up_to_three_nodes(topology: Topology, collective: str, solver: Solver) -> None:
    no_claim_is_false(topology, collective, solver)


@pytest.mark.slow
@pytest.mark.parametrize(
    "topology", [g for i, g in enumerate(graphs(4)) if EVERY or i in (0, 7)], ids=str
)
def test_four_nodes(topology: Topology, solver: Solver) -> None:
    for collective in COLLECTIVES:
        no_claim_is_false(topology, collective, solver)
