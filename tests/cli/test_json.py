"""``--format json``: exactly one object on standard output, as in its schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from syncoll.documents import KINDS, load_text, schema

Run = Callable[..., Any]

SOLVE = ["solve", "dgx1", "allgather", "-C", "1", "-S", "2", "-R", "2"]


@pytest.mark.parametrize(
    ("arguments", "name", "keys"),
    [
        (["pareto", "ring(3)", "allgather"], "frontier/1", {"points", "open", "nodes"}),
        (SOLVE, "outcome/1", {"verdict", "algorithm", "reason"}),
        (["bounds", "ring(4)", "allgather"], "bounds/1", {"steps", "bandwidth", "by_steps"}),
        (["bounds", "ring(4)", "gather", "--prices"], "bounds/1", {"prices", "by_steps"}),
        (["show", "dgx1"], "topology/1", {"nodes", "interconnect"}),
        (["show", "alltoall"], "collective/1", {"pre", "post", "global_chunks"}),
        (["show", "--symmetry", "ring(4)", "gather"], "symmetry/1", {"order", "generators"}),
        (["spec", "list"], "specs/1", {"definitions"}),
        (["explain", *SOLVE[1:]], "explanation/1", {"stages", "can_run", "should_run"}),
        (["plugins"], "plugins/1", {"plugins", "broken"}),
    ],
)
def test_one_object(arguments: list[str], name: str, keys: set[str], run: Run) -> None:
    result = run(*arguments, "--format", "json")
    assert result.code == 0
    assert result.json["schema"] == f"syncoll/{name}"
    assert keys <= set(result.json)
    assert result.out.startswith("{\n")
    assert result.out.endswith("\n}\n")


def test_one_object_of_commands_on_files(files: Path, run: Run) -> None:
    result = run("verify", files / "frontier.json", "--format", "json")
    assert [one["rounds"] for one in result.json["verified"]] == [3, 7]
    shown = run("show", files / "frontier.json", "--format", "json")
    assert shown.json == json.loads((files / "frontier.json").read_text("utf-8"))
    found = run("search", f"{files / 'both.syncoll'}:small", "--format", "json")
    assert found.json["schema"] == "syncoll/frontier/1"
    assert found.json["topology"] == "quad"


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_printed_complete(kind: str, run: Run) -> None:
    printed = run("schema", kind).json
    assert printed == schema(kind)
    jsonschema.Draft202012Validator.check_schema(printed)


def test_the_frontier(run: Run, tmp_path: Path) -> None:
    result = run("pareto", "dgx1", "allgather", "--format", "json", "-o", "saved.json")
    assert result.code == 0
    content = result.json
    assert json.loads((tmp_path / "saved.json").read_text("utf-8")) == content
    jsonschema.Draft202012Validator(run("schema", "frontier").json).validate(content)
    assert load_text(result.out, "stdout").kind == "frontier"
    types = {
        "schema": str,
        "topology": str,
        "collective": str,
        "nodes": int,
        "points": list,
        "open": list,
    }
    assert {key: type(content[key]) for key in types} == types
    point_types = {
        "chunks": int,
        "steps": int,
        "rounds": int,
        "bandwidth": str,
        "status": str,
        "encoding": str,
        "backend": str,
        "seconds": float,
        "algorithm": dict,
    }
    for point in content["points"]:
        assert {key: type(point[key]) for key in point_types} == point_types
        assert str(Fraction(point["rounds"], point["chunks"])) == point["bandwidth"]
        algorithm = point["algorithm"]
        assert len(algorithm["rounds_per_step"]) == point["steps"]
        assert sum(algorithm["rounds_per_step"]) == point["rounds"]
        assert min(row[3] for row in algorithm["sends"]) == 0
        assert max(row[3] for row in algorithm["sends"]) == point["steps"] - 1
        assert all(len(row) == 4 for row in algorithm["sends"])
    costs = [(p["steps"], p["bandwidth"]) for p in content["points"]]
    assert costs == [(2, "3/2"), (3, "7/6")]


@pytest.mark.parametrize(
    ("change", "verdict", "code"),
    [
        ([], "sat", 0),
        (["-R", "1"], "unsat", 1),
        (["-C", "64", "-S", "6", "-R", "80", "--work", "0.1"], "unknown", 3),
    ],
)
def test_the_outcome(change: list[str], verdict: str, code: int, run: Run) -> None:
    result = run(*SOLVE, *change, "--format", "json")
    assert result.code == code
    content = result.json
    assert content["schema"] == "syncoll/outcome/1"
    assert content["verdict"] == verdict
    jsonschema.Draft202012Validator(run("schema", "outcome").json).validate(content)
    assert load_text(result.out, "stdout").kind == "outcome"
    if verdict == "sat":
        assert content["algorithm"]["rounds_per_step"] == [1, 1]
        assert {row[3] for row in content["algorithm"]["sends"]} == {0, 1}
    else:
        assert content["algorithm"] is None


def test_messages_go_to_standard_error(run: Run) -> None:
    result = run(
        *("pareto", "ring(3)", "allgather", "--seeds", "none", "--format", "json"),
        *("--progress", "plain", "-o", "saved.json"),
    )
    assert result.json["points"]
    assert "found after" in result.err
    assert "saved in saved.json" in result.err


def test_plugins_are_described(run: Run) -> None:
    entries = run("plugins", "--format", "json").json["plugins"]
    assert {e["point"] for e in entries} >= {"encoding", "backend", "specs"}
    for entry in entries:
        assert {"name", "summary", "able", "distribution"} <= set(entry)
        if entry["point"] == "backend":
            assert entry["features"]
            assert set(entry["installed"]) == {"ok", "reason"}
            assert entry["able"] == (entry["installed"]["ok"] and entry["licensed"]["ok"])
