"""For a file of a wrong kind the error names both kinds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.errors import FileFormatError

Run = Callable[..., Any]

ALGORITHMS = "a frontier, an outcome or an algorithm"
TAKES = {
    "repair": (ALGORITHMS, ["--without", "link 0->1"]),
    "plan": ("a frontier", ["--alpha", "1us", "--beta", "1GB/s"]),
    "report": (ALGORITHMS, []),
    "simulate": (ALGORITHMS, ["--alpha", "1us", "--beta", "1GB/s"]),
    "run": (ALGORITHMS, []),
    "export": (ALGORITHMS, ["--to", "csv", "-o", "out/"]),
    "verify": ("a frontier, an outcome, an algorithm or a refutation", []),
    "check": ("a frontier or a forest", []),
    "show": ("a frontier, an outcome, an algorithm, a refutation or a forest", []),
}
READS_FORESTS = ("check", "show")


@pytest.fixture
def files(tmp_path: Path, run: Run) -> dict[str, str]:
    assert run("forest", "ring(3)", "-o", "forest.json").code == 0
    solved = run("solve", "ring(3)", "allgather", "-C1", "-S1", "-R1", "-o", "outcome.json")
    assert solved.code == 0
    bounds = run("bounds", "ring(3)", "allgather", "--format", "json")
    (tmp_path / "printed.json").write_text(bounds.out, encoding="utf-8")
    (tmp_path / "plan.json").write_text('{"schema": "syncoll/plan/3"}', encoding="utf-8")
    return {
        "forest.json": "a forest",
        "outcome.json": "an outcome",
        "printed.json": "the output of `syncoll bounds --format json`",
        "plan.json": "a plan",
    }


def test_every_command_names_both(files: dict[str, str], run: Run) -> None:
    for command, (takes, more) in TAKES.items():
        for file, kind in files.items():
            if kind in takes or (kind == "a forest" and command in READS_FORESTS):
                continue
            result = run(command, file, *more)
            assert result.code == 2
            assert result.err == f"syncoll: {file}: this is {kind}; {command} takes {takes}\n"


def test_every_verb_names_both(files: dict[str, str], tmp_path: Path) -> None:
    verbs: dict[str, Callable[[str], object]] = {
        f"repair takes {ALGORITHMS}": lambda file: syncoll.repair(file, "link 0->1"),
        f"a survey takes {ALGORITHMS}": syncoll.survey,
        "plan takes a frontier": lambda file: syncoll.plan(file, alpha="1us", beta="1GB/s"),
        f"simulate takes {ALGORITHMS}": syncoll.simulate,
        f"run takes {ALGORITHMS}": syncoll.run,
        f"report takes {ALGORITHMS}": syncoll.report,
        f"export takes {ALGORITHMS}": lambda file: syncoll.export(file, "csv", tmp_path / "out"),
        f"load takes {ALGORITHMS}": syncoll.load,
    }
    for words, verb in verbs.items():
        with pytest.raises(FileFormatError, match=f"this is a forest; {words}"):
            verb(str(tmp_path / "forest.json"))
    with pytest.raises(FileFormatError, match="this is an outcome; expected a forest"):
        syncoll.load_forest(tmp_path / "outcome.json")


def test_other_schemas_stay_unknown(tmp_path: Path, run: Run) -> None:
    for schema in ("syncoll/poem/1", "openapi/3", "syncoll/forest"):
        (tmp_path / "x.json").write_text(json.dumps({"schema": schema}), encoding="utf-8")
        result = run("report", "x.json")
        assert result.code == 2
        assert f"unknown schema {schema!r}" in result.err
