"""Pages of machines, collectives, results, plugins, bounds and formulas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_a_machine(run: Run) -> None:
    result = run("show", "dgx1")
    assert result.code == 0
    assert "DGX-1 with 8 V100" in result.out
    assert "dgx1: 8 nodes, 32 directed links, diameter 2" in result.out
    rows = [line.split() for line in result.out.splitlines()]
    assert ["0", ".", "2", "1", "2", ".", "1", ".", "."] in rows


@pytest.mark.parametrize("name", ["ring (4)", "ring( 4 )", " ring(4)", "ring(n=4)"])
def test_spaces_and_names_of_arguments(name: str, run: Run) -> None:
    assert ": 4 nodes, 8 directed links, diameter 2" in run("show", name).out


def test_shared_bounds(run: Run) -> None:
    text = run("show", "hub(3)").out
    assert "* means bounded only together with other links" in text
    assert "shared: egress of node 0: 1 chunk per round over 0->1 0->2\n" in text
    assert "(15 links)" in run("show", "dgx2").out


def test_a_large_machine_is_a_list_of_neighbours(run: Run) -> None:
    text = run("show", "torus(6,6)").out
    assert "1 on every link" in text
    assert "\n   0 -> 1  5  6  30\n" in text
    assert max(map(len, run("show", "fully_connected(64)").out.splitlines())) > 110


def test_odd_machines(run: Run) -> None:
    assert "1 node, 0 directed links, diameter 0" in run("show", "ring(1)").out
    assert "not connected" not in run("show", "line(2)").out


def test_a_collective(run: Run) -> None:
    result = run("show", "broadcast(root=3)")
    assert "broadcast(root=3) on 4 nodes, C = 1: 1 chunk in all" in result.out
    assert result.out.splitlines()[-2].split() == ["0", "post", "post", "post", "both"]
    assert "C = 4: 16 chunks in all" in run("show", "alltoall").out
    assert "on 7 nodes" in run("show", "broadcast(root=6)").out
    text = run("show", "allgather", "--nodes", "40", "-C", "2").out
    assert "must end at nodes" in text
    assert ["3", "3", "0-39"] in [line.split() for line in text.splitlines()]
    assert "… and 16 more chunks" in text


def test_definitions_of_a_file(files: Path, run: Run) -> None:
    text = run("show", files / "quad.syncoll").out
    assert text.startswith("Four in a circle.\n")
    assert "quad: 4 nodes, 4 directed links, diameter 3" in text
    assert "shift on 4 nodes" in run("show", f"{files / 'both.syncoll'}:shift").out


def test_results(files: Path, run: Run) -> None:
    text = run("show", files / "frontier.json").out
    assert "2 verified points" in text
    assert "allgather on dgx1: 48 chunks in all (C = 6), 3 steps, 7 rounds" in text
    assert text.count("step 0, ") == 2
    assert "unsat: allgather on ring(4)" in run("show", files / "unsat.json").out
    assert run("show", files / "sat.json").out.startswith("allgather on dgx1: 8 chunks in all")


def test_a_result_may_have_any_name(files: Path, tmp_path: Path, run: Run) -> None:
    for name in ("frontier", "ring.txt", "a b.JSON"):
        (tmp_path / name).write_bytes((files / "sat.json").read_bytes())
        assert "step 0" in run("show", name).out
    # A file named like a machine does not hide the machine.
    (tmp_path / "dgx1").write_bytes((files / "sat.json").read_bytes())
    assert "diameter" in run("show", "dgx1").out
    assert "step 0" in run("show", "./dgx1").out


def test_verify(files: Path, run: Run) -> None:
    result = run("verify", files / "frontier.json")
    assert result.code == 0
    assert "points[0]: verified, C = 2, S = 2, R = 3" in result.out
    assert "points[1]: verified, C = 6, S = 3, R = 7" in result.out
    meant = ["--topology", "dgx1", "--collective", "allgather"]
    assert run("verify", files / "frontier.json", *meant).code == 0
    assert run("verify", files / "sat.json", *meant).code == 0
    meant = ["--topology", "ring(4)", "--collective", "allgather"]
    result = run("verify", files / "unsat.json", *meant)
    assert result.code == 0
    assert "no algorithm to verify" in result.out


def test_verify_needs_no_solver(files: Path, process: Run) -> None:
    # Without a named machine the library of specs is not read.
    result = process("verify", files / "frontier.json", PYTHONPROFILEIMPORTTIME="1")
    assert result.code == 0
    imported = {line.rpartition("|")[2].strip() for line in result.err.splitlines()}
    assert "syncoll.trust" in imported
    assert not {"ortools", "highspy", "z3", "pysat", "gurobipy", "lark"} & imported


def test_spec_check(files: Path, run: Run) -> None:
    result = run("spec", "check", files / "both.syncoll")
    assert result.code == 0
    assert result.out.splitlines()[:3] == ["topology quad", "collective shift", "search small"]
    assert result.out.endswith("all is well\n")


def test_spec_list(run: Run) -> None:
    text = run("spec", "list").out
    for words in ("dgx1", "torus(sizes..., bandwidth = 1)", "broadcast(root = 0)", "alltoall"):
        assert words in text
    assert "modelled as one ring" in " ".join(text.split()), "whole sentences, wrapped"


def test_search_of_a_file_and_options_that_go_before_it(files: Path, run: Run) -> None:
    both = files / "both.syncoll"
    result = run("search", both)
    assert result.code == 0
    assert "shift on quad" in result.out
    assert "C <= 2." in result.out
    assert "C <= 1." in run("search", f"{both}:small", "--max-chunks", "1").out


def test_bounds(run: Run) -> None:
    text = run("bounds", "dgx1", "allgather", "--prices", "--max-steps", "3").out
    assert "steps: at least 2 (distances)" in text
    assert "at least 7/6" in text
    assert ["2", "3/2", "3/2"] in [line.split() for line in text.splitlines()]
    assert "R >= 7/6 for any number of steps, by the chunks that must cross a cut" in text
    content = run("bounds", "ring(4)", "allgather", "--prices", "--format", "json").json
    assert content["bandwidth"] == "3/2"
    assert [b["steps"] for b in content["by_steps"]] == [2, 3, 4, 5]
    assert all(b["prices"] for b in content["by_steps"])
    assert "no algorithm has S <= 1" in run("bounds", "dgx1", "gather", "--max-steps", "1").out
    assert "no price is needed" in run("bounds", "ring(1)", "allgather", "--prices").out


def test_explain(run: Run) -> None:
    instance = ["dgx1", "allgather", "-C", "6", "-S", "3", "-R", "7"]
    text = run("explain", *instance, "--encoding", "path", "--backend", "pysat").out
    assert "allgather on dgx1, C = 6, S = 3, R = 7: 48 chunks in all, at least 2 steps" in text
    for words in ("encoding path", "cardinality -> clause", "takes clause", "can run this: yes"):
        assert words in text
    stages = run("explain", *instance, "--backend", "z3", "--format", "json").json["stages"]
    assert stages[0]["name"] == "encoding step"
    assert stages[0]["variables"] == stages[0]["booleans"] + stages[0]["integers"]
    assert set(stages[-1]["features"]) <= {"clause", "cardinality", "pseudo-boolean"}


def test_plugins_are_readable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "111")
    plain, full = run("plugins").out, run("plugins", "--options").out
    for text in (plain, full):
        assert max(map(len, text.splitlines())) <= 110
        assert "\n  cpsat    OR-Tools" in text
        assert "\n  z3       Z3" in text
    assert "  takes  " not in plain
    assert "           takes        clause\n" in full
    assert "solver=cadical195:" in full


def test_a_broken_plugin_is_listed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    from syncoll.plugins import PluginManager

    found = importlib.metadata.entry_points(group="syncoll")
    broken = importlib.metadata.EntryPoint("broken", "there_is_no_such_module", "syncoll")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [*found, broken])
    assert PluginManager.discover().broken
    result = run("plugins")
    assert result.code == 0
    assert "broken: plugin broken: ModuleNotFoundError" in result.out
    assert run("plugins", "--format", "json").json["broken"][0]["plugin"] == "broken"
    assert "is broken" in run("pareto", "dgx1", "allgather", "--backend", "broken").err
