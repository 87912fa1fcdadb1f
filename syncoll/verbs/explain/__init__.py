"""Shows how an instance becomes the input of a backend: the encoding, each lowering, and the number
of variables and constraints before and after it.  Nothing is solved.

  syncoll explain dgx1 allgather -C 6 -S 3 -R 7 --encoding path --backend pysat
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Unpack

from syncoll.session.settings import SolverOptions
from syncoll.verbs.asking import What, Where, session_for, verb

if TYPE_CHECKING:
    from syncoll.lowerings.chain import Stage
    from syncoll.searching import decided_as
    from syncoll.verbs.explain.result import ExplanationResult


@verb
def explain(
    topology: Where,
    collective: What,
    *,
    chunks: int,
    steps: int,
    rounds: int | Fraction | str,
    **settings: Unpack[SolverOptions],
) -> ExplanationResult:
    """The formula of an instance and its lowerings, without solving.

    Args:
        settings: see `Settings`.
    """
    session = session_for(settings)
    what = session.collective(collective)
    instance = session.instance(topology, what, chunks=chunks, steps=steps, rounds=rounds)
    asked, note = decided_as(instance, what)
    with session.limited(), session.solver() as solver:
        prepared = solver.prepare(asked)
        encoding, backend = solver.encoding_for(asked), prepared.backend
    seconds = prepared.seconds["encode"]
    first = Stage(f"encoding {encoding.name}", encoding.summary, prepared.size, seconds)
    can, should = (ask(prepared.lowered_size) for ask in (backend.can_run, backend.should_run))
    return ExplanationResult(
        instance,
        note,
        encoding.name,
        backend.name,
        backend.summary,
        tuple(sorted(backend.features)),
        (first, *prepared.lowered.stages),
        (("can_run", can.ok, can.reason), ("should_run", should.ok, should.reason)),
    )
