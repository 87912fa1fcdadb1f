"""Algorithms made by hand, and one of every kind that the search finds."""

from __future__ import annotations

import numpy as np
import pytest

from syncoll.ledger import SearchRequest
from syncoll.model import Algorithm, Instance, Topology
from syncoll.plugins import PluginManager
from syncoll.routing import as_topology
from syncoll.searching import search
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid

Pair = tuple[Instance, Algorithm]


def ring_allreduce(nodes: int) -> Pair:
    """P chunks: each goes round once while all nodes add to it, and round again as a result."""
    links = {(n, (n + 1) % nodes): 1 for n in range(nodes)}
    everybody = np.ones((nodes, nodes), dtype=bool)
    sends, carried = [], []
    for step in range(2 * (nodes - 1)):
        for chunk in range(nodes):
            source = (chunk + step) % nodes
            sends.append((chunk, source, (source + 1) % nodes, step))
            part = [(chunk + i) % nodes for i in range(min(step + 1, nodes))]
            carried.append([n in part for n in range(nodes)])
    steps = 2 * (nodes - 1)
    instance = Instance(
        Topology.from_links("ring", nodes, links),
        "allreduce",
        nodes,
        steps,
        steps,
        everybody,
        everybody,
        combining=True,
    )
    algorithm = Algorithm((1,) * steps, np.array(sends), np.array(carried))
    require_valid(instance, algorithm)
    return instance, algorithm


def line_reduce() -> Pair:
    """Nodes 0, 1, 2 in a row: 2 sends to 1, which adds and sends to 0."""
    topology = Topology.from_links("line", 3, {(2, 1): 1, (1, 0): 1})
    pre = np.ones((1, 3), dtype=bool)
    post = np.array([[True, False, False]])
    instance = Instance(topology, "reduce", 1, 2, 2, pre, post, combining=True)
    carried = np.array([[False, False, True], [False, True, True]])
    algorithm = Algorithm((1, 1), np.array([(0, 2, 1, 0), (0, 1, 0, 1)]), carried)
    require_valid(instance, algorithm)
    return instance, algorithm


def line_broadcast() -> Pair:
    """Two chunks down a row of three nodes."""
    topology = Topology.from_links("line", 3, {(0, 1): 2, (1, 2): 2})
    pre = np.array([[True, False, False]] * 2)
    instance = Instance(topology, "broadcast", 2, 2, 2, pre, np.ones((2, 3), dtype=bool))
    sends = [(0, 0, 1, 0), (1, 0, 1, 0), (0, 1, 2, 1), (1, 1, 2, 1)]
    algorithm = Algorithm((1, 1), np.array(sends))
    require_valid(instance, algorithm)
    return instance, algorithm


SEARCHED = [
    ("ring(4)", "allgather"),
    ("ring(4)", "alltoall"),
    ("hub(3)", "broadcast(root=1)"),
    ("star(4)", "gather(root=2)"),
    ("line(3)", "scatter"),
    ("ring(4)", "multi_broadcast(0, 2)"),
    ("ring(4)", "reduce(root=3)"),
    ("hub(3)", "reducescatter"),
    ("line(3)", "allreduce"),
    ("star(4)", "allreduce"),
    ("ring(4)", "allreduce"),
]


@pytest.fixture(scope="session")
def searched() -> dict[str, list[Pair]]:
    """The points of small frontiers, by names of machine and collective."""
    manager = PluginManager.discover()
    specs = SpecLibrary([record.folder for record in manager.spec_libraries.values()])
    result: dict[str, list[Pair]] = {}
    with Solver(manager) as solver:
        for machine, collective in SEARCHED:
            request = SearchRequest(
                as_topology(specs.topology(machine)), specs.collective(collective), max_chunks=4
            )
            points = search(request, solver).points
            result[f"{machine} {collective}"] = [(p.instance, p.algorithm) for p in points]
    return result
