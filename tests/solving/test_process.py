"""For any behaviour of a backend in its worker process, the caller gets a right outcome."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from syncoll.errors import BackendError, OptionError, PluginError, UsageError
from syncoll.formula import Feature, Formula, FormulaBuilder, Limits, Outcome, StopReason, Verdict
from syncoll.memory import MemoryBudget
from syncoll.plugins import Answer, BackendRecord, PluginManager
from syncoll.solving import SolverProcess

FAKES = Path(__file__).parent / "fakes"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the misbehaving backend; workers find it as they inherit the path."""
    monkeypatch.syspath_prepend(str(FAKES))
    import misbehaving  # type: ignore[import-not-found]

    return misbehaving


@pytest.fixture
def process(fake: Any) -> Iterator[SolverProcess]:
    with SolverProcess(fake.record(), grace_seconds=0.3) as process:
        yield process


def formula(*clauses: list[int]) -> Formula:
    builder = FormulaBuilder()
    builder.booleans(3)
    for clause in clauses:
        builder.clause(clause)
    return builder.build()


def act(process: SolverProcess, what: str, **limits: Any) -> Outcome:
    return process.solve(formula(), Limits(**limits), {"do": what})


def assert_works(process: SolverProcess) -> None:
    assert act(process, "answer", seconds=20).verdict is Verdict.SAT


class TestAnswers:
    def test_an_outcome_comes_back(self, process: SolverProcess) -> None:
        outcome = process.solve(formula([-1, 2], [-3]), Limits(), {})
        assert outcome.verdict is Verdict.SAT
        assert outcome.assignment is not None
        assert not outcome.assignment.booleans.any()
        assert outcome.seconds["solve"] == 0.25
        assert outcome.seconds["start"] > 0
        assert outcome.seconds["transfer"] >= 0

    def test_the_worker_is_reused(self, process: SolverProcess) -> None:
        first, second = act(process, "pid"), act(process, "pid")
        assert first.statistics["pid"] == second.statistics["pid"] == process.pid
        assert "start" in first.seconds
        assert "start" not in second.seconds

    def test_an_idle_worker_ends_if_memory_is_short(
        self, process: SolverProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert_works(process)
        first = process.pid
        with monkeypatch.context() as patch:  # the next one may stay
            patch.setattr(MemoryBudget, "may_not_rest", lambda *_: True)
            ends = time.monotonic() + 120
            while psutil.pid_exists(first or 0) and time.monotonic() < ends:
                with contextlib.suppress(psutil.NoSuchProcess):
                    if psutil.Process(first).status() == psutil.STATUS_ZOMBIE:
                        break
                time.sleep(0.02)
        assert_works(process)
        assert process.pid != first

    def test_limits_are_passed(self, process: SolverProcess) -> None:
        outcome = act(process, "echo", threads=3, seed=42)
        assert outcome.statistics == {"threads": 3, "seed": 42}

    def test_a_false_model_is_an_error(self, process: SolverProcess) -> None:
        with pytest.raises(BackendError, match="clause 0 has no true literal"):
            process.solve(formula([1]), Limits(), {"do": "answer"})
        assert_works(process)

    @pytest.mark.parametrize("what", ["wrong_shape", "nonsense"])
    def test_a_broken_assignment_is_an_error(self, process: SolverProcess, what: str) -> None:
        with pytest.raises(BackendError, match="not a model"):
            act(process, what)

    def test_its_own_unknown_is_passed_on(self, process: SolverProcess) -> None:
        outcome = act(process, "give_up")
        assert (outcome.reason, outcome.message) == (StopReason.GAVE_UP, "too hard for me")

    def test_a_large_formula_passes_quickly(self, process: SolverProcess) -> None:
        builder = FormulaBuilder()
        booleans = builder.booleans(100_000)
        for i in range(0, 100_000, 4):
            builder.clause([-x for x in booleans[i : i + 4]] * 5)
        large = builder.build()
        assert large.size().literals == 500_000
        assert_works(process)
        outcome = process.solve(large, Limits(), {})
        assert outcome.verdict is Verdict.SAT
        assert outcome.seconds["transfer"] < 2.0  # some hundredths of a second when idle


class TestRequests:
    def test_unknown_options_are_refused(self, process: SolverProcess) -> None:
        with pytest.raises(OptionError, match="no option 'dance'"):
            process.solve(formula(), Limits(), {"dance": 1})

    def test_features_that_it_lacks_are_refused(self) -> None:
        record = PluginManager.discover().backends["pysat"]
        builder = FormulaBuilder()
        builder.at_most(builder.booleans(3), 1)
        with SolverProcess(record) as process, pytest.raises(UsageError, match="cardinality"):
            process.solve(builder.build(), Limits(), {})
        assert process.pid is None

    def test_a_loader_that_cannot_travel_is_refused(self) -> None:
        record = BackendRecord(
            name="local",
            summary="its loader is a lambda",
            load=lambda: None,  # type: ignore[arg-type, return-value]
            features=frozenset(Feature),
            installed=lambda: Answer(True),
        )
        with SolverProcess(record) as process, pytest.raises(PluginError, match="top level"):
            process.solve(formula(), Limits(), {})


class TestCrashes:
    def test_segmentation_fault(self, process: SolverProcess) -> None:
        outcome = act(process, "segfault", seconds=20)
        assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, StopReason.CRASHED)
        assert "about to crash" in outcome.message
        if sys.platform != "win32":
            assert "SIGSEGV" in outcome.message
        assert_works(process)

    def test_exit(self, process: SolverProcess) -> None:
        outcome = act(process, "leave")
        assert outcome.reason is StopReason.CRASHED
        assert "exit code 3" in outcome.message
        assert "leaving" in outcome.message
        assert_works(process)

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
    def test_killed_from_outside(self, process: SolverProcess) -> None:
        outcome = act(process, "die")
        assert outcome.reason is StopReason.CRASHED
        assert signal.Signals.SIGKILL.name in outcome.message
        assert_works(process)

    def test_exception(self, process: SolverProcess) -> None:
        outcome = act(process, "fail")
        assert outcome.reason is StopReason.CRASHED
        assert outcome.message.startswith("RuntimeError: a bug in the backend")
        assert "misbehaving.py" in outcome.message  # the traceback
        assert_works(process)

    def test_exit_exception(self, process: SolverProcess) -> None:
        assert "SystemExit" in act(process, "exit_politely").message
        assert_works(process)

    def test_memory_error(self, process: SolverProcess) -> None:
        assert act(process, "run_out").reason is StopReason.MEMORY_LIMIT
        assert_works(process)

    def test_no_outcome(self, process: SolverProcess) -> None:
        outcome = act(process, "return_text")
        assert outcome.reason is StopReason.CRASHED
        assert "returned str" in outcome.message
        assert_works(process)

    def test_unpicklable_outcome(self, process: SolverProcess) -> None:
        assert act(process, "return_unpicklable").reason is StopReason.CRASHED
        assert_works(process)

    def test_death_between_two_calls_is_not_noticed(self, process: SolverProcess) -> None:
        assert_works(process)
        assert process.pid is not None
        worker = psutil.Process(process.pid)
        worker.kill()
        worker.wait(5)
        assert_works(process)

    def test_failing_import(self, fake: Any) -> None:
        with SolverProcess(fake.record(fake.load_never)) as process:
            with pytest.raises(PluginError, match=r"cannot be loaded: .*libsolver\.so\.7"):
                act(process, "answer")
            assert process.pid is None

    def test_crashing_import(self, fake: Any) -> None:
        with SolverProcess(fake.record(fake.load_and_crash)) as process:
            outcome = act(process, "answer")
        assert outcome.reason is StopReason.CRASHED
        assert "exit code 9" in outcome.message
        assert "bad library" in outcome.message


