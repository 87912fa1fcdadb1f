"""Formula to Z3 and back, as one text in SMT-LIB.

Z3's parser reads a text faster than its programming interface can be called from Python (0.9 s
and 1.3 s for 50,000 Booleans and 300,000 literals).  Boolean v is the constant ``xv``.  Cardinality
and pseudo-Boolean rows use Z3's own ``at-most``, ``at-least``, ``pble`` and ``pbge``; their
coefficients are made positive first, and are bounded by Z3's 32 bits.
"""

import time
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import z3

from syncoll.formula import (
    NO_HIGH,
    NO_LOW,
    Assignment,
    Formula,
    Limits,
    LinearRow,
    Outcome,
    StopReason,
    Verdict,
)
from syncoll.formula.formula import row_sums
from syncoll.plugins import Options

STATUS = {"sat": Verdict.SAT, "unsat": Verdict.UNSAT, "unknown": Verdict.UNKNOWN}
"""The verdict for each answer of `check`."""

_LARGEST = (1 << 31) - 1
_LOGICS = {"smt": None, "fd": "QF_FD"}
"""The simple solver skips the general solver's attempts for quantifiers and other logics."""
_STEPS_PER_UNIT = 1e7
"""Z3's resources (`rlimit`) in a unit of work."""

_LONGEST_MILLISECONDS = (1 << 32) - 2


class Z3Backend:
    """Decides formulas with Z3."""

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        """See `syncoll.plugins.Backend`."""
        started = time.perf_counter()
        seconds = {"load": 0.0, "solve": 0.0}
        sums = row_sums(np.abs(formula.linear_coefficients), formula.linear_starts)
        if np.max(sums, initial=0) > _LARGEST:
            message = f"the sum of a row's coefficients exceeds Z3's limit of {_LARGEST:,}"
            return Outcome.unknown(StopReason.GAVE_UP, message, seconds=seconds)
        # A fresh context keeps nothing of an earlier formula.
        context = z3.Context()
        logic = _LOGICS[str(options["solver"])]
        solver = z3.SimpleSolver(ctx=context)
        if logic is not None:
            solver = z3.SolverFor(logic, ctx=context)
        try:
            _set_parameters(solver, limits, logic)
            solver.from_string(to_smtlib(formula))
            loaded = time.perf_counter()
            seconds["load"] = loaded - started
            if limits.seconds is not None:
                left = limits.seconds - seconds["load"]
                if left <= 0:
                    return Outcome.unknown(StopReason.TIME_LIMIT, seconds=seconds)
                milliseconds = max(1, int(left * 1000))
                solver.set("timeout", min(milliseconds, _LONGEST_MILLISECONDS))
            if limits.work is not None:
                solver.set("rlimit", max(1, min(int(limits.work * _STEPS_PER_UNIT), _LARGEST)))
            verdict = STATUS[str(solver.check())]
            seconds["solve"] = time.perf_counter() - loaded
        except z3.Z3Exception as error:
            reason = stop_reason(str(error))
            return Outcome.unknown(reason, f"Z3 says: {error}", seconds=seconds)
        statistics = _statistics(solver)
        work = statistics.pop("count", 0.0) / _STEPS_PER_UNIT
        measured: dict[str, Any] = {"seconds": seconds, "statistics": statistics, "work": work}
        if verdict is not Verdict.UNKNOWN:
            model = solver.model() if verdict is Verdict.SAT else None
            return Outcome(
                verdict, None if model is None else _assignment(formula, model), **measured
            )
        why = solver.reason_unknown()
        reason = stop_reason(why)
        if limits.seconds is not None and seconds["solve"] >= 0.9 * left:
            reason = StopReason.TIME_LIMIT  # some of Z3's solvers report only "canceled" or ""
        if limits.work is not None and work >= 0.9 * limits.work:
            reason = StopReason.TIME_LIMIT
        return Outcome.unknown(reason, f"Z3 says: {why}", **measured)


