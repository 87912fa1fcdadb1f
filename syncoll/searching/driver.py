"""The Pareto driver: for each number of steps the cheapest candidate that has an algorithm.

The loop is Algorithm 1 of the SCCL paper (section 3.7) for every strategy: S from the distance
bound upwards, candidates in ascending order of R/C, stop at the bandwidth bound.  `passes` proposes
the candidates, `trials` asks about them, and `claims` says what follows.

A candidate that the solver could not decide within its time never counts as refuted: it becomes an
open claim, and the search goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from fractions import Fraction

from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.formula import Verdict
from syncoll.results import Solution
from syncoll.results.frontier import Frontier, Point
from syncoll.results.proof import Refuted
from syncoll.searching.answers import AnswerSource
from syncoll.searching.bounds_table import BoundsTable
from syncoll.searching.candidates import CandidateSource
from syncoll.searching.claims import with_claims
from syncoll.searching.passes import StepState, passes
from syncoll.searching.request import Candidate, Observer, SearchRequest, Strategy
from syncoll.searching.trials import Trials, why_undecided
from syncoll.trust import require_valid

__all__ = ["OUT_OF_MEMORY", "OnPoints", "merged", "proofs_until", "search_points"]

OUT_OF_MEMORY = "out of memory"
"""Why a search ended before its time, in an open claim."""

_SAVE_SECONDS = 5.0
"""How often the points of seeds are passed on while they come."""

_PROOF_SECONDS = 10.0
"""What the bounds of a frontier may take for which no solver was asked."""

_MOST_UNDECIDED = 16
"""With so many undecided candidates for one S the search goes on to the next: without a limit on R
they have no end, and a backend that can decide none of them (for want of a licence, say) would keep
it here for ever."""

OnPoints = Callable[[Frontier], None]


def search_points(
    request: SearchRequest,
    answers: AnswerSource,
    observer: Observer,
    *,
    on_points: OnPoints | None = None,
    incumbents: Sequence[Point] = (),
    refuted: Iterable[Refuted] = (),
    seeds: bool = True,
    deadline: Deadline,
) -> Frontier:
    """Searches a frontier by deciding one candidate after the other.

    Ctrl-C (`KeyboardInterrupt`) ends the search and returns what is known, marked as interrupted.

    Args:
        on_points: is given the frontier so far whenever a point was found.
        incumbents: points known before; only what is better than these is looked for.

    Raises:
        UsageError: when the limits leave nothing to search.
        ModelError: when the collective makes no sense on the topology.
        BackendError: when a backend gives a wrong answer.
    """
    run = _Search(request, answers, observer, on_points, incumbents, refuted, deadline)
    try:
        if seeds:
            run.seed()
        run.run()
    except OutOfTimeError:
        run.stopped = "time limit"
    except KeyboardInterrupt:
        answers.cancel_all()
        run.stopped = "interrupted"
    except MemoryError as error:
        answers.cancel_all()
        answers.lost(f"{OUT_OF_MEMORY}: {error}")
        run.stopped = OUT_OF_MEMORY
    return run.frontier()


class _Search:
    """One run of the driver.

    Attributes:
        stopped: why it ended before its time, in words; empty when it did not.
    """

    def __init__(
        self,
        request: SearchRequest,
        answers: AnswerSource,
        observer: Observer,
        on_points: OnPoints | None,
        incumbents: Sequence[Point],
        refuted: Iterable[Refuted],
        deadline: Deadline,
    ) -> None:
        self.request, self.answers, self.observer = request, answers, observer
        self.on_points, self.deadline = on_points, deadline
        self.began = time.perf_counter()
        self.bounds = BoundsTable(request.topology, request.collective, answers.prove, deadline)
        self.source = CandidateSource(request, self.bounds)
        self.points = sorted(incumbents, key=lambda p: p.steps)
        self.trials = Trials(answers, observer, self.bounds, deadline, self.points, refuted)
        self.steps: list[StepState] = []
        self.current: StepState | None = None
        self.stopped = ""

    def seed(self) -> None:
        """Starts from what the seeds construct."""
        alone = self.answers.solver is None
        saved = time.perf_counter()
        for point in self.answers.seeding.search(
            self.request, self.deadline, self.request.max_steps, alone=alone
        ):
            self.trials.known.add(point)
            most = self.source.most_rounds(point.steps)
            if (most is None or point.rounds <= most) and self.source.covers(point.chunks):
                self._merge(point)
                least = self.source.least_chunks  # whose shape stands for every C, also in files
                if point.steps <= self.source.least_steps and self.bounds.is_met(least):
                    break  # nothing is better in either cost
            if alone and self.on_points and time.perf_counter() >= saved + _SAVE_SECONDS:
                self.bounds.deadline = NEVER.sooner(0.0)  # what is proved comes later
                self._report()
                saved = time.perf_counter()
        if alone:
            self.bounds.deadline = proofs_until(self.deadline)
        if self.points:
            self._report()

    def run(self) -> None:
        """Asks for one number of steps after the other."""
        source = self.source
        if self.bounds.irregular:
            self.observer.limited(source.max_chunks)
        self.observer.bounded(None, source.least_bandwidth)
        if self.answers.solver is None:
            return
        for steps in range(source.least_steps, source.max_steps + 1):
            if self.request.strategy is Strategy.CERTIFIED:
                self.deadline.check()
                self.observer.bounded(steps, source.least_bandwidth_of(steps))
            self.current = StepState(steps, self._best(steps))
            self.steps.append(self.current)
            for candidates, seconds in passes(source, self.current):
                self.current.found = self._pass(self.current, candidates, seconds)
                self.current.best = self._best(steps)
            best, self.current = self.current.best, None
            if best is not None and best <= source.least_bandwidth:
                return

    def _best(self, steps: int) -> Fraction | None:
        """The least R/C found with at most so many steps."""
        return min((p.bandwidth for p in self.points if p.steps <= steps), default=None)

    def _pass(
        self, step: StepState, candidates: Iterable[Candidate], seconds: float | None
    ) -> bool:
        """Tries candidates until one has an algorithm, or too many are undecided.

        Returns:
            Whether one has an algorithm.
        """
        answers = self.trials.answers(step, self.request.strategy, candidates, seconds)
        # Closed here: where Python does it in its own time, a Ctrl-C that comes then is lost.
        with closing(answers):
            undecided = 0
            for candidate, solution in answers:
                step.undecided.pop(candidate, None)
                if solution is None:
                    continue
                if solution.verdict is Verdict.UNKNOWN:
                    step.undecided[candidate] = why_undecided(solution)
                    undecided += 1
                    if undecided >= _MOST_UNDECIDED:
                        return False
                elif solution.verdict is Verdict.SAT:
                    self._add(solution)
                    break
                else:
                    numbers = candidate.steps, candidate.rounds, candidate.chunks
                    self.trials.refuted.append(
                        Refuted(*numbers, solution.encoding, solution.backend)
                    )
            else:
                return False
        # What costs no less than the point just found is of no interest any more.
        found = self._best(step.steps)
        assert found is not None
        for candidate in [c for c in step.undecided if c.bandwidth >= found]:
            del step.undecided[candidate]
        return True

    def _add(self, solution: Solution) -> None:
        """Puts a solution's algorithm, at its tightest, on the frontier."""
        assert solution.algorithm is not None
        algorithm = solution.algorithm.tightened(self.request.topology)
        chunks = solution.instance.chunks
        instance = self.bounds.instance(chunks, algorithm.steps, algorithm.rounds)
        require_valid(instance, algorithm)
        point = Point(
            instance,
            algorithm,
            solution.encoding,
            solution.backend,
            solution.total_seconds,
            solution.size,
        )
        self.trials.known.add(point)
        if self._merge(point):
            self._report()

    def _merge(self, point: Point) -> bool:
        """Whether the point belongs on the frontier, where it then is."""
        self.bounds.found(point.steps, point.bandwidth)
        before, self.points = self.points, merged(self.points, point)
        if self.points is not before:
            self.observer.found(tuple(self.points))
        return self.points is not before

    def _report(self) -> None:
        if self.on_points is not None:
            self.on_points(self.frontier())

    def frontier(self) -> Frontier:
        """Everything known so far."""
        source, request = self.source, self.request
        searched = {step.steps for step in self.steps} | {p.steps for p in self.points}
        scope = source.scope
        if self.answers.solver is None:
            scope = f"nothing, only what {self.answers.backend_name} constructs"
        found = Frontier(
            request.topology,
            request.collective.name,
            tuple(self.points),
            (),
            scope,
            self.answers.settings(
                request,
                source.k,
                source.max_steps,
                source.max_chunks if source.limits_chunks else None,
            ),
            complete=not self.stopped,
            interrupted=self.stopped == "interrupted",
            seconds=time.perf_counter() - self.began,
            refuted=tuple(self.trials.refuted),
        )
        return with_claims(found, source, sorted(searched), self._why_open)

    def _why_open(self, steps: int | None) -> str:
        """Why something better may exist for this S, or beyond all that were searched."""
        step = next((one for one in self.steps if one.steps == steps), None)
        # A frontier that is passed on while the search goes on reads as if its time were over.
        stopped = self.stopped or "time limit"
        if step is None:
            if self.current is not None or self.stopped:
                return stopped
            if self.answers.solver is None:
                return "no solver was asked"
            return f"the search goes to {self.source.max_steps} steps (--max-steps)"
        whys = sorted({part for why in step.undecided.values() for part in why.split("; ")})
        if step is self.current:
            return "; ".join([stopped, *(w for w in whys if not w.startswith("time limit"))])
        return "; ".join(whys) or "too many candidates were not decided at once"


def merged(points: list[Point], point: Point) -> list[Point]:
    """The points with one more, without what is dominated; the same list where that is the one.

    Of points of the same cost the one with fewer chunks stays.
    """
    if any(p.dominates(point) and not _is_finer(p, point) for p in points):
        return points
    kept = [p for p in points if not point.dominates(p)]
    return sorted([*kept, point], key=lambda p: p.steps)


def _is_finer(one: Point, other: Point) -> bool:
    """Whether a point costs the same as another, and cuts the data into more chunks."""
    return other.dominates(one) and other.chunks < one.chunks


def proofs_until(limit: Deadline) -> Deadline:
    """Until when bounds are computed for what seeds alone constructed: not much longer than that
    took, since nothing is searched that they could end.
    """
    return limit.sooner(_PROOF_SECONDS)
