"""Formula to CP-SAT model and back.

The protocol buffer is filled directly: one `extend` a row, no expression objects.  Clauses become
``bool_or`` with the enforcer as one more literal.  Cardinality and linear rows go through one
sparse matrix; a row that only counts literals becomes ``at_most_one``, ``exactly_one`` or a clause
if possible, and ``linear`` with the enforcer otherwise.

The module below `cp_model` is used directly: `cp_model` imports pandas, which takes longer than
most solves.
"""

import math
import sys
import time
from typing import Any

import numpy as np
from ortools.sat.python import cp_model_helper

from syncoll.formula import NO_HIGH, NO_LOW, Formula, Limits, Outcome, StopReason, Verdict, row_sums
from syncoll.formula.matrix import columns_to_assignment, linear_matrix
from syncoll.linear.effort import TICKS_PER_UNIT
from syncoll.plugins import Options

STATUS = {
    "OPTIMAL": Verdict.SAT,
    "FEASIBLE": Verdict.SAT,
    "INFEASIBLE": Verdict.UNSAT,
    "UNKNOWN": Verdict.UNKNOWN,
    "MODEL_INVALID": Verdict.UNKNOWN,
}
"""Every status of CP-SAT, by its name."""

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1
_NO_MEMORY_LIMIT_MB = 1 << 40
_SHARE_OF_MEMORY = 0.5
"""CP-SAT gets this share as its own limit, to stop before its process is too large."""


class CpSatBackend:
    """Decides formulas with CP-SAT."""

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        """See `syncoll.plugins.Backend`."""
        started = time.perf_counter()
        model = build_model(formula)
        if options["hints"] and len(formula.hint):
            hint = model.solution_hint
            hint.vars.extend((np.abs(formula.hint) - 1).tolist())
            hint.values.extend((formula.hint > 0).astype(np.int64).tolist())
        loaded = time.perf_counter()
        seconds = {"load": loaded - started, "solve": 0.0}
        left = None if limits.seconds is None else limits.seconds - seconds["load"]
        if left is not None and left <= 0:
            return Outcome.unknown(StopReason.TIME_LIMIT, seconds=seconds)
        parameters = cp_model_helper.SatParameters()
        _set_parameters(parameters, limits, left, options)
        solver: Any = cp_model_helper.SolveWrapper()
        solver.set_parameters(parameters)
        response = solver.solve(model)
        status = response.status.name
        seconds["solve"] = time.perf_counter() - loaded
        statistics = {
            "conflicts": float(response.num_conflicts),
            "branches": float(response.num_branches),
        }
        verdict, work = STATUS[status], float(response.deterministic_time) / TICKS_PER_UNIT
        measured: dict[str, Any] = {"seconds": seconds, "statistics": statistics, "work": work}
        if verdict is Verdict.SAT:
            values = np.fromiter(response.solution, dtype=np.int64)
            return Outcome(verdict, columns_to_assignment(formula, values), **measured)
        if verdict is Verdict.UNSAT:
            return Outcome(verdict, **measured)
        if status == "MODEL_INVALID":
            why = cp_model_helper.CpSatHelper.validate_model(model)
            return Outcome.unknown(
                StopReason.GAVE_UP, f"CP-SAT refuses the model: {why}", **measured
            )
        return Outcome.unknown(_reason(limits, left, seconds["solve"], work), **measured)


def build_model(formula: Formula) -> cp_model_helper.CpModelProto:
    """The formula as a CP-SAT model: Boolean ``v`` is variable ``v - 1``, integers follow."""
    model = cp_model_helper.CpModelProto()
    add_variable, add_row = model.variables.add, model.constraints.add
    for _ in range(formula.num_booleans):
        add_variable().domain.extend((0, 1))
    for low, high in zip(formula.integer_low.tolist(), formula.integer_high.tolist(), strict=True):
        add_variable().domain.extend((low, high))

    # CP-SAT writes the literal v as v - 1 and its negation as -v.
    cells = formula.clause_literals
    literals = np.where(cells > 0, cells - 1, cells).tolist()
    starts = formula.clause_starts.tolist()
    for i, enforcer in enumerate(formula.clause_enforcers.tolist()):
        row = literals[starts[i] : starts[i + 1]]
        if enforcer:
            row.append(_reference(-enforcer))
        add_row().bool_or.literals.extend(row)
    _add_linear_rows(formula, add_row)
    for x, distance, y, enforcer in formula.difference_rows.tolist():
        if x == y:
            if distance > 0:
                add_row().bool_or.literals.extend([_reference(-enforcer)] if enforcer else [])
            continue
        constraint = add_row()
        constraint.linear.vars.extend((formula.num_booleans + x, formula.num_booleans + y))
        constraint.linear.coeffs.extend((1, -1))
        constraint.linear.domain.extend((_INT64_MIN, -distance))
        if enforcer:
            constraint.enforcement_literal.append(_reference(enforcer))
    return model


