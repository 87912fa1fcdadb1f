"""Deadlines: the remaining time, and the end of code that exceeds it."""

from __future__ import annotations

import gc
import importlib
import math
import pickle
import signal
import sys
import threading
import time
import weakref
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from syncoll.deadline import NEVER, Deadline, OutOfTimeError, Reserve, interrupted_at
from syncoll.interrupts import may_raise
from syncoll.linear.effort import TICKS_PER_UNIT, limit_cp_sat
from syncoll.plugins import guard


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The wall clock and the clock of this process's work, which only the test moves."""
    now = {"wall": 100.0, "work": 7.0}
    monkeypatch.setattr("syncoll.deadline.time.perf_counter", lambda: now["wall"])
    monkeypatch.setattr("syncoll.deadline.time.thread_time", lambda: now["work"])
    return now


def test_never() -> None:
    assert Deadline.after(None) == NEVER
    assert NEVER.is_never
    assert NEVER.left() == math.inf
    assert NEVER.seconds is None
    assert not NEVER.passed
    assert NEVER.share(0.5) == NEVER.before(3.0) == NEVER.sooner(None) == NEVER
    NEVER.check()


def test_the_remaining_time(clocks: dict[str, float]) -> None:
    deadline = Deadline.after(10.0)
    assert deadline.left() == 10.0
    assert deadline.sooner(4.0).left() == 4.0
    assert deadline.sooner(40.0) == deadline
    assert deadline.share(0.25).left() == 2.5
    assert deadline.before(1.0).left() == 9.0
    clocks["wall"] += 11.0
    assert deadline.passed
    assert deadline.left() == -1.0
    assert deadline.seconds == 0.0
    assert deadline.share(0.5).passed
    with pytest.raises(OutOfTimeError):
        deadline.check()


def test_a_reserve_may_change_later(clocks: dict[str, float]) -> None:
    """Deadlines made from another are earlier by the reserve, but only once."""
    reserve, now = Reserve(), clocks["wall"]
    whole = Deadline.after(10).keeping(reserve)
    half, most = whole.share(0.5), whole.sooner(100)
    assert (whole.left(), half.left(), most.left()) == (10, 5, 10)
    reserve.seconds = 2.0
    assert (whole.left(), half.left(), most.left()) == (8, 3, 8)
    assert (whole.sooner(1).left(), whole.share(0.5).left(), whole.before(1).left()) == (1, 4, 7)
    assert pickle.loads(pickle.dumps(whole)).left() == 8
    assert NEVER.keeping(reserve).is_never
    assert NEVER.keeping(reserve).sooner(3).left() == 3
    clocks["wall"] = now + 8
    assert whole.passed
    assert not Deadline.after(1).passed


def test_work_is_not_taken_away_by_a_busy_machine(clocks: dict[str, float]) -> None:
    share = Deadline.after(10.0).working(1.0)
    clocks["wall"] += 8.0  # in which this process got next to nothing
    clocks["work"] += 0.25
    assert share.left() == 0.75
    clocks["wall"] += 1.75
    assert share.left() == 0.25  # but the wall clock ends it, too
    assert NEVER.working(1.0).left() == 1.0
    assert share.working(None) == share


