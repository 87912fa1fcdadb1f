"""Plugins are found, not named: the core does not know the names of its own plugins."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from syncoll.plugins import PluginManager

CORE = Path(__file__).parents[2] / "syncoll"

OTHER_MEANINGS = {
    "step": {"verbs", "simulating", "trust", "proofs"},  # of an algorithm
    "partial": {"spec"},  # sums
    "csv": {"documents"},  # a format of tables
    "path": {"verbs"},  # of a file
    "ring": {"symmetry"},  # a factor of a product
    "pipelines": {"reporting"},  # how many a frontier has
    "nccl_ring": {"measuring"},  # NCCL's, which a finding explains
    "nccl_tree": {"measuring"},
    "mscclpp": {"simulating", "verbs"},  # a runtime
    "highs": {"lowerings"},  # the high bounds of rows
    "syncoll": {  # the project
        *("cli", "planning", "plugins", "session", "solving", "spec", "store", "testing")
    },
}
"""Words that name a plugin and something else, with the folders that mean the latter."""


def strings(file: Path) -> Iterator[tuple[int, str]]:
    """The texts in a file's code, without the nouns that `counted` makes plurals of."""
    tree = ast.parse(file.read_text("utf-8"))
    nouns = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "counted"
        for argument in node.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in nouns:
            yield node.lineno, node.value


def test_no_file_of_the_core_names_a_plugin() -> None:
    manager = PluginManager.discover()
    points = (
        manager.encodings,
        manager.backends,
        manager.seeds,
        manager.spec_libraries,
        manager.importers,
        manager.exporters,
    )
    names = {name for point in points for name, record in point.items() if manager.is_ours(record)}
    assert names >= {"cpsat", "step", "partial", "msccl-xml"}
    said = [
        (file.relative_to(CORE), line, text)
        for file in sorted(CORE.rglob("*.py"))
        for line, text in strings(file)
        if names.issuperset(text.split("+"))  # also `cpsat+pysat`
    ]
    found = [
        f"{file}:{line}: {text}"
        for file, line, text in said
        if file.parts[0] not in OTHER_MEANINGS.get(text, set())
    ]
    assert not found
    for name, folders in OTHER_MEANINGS.items():
        used = {file.parts[0] for file, _, text in said if text == name}
        assert used == folders, f"what is excused for {name} is there"
