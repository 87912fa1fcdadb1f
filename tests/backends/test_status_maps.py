"""Every status that a library can return is mapped; a version with a new one fails here."""

from __future__ import annotations

import pytest

from syncoll.formula import StopReason, Verdict


def test_cpsat() -> None:
    from ortools.sat import cp_model_pb2

    from syncoll_cpsat.backend import STATUS

    assert set(cp_model_pb2.CpSolverStatus.keys()) <= set(STATUS)
    decided = {name for name, verdict in STATUS.items() if verdict is not Verdict.UNKNOWN}
    assert decided == {"OPTIMAL", "FEASIBLE", "INFEASIBLE"}


def test_highs() -> None:
    import highspy

    from syncoll_highs.backend import STATUS

    assert set(highspy.HighsModelStatus.__members__) <= set(STATUS)
    decided = {name for name, reason in STATUS.items() if reason is StopReason.DECIDED}
    assert decided == {"kOptimal", "kInfeasible"}


def test_gurobi() -> None:
    grb = pytest.importorskip("gurobipy").GRB
    from syncoll_gurobi.backend import STATUS

    assert {name for name in dir(grb.Status) if not name.startswith("_")} <= set(STATUS)
    decided = {name for name, reason in STATUS.items() if reason is StopReason.DECIDED}
    assert decided == {"OPTIMAL", "INFEASIBLE"}


def test_z3() -> None:
    import z3

    from syncoll_z3.backend import STATUS

    answers = [z3.Z3_L_FALSE, z3.Z3_L_UNDEF, z3.Z3_L_TRUE]
    assert {str(z3.CheckSatResult(answer)) for answer in answers} == set(STATUS)
    assert STATUS[str(z3.CheckSatResult(z3.Z3_L_FALSE))] is Verdict.UNSAT


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("timeout", StopReason.TIME_LIMIT),
        ("max. memory exceeded", StopReason.MEMORY_LIMIT),
        ("(resource limits reached) memout", StopReason.MEMORY_LIMIT),
        ("interrupted from keyboard", StopReason.INTERRUPTED),
        ("canceled", StopReason.INTERRUPTED),
        ("(incomplete (theory arithmetic))", StopReason.GAVE_UP),
        ("", StopReason.GAVE_UP),
    ],
)
def test_z3_reasons(words: str, reason: StopReason) -> None:
    from syncoll_z3.backend import stop_reason

    assert stop_reason(words) is reason


def test_pysat() -> None:
    from syncoll_pysat.backend import STATUS

    assert STATUS == {True: Verdict.SAT, False: Verdict.UNSAT, None: Verdict.UNKNOWN}


def test_pysat_choices_exist() -> None:
    from pysat.solvers import SolverNames

    import syncoll_pysat

    option = next(o for o in syncoll_pysat.RECORD.options if o.name == "solver")
    known = {alias for name in vars(SolverNames) for alias in (name,)}
    assert set(option.choices) <= known
