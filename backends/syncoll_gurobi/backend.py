"""Formula to Gurobi model and back; the model has no objective.

Its solutions are replayed exactly: see `syncoll.formula.matrix.judged`.

The kind of licence is found by a trial: the restricted one refuses a model of 2,001 variables
before it is solved.
"""

import functools
import time
from typing import Any

import gurobipy
import numpy as np
from gurobipy import GRB

from syncoll.formula import NO_HIGH, NO_LOW, Formula, Limits, Outcome, StopReason
from syncoll.formula.matrix import LinearMatrix, judged, linear_matrix
from syncoll.plugins import Answer, Options
from syncoll_gurobi import INSTEAD, RESTRICTED_SIZE

STATUS: dict[str, StopReason] = {
    "OPTIMAL": StopReason.DECIDED,
    "INFEASIBLE": StopReason.DECIDED,
    "TIME_LIMIT": StopReason.TIME_LIMIT,
    "MEM_LIMIT": StopReason.MEMORY_LIMIT,
    "INTERRUPTED": StopReason.INTERRUPTED,
    "WORK_LIMIT": StopReason.TIME_LIMIT,
    **dict.fromkeys(["LOADED", "INF_OR_UNBD", "UNBOUNDED", "CUTOFF"], StopReason.GAVE_UP),
    **dict.fromkeys(["ITERATION_LIMIT", "NODE_LIMIT", "SOLUTION_LIMIT"], StopReason.GAVE_UP),
    **dict.fromkeys(["NUMERIC", "SUBOPTIMAL", "INPROGRESS", "USER_OBJ_LIMIT"], StopReason.GAVE_UP),
    **dict.fromkeys(["LOCALLY_OPTIMAL", "LOCALLY_INFEASIBLE"], StopReason.GAVE_UP),
}
"""Every status of Gurobi, by its name, and its stop reason; any solution found is used."""

_STATUS_NAMES = {
    getattr(GRB.Status, name): name for name in dir(GRB.Status) if not name.startswith("_")
}


class GurobiBackend:
    """Decides formulas with Gurobi."""

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        """See `syncoll.plugins.Backend`."""
        started = time.perf_counter()
        try:
            with _environment(bool(options["log"])) as env, gurobipy.Model(env=env) as model:
                return _solve(model, formula, limits, options, started)
        except gurobipy.GurobiError as error:
            seconds = {"load": 0.0, "solve": time.perf_counter() - started}
            reason, message = _explain(error, formula)
            return Outcome.unknown(reason, message, seconds=seconds)


def _solve(
    model: Any, formula: Formula, limits: Limits, options: Options, started: float
) -> Outcome:
    matrix = linear_matrix(formula)
    variables = _add_variables(model, formula)
    _add_rows(model, variables, matrix)
    if options["hints"]:
        for literal in formula.hint.tolist():
            variables[abs(literal) - 1].Start = float(literal > 0)
    model.Params.Threads = max(1, limits.threads)
    model.Params.Seed = limits.seed & 0x7FFFFFFF
    model.Params.Presolve = options["presolve"]
    model.Params.Symmetry = options["symmetry"]
    model.Params.Cuts = options["cuts"]
    model.Params.MIPFocus = options["focus"]
    model.Params.SolutionLimit = 1
    if limits.memory_bytes is not None:
        model.Params.SoftMemLimit = limits.memory_bytes / 1e9
    loaded = time.perf_counter()
    seconds = {"load": loaded - started, "solve": 0.0}
    if limits.seconds is not None:
        left = limits.seconds - seconds["load"]
        if left <= 0:
            return Outcome.unknown(StopReason.TIME_LIMIT, seconds=seconds)
        model.Params.TimeLimit = left
    if limits.work is not None:
        model.Params.WorkLimit = limits.work
    model.optimize()
    seconds["solve"] = time.perf_counter() - loaded
    return _outcome(model, formula, matrix, seconds)


def _add_variables(model: Any, formula: Formula) -> list[Any]:
    booleans = model.addVars(formula.num_booleans, vtype=GRB.BINARY)
    integers = model.addVars(
        formula.num_integers,
        lb=formula.integer_low.tolist(),
        ub=formula.integer_high.tolist(),
        vtype=GRB.INTEGER,
    )
    return [*booleans.values(), *integers.values()]


