"""Importers only import from the floors below them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path for path in (ROOT / "importers").iterdir() if (path / "py.typed").is_file())


def imported(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(node.module or "")
    return {name for name in found if name.partition(".")[0].startswith("syncoll")}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_an_importer(package: Path) -> None:
    floors = (
        *("syncoll.errors", "syncoll.wording", "syncoll.model", "syncoll.plugins"),
        "syncoll.importing",
    )
    for file in package.rglob("*.py"):
        for name in imported(file):
            assert name.startswith((*floors, package.name)), f"{file.name} imports {name}"