class TestNoise:
    def test_its_output_does_not_appear(
        self, process: SolverProcess, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert act(process, "make_noise", seconds=20).verdict is Verdict.UNSAT
        assert_works(process)
        assert capfd.readouterr() == ("", "")

    def test_its_last_words_are_kept_short(self, process: SolverProcess) -> None:
        outcome = act(process, "make_noise_and_leave", seconds=20)
        assert "exit code 7" in outcome.message
        assert outcome.message.endswith("last words")
        assert len(outcome.message) < 10_000


class TestLimits:
    @pytest.mark.parametrize("what", ["sleep", "hold"])
    def test_time(self, process: SolverProcess, what: str) -> None:
        assert_works(process)
        began = time.perf_counter()
        outcome = act(process, what, seconds=0.4)
        spent = time.perf_counter() - began
        assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, StopReason.TIME_LIMIT)
        assert spent > 0.6
        assert outcome.seconds["solve"] >= 0.6
        assert process.pid is None
        assert_works(process)

    def test_starting_is_not_the_solvers_time(self, process: SolverProcess) -> None:
        outcome = act(process, "pid", seconds=0.001)
        assert outcome.verdict is Verdict.UNSAT
        assert outcome.seconds["start"] > 0.001

    def test_memory(self, process: SolverProcess) -> None:
        outcome = act(process, "eat", seconds=60, memory_bytes=400 << 20)
        assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, StopReason.MEMORY_LIMIT)
        assert "400 MiB" in outcome.message
        assert_works(process)

    def test_a_worker_that_kept_memory_is_replaced(self, process: SolverProcess) -> None:
        fat = act(process, "fatten").statistics["pid"]
        assert act(process, "pid").statistics["pid"] == fat  # no limit on memory was set
        lean = act(process, "pid", memory_bytes=1000 << 20).statistics["pid"]
        assert lean != fat


class TestInterrupts:
    @pytest.mark.parametrize("what", ["sleep", "hold"])
    def test_should_stop(self, process: SolverProcess, what: str) -> None:
        assert_works(process)
        began = time.perf_counter()
        outcome = process.solve(
            formula(), Limits(), {"do": what}, should_stop=lambda: time.perf_counter() > began + 0.3
        )
        assert outcome.reason is StopReason.INTERRUPTED
        assert_works(process)

    def test_an_error_in_should_stop_kills_the_worker(self, process: SolverProcess) -> None:
        def should_stop() -> bool:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            process.solve(formula(), Limits(), {"do": "sleep"}, should_stop=should_stop)
        assert process.pid is None

    def test_close_ends_the_worker(self, process: SolverProcess) -> None:
        assert_works(process)
        assert process.pid is not None
        worker = psutil.Process(process.pid)
        process.close()
        assert not worker.is_running()
        process.close()  # a second call does nothing

    def test_a_worker_outlives_the_thread_that_started_it(self, process: SolverProcess) -> None:
        thread = threading.Thread(target=assert_works, args=(process,))
        thread.start()
        thread.join()
        pid = process.pid
        time.sleep(0.2)
        assert_works(process)
        assert process.pid == pid
