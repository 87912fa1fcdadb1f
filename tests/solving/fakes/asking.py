"""Ways to decide an instance that no backend has: to hang, to fail, to lie."""

from __future__ import annotations

import time

from syncoll.errors import BackendError
from syncoll.formula import StopReason
from syncoll.model import Instance
from syncoll.results import Solution, undecided
from syncoll.solving import Solver


def _unknown(instance: Instance, reason: StopReason, message: str) -> Solution:
    return undecided(instance, reason, message, encoding="none", backend="none")


def hang(solver: Solver, instance: Instance, seconds: float | None) -> Solution:
    """Until it is stopped; the message says so."""
    for _ in range(2000):
        if solver.stop_when():
            return _unknown(instance, StopReason.INTERRUPTED, "it was told")
        time.sleep(0.02)
    return _unknown(instance, StopReason.TIME_LIMIT, "it was never told")


def lie(solver: Solver, instance: Instance, seconds: float | None) -> Solution:
    raise BackendError("backend liar answered sat, but it lied")


def fail(solver: Solver, instance: Instance, seconds: float | None) -> Solution:
    raise ZeroDivisionError("a bug")


def run_out(solver: Solver, instance: Instance, seconds: float | None) -> Solution:
    raise MemoryError("no more")


def tell_seconds(solver: Solver, instance: Instance, seconds: float | None) -> Solution:
    text = f"{seconds} {solver.limits.threads} {solver.backend_name}"
    return _unknown(instance, StopReason.GAVE_UP, text)
