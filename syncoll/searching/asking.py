"""Asking: where a search's answers come from: the store, one solver, or a pool of them.

A search asks for instances and waits for the answers in the order that suits it.  With a single
solver an instance is decided when its answer is wanted; with a pool several are on their way.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Protocol

from syncoll.bounding import rounds_bound
from syncoll.certificates import RoundsBound
from syncoll.deadline import NEVER, Deadline
from syncoll.formula import StopReason
from syncoll.model import Algorithm, Instance
from syncoll.results import Solution
from syncoll.results.solution import undecided
from syncoll.searching.directly import solve_directly
from syncoll.searching.seeding import Seeding
from syncoll.solving import Solver, SolverPool

__all__ = ["AnswerMemory", "Asking", "Waiting"]


class AnswerMemory(Protocol):
    """What was answered before, see `syncoll.store`."""

    def look_up(self, instance: Instance, *, seconds: float | None = None) -> Solution | None:
        """The solution of an instance that is to be decided within so many seconds, if known."""

    def keep(self, solution: Solution, *, seconds: float | None = None) -> bool:
        """Keeps a solution that had so many seconds."""


class Waiting:
    """An answer that is not there yet.

    Args:
        fetch: gives the answer, and may take its time.
        drop: says that nobody wants it any more.
    """

    def __init__(self, fetch: Callable[[], Solution], drop: Callable[[], None]) -> None:
        self._fetch, self._drop = fetch, drop

    def result(self) -> Solution:
        """The answer; raises what the solver raises."""
        return self._fetch()

    def cancel(self) -> None:
        """Nobody wants the answer any more."""
        self._drop()


class Asking:
    """Decides instances for a search.

    Args:
        solver: decides where there is no pool, and knows what is asked; None to ask seeds only.
        pool: decides several instances at once.
        memory: what was answered before; None to ask everything anew.
        prove: computes bounds, as `syncoll.bounding.rounds_bound` does.
        seeding: constructs points before anything is asked.

    Attributes:
        losses: what was not decided for want of memory or after a crash: in a few words, and the
            first time in detail.
    """

    def __init__(
        self,
        solver: Solver | None,
        *,
        pool: SolverPool | None = None,
        memory: AnswerMemory | None = None,
        prove: Callable[..., RoundsBound] = rounds_bound,
        seeding: Seeding | None = None,
    ) -> None:
        self.solver, self.pool, self.memory, self.prove = solver, pool, memory, prove
        self.seeding = seeding or Seeding(())
        self.losses: dict[str, str] = {}

    @property
    def encoding_name(self) -> str | None:
        """The encoding for collectives that move data; None where no solver is asked."""
        return None if self.solver is None else self.solver.encoding.name

    @property
    def backend_name(self) -> str:
        """The solver's name, or the seeds' where no solver is asked."""
        return self.seeding.name if self.solver is None else self.solver.backend_name

    @property
    def width(self) -> int:
        """How many instances are worth asking for at once."""
        return 1 if self.pool is None else self.pool.width

    def ask(
        self,
        instance: Instance,
        seconds: float | None,
        hint: Algorithm | None = None,
        until: Deadline = NEVER,
    ) -> Waiting:
        """Asks for an instance to be decided.

        Args:
            instance: the problem.
            seconds: a time limit; None for the solver's own.
            hint: an algorithm for the same chunks, near which there may be one.
            until: when the answer must be there; later it is unknown.
        """
        if self.memory is not None:
            known = self.memory.look_up(instance, seconds=seconds)
            if known is not None:
                return Waiting(lambda: known, _nothing)
        if self.pool is None:
            return Waiting(lambda: self._here(instance, seconds, hint, until), _nothing)
        pool = self.pool
        theirs = pool.submit(instance, seconds, how=partial(solve_directly, hint=hint, until=until))
        answer: Future[Solution] = Future()
        # Kept as it comes: the search may not look at it for long, and be ended before it does.
        theirs.add_done_callback(lambda done: self._take(done, answer, seconds))

        def result() -> Solution:
            try:
                return answer.result(until.seconds)
            except TimeoutError:
                if answer.done():  # it is the solver's
                    raise
                pool.cancel(theirs)
                return self._late(instance)

        return Waiting(result, lambda: pool.cancel(theirs))

    def _late(self, instance: Instance) -> Solution:
        """What is known of an instance whose answer did not come in time."""
        assert self.solver is not None
        return undecided(
            instance,
            StopReason.TIME_LIMIT,
            "no answer came in time",
            encoding=self.solver.encoding_for(instance).name,
            backend=self.solver.backend_name,
        )

    def decide(self, instance: Instance, seconds: float | None) -> Solution:
        """Asks, and waits for the answer."""
        return self.ask(instance, seconds).result()

    def lost(self, what: str) -> None:
        """Remembers why something was not decided, see `Outcome.losses`."""
        self.losses.setdefault(what.partition(":")[0], what)

    def cancel_all(self) -> None:
        """Nobody wants any answer any more."""
        if self.pool is not None:
            self.pool.cancel_all()

    def _here(
        self,
        instance: Instance,
        seconds: float | None,
        hint: Algorithm | None,
        until: Deadline,
    ) -> Solution:
        assert self.solver is not None
        return self._kept(solve_directly(self.solver, instance, seconds, hint, until), seconds)

    def _take(
        self, done: Future[Solution], answer: Future[Solution], seconds: float | None
    ) -> None:
        """Called, in some thread of the pool, when it is done with an instance."""
        try:
            answer.set_result(self._kept(done.result(), seconds))
        except BaseException as error:  # whoever waits for the answer is told
            answer.set_exception(error)

    def _kept(self, solution: Solution, seconds: float | None) -> Solution:
        for loss in solution.outcome.losses:
            self.lost(loss)
        # What was lost may well be found when it is asked for again.
        outcome = solution.outcome
        lasting = outcome.reason is not StopReason.INTERRUPTED and not outcome.losses
        if self.memory is not None and lasting:
            self.memory.keep(solution, seconds=seconds)
        return solution


def _nothing() -> None:
    pass
