"""AnswerSource: where a search's answers come from: the store, one solver, or a pool of them.

A search asks for instances and waits for the answers in the order that suits it.  With a single
solver an instance is decided when its answer is wanted; with a pool several are on their way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from syncoll.bounding import rounds_bound
from syncoll.certificates import RoundsBound
from syncoll.deadline import NEVER, Deadline
from syncoll.formula import StopReason, Verdict
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.model import Algorithm, Instance
from syncoll.results import Solution
from syncoll.results.solution import undecided
from syncoll.searching.heuristics import Seeding
from syncoll.searching.point import solve_directly, solve_symmetrically
from syncoll.solving import Solver, SolverPool
from syncoll.solving.task import How
from syncoll.symmetry import FreeGroup

if TYPE_CHECKING:
    from syncoll.ledger.request import SearchRequest
    from syncoll.store import CachedSolutions

__all__ = ["AnswerSource", "PendingAnswer"]


@dataclass(frozen=True)
class PendingAnswer:
    """An answer that is not there yet.

    Args:
        result: gives it, and may take its time; raises what the solver raises.
        cancel: says that it is not wanted any more.
    """

    result: Callable[[], Solution]
    cancel: Callable[[], None] = lambda: None


class AnswerSource:
    """Decides instances for a search.

    Args:
        solver: decides where there is no pool, and knows what is asked; None to ask seeds only.
        pool: decides several instances at once.
        memory: what was answered before; None to ask everything anew.
        prove: computes bounds, as `syncoll.bounding.rounds_bound` does.
        seeding: constructs points before anything is asked.
        further: looks for better bounds where a gap is left, see `BoundsTable`.

    Attributes:
        backend_name: the solver's name, or the seeds' where no solver is asked.
        asked: the encoding for collectives that move data and the backend, as a ledger records
            them; no encoding where no solver is asked.
        losses: what was not decided for want of memory or after a crash: in a few words, and the
            first time in detail.
    """

    def __init__(
        self,
        solver: Solver | None,
        *,
        pool: SolverPool | None = None,
        memory: CachedSolutions | None = None,
        prove: Callable[..., RoundsBound] = rounds_bound,
        seeding: Seeding | None = None,
        further: Callable[..., RoundsBound] | None = None,
    ) -> None:
        self.solver, self.pool, self.memory, self.prove = solver, pool, memory, prove
        self.further = further
        self.seeding = seeding or Seeding(())
        self.losses: dict[str, str] = {}
        self._has_begun, self._is_new = False, memory is None
        self.backend_name = self.seeding.name if solver is None else solver.backend_name
        encoding = None if solver is None else solver.encoding.name
        self.asked = {"encoding": encoding, "backend": self.backend_name}

    @property
    def width(self) -> int:
        """How many instances are worth asking for at once."""
        return 1 if self.pool is None else self.pool.width

    def bounds_of(self, request: SearchRequest) -> BoundsTable:
        """A new table of bounds."""
        where, what = request.topology, request.collective
        return BoundsTable(where, what, self.prove, further=self.further)

    def begin(self, *, lacking: bool = False) -> None:
        """Starts loading the solver in the background, once the store lacks something.

        It is called after the first point is found, since loading would delay that point.

        Args:
            lacking: it is the store that says so: it can hardly answer everything any more.
        """
        self._has_begun |= not lacking
        self._is_new |= lacking
        if self._has_begun and self._is_new and self.solver is not None and self.pool is None:
            self.solver.start()

    def ask(
        self,
        instance: Instance,
        seconds: float | None,
        hint: Algorithm | None = None,
        until: Deadline = NEVER,
        groups: Sequence[FreeGroup] = (),
    ) -> PendingAnswer:
        """Asks for an instance to be decided.

        Args:
            seconds: a time limit; None for the solver's own.
            hint: an algorithm for the same chunks, near which there may be one.
            until: when the answer must be there; later it is unknown.
            groups: only algorithms that one of these maps to themselves are looked for, see
                `solve_symmetrically`.  What the store knows of all algorithms is known of these.
        """
        if self.memory is not None:
            known = self.memory.look_up(instance, seconds=seconds)
            # What was not decided as a whole may be easy for a group.
            if known is not None and not (groups and known.verdict is Verdict.UNKNOWN):
                return PendingAnswer(lambda: known)
        solver, pool = self.solver, self.pool
        assert solver is not None
        how: How = partial(solve_directly, hint=hint, until=until)
        if groups:
            how = partial(solve_symmetrically, hint=hint, until=until, groups=tuple(groups))
        if pool is None:
            return PendingAnswer(lambda: self._kept(how(solver, instance, seconds), seconds))
        theirs = pool.submit(instance, seconds, how=how)
        answer: Future[Solution] = Future()

        def take(done: Future[Solution]) -> None:
            """Keeps the answer as it comes, in some thread of the pool: the search may end before
            it looks at it.
            """
            try:
                answer.set_result(self._kept(done.result(), seconds))
            except BaseException as error:  # for those who wait for the answer
                answer.set_exception(error)

        def result() -> Solution:
            try:
                return answer.result(until.seconds)
            except TimeoutError:
                if answer.done():  # it is the solver's
                    raise
                pool.cancel(theirs)
                return undecided(
                    instance,
                    StopReason.TIME_LIMIT,
                    "no answer came in time",
                    encoding=solver.encoding_for(instance).name,
                    backend=solver.backend_name,
                )

        theirs.add_done_callback(take)
        return PendingAnswer(result, lambda: pool.cancel(theirs))

    def lost(self, what: str) -> None:
        """Remembers why something was not decided, see `Outcome.losses`."""
        self.losses.setdefault(what.partition(":")[0], what)

    def cancel_all(self) -> None:
        """No answer is wanted any more."""
        if self.pool is not None:
            self.pool.cancel_all()

    def _kept(self, solution: Solution, seconds: float | None) -> Solution:
        outcome = solution.outcome
        for loss in outcome.losses:
            self.lost(loss)
        # What was lost may well be found when it is asked for again.
        lasting = outcome.reason is not StopReason.INTERRUPTED and not outcome.losses
        if self.memory is not None and lasting:
            self.memory.keep(solution, seconds=seconds)
        return solution