def _reference(literal: int) -> int:
    return literal - 1 if literal > 0 else literal


def _add_linear_rows(formula: Formula, add_row: Any) -> None:
    matrix = linear_matrix(formula, cardinalities=True)
    enforcers = np.concatenate([formula.cardinality_enforcers, formula.linear_enforcers])
    starts, columns = matrix.starts, matrix.columns
    lengths = np.diff(starts)

    # A row counts literals if all coefficients are 1 or -1 and all variables Booleans.  With
    # negative ones as negated literals both bounds grow by `negations`.
    plain = (np.abs(matrix.coefficients) == 1) & (columns < formula.num_booleans)
    negations = row_sums(matrix.coefficients == -1, starts)
    counts = (enforcers == 0) & (lengths > 0) & (row_sums(plain, starts) == lengths)
    at_least = np.maximum(0, matrix.lows + negations)
    at_most = np.minimum(lengths, matrix.highs + negations)
    literals = np.where(matrix.coefficients > 0, columns, -columns - 1).tolist()
    negated = np.where(matrix.coefficients > 0, -columns - 1, columns).tolist()

    lows = np.where(matrix.lows <= NO_LOW, _INT64_MIN, matrix.lows).tolist()
    highs = np.where(matrix.highs >= NO_HIGH, _INT64_MAX, matrix.highs).tolist()
    vars_, coefficients, places = columns.tolist(), matrix.coefficients.tolist(), starts.tolist()
    rows = zip(
        enforcers.tolist(),
        counts.tolist(),
        at_least.tolist(),
        at_most.tolist(),
        lengths.tolist(),
        strict=True,
    )
    for i, (enforcer, is_count, least, most, length) in enumerate(rows):
        a, b = places[i], places[i + 1]
        if lows[i] > highs[i] or not length:
            if not lows[i] <= 0 <= highs[i] or lows[i] > highs[i]:  # cannot be satisfied
                add_row().bool_or.literals.extend([_reference(-enforcer)] if enforcer else [])
        elif is_count and least <= 1 and most == 1:
            row = add_row()
            (row.exactly_one if least else row.at_most_one).literals.extend(literals[a:b])
        elif is_count and least == 1 and most == length:
            add_row().bool_or.literals.extend(literals[a:b])
        elif is_count and least == 0 and most == length - 1:
            add_row().bool_or.literals.extend(negated[a:b])
        else:
            row = add_row()
            row.linear.vars.extend(vars_[a:b])
            row.linear.coeffs.extend(coefficients[a:b])
            row.linear.domain.extend((lows[i], highs[i]))
            if enforcer:
                row.enforcement_literal.append(_reference(enforcer))


def _set_parameters(parameters: Any, limits: Limits, left: float | None, options: Options) -> None:
    if left is not None:
        parameters.max_time_in_seconds = left
    if limits.work is not None:
        parameters.max_deterministic_time = limits.work * TICKS_PER_UNIT
    # The default, 10 GB, would stop large runs without a limit.
    memory = limits.memory_bytes
    parameters.max_memory_in_mb = _NO_MEMORY_LIMIT_MB if memory is None else max(1, memory >> 20)
    parameters.num_workers = max(1, limits.threads)
    parameters.random_seed = limits.seed & 0x7FFFFFFF
    parameters.catch_sigint_signal = False
    parameters.cp_model_presolve = bool(options["presolve"])
    parameters.cp_model_probing_level = int(options["probing"])
    parameters.symmetry_level = int(options["symmetry"])
    parameters.linearization_level = int(options["linearization"])
    parameters.log_search_progress = bool(options["log"])
    parameters.log_to_stdout = True


def _reason(limits: Limits, left: float | None, spent: float, work: float) -> StopReason:
    # CP-SAT reports only UNKNOWN.  It stops before its time is over: by up to a tenth of a long
    # limit, or by a phase of its presolve if the limit is short.
    if left is not None and spent >= min(0.9 * left, left - 0.1):
        return StopReason.TIME_LIMIT
    if limits.work is not None and work >= 0.9 * limits.work:
        return StopReason.TIME_LIMIT
    if limits.memory_bytes is None or _peak_bytes() < _SHARE_OF_MEMORY * limits.memory_bytes:
        return StopReason.GAVE_UP
    return StopReason.MEMORY_LIMIT


def _peak_bytes() -> float:
    """Peak memory of this process; infinite if the system does not report it."""
    if sys.platform == "win32":
        return math.inf
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
