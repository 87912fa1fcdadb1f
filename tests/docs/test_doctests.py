"""The examples in docstrings are true, and the types that programs begin with have some."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

from syncoll import api

from .conftest import ROOT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    for path in (ROOT / "syncoll").rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)
SHOWN = [
    "Algorithm",
    "Collective",
    "Frontier",
    "Instance",
    "Topology",
    "read_file",
    "require_valid",
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder().find(importlib.import_module(name)):
        runner.run(test, out=output.append)
    assert not runner.failures, "".join(output)
    assert runner.tries


@pytest.mark.parametrize("name", SHOWN)
def test_there_is_an_example(name: str) -> None:
    """At it, or at one of its methods."""
    found = doctest.DocTestFinder().find(getattr(api, name), name)
    assert any(test.examples for test in found)
