"""Clauses to a SAT solver and back, with a time limit, which PySAT lacks.

PySAT's solvers hold the interpreter's lock while they run, so no timer of this process can end
them, and CaDiCaL cannot be interrupted at all.  Most of them support a limit on conflicts, so under
a time limit the solver runs in instalments.  Each is as long as all before it together, estimated
by the conflicts a second so far, and within the time left.  The solver keeps its learnt clauses
between them, and their number is logarithmic.

If a proof is requested, CaDiCaL writes it into the file while it solves.  The other solvers write
no proof (MiniSat), or PySAT builds all of it in memory; so CaDiCaL replaces them, and the outcome's
message says so.  The format is textual DRAT: some checkers guess whether a proof is text or binary,
and recognise text reliably.
"""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pysat.solvers import Solver, pysolvers

from syncoll.formula import Assignment, Formula, Limits, Outcome, StopReason, Verdict
from syncoll.plugins import Options

STATUS = {True: Verdict.SAT, False: Verdict.UNSAT, None: Verdict.UNKNOWN}
"""The verdict for each answer of `solve_limited`."""

_UNITS_PER_CONFLICT, _UNITS_PER_PROPAGATION = 1e-5, 1e-7
"""Work units of CaDiCaL's conflicts and propagations; the other solvers are similar."""

_FIRST_INSTALMENT = 2_000
_LONGEST_INSTALMENT = 100_000_000
_UNLIMITED = ("lingeling",)
"""Solvers without a limit on conflicts."""

_SEEDED = ("cadical153", "cadical195")
_PROVING = ("cadical153", "cadical195")


class PySatBackend:
    """Decides clauses with a solver of PySAT."""

    def solve(self, formula: Formula, limits: Limits, options: Options) -> Outcome:
        """See `syncoll.plugins.Backend`."""
        started = time.perf_counter()
        seconds = {"load": 0.0, "solve": 0.0}
        lengths = np.diff(formula.clause_starts) + (formula.clause_enforcers != 0)
        if (lengths == 0).any():
            if limits.proof is not None:
                limits.proof.write_text("0\n", encoding="ascii")
            message = "the formula has an empty clause"
            return Outcome(Verdict.UNSAT, seconds=seconds, message=message, proof=limits.proof)
        name, message = str(options["solver"]), ""
        if limits.proof is not None and name not in _PROVING:
            message = f"{_PROVING[-1]} solved it, because {name} writes no proof file"
            name = _PROVING[-1]
        if name in _UNLIMITED and limits.work is not None:
            message = f"{name} does not count its work; choose another solver"
            return Outcome.unknown(StopReason.GAVE_UP, message)
        with Solver(name) as solver:
            if name in _SEEDED and hasattr(solver, "configure"):
                solver.configure({"seed": limits.seed & 0x7FFFFFFF})
            if limits.proof is not None:
                _trace_proof(solver, name, limits.proof)
            for clause, enforcer in formula.clauses():
                solver.add_clause([*clause, -enforcer] if enforcer else clause)
            if options["hints"] and len(formula.hint):
                _set_phases(solver, formula)
            loaded = time.perf_counter()
            seconds["load"] = loaded - started
            if limits.work is None:
                deadline = None if limits.seconds is None else started + limits.seconds
                clock = time.perf_counter
            else:
                deadline, clock = limits.work, lambda: _work(solver)
            verdict = STATUS[_run(solver, name, deadline, clock)]
            seconds["solve"] = time.perf_counter() - loaded
            statistics = {k: float(v) for k, v in (solver.accum_stats() or {}).items()}
            work = 0.0 if limits.work is None else _work(solver)
            model = solver.get_model() if verdict is Verdict.SAT else None
        # The deleted solver has closed its proof, which is complete now.
        return Outcome(
            verdict,
            None if model is None else _assignment(formula, model),
            StopReason.TIME_LIMIT if verdict is Verdict.UNKNOWN else StopReason.DECIDED,
            message,
            seconds,
            statistics,
            limits.proof if verdict is Verdict.UNSAT else None,
            work=work,
        )


def _trace_proof(solver: Any, name: str, path: Path) -> None:
    """Makes CaDiCaL write its proof into a file, closed with it; called before any clause.  PySAT's
    ``with_proof=True`` writes a binary proof into a temporary file."""
    inner = solver.solver
    inner.configure({"binary": 0})
    inner.prfile = path.open("w+b")
    inner.prfp = getattr(pysolvers, f"{name}_tracepr")(inner.cadical, inner.prfile)


def _set_phases(solver: Any, formula: Formula) -> None:
    """Makes the solver try the hint's literals first; only of variables in a clause."""
    known = np.zeros(formula.num_booleans + 1, dtype=np.bool_)
    known[np.abs(formula.clause_literals)] = True
    with contextlib.suppress(NotImplementedError):  # some solvers lack it
        solver.set_phases(formula.hint[known[np.abs(formula.hint)]].tolist())


def _work(solver: Any) -> float:
    """Units of work so far."""
    done = solver.accum_stats()
    return float(
        _UNITS_PER_CONFLICT * done["conflicts"] + _UNITS_PER_PROPAGATION * done["propagations"]
    )


def _run(solver: Any, name: str, deadline: float | None, clock: Callable[[], float]) -> bool | None:
    """The solver's answer; None if the time or work limit is reached."""
    if deadline is None or name in _UNLIMITED:  # its process is killed at the limit
        answer: bool | None = solver.solve()
        return answer
    began = clock()
    instalment = _FIRST_INSTALMENT
    while True:
        now = clock()
        if now >= deadline:
            return None
        before = int(solver.accum_stats()["conflicts"])
        solver.conf_budget(instalment)
        answer = solver.solve_limited()
        if answer is not None:
            return answer
        spent = clock() - now
        # Some solvers stop early, and one without a conflict so far is in preprocessing: neither
        # may make the rate 0.
        rate = max(1, int(solver.accum_stats()["conflicts"]) - before) / max(spent, 1e-6)
        next_seconds = min(clock() - began, deadline - clock())
        instalment = int(min(max(rate * next_seconds, 100), _LONGEST_INSTALMENT))


def _assignment(formula: Formula, model: list[int]) -> Assignment:
    booleans = np.zeros(formula.num_booleans + 1, dtype=np.bool_)
    literals = np.array(model, dtype=np.int64)
    true = literals[literals > 0]
    # A solver may not know the last variables if they are in no clause.
    booleans[true[true <= formula.num_booleans]] = True
    return Assignment(booleans, np.zeros(0, dtype=np.int64))
