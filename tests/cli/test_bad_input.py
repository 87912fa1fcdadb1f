"""Wrong input ends with exit code 2 and a message with a remedy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.plugins import PluginManager

Run = Callable[..., Any]

SOLVE = ["solve", "dgx1", "allgather", "-C", "1", "-S", "2", "-R", "2"]


def refused(result: Any, *words: str) -> None:
    assert result.code == 2, result.err
    assert result.out == ""
    assert result.err.startswith("syncoll")
    assert "Traceback" not in result.err
    for word in words:
        assert word in result.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        # Names.
        (["pareto", "dgx", "allgather"], ["`dgx`", "did you mean `dgx2`?", "^^^"]),
        (["pareto", "kautz(2,3)", "allgather"], ["`kautz`; did you mean `generalised_kautz`?"]),
        (["show", "kautz(2,3)"], ["did you mean generalised_kautz?"]),
        (["pareto", "dgx1", "multi"], ["`multi_broadcast`, `multi_gather` or `multi_scatter`?"]),
        (["pareto", "dgx1", "allgathr"], ["did you mean `allgather`?"]),
        (["pareto", "ring", "allgather"], ["needs a value for `n`", "ring(n, bandwidth = 1)"]),
        (["pareto", "ring(8", "allgather"], ["never closed", "^"]),
        (["pareto", "ring(0)", "allgather"], ["ring(0) has 0 nodes"]),
        (["pareto", "ring(-3)", "allgather"], ["-3 nodes"]),
        (["pareto", "ring(3, bandwith=2)", "allgather"], ["did you mean `bandwidth`?"]),
        (["pareto", "", "allgather"], ["not a reference"]),
        (["pareto", "nöpe", "allgather"], ["syncoll:"]),
        (["pareto", "dgx-h100(boxes=2)", "allgather"], ["no topology `dgx-h100`", "`dgx_h100`?"]),
        (["pareto", "missing.json", "allgather"], ["file missing.json does not exist"]),
        (["pareto", "missing.syncoll:x", "allgather"], ["file missing.syncoll does not exist"]),
        (["bounds", "dgx1", "broadcast(root=8)"], ["nodes 0 to P - 1"]),
        (["search", "dgx1_allgathr"], ["did you mean `dgx1_allgather`?"]),
        # Numbers.
        (["solve", "dgx1", "alltoall", "-C", "3", "-S", "2", "-R", "2"], ["C to be a multiple"]),
        (["bounds", "dgx1", "alltoall", "-C", "3"], ["C to be a multiple"]),
        ([*SOLVE, "-C", "0"], ["at least 1"]),
        ([*SOLVE, "-C", "-1"], ["'-1' is not a whole number"]),
        ([*SOLVE, "-C", "1.5"], ["whole number"]),
        ([*SOLVE, "-S", "two"], ["whole number"]),
        ([*SOLVE, "-R", "-1"], ["whole number"]),
        ([*SOLVE, "-R", "1e3"], ["whole number"]),
        ([*SOLVE, "-S", "999999999"], ["possible sends", "use fewer steps"]),
        ([*SOLVE, "-C", "999999999"], ["too many to expand"]),
        (["explain", *SOLVE[1:], "-S", "999999999"], ["use fewer steps"]),
        (["pareto", "dgx1", "allgather", "--max-chunks", "0"], ["at least 1"]),
        (["pareto", "dgx1", "allgather", "--max-steps", "-1"], ["whole number"]),
        (["pareto", "dgx1", "alltoall", "--max-chunks", "7"], ["defined for no C up to 7"]),
        (["bounds", "dgx1", "allgather", "--max-steps", "x"], ["whole number"]),
        (["show", "allgather", "--nodes", "0"], ["at least 1"]),
        # Limits.
        ([*SOLVE, "--time-limit", "soon"], ["'soon' is not a time", "1.5s, 2min"]),
        ([*SOLVE, "--time-limit=-3"], ["is a negative time"]),
        ([*SOLVE, "--memory-limit", "0"], ["not a memory size", "4GiB"]),
        ([*SOLVE, "--memory-limit", "lots"], ["not a memory size"]),
        ([*SOLVE, "--threads", "0"], ["at least 1"]),
        ([*SOLVE, "--seed", "99999999999"], ["whole number"]),
        # Plugins and their options.
        ([*SOLVE, "--backend", "cpsatt"], ["did you mean cpsat?", "known backends"]),
        ([*SOLVE, "--encoding", "steps"], ["did you mean step?"]),
        ([*SOLVE, "--backend-option", "presolve"], ["write NAME=VALUE"]),
        ([*SOLVE, "--backend-option", "=1"], ["write NAME=VALUE"]),
        ([*SOLVE, "--backend-option", "frob=1"], ["no option 'frob'", "presolve"]),
        ([*SOLVE, "--backend-option", "symmetry=99"], ["from 0 to 4"]),
        ([*SOLVE, "--backend-option", "log=maybe"], ["true or false"]),
        ([*SOLVE, "--encoding-option", "symmetry=some"], ["one of none, arrival"]),
        (
            [*SOLVE, "--backend-option", "log=no", "--backend-option", "log=yes"],
            ["log is set twice"],
        ),
        # Files.
        (["verify", "missing.json"], ["cannot read missing.json: No such file"]),
        (["verify", "."], ["is a folder without files of any exporter"]),
        (["show", "missing.json"], ["No such file"]),
        (["spec", "check", "missing.syncoll"], ["missing.syncoll is no file"]),
        (["spec", "check", "."], ["is a folder"]),
        # Output.
        ([*SOLVE, "-o", "no/folder/x.json"], ["there is no folder no/folder; create it first"]),
        ([*SOLVE, "-o", "."], ["it is a folder"]),
        ([*SOLVE, "-o", ""], ["empty"]),
        (["pareto", "dgx1", "allgather", "-o", "no/x.json"], ["create it first"]),
        (["search", "dgx1_allgather", "-o", "no/x.json"], ["create it first"]),
        # Showing.
        (["show", "rings"], ["did you mean ring?", "torus"]),
        (["show", ""], ["not a reference"]),
        (["show", "."], ["is a folder"]),
        (["show", "dgx1_allgather"], ["is a search", "`syncoll search dgx1_allgather`"]),
        (["show", "Scattered"], ["is a relation"]),
        (["show", "alltoall", "--nodes", "2", "-C", "3"], ["it needs C to be a multiple of P"]),
        (["show", "broadcast(root=5)", "--nodes", "4"], ["a root among the nodes"]),
    ],
)
def test_refused(arguments: list[str], words: list[str], run: Run) -> None:
    refused(run(*arguments), *words)


def test_spec_files(files: Path, run: Run) -> None:
    both, wrong = files / "both.syncoll", files / "wrong.syncoll"
    refused(run("show", both), "has a machine and a collective", f"{both}:NAME")
    refused(run("show", f"{both}:small"), "is a search")
    refused(run("show", f"{both}:nope"), "there is no topology `nope`", "expected one of quad")
    refused(run("show", wrong), f"{wrong}:1:", "^")
    result = run("spec", "check", wrong)
    assert result.code == 2
    assert "1 error" in result.err
    assert "node 9" in result.err


def test_a_file_that_differs_from_the_named_machine(files: Path, run: Run) -> None:
    frontier, unsat = files / "frontier.json", files / "unsat.json"
    refused(run("verify", frontier, "--topology", "p3_16xlarge"), "is not p3_16xlarge")
    refused(run("verify", frontier, "--topology", "ring(8)"), "links or bandwidths differ")
    refused(
        run("verify", frontier, "--collective", "gather"),
        "with C = 2, its chunks end at other nodes",
    )
    refused(run("verify", unsat, "--collective", "gather"), "its chunks end at other nodes")
    refused(run("verify", frontier, "--topology", ""), "not a reference")


@pytest.mark.parametrize("command", ["verify", "show"])
def test_a_broken_file(command: str, files: Path, tmp_path: Path, run: Run) -> None:
    text = (files / "frontier.json").read_text("utf-8")
    broken = tmp_path / "broken.json"
    broken.write_text(text.replace('"bandwidth": "7/6"', '"bandwidth": "1"'), encoding="utf-8")
    refused(run(command, broken), str(broken), "bandwidth")
    broken.write_text(text[: len(text) // 2], encoding="utf-8")
    refused(run(command, broken), "truncated")
    broken.write_text(text.replace("frontier/1", "frontier/99"), encoding="utf-8")
    refused(run(command, broken), "upgrade syncoll")


def test_a_wrong_output_is_found_before_the_work(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from syncoll.solving import Solver

    def solve(*_: object, **__: object) -> None:
        pytest.fail("it began to solve")

    monkeypatch.setattr(Solver, "solve", solve)
    refused(run(*SOLVE, "-o", "no/x.json"))
    refused(run("pareto", "dgx1", "allgather", "-o", "no/x.json"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_does_not_cost_the_result(run: Run) -> None:
    result = run("pareto", "ring(3)", "allgather", "-o", "/dev/full")
    assert result.code == 2
    assert "cannot write /dev/full: No space left on device" in result.err
    assert "1 verified point" in result.out
    result = run(*SOLVE, "-o", "/dev/full")
    assert result.code == 2
    assert "verified." in result.out


@pytest.mark.skipif(os.name != "posix", reason="needs a null device that could be replaced")
def test_devices_are_not_replaced(run: Run) -> None:
    assert run("pareto", "ring(3)", "allgather", "-o", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


def test_a_bug_is_no_proof_of_impossibility(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(PluginManager, "discover", fail)
    result = run("show", "dgx1")
    assert result.code == 70
    assert "ZeroDivisionError: a bug" in result.err
    assert "please report" in result.err


def test_too_little_memory_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise MemoryError

    monkeypatch.setattr(PluginManager, "discover", fail)
    result = run("show", "dgx1")
    assert result.code == 3
    assert "out of memory" in result.err


def test_a_seed_is_no_backend_that_decides() -> None:
    with pytest.raises(syncoll.SyncollError, match=r"'ring' is a seed.* pareto --backend ring"):
        syncoll.solve("ring(4)", "allgather", chunks=1, steps=3, rounds=3, backend="ring")
