"""CandidateSolver: the engine that asks solvers for (S, R, C), one S after the other.

The loop is Algorithm 1 of the SCCL paper (section 3.7) for every strategy: S from the distance
bound upwards, candidates in ascending order of R/C, stop at the bandwidth bound.  `time_schedule`
determines how often it returns to each S, and for how long.  With several solvers, several
candidates are asked at once.

A candidate that the solver could not decide within its time never counts as refuted: it becomes an
open claim, and the search goes on.
"""

import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice, takewhile

from syncoll.clock import limit_in_words, now
from syncoll.deadline import Deadline
from syncoll.formula import StopReason, Verdict
from syncoll.ledger import Candidate, CandidateSource, Observer, Strategy, is_small
from syncoll.ledger.bounds_table import THOROUGH_SECONDS, BoundsTable
from syncoll.ledger.events import Event, Undecided
from syncoll.ledger.ledger import Ledger, StepState
from syncoll.results import Point, Refuted, Solution, covers
from syncoll.searching.answers import AnswerSource, PendingAnswer
from syncoll.searching.heuristics import BUSY
from syncoll.searching.shares import SHORT_SECONDS, WORTH
from syncoll.searching.time_schedule import PHASES, Phase
from syncoll.trust import require_valid
from syncoll.trust.replay import as_counted

MANY_SENDS = 10_000
"""Chunks times links times steps.  With fewer, a solver is often quick with the whole formula, and
symmetric algorithms wait until it was not."""

_LITTLE = "time limit: a gain of less than 0.1 % was not asked of a solver"
"""The reason in an open claim if the rest of a gap is not worth a solver's time."""

_SIMPLE_SECONDS = 5.0
"""For all questions about simpler points, which are easy or not worth more (dgx1 allreduce)."""

_MOST_UNDECIDED = 16
"""Number of undecided candidates after which the search leaves an S. Without a limit on R there are
infinitely many, and a backend that decides none of them (without a licence, say) would never end.
"""


