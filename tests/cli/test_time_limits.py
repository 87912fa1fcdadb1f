"""Time limits hold for whole commands, and the output is true."""

from __future__ import annotations

import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from syncoll import clock
from syncoll.bounding import rounds_bound
from syncoll.certificates import RoundsBound
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.lazy import import_names
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.verbs import bounds

needs_alarms = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="the system has no such alarm"
)


@pytest.mark.parametrize("collective", ["allgather", "reducescatter", "allreduce", "alltoall"])
def test_claims_that_had_no_time_pass_the_check(run: Any, collective: str) -> None:
    question = ("pareto", "ring(5)", collective, "--time-limit", "0.005", "-o", "late.json")
    for seeds, code in (("none", 3), ("multitree,all_pairs", 0)):
        result = run(*question, "--seeds", seeds)
        assert result.code in (code, 3)  # immediate points of seeds count
        if "with nothing decided" in result.err:  # a busy machine needs longer to begin
            continue
        given = ("--topology", "ring(5)", "--collective", collective)
        checked = run("check", "late.json", *given)
        assert checked.code == 0, checked.out + checked.err


@needs_alarms
def test_nothing_is_decided_without_time(run: Any) -> None:
    result = run("forest", "torus(40,40)", "--time-limit", "0.05")
    assert result.code == 3
    assert "the time limit was reached, with nothing decided" in result.err
    assert result.out == ""


def proving_with(monkeypatch: pytest.MonkeyPatch, prove: Any) -> None:
    """Replaces the function by which `bounds` proves bounds."""
    import_names(bounds.__name__)
    monkeypatch.setattr(bounds, "lower_bounds", partial(lower_bounds, prove=prove))


def test_missing_bounds_are_named(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound for any number of steps replaces them."""

    def slow(topology: Any, needs: Any, steps: int | None, seconds: float, **_: Any) -> RoundsBound:
        if steps is None:
            return rounds_bound(topology, needs, None)
        clock.took(seconds)
        raise OutOfTimeError("late")

    proving_with(monkeypatch, slow)
    result = run("bounds", "dgx1", "allgather", "--max-steps", "2", "--work", "100")
    assert "2  7/6" in " ".join(result.out.split()).replace(" ", "  ")
    sentence = "better bounds may be provable, but each bound had a share of --work, and "
    sentence += "at most 20 s at first: 2 steps"
    assert sentence in result.out
    assert sentence not in result.err  # once is enough


def test_the_limit_that_was_in_force_is_named(run: Any) -> None:
    question = ("bounds", "ring(5)", "allgather", "--time-limit", "0", "--format", "json")
    found = run(*question)
    assert "but each bound had a share of --time-limit, and at most 20 s at first: " in found.err
    large = ("bounds", "ring(129)", "allreduce", "--time-limit", "0", "--format", "json")
    assert "--time-limit, and at most 5 s at first: " in run(*large).err


@pytest.mark.parametrize(
    ("stopped_by", "code", "why", "late"),
    [
        (OutOfTimeError, 0, "each bound had at most 20 s", "3 steps"),
        (KeyboardInterrupt, 130, "it was interrupted", "3 to 6 steps"),
    ],
)
def test_bounds_proved_before_the_end_are_given(
    stopped_by: type[BaseException],
    code: int,
    why: str,
    late: str,
    run: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def proved(topology: Any, needs: Any, steps: int | None, **options: Any) -> object:
        if steps == 3:
            raise stopped_by
        return rounds_bound(topology, needs, steps, **options)

    proving_with(monkeypatch, proved)
    saved = tmp_path / "bounds.json"
    result = run("bounds", "line(4)", "allgather", "-o", saved)
    assert result.code == code
    rows = [line.split()[:2] for line in result.out.splitlines() if line[:12].strip().isdigit()]
    assert [steps for steps, _ in rows] == ["3", "4", "5", "6"]
    sentence = f"better bounds may be provable, but {why}: {late}\n"
    assert sentence in result.out
    assert sentence not in result.err
    assert run("check", saved, "--collective", "allgather").code == 0
    shown = run("show", saved).out
    assert "verified point" not in shown
    assert "R/C at least" in shown
    assert "Lower bounds alone, without a search for algorithms; a limit stopped" in shown


@pytest.mark.parametrize("option", [["--prices"], ["--format", "json"]])
def test_saving_to_standard_output_excludes_table_options(option: list[str], run: Any) -> None:
    result = run("bounds", "ring(3)", "allgather", "-o", "-", *option)
    assert result.code == 2
    assert f"{option[0]} changes the table" in result.err


def test_a_limit_counts_from_the_start_of_the_command(run: Any, monkeypatch: Any) -> None:
    seen: list[Deadline | None] = []

    def search(*_: object, deadline: Deadline | None = None, **__: object) -> None:
        seen.append(deadline)
        raise KeyboardInterrupt

    monkeypatch.setattr("syncoll.searching.interruptible.search", search)
    before = time.perf_counter()
    run("pareto", "ring(4)", "allgather", "--time-limit", "1000s")
    run("pareto", "ring(4)", "allgather")
    run("pareto", "ring(4)", "allgather", "--time-limit", "1000s", "--proofs", "proofs")
    first, second, third = seen
    assert first is not None
    assert first.ends is not None
    # Some time is reserved for work after the search, and more for proofs.
    assert before + 990 < first.ends < before + 999
    assert second == NEVER
    assert third is not None
    assert third.left() < first.left() * 0.8


@pytest.mark.slow
@needs_alarms
def test_a_large_machine(process: Any, tmp_path: Path) -> None:
    """256 nodes: any relaxation, formula or seed of them alone may take more than this."""
    result = process("pareto", "torus(16,16)", "allgather", "--time-limit", "4s", "-o", "late.json")
    assert result.code in (0, 3)
    # A busy machine may need longer than this for the machine's description alone.
    assert (tmp_path / "late.json").exists() == ("with nothing decided" not in result.err)
