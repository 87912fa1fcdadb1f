"""Single questions: what solvers, bounds and packers answer."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

import syncoll
from syncoll import documents
from syncoll.api import arguments
from syncoll.api.base import (
    Displayable,
    Saved,
    What,
    Where,
    as_result,
    counts_work,
    deadline_of,
    reading,
    session_for,
    session_of,
    shows_progress,
    verb,
)
from syncoll.deadline import interrupted_at
from syncoll.documents.forest import forest_document
from syncoll.documents.outcome import outcome_document
from syncoll.errors import UsageError
from syncoll.formula import StopReason, Verdict
from syncoll.pages import Page
from syncoll.pages.algorithm import solution_page
from syncoll.pages.bounds import bounds_page, price_records
from syncoll.pages.explanation import explanation_page
from syncoll.pages.forest import forest_page
from syncoll.progress import report
from syncoll.results import Forests, LowerBounds, Solution, undecided
from syncoll.results.solution import ExplainedStage, Explanation
from syncoll.session import Session
from syncoll.session.settings import SettingsOptions, require_whole

if TYPE_CHECKING:
    from syncoll.api.frontier import CheckedResult, StoredResult
    from syncoll.proofs.refute import Refuting

__all__ = [
    "BoundsResult",
    "ExplanationResult",
    "ForestsResult",
    "SolutionResult",
    "bounds",
    "explain",
    "forest",
    "load_forest",
    "solve",
]


@dataclass(frozen=True, eq=False, repr=False)
class SolutionResult(Saved, Solution):
    """The answer to one (S, R, C), with the session that asked."""

    session: Session | None = None

    page = solution_page

    @property
    def found(self) -> StoredResult:
        """The algorithm, to export or run.

        Raises:
            UsageError: when none was found.
        """
        from syncoll.api.frontier import StoredResult

        if self.algorithm is None:
            raise UsageError(
                f"{self.instance.collective} on {self.instance.topology.name} has no algorithm "
                f"here: the answer is {self.verdict}"
            )
        return StoredResult(self.instance, self.algorithm, "algorithm", self.session)

    def __bool__(self) -> bool:
        """Whether there is an algorithm."""
        return self.algorithm is not None

    @verb
    def prove(self, folder: str | Path, *, time_limit: float | str | None = None) -> Refuting:
        """Writes a proof that others can check that there is no such algorithm; solves once more.

        Args:
            folder: for the files.
            time_limit: seconds for all of it, or a text such as ``2min``.

        Returns:
            The file, or in words why there is none.

        Raises:
            UsageError: when the answer is not unsat, or the folder cannot be written.
        """
        if self.verdict is not Verdict.UNSAT:
            raise UsageError(f"the answer is {self.verdict}; there is nothing to refute")
        return session_of(self).refute(self, Path(folder), deadline_of(time_limit))

    @property
    def sends(self) -> npt.NDArray[np.int64]:
        """``[send, 4]``: chunk, source, destination, step; raises as `found` does."""
        return self.found.sends

    document = outcome_document


@dataclass(frozen=True, eq=False, repr=False)
class BoundsResult(Saved, LowerBounds):
    """Proved lower bounds."""

    def page(self, *, prices: bool = False) -> Page:
        """The bounds, and where asked for the prices that prove each."""
        return bounds_page(self, with_prices=prices)

    def prices(self, steps: int | None = None) -> list[dict[str, Any]]:
        """The prices on links and steps that prove a bound: an entry for each that is not 0.

        Args:
            steps: of the bound for this S; None for that of any number of steps.

        Raises:
            UsageError: when there is no bound for this S.
        """
        bound = self.any_steps if steps is None else dict(self.by_steps).get(steps)
        if bound is None:
            raise UsageError(f"steps is {steps!r}; expected one of {[s for s, _ in self.by_steps]}")
        return price_records(bound, self.topology)

    def document(self) -> dict[str, Any]:
        """What `save` writes: a frontier without points, with the certificates of the bounds."""
        return documents.frontier_document(self.frontier())

    @verb
    def check(self, collective: What | None = None, topology: Where | None = None) -> CheckedResult:
        """Checks every certificate, without any solver; see `syncoll.check`.

        Args:
            collective: that they must be about; without it some claims stay unchecked.
            topology: that they must be about; None for any.
        """
        return syncoll.check(self, collective, topology=topology)


@dataclass(frozen=True, eq=False, repr=False)
class ForestsResult(Saved, Forests):
    """Forests of optimal throughput, checked edge by edge."""

    page = forest_page
    document = forest_document


@dataclass(frozen=True, eq=False, repr=False)
class ExplanationResult(Displayable, Explanation):
    """What a solver would be asked."""

    page = explanation_page


@verb
@counts_work
def solve(
    topology: Where,
    collective: What,
    *,
    chunks: int,
    steps: int,
    rounds: int,
    time_limit: float | str | None = None,
    work: float | None = None,
    symmetric: bool = False,
    **settings: Unpack[SettingsOptions],
) -> SolutionResult:
    """Whether there is an algorithm of at most S steps and R rounds with C chunks per node.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        chunks: C.
        steps: S.
        rounds: R.
        time_limit: seconds for all of it, or a text such as ``2min``.
        work: units of work in place of `time_limit`, see `pareto`.
        symmetric: whether only algorithms are looked for that a free group of automorphisms maps
            to themselves (see `symmetry_of`): far fewer variables, and where there is none the
            answer is unknown, since others may exist.
        settings: see `Settings`.

    Raises:
        SyncollError: as `pareto`.

    >>> str(solve("ring(4)", "allgather", chunks=1, steps=1, rounds=1).verdict)
    'unsat'
    """
    session, until = _single(settings), deadline_of(time_limit, work=work)
    with session.solver() as solver:  # its process starts while the question is put together
        from syncoll.searching import solve_one

        with interrupted_at(until):
            what = session.collective(collective)
            instance = session.instance(topology, what, chunks=chunks, steps=steps, rounds=rounds)
        began = time.perf_counter()
        try:
            with session.limited():
                solution = solve_one(
                    solver,
                    instance.topology,
                    what,
                    chunks=chunks,
                    steps=steps,
                    rounds=rounds,
                    deadline=until,
                    symmetric=symmetric,
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
    return as_result(SolutionResult, solution, session=session)


def _single(settings: SettingsOptions) -> Session:
    """The session of a single question, without settings that mean nothing to it."""
    for name in ("store", "seeds", "jobs", "executor"):
        if name in settings:
            raise UsageError(f"{name} means nothing to a single question; `pareto` has it")
    return session_for(settings)


@verb
@counts_work
def bounds(
    topology: Where,
    collective: What,
    *,
    chunks: int | None = None,
    max_steps: int | None = None,
    time_limit: float | str | None = None,
    work: float | None = None,
) -> BoundsResult:
    """What no algorithm can go below, proved without searching.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        chunks: C; None for the least for which the collective is defined.
        max_steps: bounds for S up to this; None for 3 beyond the least.
        time_limit: seconds for all of it, or a text such as ``2min``; distances and cuts come in
            any case.
        work: units of work in place of `time_limit`, see `pareto`.

    Raises:
        SyncollError: as `pareto`.

    >>> bounds("torus(3,3)", "alltoall").bandwidth
    Fraction(1, 3)
    """
    from syncoll.ledger.lower_bounds import lower_bounds

    session, until = session_for(), deadline_of(time_limit, work=work)
    for name, value, least in (("chunks", chunks, 1), ("max_steps", max_steps, 0)):
        if value is not None:
            require_whole(name, value, least)
    with reading(until):
        where, what = session.topology(topology), session.collective(collective)
    with session.limited():
        found = lower_bounds(
            where,
            what,
            chunks=chunks,
            max_steps=max_steps,
            until=until,
            further=session.further_bounds(),
        )
    return as_result(BoundsResult, found)


@verb
@shows_progress
def forest(
    topology: Where,
    collective: str = "allgather",
    *,
    root: int | None = None,
    k: int | None = None,
    backend: str | None = None,
    time_limit: float | str | None = None,
    progress: str = "auto",
) -> ForestsResult:
    """Spanning trees of provably optimal throughput, also with switches and for 1000 nodes.

    Args:
        topology: a name, a network with switches, or a topology.
        collective: ``allgather``, ``reducescatter``, ``allreduce``, ``broadcast`` or ``reduce``;
            ``broadcast(root=3)`` has its root.
        root: of broadcast and reduce; None for the one in the name, or node 0.
        k: trees for each root; None for as many as the optimum needs.
        backend: the seed that packs; None for the first that can.
        time_limit: seconds for all of it, or a text such as ``2min``; by then the best trees so far
            are given.
        progress: ``auto``, ``live``, ``plain`` or ``none``.

    Raises:
        SyncollError: as `pareto`.

    >>> forest("ring(4)").algbw
    Fraction(8, 3)
    """
    from syncoll.session.forests import pack_forests

    session, until = session_for(), deadline_of(time_limit)
    with reading(until):
        where = session.fabric(topology)  # without its lowering, which takes long if it is large
    with session.limited():
        found = pack_forests(session, where, collective, root, k, backend, until)
    return as_result(ForestsResult, found)


@verb
def load_forest(path: str | Path, topology: Where | None = None) -> ForestsResult:
    """Forests that were saved, every tree and every cut of them checked anew.

    What they say of allreduce with any roots (`any_roots`) is not checked, but must not contradict
    the trees.

    Args:
        path: of their file.
        topology: that they must be about; files of version 1 do not have it, and need it.

    Raises:
        FileFormatError: when it is not such a file, with the place and the reason.
        VerificationError: when something in it does not hold.
    """
    from syncoll.documents.stored_forest import read_forests

    network = None if topology is None else session_for().fabric(topology)
    report(0, 1, f"checking the trees of {path}")
    return as_result(ForestsResult, read_forests(arguments.path_of("path", path), network))


@verb
def explain(
    topology: Where,
    collective: What,
    *,
    chunks: int,
    steps: int,
    rounds: int,
    **settings: Unpack[SettingsOptions],
) -> ExplanationResult:
    """How large the formula of an (S, R, C) is after each lowering, and who would decide it.

    Args:
        topology: a name or an object.
        collective: a name or an object.
        chunks: C.
        steps: S.
        rounds: R.
        settings: see `Settings`.

    Raises:
        SyncollError: as `pareto`.
    """
    from syncoll.searching import decided_as

    session = _single(settings)
    what = session.collective(collective)
    instance = session.instance(topology, what, chunks=chunks, steps=steps, rounds=rounds)
    asked, note = decided_as(instance, what)
    with session.limited(), session.solver() as solver:
        prepared = solver.prepare(asked)
        encoding, backend = solver.encoding_for(asked), prepared.backend
    first = ExplainedStage(
        f"encoding {encoding.name}", encoding.summary, prepared.size, prepared.seconds["encode"]
    )
    lowered = (
        ExplainedStage(s.name, s.summary, s.after, s.seconds) for s in prepared.lowered.stages
    )
    can, should = (ask(prepared.lowered_size) for ask in (backend.can_run, backend.should_run))
    return ExplanationResult(
        instance,
        note,
        encoding.name,
        backend.name,
        backend.summary,
        tuple(sorted(backend.features)),
        (first, *lowered),
        (("can_run", can.ok, can.reason), ("should_run", should.ok, should.reason)),
    )
