"""AnswerSource: the source of a search's answers: the store, one solver, or a pool of them.

A search asks for instances and waits for the answers in its own order.  A single solver decides an
instance when its answer is requested; a pool decides several at the same time.
"""

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
from syncoll.model import Algorithm, Collective, Instance
from syncoll.results import Solution, undecided
from syncoll.searching.heuristics import Seeding
from syncoll.searching.point import solve_directly, solve_symmetrically
from syncoll.solving import Solver, SolverPool
from syncoll.solving.pool import How
from syncoll.symmetry import FreeGroup

if TYPE_CHECKING:
    from syncoll.ledger.request import SearchRequest
    from syncoll.store import CachedSolutions


@dataclass(frozen=True)
class PendingAnswer:
    """An answer that is not available yet.

    Args:
        result: returns it, and may take its time; raises the solver's errors.
        cancel: withdraws the question.
    """

    result: Callable[[], Solution]
    cancel: Callable[[], None] = lambda: None


class AnswerSource:
    """Decides instances for a search.

    Args:
        solver: decides instances without a pool, and has the name and the encoding; None for seeds
            only.
        pool: decides several instances at once.
        memory: earlier answers; None to ask everything anew.
        prove: computes bounds, as `syncoll.bounding.rounds_bound` does.
        seeding: constructs points before the first question.
        further: looks for better bounds where a gap is left, see `BoundsTable`.

    Attributes:
        backend_name: the solver's name, or without a solver the names of the seeds.
        asked: the encoding for collectives that move data and the backend, as a ledger records
            them; no encoding without a solver.
        losses: the questions left undecided for want of memory or after a crash: a short reason,
            and the details of its first occurrence.
    """

    def __init__(
        self,
        solver: Solver | None,
        *,
        pool: SolverPool | None = None,
        memory: "CachedSolutions | None" = None,
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
        """Number of instances worth asking for at once."""
        return 1 if self.pool is None else self.pool.width

    def bounds_of(self, request: "SearchRequest") -> BoundsTable:
        """A new table of bounds."""
        collective = request.collective.plain or request.collective  # bounds hold for both
        return BoundsTable(request.topology, collective, self.prove, further=self.further)

    def of(self, collective: Collective) -> "AnswerSource":
        """The answers for a collective: solvers know nothing of associations."""
        if collective.plain is None:
            return self
        found = AnswerSource(None, prove=self.prove, seeding=self.seeding, further=self.further)
        found.backend_name = found.asked["backend"] = self.seeding.name_for(collective)
        return found

    def begin(self, *, lacking: bool = False) -> None:
        """Starts loading the solver in the background, once the store lacks an answer.  It is
        called after the first point is found, since loading would delay that point."""
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
            hint: an algorithm for the same chunks, a warm start.
            until: deadline for the answer; later it is unknown.
            groups: only algorithms that one of these groups maps to themselves are looked for, see
                `solve_symmetrically`. An answer of the store about all algorithms holds for these
                too.
        """
        if self.memory is not None:
            known = self.memory.look_up(instance, seconds=seconds)
            # An instance that is undecided as a whole may be easy for a group.
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
            """Keeps the answer when it arrives, in a thread of the pool: the search may end before
            it looks at it."""
            try:
                answer.set_result(self._kept(done.result(), seconds))
            except BaseException as error:  # raised again where the answer is awaited
                answer.set_exception(error)

        def result() -> Solution:
            try:
                return answer.result(until.seconds)
            except TimeoutError:
                if answer.done():  # the solver's own error
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

    def lost(self, why: str) -> None:
        """Records why a question was not decided, see `Outcome.losses`."""
        self.losses.setdefault(why.partition(":")[0], why)

    def cancel_all(self) -> None:
        """Withdraws all questions."""
        if self.pool is not None:
            self.pool.cancel_all()

    def _kept(self, solution: Solution, seconds: float | None) -> Solution:
        outcome = solution.outcome
        for loss in outcome.losses:
            self.lost(loss)
        # After a loss, the next attempt may succeed.
        lasting = outcome.reason is not StopReason.INTERRUPTED and not outcome.losses
        if self.memory is not None and lasting:
            self.memory.keep(solution, seconds=seconds)
        return solution
