"""Files to read, break and read again: one of every kind, made by the command line itself."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncoll.cli.main import main
from syncoll.documents import algorithm_document, read_file

Json = dict[str, Any]


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Valid documents by name; not to be changed, `document` gives copies."""
    folder = tmp_path_factory.mktemp("documents")
    commands = {
        "frontier": ["pareto", "ring(4)", "allgather"],
        "shared": ["pareto", "hub(3)", "broadcast", "--max-chunks", "4"],
        "dgx1": ["pareto", "dgx1", "allgather", "--backend", "cpsat", "--seeds", "none"],
        "sat": ["solve", "dgx1", "allgather", "-C", "1", "-S", "2", "-R", "2"],
        "unsat": ["solve", "ring(4)", "allgather", "-C", "1", "-S", "1", "-R", "1"],
        "unknown": [
            *("solve", "hypercube(4)", "alltoall", "-C", "16", "-S", "8", "-R", "8"),
            *("--work", "0.01"),
        ],
    }
    result: dict[str, Json] = {}
    for name, command in commands.items():
        path = folder / f"{name}.json"
        assert main([*command, "-o", str(path)]) in (0, 1, 3)
        result[name] = json.loads(path.read_text("utf-8"))
    one = read_file(folder / "shared.json").algorithms[0]
    result["algorithm"] = algorithm_document(one.instance, one.algorithm)
    return result


@pytest.fixture
def document(documents: dict[str, Json]) -> Callable[[str], Json]:
    """A fresh copy of a valid document, to be broken."""
    return lambda name: copy.deepcopy(documents[name])


@pytest.fixture
def written(tmp_path: Path) -> Callable[[object], Path]:
    """Writes a document, text or bytes and gives the path."""

    def write(content: object) -> Path:
        path = tmp_path / "file.json"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_text(text, encoding="utf-8")
        return path

    return write
