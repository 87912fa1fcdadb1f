"""A backend whose option selects its behaviour, good or bad."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from typing import Any

import numpy as np

from syncoll.formula import Assignment, Feature, Formula, Limits, Outcome, StopReason, Verdict
from syncoll.plugins import Answer, BackendRecord, Option, Options


class Misbehaving:
    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        result: Any = getattr(self, str(options["do"]))(formula, limits)
        return result  # type: ignore[no-any-return]

    def answer(self, formula: Formula, limits: Limits) -> Outcome:
        """All false, which is a model or is not."""
        booleans = np.zeros(formula.num_booleans + 1, dtype=np.bool_)
        assignment = Assignment(booleans, formula.integer_low)
        return Outcome(Verdict.SAT, assignment, seconds={"load": 0.0, "solve": 0.25})

    def pid(self, formula: Formula, limits: Limits) -> Outcome:
        return Outcome(Verdict.UNSAT, statistics={"pid": os.getpid()})

    def echo(self, formula: Formula, limits: Limits) -> Outcome:
        statistics = {"threads": limits.threads, "seed": limits.seed}
        return Outcome(Verdict.UNSAT, statistics=statistics)

    def wrong_shape(self, formula: Formula, limits: Limits) -> Outcome:
        return Outcome(Verdict.SAT, Assignment(np.zeros(99, dtype=np.bool_), formula.integer_low))

    def nonsense(self, formula: Formula, limits: Limits) -> Outcome:
        nonsense: Any = "not an array"
        return Outcome(Verdict.SAT, Assignment(nonsense, nonsense))

    def give_up(self, formula: Formula, limits: Limits) -> Outcome:
        return Outcome(Verdict.UNKNOWN, reason=StopReason.GAVE_UP, message="too hard for me")

    def segfault(self, formula: Formula, limits: Limits) -> Outcome:
        sys.stderr.write("about to crash\n")
        ctypes.string_at(0)
        raise AssertionError

    def leave(self, formula: Formula, limits: Limits) -> Outcome:
        sys.stderr.write("leaving\n")
        os._exit(3)

    def die(self, formula: Formula, limits: Limits) -> Outcome:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    def fail(self, formula: Formula, limits: Limits) -> Outcome:
        raise RuntimeError("a bug in the backend")

    def exit_politely(self, formula: Formula, limits: Limits) -> Outcome:
        sys.exit(5)

    def run_out(self, formula: Formula, limits: Limits) -> Outcome:
        raise MemoryError("no more")

    def return_text(self, formula: Formula, limits: Limits) -> Any:
        return "sat"

    def return_unpicklable(self, formula: Formula, limits: Limits) -> Outcome:
        statistics: Any = {"lambda": lambda: 0}
        return Outcome(Verdict.UNSAT, statistics=statistics)

    def sleep(self, formula: Formula, limits: Limits) -> Outcome:
        time.sleep(600)
        raise AssertionError

    def hold(self, formula: Formula, limits: Limits) -> Outcome:
        """Keeps the interpreter's lock, as some native solvers do."""
        name = "msvcrt" if sys.platform == "win32" else None
        library = ctypes.PyDLL(name)
        (library._sleep if name else library.sleep)(600_000 if name else 600)
        raise AssertionError

    def eat(self, formula: Formula, limits: Limits) -> Outcome:
        eaten = []
        while True:
            eaten.append(np.ones(1 << 21))  # 16 MiB
            time.sleep(0.005)

    def fatten(self, formula: Formula, limits: Limits) -> Outcome:
        """Answers, and keeps 300 MiB."""
        self.kept = np.ones(300 << 17)
        return Outcome(Verdict.UNSAT, statistics={"pid": os.getpid()})

    def make_noise(self, formula: Formula, limits: Limits) -> Outcome:
        sys.stdout.write("noise from Python\n")
        os.write(1, b"noise from C\n" * 20_000)
        os.write(2, b"x" * 300_000 + b"\nlast words\n")
        input_text = sys.stdin.read()
        assert input_text == ""
        return Outcome(Verdict.UNSAT)

    def make_noise_and_leave(self, formula: Formula, limits: Limits) -> Outcome:
        self.make_noise(formula, limits)
        os._exit(7)


def load() -> Misbehaving:
    return Misbehaving()


def load_never() -> Misbehaving:
    raise ImportError("libsolver.so.7: cannot open shared object file")


def load_for_ever() -> Misbehaving:
    time.sleep(600)
    raise AssertionError


def load_and_crash() -> Misbehaving:
    sys.stderr.write("bad library\n")
    os._exit(9)


_ACTS = tuple(name for name in vars(Misbehaving) if not name.startswith("_") and name != "solve")


def record(load: Any = load) -> BackendRecord:
    return BackendRecord(
        name="misbehaving",
        summary="does what its option says",
        load=load,
        features=frozenset(Feature),
        installed=lambda: Answer(True),
        options=(Option("do", "answer", "what it does", choices=_ACTS),),
    )
