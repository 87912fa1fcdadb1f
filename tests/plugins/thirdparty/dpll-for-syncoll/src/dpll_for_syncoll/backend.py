"""Unit propagation and backtracking, as in Davis, Logemann and Loveland (1962)."""

import time

import numpy as np

from syncoll.formula import Assignment, Formula, Limits, Outcome, StopReason, Verdict
from syncoll.plugins import Options


class DpllBackend:
    """Decides clauses."""

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        """See `syncoll.plugins.Backend`."""
        started = time.perf_counter()
        clauses = [
            frozenset(row.literals) | ({-row.enforcer} if row.enforcer else set())
            for row in formula.clauses()
        ]
        sign = 1 if options["first"] == "true" else -1
        loaded = time.perf_counter()
        deadline = started + limits.seconds if limits.seconds is not None else float("inf")
        nodes = 0
        true: set[int] | None = None
        stack: list[tuple[list[frozenset[int]], set[int]]] = [(clauses, set())]
        while stack:
            nodes += 1
            if time.perf_counter() > deadline:
                seconds = {"load": loaded - started, "solve": time.perf_counter() - loaded}
                return Outcome(Verdict.UNKNOWN, reason=StopReason.TIME_LIMIT, seconds=seconds)
            rest, chosen = stack.pop()
            propagated = _propagate(rest, chosen)
            if propagated is None:
                continue
            rest, chosen = propagated
            if not rest:
                true = chosen
                break
            shortest = min(rest, key=len)
            variable = abs(next(iter(shortest)))
            for literal in (-sign * variable, sign * variable):
                stack.append(([*rest, frozenset({literal})], chosen))
        seconds = {"load": loaded - started, "solve": time.perf_counter() - loaded}
        statistics = {"nodes": float(nodes)}
        if true is None:
            return Outcome(Verdict.UNSAT, seconds=seconds, statistics=statistics)
        booleans = np.zeros(formula.num_booleans + 1, dtype=np.bool_)
        booleans[[literal for literal in true if literal > 0]] = True
        assignment = Assignment(booleans, np.zeros(0, dtype=np.int64))
        return Outcome(Verdict.SAT, assignment, seconds=seconds, statistics=statistics)


def _propagate(
    clauses: list[frozenset[int]], true: set[int]
) -> tuple[list[frozenset[int]], set[int]] | None:
    """The clauses left and the literals true after unit propagation; None on a conflict."""
    true = set(true)
    while True:
        units = {next(iter(clause)) for clause in clauses if len(clause) == 1}
        if any(-unit in units for unit in units) or frozenset() in clauses:
            return None
        if not units:
            return clauses, true
        true |= units
        negated = {-unit for unit in units}
        clauses = [clause - negated for clause in clauses if not clause & units]
