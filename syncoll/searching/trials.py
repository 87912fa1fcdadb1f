"""Trials: asks for the answers to candidates, several at once where there are several solvers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterable
from typing import NamedTuple

from syncoll.clock import limit_in_words
from syncoll.deadline import Deadline
from syncoll.formula import StopReason, Verdict
from syncoll.ledger.ledger import Ledger, StepState
from syncoll.ledger.request import Candidate, Strategy
from syncoll.results import Solution
from syncoll.results.proof import covers
from syncoll.searching.answers import AnswerSource, PendingAnswer

__all__ = ["Trials", "why_undecided"]

_MOST_BOUND_SECONDS = 20.0

_BUILDING = 3.0
"""So many times a solver's limit an answer may take: of some instances the formula takes longer to
build than another one to be solved."""


class _Trial(NamedTuple):
    candidate: Candidate
    answer: PendingAnswer | None
    """None where something else rules the candidate out."""
    began: float


class Trials:
    """Asks about the candidates of one search.

    Args:
        ledger: its bounds rule candidates out, with a larger relaxation once the first was not
            found.
    """

    def __init__(self, answers: AnswerSource, ledger: Ledger, deadline: Deadline) -> None:
        self._source, self._ledger, self._deadline = answers, ledger, deadline
        self._observer, self._bounds = ledger.log, ledger.bounds

    def answers(
        self,
        step: StepState,
        strategy: Strategy,
        candidates: Iterable[Candidate],
        seconds: float | None,
    ) -> Generator[tuple[Candidate, Solution | None], None, None]:
        """Each candidate in turn with its answer, or None where something else rules it out.

        As many are asked at once as there are solvers; what is not wanted any more is cancelled.

        Args:
            strategy: the paper's rules nothing out by bounds.
            seconds: time limit for each; None for that of the solver.

        Raises:
            OutOfTimeError: when the deadline is over.
        """
        rest = iter(candidates)
        asked: deque[_Trial] = deque()
        try:
            while True:
                while len(asked) < self._source.width:
                    candidate = next(rest, None)
                    if candidate is None:
                        break
                    answer = None
                    if not self.rules_out(candidate, step, strategy):
                        answer = self._ask(candidate, step, seconds)
                    asked.append(_Trial(candidate, answer, time.perf_counter()))
                if not asked:
                    return
                candidate, answer, began = asked.popleft()
                if answer is None:
                    self._observer.settled(candidate, Verdict.UNSAT, 0.0)
                    yield candidate, None
                    continue
                solution = answer.result()
                self._observer.settled(candidate, solution.verdict, time.perf_counter() - began)
                yield candidate, solution
        finally:
            for trial in asked:
                if trial.answer is not None:
                    trial.answer.cancel()

    def rules_out(self, candidate: Candidate, step: StepState, strategy: Strategy) -> bool:
        """Whether an earlier answer rules a candidate out, or the larger relaxation does."""
        numbers = candidate.steps, candidate.rounds, candidate.chunks
        if any(covers(answer, *numbers) for answer in self._ledger.refuted):
            return True
        if strategy is Strategy.PAPER or not step.tried:
            return False
        self._deadline.check()
        seconds = min(_MOST_BOUND_SECONDS, self._deadline.seconds or _MOST_BOUND_SECONDS)
        bound = self._bounds.tighten(candidate.chunks, candidate.steps, seconds)
        return candidate.bandwidth < bound

    def _ask(self, candidate: Candidate, step: StepState, seconds: float | None) -> PendingAnswer:
        self._deadline.check()
        limits = [limit for limit in (seconds, self._deadline.seconds) if limit is not None]
        self._observer.trying(candidate)
        step.tried.add(candidate)
        instance = self._bounds.instance(candidate.chunks, candidate.steps, candidate.rounds)
        hint = self._ledger.warm_starts.nearest(instance)
        until = self._deadline.sooner(None if seconds is None else _BUILDING * seconds)
        return self._source.ask(instance, min(limits, default=None), hint, until)


def why_undecided(solution: Solution) -> str:
    """Why a solver did not decide a candidate, in words."""
    outcome = solution.outcome
    timed_out = outcome.reason is StopReason.TIME_LIMIT
    reason = limit_in_words() if timed_out else outcome.reason
    text = f"{reason} of backend {solution.backend}"
    if outcome.losses:
        lost = [loss.partition(":")[0] for loss in outcome.losses]
        return "; ".join(dict.fromkeys([*lost, text] if timed_out else lost))
    first = outcome.message.splitlines()[0] if outcome.message else ""
    return f"{text}: {first}" if first and not timed_out else text
