"""docs/seeds.md: the seed that it shows works, and its table names every seed."""

from __future__ import annotations

import re
import types
from typing import Any

import pytest

from syncoll.ledger import SearchRequest
from syncoll.plugins import PluginManager
from syncoll.routing import as_topology
from syncoll.searching import AnswerSource, ChosenSeed, Seeding, search
from syncoll.spec import SpecLibrary

from .conftest import ROOT, written_files

PAGE = ROOT / "docs" / "seeds.md"
MANAGER = PluginManager.discover()
LIBRARY = SpecLibrary([record.folder for record in MANAGER.spec_libraries.values()])


@pytest.fixture(scope="module")
def manager() -> PluginManager:
    (text,) = written_files(PAGE).values()
    module: Any = types.ModuleType("path_for_syncoll")
    exec(compile(text, str(PAGE), "exec"), module.__dict__)
    made = PluginManager()
    made.register(module, "path")
    return made


@pytest.mark.parametrize(
    ("topology", "collective", "cost"),
    [
        ("line(5)", "allgather", (4, "4")),
        ("line(5)", "broadcast(root=2)", (2, "2")),
        ("line(4)", "alltoall", (3, "3/2")),
        ("ring(4)", "allreduce", (6, "3/2")),
    ],
)
def test_the_seed(
    topology: str, collective: str, cost: tuple[int, str], manager: PluginManager
) -> None:
    seeding = Seeding([ChosenSeed(manager.seeds["path"], {}, named=True)])
    request = SearchRequest(as_topology(LIBRARY.topology(topology)), LIBRARY.collective(collective))
    frontier = search(request, AnswerSource(None, seeding=seeding))
    assert [(p.steps, str(p.bandwidth)) for p in frontier.points] == [cost]
    assert not seeding.refusals


def test_the_seed_names_a_missing_link(manager: PluginManager) -> None:
    seeding = Seeding([ChosenSeed(manager.seeds["path"], {}, named=True)])
    request = SearchRequest(
        as_topology(LIBRARY.topology("star(4)")), LIBRARY.collective("allgather")
    )
    assert search(request, AnswerSource(None, seeding=seeding)).points == ()
    assert seeding.refusals == {"path": "nodes 1 and 2 are not linked both ways"}


def test_the_table_names_every_seed() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == set(MANAGER.seeds)


def test_the_seeds_of_every_search() -> None:
    usual = {name for name, record in MANAGER.seeds.items() if record.by_default}
    text = " ".join(PAGE.read_text("utf-8").split())
    sentence = re.search(r"Every search starts from (.*?), the quick ones", text)
    assert sentence is not None
    assert set(re.findall(r"`(\w+)`", sentence[1])) == usual
