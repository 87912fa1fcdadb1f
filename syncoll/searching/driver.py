"""The Pareto driver: for each number of steps the cheapest candidate that has an algorithm.

The loop is Algorithm 1 of the SCCL paper (section 3.7) for every strategy: S from the distance
bound upwards, candidates in ascending order of R/C, stop at the bandwidth bound.  `passes` proposes
the candidates, `trials` asks about them, and `claims` says what follows.

A candidate that the solver could not decide within its time never counts as refuted: it becomes an
open claim, and the search goes on.

Seeds have their turns before, beside and after the solver (`turns`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from fractions import Fraction
from itertools import takewhile

from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.formula import Verdict
from syncoll.results import Solution
from syncoll.results.family import Family
from syncoll.results.frontier import Frontier, Point
from syncoll.results.proof import Refuted
from syncoll.searching.answers import AnswerSource
from syncoll.searching.bounds_table import BoundsTable, in_turn
from syncoll.searching.candidates import CandidateSource
from syncoll.searching.claims import gaps_are_open, with_claims
from syncoll.searching.families import (
    FEW_STEPS,
    MOST_LISTED,
    belonging,
    few_steps,
    merged,
    unbeaten,
)
from syncoll.searching.passes import LOOKS, Passes, StepState
from syncoll.searching.request import Candidate, Observer, SearchRequest, Strategy
from syncoll.searching.seed_run import SeedRun
from syncoll.searching.seeding import is_for_seeds, is_small
from syncoll.searching.symmetric import SymmetricSearch
from syncoll.searching.trials import Trials, joined, why_undecided
from syncoll.searching.turns import SeedTurns
from syncoll.searching.windows import WindowSearch
from syncoll.trust import require_valid
from syncoll.trust.counted import as_counted
from syncoll.wording import counted

__all__ = ["INTERRUPTED", "OUT_OF_MEMORY", "OnPoints", "proofs_until", "search_points"]

OUT_OF_MEMORY, INTERRUPTED = "out of memory", "interrupted"
"""Why a search ended before its time, in an open claim."""

_SAVE_SECONDS = 5.0
"""How often the points of seeds are passed on while they come."""

_SHARE_OF_SYMMETRY = (0.25, 0.6)
_SYMMETRY_SECONDS = 120.0
"""What symmetric algorithms are looked for in, at most, before all algorithms are; and those that
combine data on a small machine, whose whole formulas are many times larger."""

_SHARE_OF_WINDOWS = 0.1
"""The part of what is left before it, and after it, in which known algorithms are made shorter,
window by window."""

_PROOF_SECONDS = 10.0
"""What the bounds of a frontier may take for which no solver was asked."""

_NEAR = Fraction(1005, 1000)
"""Points so near to a bound have one for their own S only after others: with many steps it takes
long."""

_SECONDS_TO_ASK = 2.0
"""With less left a solver is not begun with after seeds had the time."""

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
    seeds: tuple[SeedRun, SearchRequest] | None = None,
    bounds: BoundsTable | None = None,
    proving: bool = True,
    stopped: str = "",
    deadline: Deadline,
) -> Frontier:
    """Searches a frontier by deciding one candidate after the other.

    Ctrl-C (`KeyboardInterrupt`) ends the search and returns what is known, marked as interrupted.

    Args:
        on_points: is given the frontier so far whenever a point was found.
        incumbents: points known before; only what is better than these is looked for.
        seeds: those that are at work on the collective, and the limits of what they construct,
            where these are wider than the solver's; None for seeds and limits of this search.
        bounds: of the collective, where some may be known.
        stopped: why nothing more is to be looked for, so that what is known is claimed at once.
        proving: whether it matters what is proved for each S.  Where it does not, and the machine
            is so large that a solver is seldom as fast as seeds, all the time is theirs.

    Raises:
        UsageError: when the limits leave nothing to search.
        ModelError: when the collective makes no sense on the topology.
        BackendError: when a backend gives a wrong answer.
    """
    bounds = bounds or BoundsTable(request.topology, request.collective, answers.prove)
    bounds.until(deadline)
    run = _Search(
        request, answers, observer, on_points, incumbents, refuted, deadline, bounds, seeds=seeds
    )
    run.proving = proving or is_small(request.topology)
    with closing(run.seeds):
        try:
            if stopped:
                run.stop_soon(stopped)
            else:
                run.seed()
                run.run()
        except OutOfTimeError:
            run.stopped = "time limit"
        except KeyboardInterrupt:
            run.stop_soon(INTERRUPTED)
        except MemoryError as error:
            answers.lost(f"{OUT_OF_MEMORY}: {error}")
            run.stop_soon(OUT_OF_MEMORY)
        try:
            run.seeds.look()
            return run.frontier()
        except KeyboardInterrupt:  # again, while the bounds that were begun come to an end
            run.stop_soon(INTERRUPTED)
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
        bounds: BoundsTable,
        *,
        seeds: tuple[SeedRun, SearchRequest] | None,
    ) -> None:
        self.request, self.answers, self.observer = request, answers, observer
        self.on_points, self.deadline = on_points, deadline
        self.began = time.perf_counter()
        self.bounds = bounds
        self.source = CandidateSource(request, self.bounds)
        self.points = sorted(incumbents, key=lambda p: p.steps)
        for point in self.points:
            bounds.found(point.steps, point.bandwidth)
        self.trials = Trials(answers, observer, self.bounds, deadline, self.points, refuted)
        self.steps: list[StepState] = []
        self.current: StepState | None = None
        self.symmetric: SymmetricSearch | None = None
        if request.symmetric and request.strategy is Strategy.CERTIFIED:
            known = self.trials.known
            self.symmetric = SymmetricSearch(self.source, answers, observer, known, self._best)
        self.windows = WindowSearch(
            answers, observer, self.bounds.known, self._best, self._admits_cut
        )
        self.have_begun = seeds is not None
        if seeds is None:
            seeds = answers.seeding.run(request.topology, request.collective), request
        self.seeds = SeedTurns(*seeds, deadline, self._take)
        self.grown: list[Family] = []
        self.told: dict[int | None, Fraction] = {}
        self.proving, self.stopped = True, ""

    def stop_soon(self, why: str) -> None:
        """Ends the search: nothing more is asked, and no bound begun that takes long."""
        self.stopped = why
        self.answers.cancel_all()
        self.bounds.deadline = NEVER.sooner(0.0)

    def seed(self) -> None:
        """Starts from what the seeds construct."""
        alone = self.answers.solver is None
        if self.have_begun and not alone and is_small(self.request.topology):
            self.seeds.look()  # they have had their time, and a solver may be as fast
        else:
            self.seeds.first(alone=alone, proving=self.proving)
        if alone:
            self.bounds.deadline = proofs_until(self.deadline)
        if self.points:
            # On a small machine a solver soon has better points, for which the bounds come then.
            soon = not self.proving or (not alone and is_small(self.request.topology))
            with self.bounds.at_once() if soon else nullcontext():
                self._bound_meanwhile()
                self._report()

    def _bound_meanwhile(self) -> None:
        """Bounds the points of seeds that go on in a process of their own, S by S, and looks in
        between at what they have found."""
        bounded: set[int] = set()
        while self.seeds.are_aside and not self.bounds.deadline.passed:
            waiting = [point for point in self.points if point.steps not in bounded]
            if not waiting:
                return
            far = [point for point in waiting if not self._is_near(point)]
            among = {point.steps for point in far or waiting}
            order = in_turn(point.steps for point in self.points)
            steps = next(one for one in order if one in among)
            bounded.add(steps)
            self._bounded(steps, self.source.least_bandwidth_of(steps))
            self.seeds.look()

    def _is_near(self, point: Point) -> bool:
        """Whether a bound for its own S could show little more."""
        known = self.bounds.known(self.source.least_chunks, point.steps)
        return point.bandwidth <= known * _NEAR

    def _take(self, points: Iterator[Point]) -> bool:
        """Puts points of seeds on the frontier, until nothing can be better; whether one is new."""
        self.observer.seeding(self.seeds.waiting)
        saved, new = time.perf_counter(), False
        for point in points:
            self.trials.known.add(point)
            if self.source.keeps(point):
                merged_it = self._merge(point)
                new |= merged_it
                least = self.source.least_chunks  # whose shape stands for every C, also in files
                if point.steps <= self.source.least_steps and self.bounds.is_met(least):
                    break  # nothing is better in either cost
                if merged_it and self._are_few_steps and not self._gaps_are_open():
                    break  # nor is anything else within the limits
            if self.on_points and time.perf_counter() >= saved + _SAVE_SECONDS:
                with self.bounds.at_once():  # what is proved comes later
                    self._report()
                saved = time.perf_counter()
        return self._take_members() or new

    def _take_members(self) -> bool:
        """Puts members of few steps of families that are new on the frontier; whether one is new.

        Of those that seeds propose it depends on the time how many come.
        """
        grown = [family for family in self.seeds.families if family not in self.grown]
        self.grown += grown
        members = few_steps(grown, self.request)
        new = [self._merge(point) for point in members if self.source.keeps(point)]
        return any(new)

    def _gaps_are_open(self) -> bool:
        """Whether a point of any S may be better than what is known."""
        families = self._families
        return gaps_are_open(unbeaten(self.points, families), self.source, families)

    @property
    def _are_few_steps(self) -> bool:
        """Whether bounds for all S of the search are soon computed."""
        certified = self.proving and self.request.strategy is Strategy.CERTIFIED
        limited = self.request.max_steps is not None
        return certified and limited and is_small(self.request.topology)

    @property
    def _families(self) -> tuple[Family, ...]:
        """Those that belong on the frontier."""
        return belonging(self.seeds.families, self.request, self.points)

    def run(self) -> None:
        """Asks for one number of steps after the other."""
        source = self.source
        if self.bounds.irregular:
            self.observer.limited(source.max_chunks)
        self._bounded(None, source.least_bandwidth)
        if not self.proving:
            self.bounds.deadline = NEVER.sooner(0.0)
        elif self.answers.solver is not None:
            self._solve()
        if self.request.strategy is Strategy.CERTIFIED:
            self._go_on(patient=True)

    def _go_on(self, *, patient: bool) -> None:
        """Lets seeds go on for as long as something better is wanted."""
        for _ in self.seeds.rest(self._gaps_are_open, patient=patient):
            self._bound_meanwhile()
            # What is soon better has its bounds first; claims between points have theirs at last.
            with self.bounds.at_once() if self.seeds.know else nullcontext():
                self._report()

    def _solve(self) -> None:
        source = self.source
        if self.seeds.are_aside and is_for_seeds(self.request.topology, self.seeds.know):
            self._go_on(patient=False)  # what a solver would seldom find comes by itself
            if self._gaps_are_open():
                self.deadline.before(_SECONDS_TO_ASK).check()
        if not is_small(self.request.topology):
            self._bound_meanwhile()
        if self.symmetric is not None and self.symmetric.is_large:
            self._look_for_symmetric()
        first, *others = LOOKS
        for steps in range(source.least_steps, source.max_steps + 1):
            if self.request.strategy is Strategy.CERTIFIED:
                self.deadline.check()
                self._bounded(steps, source.least_bandwidth_of(steps))
            self.steps.append(StepState(steps, None))
            if self._may_serve(steps):
                self._look(self.steps[-1], first)
            best = self._best(steps)
            if best is not None and best <= source.least_bandwidth:
                break
        self._bound_points()
        for look in others:
            for step in self.steps:
                if self._may_serve(step.steps):
                    self._look(step, look)

    def _bound_points(self) -> None:
        """Bounds the points of more steps than are looked at, while there is time for that.

        On a large machine seeds soon have others, and such bounds take long.
        """
        if self.request.strategy is not Strategy.CERTIFIED or not is_small(self.request.topology):
            return
        for steps in sorted({point.steps for point in self.points}):
            if steps > self.source.max_steps:
                self.deadline.check()
                self._bounded(steps, self.source.least_bandwidth_of(steps))

    def _look(self, step: StepState, look: Callable[[CandidateSource, StepState], Passes]) -> None:
        """One of the looks at one S."""
        self.current, step.best = step, self._best(step.steps)
        for candidates, seconds in look(self.source, step):
            self._pass(step, candidates, seconds)
            step.best = self._best(step.steps)
        self.current = None

    def _look_for_symmetric(self) -> None:
        """Looks for symmetric algorithms, once: they are found where others are not."""
        symmetric, self.symmetric = self.symmetric, None
        if symmetric is None:
            return
        began = time.perf_counter()
        self._shorten()
        hard = self.request.collective.combining and is_small(self.request.topology)
        share = _SHARE_OF_SYMMETRY[hard]
        until = self.deadline.share(share).sooner(_SYMMETRY_SECONDS)
        with closing(symmetric.solutions(until)) as solutions:
            for candidate, solution in solutions:
                if solution.algorithm is not None:
                    self._add(solution)
                elif solution.verdict is Verdict.UNSAT:
                    self._refute(candidate, solution)
        self._shorten()
        self.seeds.asked_seconds += time.perf_counter() - began

    def _admits_cut(self, candidate: Candidate) -> bool:
        """Whether chunks that are cut further are those of a candidate within the limits."""
        source, most = self.source, self.source.most_rounds(candidate.steps)
        within = candidate.chunks <= source.max_chunks and (
            most is None or candidate.rounds <= most
        )
        return within and not self.bounds.irregular

    def _shorten(self) -> None:
        """Looks for shorter ones near known algorithms, in windows of a few steps."""
        points = [point for point in self.trials.known.points if self.source.keeps(point)]
        until = self.deadline.share(_SHARE_OF_WINDOWS).sooner(_SYMMETRY_SECONDS)
        with closing(self.windows.solutions(points, until)) as solutions:
            for solution in solutions:
                self._add(solution)

    def _refute(self, candidate: Candidate, solution: Solution) -> None:
        numbers = candidate.steps, candidate.rounds, candidate.chunks
        self.trials.refuted.append(Refuted(*numbers, solution.encoding, solution.backend))

    def _best(self, steps: int) -> Fraction | None:
        """The least R/C found with at most so many steps."""
        return min((p.bandwidth for p in self.points if p.steps <= steps), default=None)

    def _pass(
        self, step: StepState, candidates: Iterable[Candidate], seconds: float | None
    ) -> None:
        """Tries candidates until one has an algorithm, or too many are undecided."""
        # Seeds may find something better meanwhile.
        of_use = takewhile(lambda c: self._is_of_use(c), candidates)
        asked = self._writable(step, of_use)
        answers = self.trials.answers(step, self.request.strategy, asked, seconds)
        # Closed here: where Python does it in its own time, a Ctrl-C that comes then is lost.
        with closing(answers):
            undecided = 0
            began = time.perf_counter()
            for candidate, solution in answers:
                self.seeds.asked_seconds += time.perf_counter() - began
                began = time.perf_counter()
                step.undecided.pop(candidate, None)
                if solution is None:
                    continue
                if solution.verdict is Verdict.UNKNOWN:
                    step.undecided[candidate] = why_undecided(solution)
                    undecided += 1
                    if undecided >= _MOST_UNDECIDED:
                        break
                    strategy = self.request.strategy
                    if strategy is Strategy.CERTIFIED and not self.trials.rules_out(
                        candidate, step, strategy
                    ):
                        self._look_for_symmetric()
                        if self.seeds.next():
                            self._report()
                        began = time.perf_counter()
                elif solution.verdict is Verdict.SAT:
                    self._add(solution)
                    break
                elif candidate.chunks <= self.source.max_chunks:  # what is claimed goes no further
                    self._refute(candidate, solution)
        for candidate in [c for c in step.undecided if not self._is_of_use(c)]:
            del step.undecided[candidate]

    def _writable(self, step: StepState, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """Those for which there can be an instance; the others stay undecided."""
        left_out = 0
        for candidate in candidates:
            if self.bounds.is_writable(candidate.chunks):
                yield candidate
                continue
            step.undecided[candidate] = "too many chunks for an algorithm"
            left_out += 1
            if left_out >= _MOST_UNDECIDED:
                return

    def _is_of_use(self, candidate: Candidate) -> bool:
        """Whether it would cost less than what is known."""
        best, aim = self._best(candidate.steps), self.request.aim
        if best is not None and candidate.bandwidth >= best:
            return False
        return aim is None or aim.is_of_use(candidate.steps, candidate.bandwidth, self.points)

    def _may_serve(self, steps: int) -> bool:
        """Whether the best that so many steps may cost would be of use for the sizes asked for."""
        aim = self.request.aim
        if aim is None:
            return True
        return aim.is_of_use(steps, self.source.least_bandwidth_of(steps), self.points)

    def _add(self, solution: Solution) -> None:
        """Puts a solution's algorithm, at its tightest, on the frontier."""
        assert solution.algorithm is not None
        where = as_counted(solution.instance, solution.algorithm)
        algorithm = solution.algorithm.tightened(where)
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
            with self.bounds.at_once():  # the S after this one have their bounds when they come up
                self._report()

    def _merge(self, point: Point) -> bool:
        """Whether the point belongs on the frontier, where it then is."""
        self.bounds.found(point.steps, point.bandwidth)
        if not unbeaten([point], self._families):
            return False
        before, self.points = self.points, merged(self.points, point)
        if self.points is not before:
            self.observer.found(tuple(self.points))
        return self.points is not before

    def _report(self) -> None:
        """Shows and saves what is known so far."""
        frontier = self.frontier()
        for point in frontier.points:
            if point.bound is not None and point.bound > self.source.least_bandwidth:
                self._bounded(point.steps, point.bound)
        if self.on_points is not None:
            self.on_points(frontier)

    def _bounded(self, steps: int | None, bandwidth: Fraction) -> None:
        """Tells of a bound, once."""
        if self.told.get(steps, Fraction(-1)) < bandwidth:
            self.told[steps] = bandwidth
            self.observer.bounded(steps, bandwidth)

    def frontier(self) -> Frontier:
        """Everything known so far."""
        source, request = self.source, self.request
        families = self._families
        points = unbeaten(self.points, families)
        searched = {step.steps for step in self.steps} | {p.steps for p in points}
        if families:
            searched.update(range(source.least_steps, FEW_STEPS + 1))
        scope = source.scope
        if self.answers.solver is None:
            scope = f"nothing, only what {self.answers.backend_name} constructs"
        found = Frontier(
            request.topology,
            request.collective.name,
            points,
            (),
            scope,
            self.answers.settings(
                request,
                source.k,
                source.max_steps,
                source.max_chunks if source.limits_chunks else None,
            ),
            complete=not self.stopped,
            interrupted=self.stopped == INTERRUPTED,
            seconds=time.perf_counter() - self.began,
            refuted=tuple(self.trials.refuted),
            families=families,
        )
        return with_claims(found, source, sorted(searched), self._why_open)

    def _why_open(self, steps: int | None) -> str:
        """Why something better may exist for this S, or beyond all that were searched."""
        step = next((one for one in self.steps if one.steps == steps), None)
        # A frontier that is passed on while the search goes on reads as if its time were over.
        stopped = self.stopped or "time limit"
        if step is None:
            limited = steps is None and self.request.max_steps is not None
            if not limited and (self.current is not None or self.stopped):
                return stopped
            if self.answers.solver is None:
                return "no solver was asked"
            most = self.request.max_steps or 0
            if limited and self.grown and most > MOST_LISTED:
                return f"members of pipelines are listed up to {MOST_LISTED} steps"
            if limited:
                return f"the search goes to {counted(self.source.max_steps, 'step')} (--max-steps)"
            return "solvers were asked about fewer steps; --max-steps has them asked about more"
        whys = joined(part for why in step.undecided.values() for part in why.split("; "))
        if step is self.current:
            return "; ".join([stopped, *(w for w in whys if not w.startswith("time limit"))])
        if not whys and not self._may_serve(step.steps):
            return "of no use for the sizes asked for"
        return "; ".join(whys) or "too many candidates were not decided at once"


def proofs_until(limit: Deadline) -> Deadline:
    """Until when bounds are computed for what seeds alone constructed: not much longer than that
    took, since nothing is searched that they could end.
    """
    return limit.sooner(_PROOF_SECONDS)