def _add_rows(model: Any, variables: list[Any], matrix: LinearMatrix) -> None:
    starts, columns = matrix.starts.tolist(), matrix.columns.tolist()
    coefficients = matrix.coefficients.astype(np.float64).tolist()
    rows = zip(matrix.lows.tolist(), matrix.highs.tolist(), strict=True)
    for i, (low, high) in enumerate(rows):
        a, b = starts[i], starts[i + 1]
        row = gurobipy.LinExpr(coefficients[a:b], [variables[c] for c in columns[a:b]])
        if low == high:
            model.addLConstr(row, GRB.EQUAL, low)
            continue
        # Two rows: a range row would add a variable, and the restricted licence allows few.
        if low > NO_LOW:
            model.addLConstr(row, GRB.GREATER_EQUAL, low)
        if high < NO_HIGH:
            model.addLConstr(row, GRB.LESS_EQUAL, high)


def _outcome(
    model: Any, formula: Formula, matrix: LinearMatrix, seconds: dict[str, float]
) -> Outcome:
    status = _STATUS_NAMES.get(model.Status, f"{model.Status}")
    found = model.SolCount > 0 or (status == "OPTIMAL" and model.NumVars == 0)
    return judged(
        *("Gurobi", formula, matrix),
        np.array(model.getAttr("X", model.getVars()), dtype=np.float64) if found else None,
        *(status, STATUS.get(status, StopReason.GAVE_UP)),
        infeasible=status == "INFEASIBLE",
        seconds=seconds,
        statistics={"nodes": float(model.NodeCount), "simplex_iterations": float(model.IterCount)},
        work=float(model.Work),
    )


def _explain(error: gurobipy.GurobiError, formula: Formula) -> tuple[StopReason, str]:
    if error.errno == GRB.Error.SIZE_LIMIT_EXCEEDED:
        size = formula.size()
        return StopReason.LICENCE, (
            f"Gurobi's restricted licence allows {RESTRICTED_SIZE:,} variables and "
            f"{RESTRICTED_SIZE:,} constraints; this formula has {size.variables:,} and "
            f"{size.constraints:,}; {INSTEAD}"
        )
    if error.errno == GRB.Error.NO_LICENSE:
        return StopReason.LICENCE, _no_licence(error)
    if error.errno == GRB.Error.OUT_OF_MEMORY:
        return StopReason.MEMORY_LIMIT, f"Gurobi: {error}"
    return StopReason.GAVE_UP, f"Gurobi error {error.errno}: {error}"


def _no_licence(error: gurobipy.GurobiError) -> str:
    return (
        f"Gurobi finds no valid licence ({error}): upgrade gurobipy for a newer restricted one "
        f"(pip install --upgrade gurobipy), or {INSTEAD}"
    )


def _environment(log: bool = False) -> gurobipy.Env:
    env = gurobipy.Env(empty=True)
    env.setParam("OutputFlag", int(log))
    env.start()
    return env


@functools.cache
def is_restricted() -> bool:
    """Whether the licence is the restricted one; raises GurobiError without a licence."""
    with _environment() as env, gurobipy.Model(env=env) as model:
        model.addVars(RESTRICTED_SIZE + 1)
        try:
            model.optimize()
        except gurobipy.GurobiError as error:
            if error.errno != GRB.Error.SIZE_LIMIT_EXCEEDED:
                raise
            return True
        return False


@functools.cache
def licence() -> Answer:
    """Describes the licence in use."""
    try:
        with _environment() as env, gurobipy.Model(env=env) as model:
            expires = _date(int(model.LicenseExpiration))
        restricted = is_restricted()
    except gurobipy.GurobiError as error:
        return Answer(False, _no_licence(error))
    if restricted:
        return Answer(
            True,
            f"restricted licence that comes with gurobipy: at most {RESTRICTED_SIZE:,} variables "
            f"and {RESTRICTED_SIZE:,} constraints; {expires}",
        )
    return Answer(True, f"full licence; {expires}")


def _date(expiration: int) -> str:
    if expiration >= 99990000:
        return "does not expire"
    digits = str(expiration)
    return f"expires {digits[:4]}-{digits[4:6]}-{digits[6:]}"
