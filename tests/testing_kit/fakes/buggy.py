"""A backend that enumerates, without a bug and with one of several."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from syncoll.formula import Feature, Formula, Limits, Outcome, StopReason, Verdict
from syncoll.plugins import Answer, BackendRecord, Option, Options
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

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        try:
            models = brute_force_models(self.change(formula))
        except ValueError:
            return self.too_large
        if not len(models):
            return Outcome(Verdict.UNSAT, seconds=self.seconds)
        return Outcome(Verdict.SAT, models.assignment(0), seconds=self.seconds)


def load() -> Any:
    return Enumeration()


# Bugs; the kit must find each in more than one way ------------------------------------------------


def changing(**changes: Callable[[Any], Any]) -> Any:
    """Reads some arrays of a formula wrongly."""

    def change(formula: Formula) -> Formula:
        wrong = {name: function(getattr(formula, name)) for name, function in changes.items()}
        return dataclasses.replace(formula, **wrong)

    return Enumeration(change)


def one_more(array: Any) -> Any:
    return array + 1


class Answering(Enumeration):
    """Answers rightly, then changes the answer."""

    def __init__(self, spoil: Callable[[Formula, Outcome], Outcome]) -> None:
        super().__init__()
        self.spoil = spoil

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        return self.spoil(formula, super().solve(formula, limits, options))


UNSAT = Outcome(Verdict.UNSAT, seconds=SECONDS)


def unsat_when(wrong: Callable[[Formula], bool]) -> Any:
    return Answering(lambda formula, outcome: UNSAT if wrong(formula) else outcome)


def assigning(change: Callable[[Any], Any]) -> Any:
    """Returns another assignment than it found."""

    def spoil(formula: Formula, outcome: Outcome) -> Outcome:
        if outcome.assignment is None:
            return outcome
        return dataclasses.replace(outcome, assignment=change(outcome.assignment))

    return Answering(spoil)


class Late(Enumeration):
    """Never reads a clock."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.late = seconds

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        outcome = super().solve(formula, limits, options)
        if outcome.verdict is Verdict.UNKNOWN:
            time.sleep((limits.seconds or 0.0) + self.late)
        return outcome


class Scribbling(Enumeration):
    """Writes into the arrays of the formula."""

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        outcome = super().solve(formula, limits, options)
        for array in (formula.clause_literals, formula.cardinality_literals):
            array.flags.writeable = True
            array[:] = np.abs(array)
        return outcome


def enforcing_both_ways(formula: Formula, outcome: Outcome) -> Outcome:
    """Reads an enforced row as one that holds exactly if the enforcer does."""
    if formula.num_integers or not len(formula.cardinality_enforcers):
        return outcome
    models = brute_force_models(formula)
    rows = list(formula.cardinalities())

    def exact(row: Any, booleans: Any) -> bool:
        true = sum(bool(booleans[abs(x)]) is (x > 0) for x in row.literals)
        enforced = row.enforcer == 0 or bool(booleans[abs(row.enforcer)]) is (row.enforcer > 0)
        return (row.low <= true <= row.high) is enforced

    kept = [i for i in range(len(models)) if all(exact(r, models.booleans[i]) for r in rows)]
    if not kept:
        return UNSAT
    return dataclasses.replace(outcome, assignment=models.assignment(kept[0]))


def few(formula: Formula, most: int) -> bool:
    return formula.num_booleans <= most and not formula.num_integers


BUGS: dict[str, Callable[[], Any]] = {
    "unsat without variables": lambda: unsat_when(lambda f: few(f, 0)),
    "unsat with one variable": lambda: unsat_when(lambda f: f.num_booleans == 1),
    "unsat with two variables": lambda: unsat_when(lambda f: f.num_booleans == 2),
    "unsat with one integer": lambda: unsat_when(lambda f: f.num_integers == 1),
    "unsat without rows": lambda: unsat_when(lambda f: f.size().constraints == 0),
    "unsat with one row": lambda: unsat_when(lambda f: f.size().constraints == 1),
    "unknown as unsat": lambda: Enumeration(too_large=UNSAT),
    "unknown as decided by giving up": lambda: load_without_a_reason(),
    "late": lambda: Late(0.2),
    "scribbling": Scribbling,
    "clauses dropped": lambda: load_forgetting_clauses(),
    "cardinalities without a low bound": lambda: changing(
        cardinality_lows=lambda a: np.minimum(a, -9)
    ),
    "cardinalities without a high bound": lambda: changing(
        cardinality_highs=lambda a: np.maximum(a, 99)
    ),
    "cardinalities off by one": lambda: changing(cardinality_highs=one_more),
    "linear low bounds off by one": lambda: changing(linear_lows=one_more),
    "sums without a low bound": lambda: changing(linear_lows=lambda a: np.full_like(a, -(1 << 60))),
    "sums without a high bound": lambda: changing(linear_highs=lambda a: np.full_like(a, 1 << 60)),
    "differences dropped": lambda: changing(difference_rows=lambda a: a[:0]),
    "enforcers of differences": lambda: changing(difference_rows=lambda a: a * [1, 1, 1, 0]),
    "negative distances": lambda: changing(
        difference_rows=lambda a: np.where([0, 1, 0, 0], np.abs(a), a)
    ),
    "negative coefficients": lambda: changing(linear_coefficients=np.abs),
    "negative coefficients of integers": lambda: changing(linear_integer_coefficients=np.abs),
    "negated literals in clauses": lambda: changing(clause_literals=np.abs),
    "negated literals in sums": lambda: changing(linear_literals=np.abs),
    "negated enforcers": lambda: changing(cardinality_enforcers=np.abs),
    "enforcers of cardinalities": lambda: changing(cardinality_enforcers=np.zeros_like),
    "enforcers of sums": lambda: changing(linear_enforcers=np.zeros_like),
    "enforcers of clauses": lambda: changing(clause_enforcers=np.zeros_like),
    "enforcers both ways": lambda: Answering(enforcing_both_ways),
    "lowest values of integers": lambda: load_shrinking_integers(),
    "highest values of integers": lambda: changing(integer_high=lambda a: a - 1),
    "beyond the highest values": lambda: load_widening_integers(),
    "strict differences": lambda: load_strict_differences(),
    "a partial assignment": lambda: assigning(
        lambda a: dataclasses.replace(a, booleans=a.booleans[:-1])
    ),
    "no integers": lambda: assigning(lambda a: dataclasses.replace(a, integers=a.integers[:0])),
    "negated values": lambda: assigning(lambda a: dataclasses.replace(a, booleans=~a.booleans)),
    "always unsat": lambda: unsat_when(lambda _: True),
}


def load_endless() -> Any:
    return Late(60.0)


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
    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
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


class Claiming(Enumeration):
    """Calls a file a proof that proves nothing and need not exist."""

    def __init__(self, proof: str | None) -> None:
        super().__init__()
        self.proof = proof

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        if limits.proof is not None and self.proof is not None:
            limits.proof.write_text(self.proof)
        return Outcome(Verdict.UNSAT, seconds=SECONDS, proof=limits.proof)


def load_claiming_a_file() -> Any:
    return Claiming(None)


def load_claiming_a_proof() -> Any:
    return Claiming("0\n")
