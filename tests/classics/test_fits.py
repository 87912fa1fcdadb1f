"""Classics give a reason if they do not fit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import syncoll_classics
from syncoll.model import Collective, Topology
from syncoll.plugins import Answer, PluginManager
from syncoll.spec import SpecLibrary

RECORDS = {record.name: record for record in syncoll_classics.RECORDS}


@pytest.fixture(scope="module")
def fits(specs: SpecLibrary) -> Callable[[str, str, str], Answer]:
    def ask(name: str, topology: str, collective: str) -> Answer:
        return RECORDS[name].fits(specs.topology(topology), specs.collective(collective))

    return ask


@pytest.mark.parametrize(
    ("name", "topology", "collective", "reason"),
    [
        ("ring", "line(4)", "allgather", "without node 2 the network falls apart"),
        ("ring", "mesh(3,3)", "allgather", "two sides of 4 and 5 nodes"),
        ("ring", "star(4)", "broadcast", "without node 0 the network falls apart"),
        ("recursive_doubling", "hub(6)", "allgather", "P must be a power of two; it is 6"),
        ("halving_doubling", "ring(5)", "allreduce", "P must be a power of two; it is 5"),
        ("swing", "torus(3,4)", "allreduce", "P must be a power of two; it is 12"),
        ("binomial", "hub(4)", "alltoall", "has one root"),
        ("double_binary_tree", "hub(4)", "allgather", "has one root"),
        ("ring2d", "dgx1", "allgather", "neither a mesh nor a torus"),
        ("ring", "ring(4)", "reducescatter", "reducescatter combines"),
        ("all_pairs", "ring(4)", "reducescatter", "combines and is not an allreduce"),
        ("bruck", "ring(1)", "allgather", "at least two nodes"),
    ],
)
def test_reasons(
    name: str, topology: str, collective: str, reason: str, fits: Callable[[str, str, str], Answer]
) -> None:
    answer = fits(name, topology, collective)
    assert not answer.ok
    assert reason in answer.reason


@pytest.mark.parametrize("name", RECORDS)
def test_missing_paths_are_refused(name: str, specs: SpecLibrary) -> None:
    broken = Topology.from_links("broken", 4, {(0, 1): 1, (1, 0): 1, (2, 3): 1, (3, 0): 1})
    answer = RECORDS[name].fits(broken, specs.collective("allgather"))
    assert answer == Answer(False, "no path leads from node 0 to node 2")


def test_a_chunk_of_two_sources_is_refused(specs: SpecLibrary) -> None:
    pre = np.array([[1, 0, 0], [1, 1, 0]], dtype=bool)
    collective = Collective.from_arrays("two sources", pre, np.ones((2, 3), dtype=bool))
    answer = RECORDS["bruck"].fits(specs.topology("ring(3)"), collective)
    assert answer.reason == "chunk 1 of two sources starts at 2 nodes, not at one"


def test_collective_of_another_size_is_refused(specs: SpecLibrary) -> None:
    pre = np.eye(3, dtype=bool)
    collective = Collective.from_arrays("for three", pre, np.ones((3, 3), dtype=bool))
    answer = RECORDS["bruck"].fits(specs.topology("ring(4)"), collective)
    assert "for three is defined for 3 nodes only" in answer.reason


def test_a_table_too_large_is_not_made(specs: SpecLibrary) -> None:
    answer = RECORDS["bruck"].fits(specs.topology("ring(600)"), specs.collective("alltoall"))
    assert "too large" in answer.reason


def test_a_plugin_manager_takes_them() -> None:
    plugins = PluginManager()
    plugins.register(syncoll_classics, "classics")
    assert set(plugins.seeds) == set(RECORDS)
    assert plugins.seeds["ring"].options


def test_the_package_is_light() -> None:
    heavy = "{'ortools', 'networkx', 'syncoll_classics.seed'}"
    code = f"import sys, syncoll_classics; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
