"""A backend under test: it runs in a worker process, and wrong answers raise `ConformanceError`."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from syncoll.errors import BackendError, PluginError
from syncoll.formula import Formula, Limits, Outcome, StopReason, Verdict
from syncoll.plugins import Backend, BackendRecord, Options
from syncoll.solving import SolverProcess
from syncoll.testing.formulas import brute_force_models
from syncoll.testing.kit import ConformanceError, demand

SECONDS = 30.0  # the time limit for small formulas, which no solver needs
LATE_SECONDS = 3.0  # on a busy machine a backend may answer this much later than its limit
PATIENCE = 10.0  # after its limit, until a backend without an answer is ended and fails

_SPENT, _CHANGED = "observed: seconds", "observed: changed"


@dataclass(frozen=True)
class ObservedLoader:
    """Loads a backend and its observer, in the worker's process.

    From outside, a backend that ignores its time limit looks like one that keeps it, because its
    process is ended in time.
    """

    load: Callable[[], Backend]

    def __call__(self) -> Backend:
        """The backend, observed."""
        return _Observed(self.load())


class _Observed:
    """Adds the duration of a run to its statistics, and whether it changed the formula."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        before = {name: value.copy() for name, value in _arrays(formula)}
        began = time.perf_counter()
        answer: object = self._backend.solve(formula, limits, options)
        spent = time.perf_counter() - began
        changed = any(not np.array_equal(before[name], now) for name, now in _arrays(formula))
        if not isinstance(answer, Outcome):
            raise TypeError(f"the backend returned {type(answer).__name__}, not an Outcome")
        more = {_SPENT: spent, _CHANGED: float(changed)}
        return replace(answer, statistics={**answer.statistics, **more})


def _arrays(formula: Formula) -> Iterator[tuple[str, npt.NDArray[np.generic]]]:
    for field in fields(formula):
        value = getattr(formula, field.name)
        if isinstance(value, np.ndarray):
            yield field.name, value


class BackendUnderTest:
    """A backend under test, in its worker process, or in the given one."""

    def __init__(self, record: BackendRecord, process: SolverProcess | None = None) -> None:
        self.record = record
        observed = replace(record, load=ObservedLoader(record.load))
        self.process = process or SolverProcess(observed, grace_seconds=PATIENCE)

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
            ConformanceError: if it crashes, answers sat with an assignment that is not a model,
                changes the formula, or exceeds its time limit.
        """
        limits = limits or Limits(seconds=SECONDS)
        try:
            outcome = self.process.solve(formula, limits, options or {})
        except (BackendError, PluginError) as error:
            raise ConformanceError(f"{error}\n{_describe(formula)}") from error
        demand(
            outcome.reason is not StopReason.CRASHED,
            f"it crashed: {outcome.message}\n{_describe(formula)}",
        )
        statistics = dict(outcome.statistics)
        spent, changed = statistics.pop(_SPENT, None), statistics.pop(_CHANGED, 0.0)
        demand(
            spent is not None or outcome.reason is not StopReason.TIME_LIMIT,
            f"it did not stop by itself: {outcome.message}; a backend must watch its clock, and "
            "answer unknown when its time is over",
        )
        if spent is not None and limits.seconds is not None:
            demand(
                spent < limits.seconds + LATE_SECONDS,
                f"it took {spent:.1f} s under a limit of {limits.seconds} s",
            )
        demand(not changed, f"it changed the formula that it was asked\n{_describe(formula)}")
        return replace(outcome, statistics=statistics)

    def expect(
        self,
        formula: Formula,
        name: str,
        limits: Limits | None = None,
        options: Mapping[str, object] | None = None,
        satisfiable: bool | None = None,
    ) -> Outcome:
        """Demands the right verdict on a small formula; enumerates it unless `satisfiable` is
        given."""
        if satisfiable is None:
            satisfiable = len(brute_force_models(formula)) > 0
        right = Verdict.SAT if satisfiable else Verdict.UNSAT
        outcome = self.solve(formula, limits, options)
        demand(
            outcome.verdict is right,
            f"{name}: it answered {outcome.verdict} ({outcome.reason}; {outcome.message}), but "
            f"the right answer is {right}\n{_describe(formula)}",
        )
        return outcome


def _describe(formula: Formula) -> str:
    size = formula.size()
    lines = [f"the formula has {size.booleans} Booleans and {size.integers} integers:"]
    bounds = zip(formula.integer_low.tolist(), formula.integer_high.tolist(), strict=True)
    lines += [f"  integer {i}: {low} .. {high}" for i, (low, high) in enumerate(bounds)]
    kinds = (formula.clauses, formula.cardinalities, formula.linears, formula.differences)
    rows = [f"  {row}" for kind in kinds for row in kind()]
    more = [f"  … and {len(rows) - 30} rows more"] if len(rows) > 30 else []
    return "\n".join([*lines, *rows[:30], *more])
