"""The Pareto driver: for each number of steps the cheapest candidate that has an algorithm.

The loop is Algorithm 1 of the SCCL paper (section 3.7) for every strategy: S from the distance
bound upwards, candidates in ascending order of R/C, stop at the bandwidth bound.  `passes` proposes
the candidates, `trials` asks about them, and `proof_state` says what follows.

A candidate that the solver could not decide within its time never counts as refuted: it becomes an
open claim, and the search goes on.

Seeds have their turns before, beside and after the solver (`beside`); the ledger has what all of
them found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import takewhile

from syncoll.clock import limit_in_words, now
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.formula import Verdict
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.events import Log, Undecided
from syncoll.ledger.ledger import INTERRUPTED, Ledger, OnPoints, StepState
from syncoll.ledger.request import Candidate, Observer, SearchRequest, Strategy
from syncoll.ledger.sizes import is_for_seeds, is_small
from syncoll.results import Solution
from syncoll.results.frontier import Frontier, Point
from syncoll.results.proof import Refuted
from syncoll.searching.answers import AnswerSource
from syncoll.searching.beside import SeedsBeside
from syncoll.searching.heuristics import Heuristics
from syncoll.searching.passes import LOOKS, Passes
from syncoll.searching.symmetric import SymmetricSearch
from syncoll.searching.trials import Trials, why_undecided
from syncoll.searching.windows import WindowSearch
from syncoll.trust import require_valid
from syncoll.trust.counted import as_counted

__all__ = ["OUT_OF_MEMORY", "search_points"]

OUT_OF_MEMORY = "out of memory"
"""Why a search ended before its time, in an open claim."""

_SHARE_OF_SYMMETRY = (0.25, 0.6)
_SYMMETRY_SECONDS = 120.0
"""What symmetric algorithms are looked for in, at most, before all algorithms are; and those that
combine data on a small machine, whose whole formulas are many times larger."""

_SHARE_OF_WINDOWS = 0.1
"""The part of what is left before it, and after it, in which known algorithms are made shorter,
window by window."""

_SECONDS_TO_ASK = 2.0
"""With less left a solver is not begun with after seeds had the time."""

_MOST_UNDECIDED = 16
"""With so many undecided candidates for one S the search goes on to the next: without a limit on R
they have no end, and a backend that can decide none of them (for want of a licence, say) would keep
it here for ever."""


def search_points(
    request: SearchRequest,
    answers: AnswerSource,
    observer: Observer,
    *,
    on_points: OnPoints | None = None,
    incumbents: Sequence[Point] = (),
    refuted: Iterable[Refuted] = (),
    seeds: tuple[Heuristics, SearchRequest] | None = None,
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
    own, limits = seeds or (answers.seeding.run(request.topology, request.collective), request)
    ledger = Ledger(
        request,
        answers.asked,
        bounds,
        Log.of(observer),
        on_points=on_points,
        points=incumbents,
        refuted=refuted,
        limits=limits,
    )
    proving = proving or is_small(request.topology)
    beside = SeedsBeside(
        ledger,
        answers.begin,
        own,
        limits,
        deadline,
        have_begun=seeds is not None,
        proving=proving,
    )
    run = _Search(ledger, answers, beside, deadline, proving=proving)
    with closing(beside.turns):
        try:
            if stopped:
                run.stop_soon(stopped)
            else:
                if not is_small(request.topology):
                    with bounds.at_once():  # claims rest on this slow bound; the end is too late
                        ledger.prove(None)
                beside.first()
                run.run()
        except OutOfTimeError:
            ledger.stopped = limit_in_words()
        except KeyboardInterrupt:
            run.stop_soon(INTERRUPTED)
        except MemoryError as error:
            answers.lost(f"{OUT_OF_MEMORY}: {error}")
            run.stop_soon(OUT_OF_MEMORY)
        try:
            beside.turns.look()
            return ledger.frontier()
        except KeyboardInterrupt:  # again, while the bounds that were begun come to an end
            run.stop_soon(INTERRUPTED)
            return ledger.frontier()


class _Search:
    """One run of the driver.

    Args:
        ledger: what there is to begin with, and to add to.
        seeds: at work on the collective.
        proving: whether it matters what is proved for each S.
    """

    def __init__(
        self,
        ledger: Ledger,
        answers: AnswerSource,
        seeds: SeedsBeside,
        deadline: Deadline,
        *,
        proving: bool,
    ) -> None:
        self.ledger, self.seeds, self.deadline, self.proving = ledger, seeds, deadline, proving
        self.request, self.answers, self.observer = ledger.request, answers, ledger.log
        self.source, self.bounds = ledger.source, ledger.bounds
        self.trials = Trials(answers, ledger, deadline)
        self.symmetric: SymmetricSearch | None = None
        request = ledger.request
        if request.symmetric and request.strategy is Strategy.CERTIFIED:
            self.symmetric = SymmetricSearch(
                self.source, self.answers, self.observer, ledger.warm_starts, ledger.best
            )
        self.windows = WindowSearch(
            self.answers, self.observer, self.bounds.known, ledger.best, self._admits_cut
        )

    def stop_soon(self, why: str) -> None:
        """Ends the search: nothing more is asked, and no bound begun that takes long."""
        self.ledger.stopped = why
        self.answers.cancel_all()
        self.bounds.deadline = NEVER.sooner(0.0)

    def run(self) -> None:
        """Asks for one number of steps after the other."""
        self.ledger.prove(None)
        if not self.proving:
            self.bounds.deadline = NEVER.sooner(0.0)
        elif self.answers.solver is not None:
            self._solve()
        if self.request.strategy is Strategy.CERTIFIED:
            self.seeds.go_on(patient=True)

    def _solve(self) -> None:
        source = self.source
        if self.seeds.turns.are_aside and is_for_seeds(
            self.request.topology, self.seeds.turns.know
        ):
            self.seeds.go_on(patient=False)  # what a solver would seldom find comes by itself
            if self.ledger.gaps_are_open():
                self.deadline.before(_SECONDS_TO_ASK).check()
        if not is_small(self.request.topology):
            self.seeds.bound_meanwhile()
        if self.symmetric is not None and self.symmetric.is_large:
            self._look_for_symmetric()
        first, *others = LOOKS
        for steps in range(source.least_steps, source.max_steps + 1):
            if self.request.strategy is Strategy.CERTIFIED:
                self.deadline.check()
                self.ledger.prove(steps)
            self.ledger.steps.append(StepState(steps))
            if self.ledger.may_serve(steps):
                self._look(self.ledger.steps[-1], first)
            best = self.ledger.best(steps)
            if best is not None and best <= source.least_bandwidth:
                break
        self._bound_points()
        for look in others:
            for step in self.ledger.steps:
                if self.ledger.may_serve(step.steps):
                    self._look(step, look)

    def _bound_points(self) -> None:
        """Bounds the points of more steps than are looked at, while there is time for that.

        On a large machine seeds soon have others, and such bounds take long.
        """
        if self.request.strategy is not Strategy.CERTIFIED or not is_small(self.request.topology):
            return
        for steps in sorted({point.steps for point in self.ledger.points}):
            if steps > self.source.max_steps:
                self.deadline.check()
                self.ledger.prove(steps)

    def _look(self, step: StepState, look: Callable[[CandidateSource, StepState], Passes]) -> None:
        """One of the looks at one S."""
        self.ledger.current, step.best = step, self.ledger.best(step.steps)
        for candidates, seconds in look(self.source, step):
            self._pass(step, candidates, seconds)
            step.best = self.ledger.best(step.steps)
        self.ledger.current = None

    def _look_for_symmetric(self) -> None:
        """Looks for symmetric algorithms, once: they are found where others are not."""
        symmetric, self.symmetric = self.symmetric, None
        if symmetric is None:
            return
        began = now()
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
        self.seeds.turns.asked_seconds += now() - began

    def _admits_cut(self, candidate: Candidate) -> bool:
        """Whether chunks that are cut further are those of a candidate within the limits."""
        source, most = self.source, self.source.most_rounds(candidate.steps)
        return candidate.chunks <= source.max_chunks and (most is None or candidate.rounds <= most)

    def _shorten(self) -> None:
        """Looks for shorter ones near known algorithms, in windows of a few steps."""
        points = [point for point in self.ledger.warm_starts.points if self.ledger.keeps(point)]
        until = self.deadline.share(_SHARE_OF_WINDOWS).sooner(_SYMMETRY_SECONDS)
        with closing(self.windows.solutions(points, until)) as solutions:
            for solution in solutions:
                self._add(solution)

    def _refute(self, candidate: Candidate, solution: Solution) -> None:
        numbers = candidate.steps, candidate.rounds, candidate.chunks
        self.ledger.record(Refuted(*numbers, solution.encoding, solution.backend))

    def _pass(
        self, step: StepState, candidates: Iterable[Candidate], seconds: float | None
    ) -> None:
        """Tries candidates until one has an algorithm, or too many are undecided."""
        # Seeds may find something better meanwhile.
        of_use = takewhile(self._is_of_use, candidates)
        asked = self._writable(step, of_use)
        answers = self.trials.answers(step, self.request.strategy, asked, seconds)
        # Closed here: where Python does it in its own time, a Ctrl-C that comes then is lost.
        with closing(answers):
            undecided = 0
            began = now()
            for candidate, solution in answers:
                self.seeds.turns.asked_seconds += now() - began
                began = now()
                step.undecided.pop(candidate, None)
                if solution is None:
                    continue
                if solution.verdict is Verdict.UNKNOWN:
                    self.ledger.record(Undecided(candidate, why_undecided(solution)))
                    undecided += 1
                    if undecided >= _MOST_UNDECIDED:
                        break
                    strategy = self.request.strategy
                    if strategy is Strategy.CERTIFIED and not self.trials.rules_out(
                        candidate, step, strategy
                    ):
                        self._look_for_symmetric()
                        if self.seeds.turns.next():
                            self.ledger.report()
                        began = now()
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
            self.ledger.record(Undecided(candidate, "too many chunks for an algorithm"))
            left_out += 1
            if left_out >= _MOST_UNDECIDED:
                return

    def _is_of_use(self, candidate: Candidate) -> bool:
        return self.ledger.is_of_use(candidate.steps, candidate.bandwidth)

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
        if self.ledger.record(point):
            with self.bounds.at_once():  # the S after this one have their bounds when they come up
                self.ledger.report()
