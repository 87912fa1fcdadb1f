"""``syncoll run`` on files of every kind, and on a wrong algorithm."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from syncoll.cli.main import main

    path = tmp_path_factory.mktemp("run") / "reduced.json"
    assert main(["pareto", "ring(4)", "allreduce", "--max-chunks", "4", "-o", str(path)]) == 0
    return path


def test_a_frontier(run: Run, files: Path) -> None:
    result = run("run", files / "frontier.json", "--size", "96KiB")
    assert result.code == 0
    assert result.err == ""
    assert result.out.startswith(
        "frontier: allgather on dgx1; a message of 98304 bytes of float32\n"
    )
    rows = [line.split() for line in result.out.splitlines() if "points[" in line]
    sent = str(7 * 8 * 12288)
    assert rows == [
        ["points[0]", "2", "2", sent, "0", "OK"],
        ["points[1]", "6", "3", sent, "0", "OK"],
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("operation", ["sum", "prod", "max", "min"])
def test_a_combining_frontier(run: Run, reduced: Path, dtype: str, operation: str) -> None:
    result = run(
        *("run", reduced, "--size", "1000", "--dtype", dtype, "--op", operation),
        *("--seed", "7", "--format", "json"),
    )
    assert result.code == 0
    assert result.json["schema"] == "syncoll/execution/2"
    assert result.json["operation"] == operation
    assert result.json["message_bytes"] == 1000
    assert result.json["algorithms"]
    for one in result.json["algorithms"]:
        assert one["ok"] is True
        assert one["mismatch"] is None
        rounds_off = dtype.startswith("float") and operation in ("sum", "prod")
        assert 0 <= one["largest_error"] < (1e-5 if rounds_off else 1e-300)


def test_the_table_of_a_combining_frontier_names_the_operation(run: Run, reduced: Path) -> None:
    assert "a message of 1048576 bytes of float32, reduced with sum" in run("run", reduced).out


def test_a_message_is_cut_into_whole_elements(run: Run, files: Path) -> None:
    """Of an allgather of 8 nodes 1000 bytes are 31 floats a node, as nccl-tests rounds them."""
    result = run("run", files / "frontier.json", "--size", "1000", "--format", "json")
    assert result.json["message_bytes"] == 8 * 31 * 4
    assert {one["bytes_sent"] for one in result.json["algorithms"]} == {7 * 8 * 31 * 4}


def test_the_seed_changes_the_data(run: Run, reduced: Path) -> None:
    command = ("run", reduced, "--op", "prod", "--format", "json", "--seed")
    errors = [
        [one["largest_error"] for one in run(*command, seed).json["algorithms"]]
        for seed in (1, 1, 2)
    ]
    assert errors[0] == errors[1] != errors[2]


def test_an_outcome_without_an_algorithm(run: Run, files: Path) -> None:
    result = run("run", files / "unsat.json")
    assert result.code == 0
    assert "no algorithm to run" in result.out
    assert run("run", files / "unsat.json", "--format", "json").json["algorithms"] == []


def test_a_wrong_algorithm_ends_with_2_and_the_reason(
    run: Run, reduced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the verifier, which would refuse the file before the run."""
    document = json.loads(reduced.read_text("utf-8"))
    point = document["points"][-1]
    point.pop("messages")
    algorithm = point["algorithm"]
    gone = algorithm["sends"].pop()
    algorithm["contributions"].pop()
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(document), encoding="utf-8")
    assert run("run", broken).code == 2, "the verifier sees it too"
    monkeypatch.setattr("syncoll.documents.stored.require_valid", lambda *_: None)
    result = run("run", broken)
    assert result.code == 2
    assert "WRONG" in result.out
    assert result.err.startswith(f"syncoll: {broken}: points[")
    chunk, _, node, _ = gone
    assert f"node {node} lacks the contribution of node " in result.err
    assert f" to chunk {chunk} after the last step" in result.err
    wrong = run("run", broken, "--format", "json")
    assert wrong.code == 2
    assert [one["ok"] for one in wrong.json["algorithms"]].count(False) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--size", "6"], "a multiple of 4, the bytes of one float32"),
        (["--size", "28"], "a message of 28 bytes; expected at least 32 bytes"),
        (["--size", "12", "--dtype", "int64"], "a multiple of 8"),
        (["--size", "much"], "'much'"),
        (["--dtype", "int16"], "choose from float32, float64, float16, bfloat16"),
        (["--op", "mean"], "choose from sum, prod, max, min"),
        (["--size", "900TiB"], "use a smaller size"),
    ],
)
def test_invalid_requests_are_refused(
    arguments: list[str], words: str, run: Run, files: Path
) -> None:
    result = run("run", files / "frontier.json", *arguments)
    assert result.code == 2
    assert result.out == ""
    assert words in result.err
