"""Exit codes have the result for programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

HARD = ["solve", "hypercube(4)", "alltoall", "-C", "16", "-S", "8", "-R", "8"]


def test_found(run: Run) -> None:
    result = run("solve", "dgx1", "allgather", "-C", "1", "-S", "2", "-R", "2")
    assert result.code == 0
    assert "sat: allgather on dgx1 with C = 1, S = 2, R = 2; verified." in result.out
    assert "step 0, 1 round\n" in result.out


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (["-C", "1", "-S", "1", "-R", "9"], "No algorithm with C = 1 has fewer than 2 steps."),
        (["-C", "6", "-S", "2", "-R", "7"], "has no algorithm."),
        (["-C", "1", "-S", "0", "-R", "0"], "has no algorithm."),
    ],
)
def test_impossible(numbers: list[str], words: str, run: Run) -> None:
    result = run("solve", "dgx1", "allgather", *numbers, "--backend", "pysat")
    assert result.code == 1
    assert result.out.startswith("unsat: ")
    assert words in result.out


@pytest.fixture
def out_of_time(counted: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Options for a backend that runs out of time at once."""
    monkeypatch.setenv("COUNTED_OUT_OF_TIME", "1")
    return ("--backend", "counted", "--time-limit", "1000")


def test_undecided(run: Run, out_of_time: tuple[str, ...]) -> None:
    result = run(*HARD, *out_of_time, "-o", "unknown.json")
    assert result.code == 3
    assert result.out.startswith("unknown: ")
    assert "time limit" in result.out
    assert run("show", "unknown.json").out.startswith("unknown: alltoall on hypercube(4)")
    assert "no algorithm to verify" in run("verify", "unknown.json").out


def test_a_licence_that_is_too_small_is_undecided(run: Run) -> None:
    entries = run("plugins", "--format", "json").json["plugins"]
    gurobi = next((e for e in entries if (e["point"], e["name"]) == ("backend", "gurobi")), None)
    if gurobi is None or not gurobi["able"] or "restricted" not in gurobi["licensed"]["reason"]:
        pytest.skip("Gurobi with its restricted licence is not here")
    result = run(*HARD, "--backend", "gurobi")
    assert result.code == 3
    assert "licence" in result.out
    assert "use backend" in result.out


def test_a_search_without_time_finds_nothing_and_says_so(
    run: Run, out_of_time: tuple[str, ...], tmp_path: Path
) -> None:
    question = ("pareto", "hypercube(3)", "allgather", "--seeds", "none", "--max-chunks", "1")
    result = run(*question, "--max-steps", "3", *out_of_time, "-o", "none.json")
    assert result.code == 3
    assert "0 verified points" in result.out
    assert "Not settled:" in result.out
    assert "time limit" in result.out
    assert (tmp_path / "none.json").exists()
    assert run("verify", "none.json").code == 0
    assert run("show", "none.json").code == 0
    assert run("verify", "none.json", "--collective", "allgather").code == 0  # its shapes agree
    assert run("verify", "none.json", "--collective", "alltoall").code == 2


def test_a_seed_without_an_algorithm_has_decided_nothing(run: Run) -> None:
    for topology, collective, seed, scope in (
        ("line(5)", "allgather", "ring", "only the points that ring constructs"),
        ("line(5)", "alltoall", "forestcoll", "only the points that forestcoll constructs"),
        ("ring(4)", "reduce reproducible", "two_hop", "no points: no seed fits"),
    ):
        result = run("pareto", topology, collective, "--backend", seed)
        assert result.code == 3
        assert f"seed {seed} has no algorithm: " in result.err
        assert f"searched: {scope}" in result.out


def test_nothing_to_do_is_no_error(run: Run) -> None:
    result = run("pareto", "ring(1)", "allgather", "--backend", "pysat")
    assert result.code == 0
    assert "1 verified point" in result.out
    assert run("solve", "ring(1)", "allgather", "-C", "1", "-S", "0", "-R", "0").code == 0
