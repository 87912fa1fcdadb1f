"""Interruptions that meet a finalizer: nothing is printed, nothing is cut short, none is lost."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from syncoll.deadline import Deadline, interrupted_at
from syncoll.errors import OutOfTimeError
from syncoll.interrupts import ctrl_c
from syncoll.plugins.guard import calling

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="the system has no such alarms"
)

Ring = Callable[[], None]


class Closing:
    """Rings while something is finalized.

    Args:
        number: the signal.

    Attributes:
        done: the number of finalizers that finished.
    """

    def __init__(self, number: int) -> None:
        self.number, self.done = number, 0

    def ring(self) -> None:
        signal.raise_signal(self.number)  # its handler runs before this returns
        self.done += 1

    def in_a_finally(self) -> Iterator[int]:
        try:
            yield 1
        finally:
            self.ring()

    def in_a_handler(self) -> Iterator[int]:
        try:
            yield 1
        except GeneratorExit:
            self.ring()
            raise

    @contextmanager
    def around(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.ring()

    def at_the_end_of_a_with(self) -> Iterator[int]:
        with self.around():
            yield 1

    def in_an_inner_one(self) -> Iterator[int]:
        yield from self.in_a_finally()

    def behind_a_call(self) -> Iterator[int]:
        try:
            yield 1
        finally:
            try:
                raise ValueError
            except ValueError:
                assert list(map(str, range(3)))
                self.ring()

    def __call__(self, kind: str) -> None:
        if kind == "collected":
            one = self.in_a_finally()
            next(one)
            circle: list[Any] = [one]
            circle.append(circle)
            del one, circle
            gc.collect()
            return
        for _ in getattr(self, kind)():
            break


KINDS = (
    *("in_a_finally", "in_a_handler", "at_the_end_of_a_with"),
    *("in_an_inner_one", "behind_a_call", "collected"),
)


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Everything that Python prints of errors that it ignores."""
    found: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: found.append(one.exc_value))
    return found


def wait() -> None:
    """Until an interruption comes; they do by themselves."""
    threading.Event().wait(60)


def drop_and_wait(kind: str, closing: Closing) -> None:
    closing(kind)
    assert closing.done == 1
    wait()


@pytest.mark.parametrize("kind", KINDS)
def test_the_alarm_waits_for_a_generator_that_is_closed(kind: str, printed: list[object]) -> None:
    with pytest.raises(OutOfTimeError), interrupted_at(Deadline.after(-1.0)):
        drop_and_wait(kind, Closing(signal.SIGALRM))
    assert printed == []


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_waits_for_a_generator_that_is_closed(kind: str, printed: list[object]) -> None:
    with pytest.raises(KeyboardInterrupt), ctrl_c():
        drop_and_wait(kind, Closing(signal.SIGINT))
    assert printed == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Thing:
    pass


def called_back(ring: Ring) -> None:
    thing = Thing()
    known = weakref.ref(thing, lambda _: ring())
    del thing
    assert known() is None


def finalized(ring: Ring) -> None:
    thing = Thing()
    weakref.finalize(thing, ring)
    del thing


def after_the_handler(ring: Ring) -> None:
    def generator() -> Iterator[int]:
        with suppress(GeneratorExit):
            yield 1
        ring()

    for _ in generator():
        break


@pytest.mark.parametrize("lost", [called_back, finalized, after_the_handler])
@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGINT])
def test_a_lost_interruption_is_repeated(
    lost: Callable[[Ring], None], number: int, printed: list[object]
) -> None:
    """A finalizer that Python calls without any mark on the stack."""
    alarm = number == signal.SIGALRM
    until = Deadline.after(-1.0 if alarm else None)

    def lose_and_wait() -> None:
        lost(lambda: signal.raise_signal(number))
        wait()

    error = OutOfTimeError if alarm else KeyboardInterrupt
    with pytest.raises(error), ctrl_c(), interrupted_at(until):
        lose_and_wait()
    assert printed == []


def test_other_errors_are_printed(printed: list[object]) -> None:
    def fails() -> None:
        raise ValueError("mine")

    with ctrl_c(), interrupted_at(Deadline.after(60.0)):
        called_back(fails)
    assert [str(one) for one in printed] == ["mine"]


def test_ctrl_c_twice_does_not_wait(printed: list[object]) -> None:
    """A closing object may never finish."""
    ended = []

    def endless() -> Iterator[int]:
        try:
            yield 1
        finally:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            ended.append(True)

    def close_and_wait() -> None:
        for _ in endless():
            break
        wait()

    with pytest.raises(KeyboardInterrupt), ctrl_c():
        close_and_wait()
    assert not ended
    assert printed == []


def test_a_foreign_ctrl_c_is_left_alone() -> None:
    mine = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ctrl_c():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, mine)


class Ringing(Fraction):
    """Rings when it is compared."""

    number = 0

    def __le__(self, other: object) -> bool:
        signal.raise_signal(self.number)
        return True


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGINT])
@pytest.mark.parametrize("guarded", [True, False])
def test_an_interruption_of_c_code_stays_one(number: int, guarded: bool) -> None:
    """Numpy goes on with the next comparisons, which fail by the error."""
    alarm = number == signal.SIGALRM
    things = np.full((9, 2), Fraction(1, 3))
    np.minimum.reduceat(things, [0, 5], axis=0)  # the first comparison calls more Python code
    things[0, 0] = ringing = Ringing(1, 3)
    ringing.number = number
    around = calling("a plugin") if guarded else nullcontext()
    until = Deadline.after(-1.0 if alarm else None)
    error = OutOfTimeError if alarm else KeyboardInterrupt
    with pytest.raises(error), ctrl_c(), interrupted_at(until), around:
        np.minimum.reduceat(things, [0, 5], axis=0)
