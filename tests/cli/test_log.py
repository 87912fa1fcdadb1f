"""The log of a search: results of each engine, live and at the end."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import syncoll
from syncoll.ledger.events import Entry, Kind

from .conftest import Run

QUESTION = ("ring(4)", "broadcast")


@pytest.fixture(scope="module")
def found() -> syncoll.FrontierResult:
    return syncoll.pareto(*QUESTION, work=3, progress="none")


def timeless(log: tuple[Entry, ...]) -> list[Entry]:
    return [replace(entry, seconds=0.0) for entry in log]


def test_each_event_has_a_line_and_each_engine_a_row(
    run: Run, found: syncoll.FrontierResult
) -> None:
    result = run("pareto", *QUESTION, "--work", "3", "--log")
    *events, table = result.err.split("\n\n", 1)
    lines = [line.partition(" s] ")[2] for line in events[0].splitlines()]
    assert lines == [str(entry) for entry in found.log]
    assert all(line.startswith("[") for line in events[0].splitlines())
    heads, _, *rows = table.splitlines()
    assert heads.split()[:4] == ["engine", "turns", "seconds", "found"]
    assert [row.split()[0] for row in rows if row] == [one.engine for one in found.engines]
    assert result.out.startswith("broadcast on ring(4)\n")  # the answer is unchanged
    assert len(result.out.splitlines()) <= len(str(found.page()).splitlines())


def test_with_a_limit_of_work_only_seconds_differ(found: syncoll.FrontierResult) -> None:
    again = syncoll.pareto(*QUESTION, work=3, progress="none")
    assert timeless(again.log) == timeless(found.log)
    assert [replace(e, seconds=0.0) for e in again.engines] == [
        replace(e, seconds=0.0) for e in found.engines
    ]


def test_points_and_bounds_are_in_the_log(found: syncoll.FrontierResult) -> None:
    costs = {(e.steps, e.bandwidth) for e in found.log if e.kind is Kind.FOUND}
    assert {(point.steps, point.bandwidth) for point in found} <= costs
    proved = {e.steps: e.bandwidth for e in found.log if e.kind is Kind.PROVED}
    assert proved[None] == found.least_bandwidth
    seconds = [entry.seconds for entry in found.log]
    assert seconds == sorted(seconds)
    last = {(e.steps, e.gap) for e in found.log if e.kind is Kind.PROVED}
    assert (found[0].steps, Fraction(1)) in last
    assert sum(one.kept for one in found.engines) == len(found)
    assert sum(one.found for one in found.engines) >= len(found)
    bounds = next(one for one in found.engines if one.engine == "bounds")
    assert bounds.proved == sum(entry.kind is Kind.PROVED for entry in found.log)
    assert bounds.turns


def test_solvers_are_engines_and_so_are_parts() -> None:
    frontier = syncoll.pareto("line(3)", "allreduce", work=2, seeds="none", progress="none")
    assert {entry.collective for entry in frontier.log} >= {"allreduce", "allgather"}
    kinds = {entry.kind for entry in frontier.log}
    assert {Kind.FOUND, Kind.PROVED} <= kinds
    frontier = syncoll.pareto(
        "dgx1", "allgather", max_steps=2, max_chunks=2, seeds="none", work=2, progress="none"
    )
    assert frontier.log[-1].engine
    text = str(Entry(0.0, "z3", "reduce", Kind.UNDECIDED, 2, Fraction(3), 3, 1, None, "time limit"))
    assert text == "reduce: undecided  S=2 R=3 C=1 (R/C 3): time limit, by z3"


def test_it_is_in_the_document(run: Run, tmp_path: Path, found: syncoll.FrontierResult) -> None:
    result = run("pareto", *QUESTION, "--work", "3", "--log", "--format", "json")
    log = result.json["log"]
    assert [one["kind"] for one in log] == [entry.kind for entry in found.log]
    assert [Fraction(one["bandwidth"]) for one in log] == [e.bandwidth for e in found.log]
    assert [one["engine"] for one in result.json["engines"]] == [e.engine for e in found.engines]
    saved = tmp_path / "f.json"
    saved.write_text(result.out, "utf-8")
    assert run("check", saved, "--collective", "broadcast").code == 0
    assert "log" not in run("pareto", *QUESTION, "--work", "3", "--format", "json").json
    loaded = syncoll.load(saved)
    assert isinstance(loaded, syncoll.FrontierResult)
    assert loaded.log == ()
