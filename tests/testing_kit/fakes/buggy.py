"""A backend that enumerates, without a bug and with one of several."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from syncoll.formula import Feature, Formula, Limits, Outcome, StopReason, Verdict
from syncoll.plugins import Answer, BackendRecord, Option, OptionValue
from syncoll.testing import brute_force_models

SECONDS = {"load": 0.0, "solve": 0.0}
TOO_LARGE = Outcome(Verdict.UNKNOWN, reason=StopReason.TIME_LIMIT, seconds=SECONDS)


class Enumeration:
    def __init__(
        self,
        change: Callable[[Formula], Formula] = lambda formula: formula,
        too_large: Outcome = TOO_LARGE,
        seconds: Mapping[str, float] = SECONDS,
    ) -> None:
        self.change = change
        self.too_large = too_large
        self.seconds = seconds

    def solve(
        self, formula: Formula, limits: Limits, options: Mapping[str, OptionValue]
    ) -> Outcome:
        try:
            models = brute_force_models(self.change(formula))
        except ValueError:
            return self.too_large
        if not len(models):
            return Outcome(Verdict.UNSAT, seconds=self.seconds)
        return Outcome(Verdict.SAT, models.assignment(0), seconds=self.seconds)


def load() -> Any:
    return Enumeration()


def load_ignoring_enforcers() -> Any:
    return Enumeration(
        lambda f: dataclasses.replace(f, linear_enforcers=np.zeros_like(f.linear_enforcers))
    )


def load_ignoring_signs() -> Any:
    return Enumeration(
        lambda f: dataclasses.replace(f, cardinality_literals=np.abs(f.cardinality_literals))
    )


def load_shrinking_integers() -> Any:
    return Enumeration(
        lambda f: dataclasses.replace(f, integer_low=np.minimum(f.integer_high, f.integer_low + 1))
    )


def load_widening_integers() -> Any:
    return Enumeration(lambda f: dataclasses.replace(f, integer_high=f.integer_high + 1))


def load_strict_differences() -> Any:
    def change(formula: Formula) -> Formula:
        rows = formula.difference_rows.copy()
        rows[:, 1] += 1
        return dataclasses.replace(formula, difference_rows=rows)

    return Enumeration(change)


def load_forgetting_clauses() -> Any:
    return Enumeration(
        lambda f: dataclasses.replace(
            f,
            clause_starts=f.clause_starts[:1],
            clause_literals=f.clause_literals[:0],
            clause_enforcers=f.clause_enforcers[:0],
        )
    )


def load_calling_it_unsat() -> Any:
    return Enumeration(too_large=Outcome(Verdict.UNSAT, seconds=SECONDS))


def load_without_a_reason() -> Any:
    return Enumeration(too_large=dataclasses.replace(TOO_LARGE, reason=StopReason.GAVE_UP))


def load_without_seconds() -> Any:
    return Enumeration(seconds={})


def load_raising() -> Any:
    raise RuntimeError("cannot be loaded")


class Choosy(Enumeration):
    def solve(
        self, formula: Formula, limits: Limits, options: Mapping[str, OptionValue]
    ) -> Outcome:
        if options["mode"] == "untested":
            raise KeyError("untested")
        if limits.seed > 1 << 31:
            raise OverflowError("seed")
        return super().solve(formula, limits, options)


def load_choosy() -> Any:
    return Choosy()


def record(load: Any = load, **changes: Any) -> BackendRecord:
    return dataclasses.replace(
        BackendRecord(
            name="enumeration",
            summary="tries every assignment",
            load=load,
            features=frozenset(Feature),
            installed=lambda: Answer(True),
            options=(Option("mode", "tested", "how", choices=("tested", "untested")),),
        ),
        **changes,
    )
