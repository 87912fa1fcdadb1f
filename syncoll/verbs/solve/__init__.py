"""Decides whether a collective has an algorithm of S steps and R rounds with C chunks per node, and
shows it.  The exit code is the verdict: 0 sat, 1 unsat, 3 unknown (a limit was reached); 2 is bad
input, 130 Ctrl-C.

  syncoll solve dgx1 allgather -C 6 -S 3 -R 7
  syncoll solve dgx1 alltoall -C 24 -S 8 -R 8 --backend pysat --time-limit 60
  syncoll solve "a100(boxes=2)" allgather -C 4 -S 6 -R 7 --symmetric
  syncoll solve dgx1 'alltoallv("tokens.csv")' -C 1 -S 3 -R 12
  syncoll solve dgx1 "allgather within [[0,1,2,3],[4,5,6,7]]" -C 1 -S 3 -R 3
  syncoll solve dgx1 "2 * allgather + alltoall" -C 8 -S 3 -R 24

With --symmetric a found algorithm is as valid as any other, but the absence of a symmetric one
refutes nothing: the answer is then unknown.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack

from syncoll.deadline import interrupted_at
from syncoll.session.settings import SolverOptions
from syncoll.verbs.asking import What, Where, deadline_of, session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.formula import StopReason
    from syncoll.results import undecided
    from syncoll.verbs.solve.result import SolutionResult

SHELL = Shell(
    options={
        "-o, --output FILE": "save the answer as JSON; - for standard output, in place of the "
        "table",
        "--proof DIR": "unsat: write a checkable proof into this folder (solves once more)",
    }
)


@verb
def solve(
    topology: Where,
    collective: What,
    *,
    chunks: int,
    steps: int,
    rounds: int | Fraction | str,
    time_limit: float | str | None = None,
    work: float | None = None,
    symmetric: bool = False,
    **settings: Unpack[SolverOptions],
) -> SolutionResult:
    """One (S, R, C): an algorithm, or the proof that none exists.

    Args:
        time_limit: of the whole command, such as ``30s`` or ``2min``; None for no limit.
        symmetric: only algorithms that a free group of automorphisms maps to themselves: far fewer
            variables; without such an algorithm the answer is unknown.

    >>> str(solve("ring(4)", "allgather", chunks=1, steps=1, rounds=1).verdict)
    'unsat'
    """
    session, until = session_for(settings), deadline_of(time_limit, work=work)
    numbers: dict[str, Any] = {"chunks": chunks, "steps": steps, "rounds": rounds}
    with session.solver() as solver:  # its process starts while the instance is built
        from syncoll.searching import solve_one

        with interrupted_at(until):
            what = session.collective(collective)
            instance = session.instance(topology, what, **numbers)
            numbers["rounds"] = instance.rounds
        began, where = time.perf_counter(), instance.topology
        try:
            with session.limited():
                solution = solve_one(
                    solver, where, what, **numbers, deadline=until, symmetric=symmetric
                )
        except KeyboardInterrupt:
            solution = undecided(
                instance,
                StopReason.INTERRUPTED,
                "",
                encoding=solver.encoding.name,
                backend=solver.backend_name,
                seconds={"solve": time.perf_counter() - began},
            )
    return SolutionResult.of(solution, session=session)
