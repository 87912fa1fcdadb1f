"""The floors of the core: the allowed imports.  CONTRIBUTING.md describes each floor."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from syncoll.cli.main import main

ROOT = Path(__file__).parents[2]
CORE = ROOT / "syncoll"

FLOORS = (
    "errors",
    "wording",
    "units",
    "values",
    "lazy",
    "version",
    "arrays",
    "protobuf",
    "interrupts",
    "clock",
    "deadline",
    "memory",
    "processes",
    "progress",
    "model",
    "formula",
    "certificates",
    "results",
    "trust",
    "documents",
    "linear",
    "routing",
    "damage",
    "symmetry",
    "scheduling",
    "packing",
    "lowerings",
    "bounding",
    "ledger",
    "spec",
    "plugins",
    "importing",
    "runtime",
    "planning",
    "simulating",
    "measuring",
    "solving",
    "proofs",
    "verification",
    "store",
    "searching",
    "designing",
    "repairing",
    "mpi",
    "testing",
    "pages",
    "live",
    "reporting",
    "session",
    "verbs",
    "api",
    "cli",
)
"""Ground first: a module imports only from its own floor and the floors above it in this list."""

TRUSTED = {"errors", "wording", "model", "formula", "certificates", "results", "trust", "arrays"}
TRUSTED |= {"progress"}
"""The floors with which `syncoll check` checks claims."""


def imported(file: Path) -> set[str]:
    """The floors that a file imports from, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: relative"
            names = {node.module or ""}
            if node.module == "syncoll":  # which has the verbs, next to the packages
                named = {alias.name for alias in node.names}
                names = {f"syncoll.{name if name in FLOORS else 'api'}" for name in named}
            found |= names
    return {name.split(".")[1] for name in found if name.startswith("syncoll.")}


def floor_of(file: Path) -> str:
    """The shell's part of a verb lies in its folder, and on the floor of the command line."""
    if file.name == "shell.py":
        return "cli"
    return file.relative_to(CORE).parts[0].removesuffix(".py")


def test_every_floor_is_named_here_and_in_the_guide() -> None:
    there = {floor_of(file) for file in CORE.rglob("*.py")} - {"__init__", "__main__"}
    assert there == set(FLOORS)
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert re.findall(r"^  (\w+)(?:/|\.py) ", guide, re.MULTILINE) == list(FLOORS)


@pytest.mark.parametrize("floor", FLOORS)
def test_no_import_runs_upwards(floor: str) -> None:
    below = set(FLOORS[: FLOORS.index(floor) + 1])
    for file in CORE.rglob("*.py"):
        if floor_of(file) == floor:
            assert imported(file) <= below, file.relative_to(ROOT)


def test_the_trusted_floors_import_nothing_that_searches() -> None:
    for file in CORE.rglob("*.py"):
        if floor_of(file) in TRUSTED:
            assert imported(file) <= TRUSTED | {"lazy"}, file.relative_to(ROOT)


COMMAND = {
    *("cli", "verbs", "session", "pages", "documents", "units", "values"),
    *("interrupts", "clock", "deadline", "memory", "lazy", "version", "arrays", "progress", "live"),
}
"""The floors of a command itself, without its subject."""


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("check", {"plugins", "spec"}),  # for the collective of the name in the file
        ("verify", {"plugins", "runtime", "verification"}),  # a file may be one of an exporter's
    ],
)
def test_commands_that_check_load_nothing_that_searches(
    command: str, more: set[str], tmp_path: Path
) -> None:
    frontier = tmp_path / "f.json"
    assert main(["pareto", "ring(4)", "allgather", "-o", str(frontier)]) == 0
    program = "\n".join(
        (
            "import sys",
            "from syncoll.cli.main import main",
            f"main([{command!r}, {str(frontier)!r}])",
            "names = [name.split('.') for name in sys.modules if name.startswith('syncoll.')]",
            "print(*{name[1] for name in names})",
        )
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "trust" in loaded
    # The code that recognises files of exporters loads the records of all plugins, but not their
    # code.
    assert loaded <= TRUSTED | COMMAND | more | ({"importing"} if more else set())
