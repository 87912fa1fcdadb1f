"""Progress of commands other than searches: one mechanism, lines or a bar on standard error."""

from __future__ import annotations

import io
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from syncoll.errors import UsageError
from syncoll.ledger.events import Entry, Kind
from syncoll.live import tasks as module
from syncoll.live.searches import progress
from syncoll.live.tasks import counting
from syncoll.progress import report, reported, tracked
from syncoll.runtime import export_verified

Run = Callable[..., Any]

MODEL = ("--alpha", "1us", "--beta", "25GB/s")


def test_each_part_is_reported_before_it_is_handed_out() -> None:
    seen: list[object] = []
    with reported(lambda *what: seen.append(what)):
        for one in tracked("ab", "part {}".format):
            seen.append(one)
    assert seen == [(0, 2, "part a"), "a", (1, 2, "part b"), "b"]
    assert list(tracked(iter("ab"), "part {}".format)) == ["a", "b"]
    report(1, 1, "nothing receives it")
    assert len(seen) == 4


def test_an_inner_display_leaves_the_outer_one(capsys: pytest.CaptureFixture[str]) -> None:
    with counting("plain"), counting("live"):
        report(1, 3, "here")
    with counting("none"):
        report(2, 3, "there")
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("] ")[2] for line in lines] == ["1/3 here"]
    with (
        pytest.raises(UsageError, match="progress: 'loud'; expected auto or live"),
        counting("loud"),
    ):
        pass


def test_a_bar_shows_the_last_report_once_it_appears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SECONDS_UNSHOWN", 1e6)
    bar = module._Bar()
    bar.show(1, 3, "one")
    bar._start()  # as the timer does
    assert bar._shown is not None
    (task,) = bar._shown.tasks
    assert (task.completed, task.total, task.description) == (1, 3, "one")
    bar.show(2, 3, "two")
    assert (task.completed, task.description) == (2, "two")
    bar.stop()
    assert not bar._shown.live.is_started


def test_a_bar_that_comes_late_does_not_appear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SECONDS_UNSHOWN", 1e6)
    bar = module._Bar()
    bar.stop()
    bar._start()
    assert bar._shown is None


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        (("check",), ["0/2 replaying points[0]", "checking certificate 0"]),
        (("simulate", *MODEL), ["constructing ring", "simulating ring[0]"]),
        (("export", "--to", "msccl-xml", "-o", "out"), ["1/2 exporting points[1]"]),
        (("report", "-o", "report.html"), ["1/2 replaying points[1]", "simulating points[0]"]),
    ],
)
def test_commands_report_their_parts(
    run: Run, files: Path, command: tuple[str, ...], parts: list[str]
) -> None:
    name, *how = command
    result = run(name, files / "frontier.json", *how, "--progress", "plain")
    assert result.code in (0, 4)
    for part in parts:
        assert part in result.err


def test_points_and_families_of_seeds_count_as_found() -> None:
    def entry(kind: Kind, engine: str) -> Entry:
        return Entry(0.1, engine, "broadcast", kind, 3, Fraction(1), 3, 3)

    with progress("live") as shown:
        assert shown is not None
        shown.began("broadcast")
        shown.logged(entry(Kind.FOUND, "bfb"))
        shown.logged(entry(Kind.FOUND, "cpsat"))
        shown.logged(entry(Kind.FAMILY, "pipelines"))
        shown.logged(entry(Kind.REFUTED, "cpsat"))
        console = Console(file=io.StringIO(), width=80)
        console.print(shown._render())  # type: ignore[attr-defined]
    assert "found 3, refuted 1, undecided 0" in console.file.getvalue()  # type: ignore[attr-defined]


def test_ctrl_c_keeps_finished_exports(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified, calls = export_verified, list[object]()

    def once(*what: Any) -> Any:
        calls.append(what)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return verified(*what)

    monkeypatch.setattr("syncoll.runtime.export_each.export_verified", once)
    result = run("export", files / "frontier.json", "--to", "msccl-xml", "-o", "out")
    assert result.code == 130
    assert "1 algorithm exported, 1 refused" in result.out
    assert "points[1]: not exported: interrupted" in result.err
    assert len(list(Path("out").iterdir())) == 1
