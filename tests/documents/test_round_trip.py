"""Documents are read as written, and pass the published schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from syncoll.documents import (
    KINDS,
    frontier_document,
    load_text,
    read_file,
    schema,
    to_text,
    write_document,
)
from syncoll.documents.document import digest
from syncoll.trust import require_valid

Json = dict[str, Any]

NAMES = ["frontier", "shared", "dgx1", "sat", "unsat", "unknown", "algorithm"]


@pytest.mark.parametrize("name", NAMES)
def test_documents_are_read_as_written(
    name: str, document: Callable[[str], Json], tmp_path: Path
) -> None:
    path = tmp_path / "file.json"
    write_document(path, document(name))
    stored = read_file(path)
    assert stored.document == document(name)
    assert stored.topology.name == document(name)["topology"]
    assert stored.collective == document(name)["collective"]
    for one in stored.algorithms:
        require_valid(one.instance, one.algorithm)


@pytest.mark.parametrize("name", ["frontier", "shared", "dgx1"])
def test_a_frontier_that_was_read_can_be_written_again(
    name: str, document: Callable[[str], Json]
) -> None:
    stored = load_text(json.dumps(document(name)), name)
    assert stored.frontier is not None
    again = frontier_document(stored.frontier)
    before = document(name)
    for point in before["points"]:  # sizes are not kept in memory
        point.pop("variables", None)  # seeds have no formula
        point.pop("constraints", None)
    assert again == {**before, "digest": digest(before)}


def test_each_kind_counts_its_algorithms(document: Callable[[str], Json]) -> None:
    counts = {name: load_text(json.dumps(document(name)), name) for name in NAMES}
    assert {name: (len(s.algorithms), len(s.instances)) for name, s in counts.items()} == {
        "frontier": (len(document("frontier")["points"]),) * 2,
        "shared": (len(document("shared")["points"]),) * 2,
        "dgx1": (2, 2),
        "sat": (1, 1),
        "unsat": (0, 1),
        "unknown": (0, 1),
        "algorithm": (1, 1),
    }


@pytest.mark.parametrize("name", NAMES)
def test_published_schemas_accept_written_documents(
    name: str, document: Callable[[str], Json]
) -> None:
    content = document(name)
    kind = content["schema"].split("/")[1]
    # As a foreign program would: only the schema, without other code of ours.
    alone = json.loads(json.dumps(schema(kind)))
    jsonschema.Draft202012Validator.check_schema(alone)
    jsonschema.Draft202012Validator(alone).validate(content)


@pytest.mark.parametrize("kind", KINDS)
def test_published_schemas_refuse_something(kind: str) -> None:
    validator = jsonschema.Draft202012Validator(schema(kind))
    assert not validator.is_valid({})
    assert not validator.is_valid({"schema": f"syncoll/{kind}/1"})


def test_the_shape_that_programs_rely_on(document: Callable[[str], Json]) -> None:
    content = document("dgx1")
    assert content["schema"] == "syncoll/frontier/1"
    assert (content["topology"], content["collective"], content["nodes"]) == (
        "dgx1",
        "allgather",
        8,
    )
    assert isinstance(content["open"], list)
    assert [p["bandwidth"] for p in content["points"]] == ["3/2", "7/6"]
    for point in content["points"]:
        for key in ("chunks", "steps", "rounds"):
            assert type(point[key]) is int
        assert Fraction(point["bandwidth"]) == Fraction(point["rounds"], point["chunks"])
        assert point["status"] == "verified"
        assert (point["encoding"], point["backend"]) == ("step", "cpsat")
        assert point["seconds"] >= 0
        algorithm = point["algorithm"]
        assert len(algorithm["rounds_per_step"]) == point["steps"]
        assert sum(algorithm["rounds_per_step"]) == point["rounds"]
        assert {row[3] for row in algorithm["sends"]} == set(range(point["steps"]))
        links = {tuple(link) for link in content["interconnect"]["links"]}
        for chunk, source, destination, _ in algorithm["sends"]:
            assert 0 <= chunk < 8 * point["chunks"]
            assert (source, destination) in links


def test_outcomes_state_the_verdict(document: Callable[[str], Json]) -> None:
    for name in ("sat", "unsat", "unknown"):
        content = document(name)
        assert content["schema"] == "syncoll/outcome/1"
        assert content["verdict"] == name
        assert (content["algorithm"] is not None) == (name == "sat")
        assert (content["reason"] == "decided") == (name != "unknown")
    assert document("unknown")["reason"] == "time limit"


def test_byte_order_mark_is_no_obstacle(
    document: Callable[[str], Json], written: Callable[[object], Path]
) -> None:
    content = b"\xef\xbb\xbf" + json.dumps(document("sat")).encode()
    assert read_file(written(content)).kind == "outcome"


@pytest.mark.parametrize("name", ["größe", "日本", "a\nb", '"', "\ud800", "\x1b[31m"])
def test_any_name_survives(name: str, document: Callable[[str], Json], tmp_path: Path) -> None:
    content = document("algorithm") | {"topology": name}
    path = tmp_path / "file.json"
    write_document(path, content)
    assert read_file(path).topology.name == name


def test_text_is_json_and_keeps_tables_on_one_line() -> None:
    value = {"a": {}, "b": [], "c": [{"d": [[1, 2], [3, 4]]}, {}], "e": 1.5, "f": None, "g": "ü"}
    text = to_text(value)
    assert json.loads(text) == value
    assert '"d": [[1, 2], [3, 4]]' in text
    assert "ü" in text
    plain = to_text(value, ascii_only=True)
    assert plain.isascii()
    assert json.loads(plain) == value
    with pytest.raises(ValueError, match="JSON"):
        to_text({"a": float("nan")})
