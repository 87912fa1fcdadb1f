"""The page of topologies names all that are shipped, and its numbers are theirs."""

from __future__ import annotations

import itertools
import re

import networkx as nx
import pytest

from syncoll.plugins import PluginManager
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary

from .conftest import DOCS

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (DOCS / "topologies.md").read_text("utf-8").splitlines()
    if line.startswith("| `")
]


@pytest.fixture(scope="module")
def library() -> SpecLibrary:
    return SpecLibrary([PluginManager.discover().spec_libraries["syncoll"].folder])


def test_every_topology_has_a_place(library: SpecLibrary) -> None:
    listed = [re.match(r"\w+", span)[0] for row in ROWS for span in re.findall(r"`(.+?)`", row[0])]
    assert sorted(listed) == [summary.name for summary in library.names("topology")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_numbers(row: list[str], library: SpecLibrary) -> None:
    names, numbers = re.findall(r"`(.+?)`", row[0]), row[1].split(", ")
    for name, nodes in zip(names, itertools.cycle(numbers), strict=False):
        assert library.topology(name).num_nodes == int(nodes)
    if re.fullmatch(r"[\d, ]+", row[2]):
        for name, diameter in zip(names, itertools.cycle(row[2].split(", ")), strict=False):
            links = as_topology(library.topology(name)).links
            assert nx.diameter(nx.DiGraph(links)) == int(diameter)
