"""Formula to mixed-integer program and back; the program has no objective.

The matrix is passed in bulk.  HiGHS computes in floating point with tolerances, so its solutions
are replayed exactly: see `syncoll.formula.matrix.judged`.
"""

import time

import highspy
import numpy as np

from syncoll.formula import (
    NO_HIGH,
    NO_LOW,
    Assignment,
    Formula,
    Limits,
    Outcome,
    StopReason,
    Verdict,
)
from syncoll.formula.matrix import LinearMatrix, judged, linear_matrix
from syncoll.plugins import Options, OptionValue

STATUS: dict[str, StopReason] = {
    "kOptimal": StopReason.DECIDED,
    "kInfeasible": StopReason.DECIDED,
    "kTimeLimit": StopReason.TIME_LIMIT,
    "kMemoryLimit": StopReason.MEMORY_LIMIT,
    "kInterrupt": StopReason.INTERRUPTED,
    "kHighsInterrupt": StopReason.INTERRUPTED,
    **dict.fromkeys(["kNotset", "kLoadError", "kModelError", "kPresolveError"], StopReason.GAVE_UP),
    **dict.fromkeys(["kSolveError", "kPostsolveError", "kModelEmpty"], StopReason.GAVE_UP),
    **dict.fromkeys(["kUnboundedOrInfeasible", "kUnbounded"], StopReason.GAVE_UP),
    **dict.fromkeys(["kObjectiveBound", "kObjectiveTarget", "kIterationLimit"], StopReason.GAVE_UP),
    **dict.fromkeys(["kUnknown", "kSolutionLimit"], StopReason.GAVE_UP),
}
"""Every status of HiGHS, by its name, and its stop reason; any solution found is used."""

_ROWWISE = 2


class HighsBackend:
    """Decides formulas with HiGHS."""

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        """See `syncoll.plugins.Backend`."""
        started = time.perf_counter()
        matrix = linear_matrix(formula)
        if len(matrix.lows) == 0 or formula.num_booleans + formula.num_integers == 0:
            return _decide_without_rows(formula, matrix)
        if (matrix.lows > matrix.highs).any():  # an error of the model for HiGHS
            return Outcome(Verdict.UNSAT, seconds={"load": 0.0, "solve": 0.0})
        # The number of threads is kept by a scheduler that outlives the solver object.
        highspy.Highs.resetGlobalScheduler(True)
        highs = highspy.Highs()
        _set_options(highs, limits, options)
        accepted = _pass_model(highs, formula, matrix)
        if accepted and options["hints"] and len(formula.hint):
            columns = (np.abs(formula.hint) - 1).astype(np.int32)
            highs.setSolution(len(columns), columns, (formula.hint > 0).astype(np.float64))
        loaded = time.perf_counter()
        seconds = {"load": loaded - started, "solve": 0.0}
        if not accepted:
            message = "HiGHS refuses the model: a number in it is too large"
            return Outcome.unknown(StopReason.GAVE_UP, message, seconds=seconds)
        if limits.seconds is not None:
            left = limits.seconds - seconds["load"]
            if left <= 0:
                return Outcome.unknown(StopReason.TIME_LIMIT, seconds=seconds)
            highs.setOptionValue("time_limit", left)
        highs.run()
        seconds["solve"] = time.perf_counter() - loaded
        return _outcome(formula, matrix, highs, seconds)


def _decide_without_rows(formula: Formula, matrix: LinearMatrix) -> Outcome:
    """Decides a formula without rows, for which HiGHS only answers "model empty"."""
    booleans = np.zeros(formula.num_booleans + 1, dtype=np.bool_)
    seconds = {"load": 0.0, "solve": 0.0}
    if ((matrix.lows <= 0) & (matrix.highs >= 0)).all():
        return Outcome(
            Verdict.SAT, Assignment(booleans, formula.integer_low.copy()), seconds=seconds
        )
    return Outcome(Verdict.UNSAT, seconds=seconds)


def _set_options(highs: highspy.Highs, limits: Limits, options: Options) -> None:
    settings: dict[str, OptionValue] = {
        "output_flag": bool(options["log"]),
        "threads": max(1, limits.threads),
        "random_seed": limits.seed & 0x7FFFFFFF,
        "presolve": options["presolve"],
        "mip_detect_symmetry": bool(options["symmetry"]),
        "mip_heuristic_effort": float(options["heuristics"]),
    }
    for name, value in settings.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS refuses its option {name} = {value!r}")


def _pass_model(highs: highspy.Highs, formula: Formula, matrix: LinearMatrix) -> bool:
    width = formula.num_booleans + formula.num_integers
    lower = np.concatenate([np.zeros(formula.num_booleans), formula.integer_low])
    upper = np.concatenate([np.ones(formula.num_booleans), formula.integer_high])
    infinity = highspy.kHighsInf
    status = highs.passModel(
        width,
        len(matrix.lows),
        len(matrix.columns),
        _ROWWISE,
        int(highspy.ObjSense.kMinimize),
        0.0,
        np.zeros(width),
        lower,
        upper,
        np.where(matrix.lows <= NO_LOW, -infinity, matrix.lows),
        np.where(matrix.highs >= NO_HIGH, infinity, matrix.highs),
        matrix.starts.astype(np.int32),
        matrix.columns.astype(np.int32),
        matrix.coefficients.astype(np.float64),
        np.ones(width, dtype=np.int32),
    )
    # A warning means that HiGHS changed the model, such as a large bound to infinity.
    accepted: bool = status == highspy.HighsStatus.kOk
    return accepted


def _outcome(
    formula: Formula, matrix: LinearMatrix, highs: highspy.Highs, seconds: dict[str, float]
) -> Outcome:
    status = highs.getModelStatus().name
    info = highs.getInfo()
    found = int(info.primal_solution_status) == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    return judged(
        *("HiGHS", formula, matrix),
        np.array(highs.getSolution().col_value) if found else None,
        *(status, STATUS[status]),
        infeasible=status == "kInfeasible",
        seconds=seconds,
        statistics={
            "nodes": float(info.mip_node_count),
            "simplex_iterations": float(info.simplex_iteration_count),
        },
    )