def stop_reason(why: str) -> StopReason:
    """The stop reason for Z3's text."""
    words = why.lower()
    if "timeout" in words:
        return StopReason.TIME_LIMIT
    if "memout" in words or "memory" in words:
        return StopReason.MEMORY_LIMIT
    if "interrupted" in words or "canceled" in words:
        return StopReason.INTERRUPTED
    return StopReason.GAVE_UP


def to_smtlib(formula: Formula) -> str:
    """The formula as declarations and assertions in SMT-LIB 2."""
    names = [f"x{v}" for v in range(1, formula.num_booleans + 1)]
    # Indexed by a literal, negative ones from the end.
    literals = ["", *names, *(f"(not {name})" for name in reversed(names))]
    parts = [f"(declare-const {name} Bool)" for name in names]
    parts += _clauses(formula, literals)
    parts += _sums(formula, literals)
    return "\n".join(parts)


def _clauses(formula: Formula, literals: list[str]) -> Iterator[str]:
    for cells, enforcer in formula.clauses():
        row = [literals[x] for x in cells]
        if enforcer:
            row.append(literals[-enforcer])
        yield f"(assert (or {' '.join(row)}))" if row else "(assert false)"


def _sums(formula: Formula, literals: list[str]) -> Iterator[str]:
    """Cardinality rows, then linear ones."""
    counts = ((None, *row) for row in formula.cardinalities())
    for coefficients, cells, low, high, enforcer in chain(
        counts, map(_positive, formula.linears())
    ):
        most = len(cells) if coefficients is None else sum(coefficients)
        at_most, at_least, numbers = "at-most", "at-least", ""
        if coefficients is not None:
            at_most, at_least, numbers = "pble", "pbge", "".join(f" {c}" for c in coefficients)
        names = " ".join(literals[x] for x in cells)
        texts = [f"((_ {at_most} {high}{numbers}) {names})"] if high < most else []
        texts += [f"((_ {at_least} {low}{numbers}) {names})"] if low > 0 else []
        if low > high or low > most or high < 0:
            texts = ["false"]
        for text in texts:
            yield f"(assert (or {literals[-enforcer]} {text}))" if enforcer else f"(assert {text})"


def _positive(row: LinearRow) -> tuple[list[int], list[int], int, int, int]:
    """The row with positive coefficients, its literals, bounds and enforcer.  ``-c * x`` is
    ``c * not x - c``."""
    coefficients, cells, offset = [], [], 0
    for coefficient, literal in zip(row.coefficients, row.literals, strict=True):
        if coefficient:
            coefficients.append(abs(coefficient))
            cells.append(literal if coefficient > 0 else -literal)
            offset -= min(0, coefficient)
    low = row.low + offset if row.low > NO_LOW else NO_LOW
    high = row.high + offset if row.high < NO_HIGH else NO_HIGH
    return coefficients, cells, low, high, row.enforcer


def _set_parameters(solver: Any, limits: Limits, logic: str | None) -> None:
    if logic is None:
        # Relevancy saves work in theories and quantifiers, which formulas here lack; it takes half
        # of the time.
        solver.set("relevancy", 0)
    # Z3 counts the memory of the whole process, which holds only this formula.
    if limits.memory_bytes is not None:
        solver.set("max_memory", max(1, limits.memory_bytes >> 20))
    solver.set("random_seed", limits.seed & 0x7FFFFFFF)


def _statistics(solver: Any) -> dict[str, float]:
    statistics = solver.statistics()
    wanted = ("conflicts", "decisions", "propagations", "restarts", "count")  # rlimit count
    return {
        key.split()[-1]: float(statistics.get_key_value(key))
        for key in statistics.keys()  # noqa: SIM118 (no mapping)
        if key.split()[-1] in wanted
    }


def _assignment(formula: Formula, model: Any) -> Assignment:
    booleans = np.zeros(formula.num_booleans + 1, dtype=np.bool_)
    # Variables missing in the model may have either value.
    for declaration in model.decls():
        name = declaration.name()
        if name.startswith("x") and z3.is_true(model[declaration]):
            booleans[int(name[1:])] = True
    return Assignment(booleans, np.zeros(0, dtype=np.int64))
