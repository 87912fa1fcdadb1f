"""Backends for portfolios: some decide, some give wrong answers, some act like `misbehaving`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from misbehaving import Misbehaving, load_and_crash, load_for_ever, load_never  # type: ignore[import-not-found]

from syncoll.formula import Assignment, Feature, Formula, FormulaSize, Limits, Outcome, Verdict
from syncoll.plugins import Answer, BackendRecord, Option, Rank, hookimpl

__all__ = ["Racers", "load", "load_and_crash", "load_for_ever", "load_never", "record"]


class Racer(Misbehaving):  # type: ignore[misc]
    def decide(self, formula: Formula, limits: Limits) -> Outcome:
        from syncoll_cpsat import RECORD

        defaults = {option.name: option.default for option in RECORD.options}
        outcome = RECORD.load().solve(formula, limits, defaults)
        statistics = {"threads": limits.threads, "seconds": limits.seconds or 0.0}
        if outcome.verdict is Verdict.SAT:
            return Outcome(outcome.verdict, outcome.assignment, statistics=statistics)
        return Outcome(outcome.verdict, statistics=statistics)

    def refute(self, formula: Formula, limits: Limits) -> Outcome:
        return Outcome(Verdict.UNSAT)

    def lie(self, formula: Formula, limits: Limits) -> Outcome:
        """All true, which is no model of any formula with capacities."""
        booleans = np.ones(formula.num_booleans + 1, dtype=np.bool_)
        return Outcome(Verdict.SAT, Assignment(booleans, formula.integer_low))


def load() -> Any:
    return Racer()


_ACTS = tuple(name for name in dir(Racer) if not name.startswith("_") and name != "solve")


def record(
    name: str,
    act: str = "decide",
    *,
    options: tuple[Option, ...] = (),
    load: Callable[[], Any] = load,
    installed: str = "",
    too_large: str = "",
    unwilling: str = "",
    rank: Rank | None = None,
) -> BackendRecord:
    """A backend that does `act`; the texts are why it is missing, or may or should not run."""

    def can_run(size: FormulaSize) -> Answer:
        return Answer(not too_large, too_large)

    return BackendRecord(
        name=name,
        summary=act,
        load=load,
        features=frozenset(Feature),
        installed=lambda: Answer(not installed, installed),
        options=(Option("do", act, "what it does", choices=_ACTS), *options),
        can_run=can_run,
        should_run=lambda _: Answer(not unwilling, unwilling),
        rank=rank,
    )


class Racers:
    """A plugin of some backends."""

    def __init__(self, *records: BackendRecord) -> None:
        self._records = list(records)

    @hookimpl
    def syncoll_backends(self) -> list[BackendRecord]:
        return self._records