@dataclass(eq=False)
class CandidateSolver:
    """The solvers of one search."""

    _ledger: Ledger
    _source: CandidateSource
    _answers: AnswerSource
    _deadline: Deadline
    _stuck: Candidate | None = None
    _for_simple: float = _SIMPLE_SECONDS

    @property
    def is_stuck(self) -> bool:
        """Whether the last answer left a candidate undecided that nothing else rules out."""
        return self._stuck is not None and self._is_useful(self._stuck)

    def run(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """All phases of all S; an `OutOfTimeError` at the deadline."""
        source = self._source
        certified = source.request.strategy is Strategy.CERTIFIED
        first, *others = PHASES[source.request.strategy]
        for steps in range(source.least_steps, source.max_steps + 1):
            if certified:
                self._deadline.check()
                yield ledger.bound(steps)
            ledger.steps.append(StepState(steps))
            yield from self._phase(ledger.steps[-1], first)
            best = ledger.best(steps)
            if best is not None and best <= source.bounds.bandwidth():
                break
        # On a large network seeds soon find points of more steps, and such bounds take long.
        if certified and is_small(source.request.topology):
            for steps in sorted({point.steps for point in ledger.points}):
                if steps > source.max_steps:
                    self._deadline.check()
                    yield ledger.bound(steps)
        for number, phase in enumerate(others):
            for step in ledger.steps:
                if not number:
                    yield from self._simpler(step)
                yield from self._phase(step, phase)

    def _simpler(self, step: StepState) -> Iterator[Event]:
        """The simplest points near the best, where formulas are small.  A candidate that is not
        decided soon matters for no claim, and is not asked for again."""
        ledger, source, undecided = self._ledger, self._source, 0
        for candidate in ledger.simpler(source, step.steps):
            small = self._is_small(candidate) and source.bounds.is_writable(candidate.chunks)
            if undecided >= 2 or not small:
                return
            seconds = source.request.point_limit or min(SHORT_SECONDS, self._for_simple)
            if seconds <= 0:
                return
            best = ledger.best(step.steps)
            if best is None or candidate.bandwidth < best or candidate in step.tried:
                continue  # a candidate of the phases
            if any(covers(answer, *candidate.numbers) for answer in ledger.refuted):
                continue
            ledger.log.tell(Observer.trying, candidate)
            began = now()
            solution = self._asked(candidate, seconds).result()
            self._for_simple -= now() - began
            ledger.log.tell(Observer.settled, candidate, solution.verdict, solution.total_seconds)
            undecided += solution.verdict is Verdict.UNKNOWN
            if solution.verdict is Verdict.SAT:
                yield solved_point(solution, ledger.bounds)
                return
            if solution.verdict is Verdict.UNSAT:
                yield Refuted(*candidate.numbers, solution.encoding, solution.backend)

    def _phase(self, step: StepState, phase: Phase) -> Iterator[Event]:
        ledger = self._ledger
        if not ledger.may_serve(step.steps):
            return
        ledger.current, step.best = step, ledger.best(step.steps)
        for candidates, seconds in phase(self._source, step):
            yield from self._pass(step, candidates, seconds)
            step.best = ledger.best(step.steps)
        ledger.current = None

    def _pass(
        self, step: StepState, candidates: Iterable[Candidate], seconds: float | None
    ) -> Iterator[Event]:
        """Tries candidates until one has an algorithm, or too many are undecided."""
        # Seeds may find a better point in the meantime.
        useful = self._worth(step, takewhile(self._is_useful, candidates))
        undecided = 0
        # Closed here, because a Ctrl-C during Python's own finalization is lost.
        with closing(self._answers_to(step, self._writable(useful), seconds)) as answers:
            for candidate, solution in answers:
                step.undecided.pop(candidate, None)
                if solution is None:
                    continue
                if solution.verdict is Verdict.SAT:
                    yield solved_point(solution, self._ledger.bounds)
                    break
                if solution.verdict is Verdict.UNKNOWN:
                    undecided += 1
                    is_last = undecided >= _MOST_UNDECIDED
                    if not (is_last or self._rules_out(candidate, step)):
                        self._stuck = candidate
                    yield Undecided(candidate, _why_undecided(solution))
                    self._stuck = None
                    if is_last:
                        break
                elif candidate.chunks <= self._source.max_chunks:  # no claim exceeds this C
                    yield Refuted(*candidate.numbers, solution.encoding, solution.backend)
        for candidate in [c for c in step.undecided if not self._is_useful(c)]:
            del step.undecided[candidate]

    def _is_small(self, candidate: Candidate) -> bool:
        """Whether the formula is small; with partial sums it grows with the contributors, too."""
        bounds, combining = self._source.bounds, self._source.request.collective.combining
        sends = bounds.num_sends(candidate.chunks, candidate.steps)
        return sends * (bounds.topology.num_nodes if combining else 1) <= MANY_SENDS

    def _worth(self, step: StepState, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """The candidates that are small or gain enough; with a limit on time, the first other one
        stays undecided."""
        every = self._deadline.is_never or self._source.request.strategy is Strategy.PAPER
        for candidate in candidates:
            best = self._ledger.best(step.steps)
            gains = best is None or candidate.bandwidth * WORTH < best
            if every or gains or self._is_small(candidate):
                yield candidate
            elif _LITTLE not in step.undecided.values():
                self._ledger.record(Undecided(candidate, _LITTLE))

    def _writable(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """The candidates whose instance is small enough; the others stay undecided."""
        left_out = 0
        for candidate in candidates:
            if self._ledger.bounds.is_writable(candidate.chunks):
                yield candidate
                continue
            self._ledger.record(Undecided(candidate, "too many chunks for an algorithm"))
            left_out += 1
            if left_out >= _MOST_UNDECIDED:
                return

    def _is_useful(self, candidate: Candidate) -> bool:
        return self._ledger.is_useful(candidate.steps, candidate.bandwidth)

    def _answers_to(
        self, step: StepState, candidates: Iterable[Candidate], seconds: float | None
    ) -> Generator[tuple[Candidate, Solution | None], None, None]:
        """Each candidate in turn with its answer, or None where a bound rules it out.  As many are
        asked at once as there are solvers; unneeded answers are cancelled."""
        rest = iter(candidates)
        asked: deque[tuple[Candidate, PendingAnswer | None, float]] = deque()
        try:
            while True:
                # A cluster that lost workers answers fewer questions at once.
                for candidate in islice(rest, max(0, self._answers.width - len(asked))):
                    ruled_out = self._rules_out(candidate, step)
                    answer = None if ruled_out else self._ask(candidate, step, seconds)
                    asked.append((candidate, answer, time.perf_counter()))
                if not asked:
                    return
                candidate, answer, began = asked.popleft()
                solution = None if answer is None else answer.result()
                verdict = Verdict.UNSAT if solution is None else solution.verdict
                spent = 0.0 if solution is None else time.perf_counter() - began
                self._ledger.log.tell(Observer.settled, candidate, verdict, spent)
                yield candidate, solution
        finally:
            for _, answer, _ in asked:
                if answer is not None:
                    answer.cancel()

    def _rules_out(self, candidate: Candidate, step: StepState) -> bool:
        """Whether an earlier answer rules a candidate out, or the larger relaxation does."""
        if any(covers(answer, *candidate.numbers) for answer in self._ledger.refuted):
            return True
        certified = self._source.request.strategy is Strategy.CERTIFIED
        if not (certified and step.tried):
            return False
        self._deadline.check()
        seconds = min(THOROUGH_SECONDS, self._deadline.seconds or THOROUGH_SECONDS)
        return candidate.bandwidth < self._ledger.tighten(candidate.steps, seconds)

    def _ask(self, candidate: Candidate, step: StepState, seconds: float | None) -> PendingAnswer:
        self._ledger.log.tell(Observer.trying, candidate)
        step.tried.add(candidate)
        return self._asked(candidate, seconds)

    def _asked(self, candidate: Candidate, seconds: float | None) -> PendingAnswer:
        self._deadline.check()
        limits = [limit for limit in (seconds, self._deadline.seconds) if limit is not None]
        instance = self._ledger.bounds.instance(candidate.chunks, candidate.steps, candidate.rounds)
        hint = self._ledger.warm_starts.nearest(instance)
        # Building a formula may take longer than solving it.
        until = self._deadline.sooner(None if seconds is None else BUSY * seconds)
        return self._answers.ask(instance, min(limits, default=None), hint, until)


def solved_point(solution: Solution, bounds: BoundsTable) -> Point:
    """A solution's algorithm as a point, at its tightest and verified."""
    assert solution.algorithm is not None
    where = as_counted(solution.instance, solution.algorithm)
    algorithm = solution.algorithm.tightened(where)
    instance = bounds.instance(solution.instance.chunks, algorithm.steps, algorithm.rounds)
    require_valid(instance, algorithm)
    return Point(
        instance,
        algorithm,
        solution.encoding,
        solution.backend,
        solution.total_seconds,
        solution.size,
    )


def _why_undecided(solution: Solution) -> str:
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
