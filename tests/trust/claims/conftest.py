"""Frontiers with every kind of proof: only certificates, refutations, and many open regions."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncoll.cli.main import main

Json = dict[str, Any]

IRREGULAR = Path(__file__).with_name("irregular.json")
"""The frontier of an irregular collective for C = 1, as an earlier version wrote it."""

"""A collective for which a bound for one C proves nothing about others."""

COMMANDS = {
    "prices": ["pareto", "dgx1", "allgather"],
    "no-last-point": ["pareto", "dgx1", "broadcast", "--max-steps", "4"],
    "inverse": ["pareto", "ring(5)", "reducescatter"],
    "refuted": ["pareto", "hub(4)", "reduce", "--max-chunks", "2", "--max-steps", "2"],
    "limited": ["pareto", "ring(6)", "broadcast", "--k", "0", "--max-chunks", "5"],
    "paper": ["pareto", "ring(4)", "allgather", "--strategy", "paper", "--k", "1"],
    "combined": ["pareto", "line(3)", "allreduce", "--max-steps", "5"],
    "shared": ["pareto", "bus(4)", "alltoall"],
    "cut-short": ["pareto", "dgx1", "allgather", "--seeds", "none", "--time-limit", "0s"],
    "seeds alone": ["pareto", "ring(4)", "allreduce", "--backend", "ring"],
    "seeded": ["pareto", "line(4)", "broadcast", "--max-steps", "5"],
    "in-place": ["pareto", "ring(1)", "allgather"],
}


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Frontiers by name, as the command line writes them."""
    folder = tmp_path_factory.mktemp("frontiers")
    result: dict[str, Json] = {}
    for name, command in COMMANDS.items():
        path = folder / f"{name}.json"
        assert main([*command, "-o", str(path)]) in (0, 3)
        result[name] = json.loads(path.read_text("utf-8"))
    result["irregular"] = json.loads(IRREGULAR.read_text("utf-8"))
    return result


@pytest.fixture
def document(documents: dict[str, Json]) -> Callable[[str], Json]:
    """A fresh copy."""
    return lambda name: copy.deepcopy(documents[name])