def test_work_of_other_threads_does_not_count_for_the_main_one(
    clocks: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = {"work": 50.0}
    monkeypatch.setattr("syncoll.deadline.time.process_time", lambda: process["work"])
    share = NEVER.working(3.0)
    process["work"] += 100.0
    assert share.left() == 3.0
    clocks["work"] += 1.0
    assert share.working(5.0) == share
    theirs: list[Deadline] = []
    thread = threading.Thread(target=lambda: theirs.append(share.working(5.0)))
    monkeypatch.setattr("syncoll.deadline.time.clock_gettime", lambda _: clocks["work"])
    thread.start()
    thread.join()
    assert theirs[0].left() == 2.0
    process["work"] += 1.5
    assert theirs[0].left() == 0.5


def test_a_pickle_holds_the_remaining_time(clocks: dict[str, float]) -> None:
    data = pickle.dumps(Deadline.after(10.0))
    clocks["wall"] -= 70.0
    assert pickle.loads(data).left() == 10.0
    assert pickle.loads(pickle.dumps(NEVER)) == NEVER


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such alarm")
class TestInterrupted:
    """Code that does not read its deadline."""

    def test_the_inner_one_first_and_the_alarm_is_put_back(self) -> None:
        def endless() -> None:
            while True:
                time.process_time()

        before = signal.getsignal(signal.SIGALRM)
        with interrupted_at(Deadline.after(60.0)):
            with pytest.raises(OutOfTimeError), interrupted_at(Deadline.after(0.0)):
                endless()
            assert 50.0 < signal.getitimer(signal.ITIMER_REAL)[0] < 61.0
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
        assert signal.getsignal(signal.SIGALRM) == before

    def test_a_swallowed_interruption_comes_again(self) -> None:
        swallowed: list[bool] = []

        def swallow() -> None:
            while len(swallowed) < 3:
                try:
                    time.sleep(10.0)
                except OutOfTimeError:
                    swallowed.append(True)
            time.sleep(10.0)

        with pytest.raises(OutOfTimeError), interrupted_at(Deadline.after(0.0)):
            swallow()
        assert len(swallowed) == 3

    def test_no_module_is_imported_by_half(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Much that is registered while a module is imported cannot be registered again."""
        (tmp_path / "slow_to_import.py").write_text(
            "import time\nends = time.monotonic() + 0.5\nwhile time.monotonic() < ends: pass\n"
        )
        monkeypatch.syspath_prepend(tmp_path)

        def work() -> None:
            importlib.import_module("slow_to_import")
            while True:
                time.process_time()

        with pytest.raises(OutOfTimeError), interrupted_at(Deadline.after(0.0)):
            work()
        assert hasattr(sys.modules.pop("slow_to_import"), "ends")

    def test_callbacks_of_collected_objects_are_not_cut_short(self) -> None:
        """Python would only print an error that is raised there."""

        class Thing:
            pass

        met: list[bool] = []

        class Watching(dict[Any, Any]):
            def __delitem__(self, key: object) -> None:
                met.append(may_raise(sys._getframe()))
                super().__delitem__(key)

        known: weakref.WeakKeyDictionary[Thing, int] = weakref.WeakKeyDictionary()
        known.data = Watching()  # type: ignore[attr-defined]
        thing = Thing()
        known[thing] = 1
        del thing
        gc.collect()
        assert met == [False]

    def test_the_guard_of_a_plugin_is_entered_and_left_in_full(self) -> None:
        """If an alarm meets any line of it, standard output is restored afterwards."""
        before, met = sys.stdout, 0

        def alarm(frame: FrameType, event: str, _: object) -> Any:
            nonlocal met
            if event == "line" and frame.f_code is guard._quiet.__wrapped__.__code__:  # type: ignore[attr-defined]
                met += 1
                assert not may_raise(frame)
            return alarm

        def plugin() -> bool:
            return may_raise(sys._getframe())

        old = sys.gettrace()
        sys.settrace(alarm)
        try:
            with guard.calling("a plugin"):
                interruptible = plugin()
        finally:
            sys.settrace(old)
        assert interruptible
        assert met > 5
        assert sys.stdout is before

    def test_an_error_while_a_plugin_is_entered_leaves_no_trace(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ctrl-C can be raised anywhere."""
        before = sys.stdout

        class Interrupted(guard._Shared):
            def __init__(self, _: object) -> None:
                raise KeyboardInterrupt

        monkeypatch.setattr(guard, "_Shared", Interrupted)
        with pytest.raises(KeyboardInterrupt), guard.calling("a plugin"):
            pass
        monkeypatch.undo()
        assert guard._inside.depth == 0
        assert not guard._running
        assert sys.stdout is before

    def test_a_foreign_alarm_is_left_alone(self) -> None:
        mine = signal.signal(signal.SIGALRM, lambda *_: None)
        try:
            with interrupted_at(Deadline.after(0.0)):
                assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
        finally:
            signal.signal(signal.SIGALRM, mine)

    def test_other_threads_are_left_alone(self) -> None:
        done = []

        def work() -> None:
            with interrupted_at(Deadline.after(0.0)):
                done.append(True)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert done


class Slow:
    """Slow to be finalized; Python prints errors of that, and continues."""

    def __del__(self) -> None:
        time.sleep(0.6)


def throw_away_and_wait() -> None:
    with interrupted_at(Deadline.after(0.05)):
        Slow()
        time.sleep(60)


def test_it_does_not_ring_where_errors_are_lost() -> None:
    with pytest.raises(OutOfTimeError):
        throw_away_and_wait()


def test_a_short_program_has_its_work_on_a_busy_machine() -> None:
    parameters = SimpleNamespace()
    limit_cp_sat(parameters, 0.1, 10.0)
    assert parameters.max_deterministic_time == pytest.approx(0.1 * TICKS_PER_UNIT)
    assert parameters.max_time_in_seconds == pytest.approx(1.0)
