"""A backend under test: it runs in a worker process, and wrong answers raise `ConformanceError`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from syncoll.errors import BackendError
from syncoll.formula import Formula, Limits, Outcome, StopReason, Verdict
from syncoll.plugins import BackendRecord
from syncoll.solving import SolverProcess
from syncoll.testing.formulas import brute_force_models

__all__ = ["SECONDS", "Candidate", "ConformanceError", "demand"]

SECONDS = 30.0
"""The time limit for small formulas, which no solver needs."""


class ConformanceError(AssertionError):
    """A backend does not do what a check demands."""


class Candidate:
    """A backend under test, with its worker process."""

    def __init__(self, record: BackendRecord) -> None:
        self.record = record
        self.process = SolverProcess(record)

    def close(self) -> None:
        """Ends the worker."""
        self.process.close()

    def takes(self, formula: Formula) -> bool:
        """Whether the record claims every feature of the formula."""
        return formula.size().features <= self.record.features

    def solve(
        self,
        formula: Formula,
        limits: Limits | None = None,
        options: Mapping[str, object] | None = None,
    ) -> Outcome:
        """The backend's outcome.

        Raises:
            ConformanceError: when it crashes, or answers sat with an assignment that is no model.
        """
        try:
            outcome = self.process.solve(formula, limits or Limits(seconds=SECONDS), options or {})
        except BackendError as error:
            raise ConformanceError(f"{error}\n{_describe(formula)}") from error
        demand(
            outcome.reason is not StopReason.CRASHED,
            f"it crashed: {outcome.message}\n{_describe(formula)}",
        )
        return outcome

    def expect(
        self,
        formula: Formula,
        name: str,
        limits: Limits | None = None,
        options: Mapping[str, object] | None = None,
        satisfiable: bool | None = None,
    ) -> Outcome:
        """Demands the right verdict on a small formula; enumerates it unless the truth is given."""
        if satisfiable is None:
            satisfiable = len(brute_force_models(formula)) > 0
        right = Verdict.SAT if satisfiable else Verdict.UNSAT
        outcome = self.solve(formula, limits, options)
        demand(
            outcome.verdict is right,
            f"{name}: it answered {outcome.verdict} ({outcome.reason}; {outcome.message}), "
            f"and {right} is the truth\n{_describe(formula)}",
        )
        return outcome


def demand(fulfilled: bool, message: str) -> None:
    """Raises `ConformanceError` with the message unless it is fulfilled."""
    if not fulfilled:
        raise ConformanceError(message)


def _describe(formula: Formula) -> str:
    size = formula.size()
    lines = [f"the formula has {size.booleans} Booleans and {size.integers} integers:"]
    bounds = zip(formula.integer_low.tolist(), formula.integer_high.tolist(), strict=True)
    lines += [f"  integer {i}: {low} .. {high}" for i, (low, high) in enumerate(bounds)]
    kinds: tuple[Iterator[object], ...] = (
        formula.clauses(),
        formula.cardinalities(),
        formula.linears(),
        formula.differences(),
    )
    rows = [f"  {row}" for kind in kinds for row in kind]
    more = [f"  … and {len(rows) - 30} rows more"] if len(rows) > 30 else []
    return "\n".join([*lines, *rows[:30], *more])
