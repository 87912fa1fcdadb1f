"""The Pareto driver: for each number of steps the cheapest candidate that has an algorithm.

The loop is Algorithm 1 of the SCCL paper (section 3.7) for every strategy: S from the distance
bound upwards, candidates in ascending order of R/C, stop at the bandwidth bound.  What differs is
where the candidates come from, see `candidates`.

A candidate that the solver could not decide within its time never counts as refuted: it becomes an
open claim, and the search goes on.  Where no time limit for a candidate was given, the certified
strategy first gives each only a few seconds, so that one hard refutation does not hide the points
behind it, and comes back to the undecided ones when it has a point for this S.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from syncoll.formula import StopReason, Verdict
from syncoll.search.bounds_table import BoundsTable
from syncoll.search.candidates import Candidate, CandidateSource
from syncoll.search.directly import solve_directly
from syncoll.search.frontier import Frontier, OpenClaim, Point
from syncoll.search.observer import Observer
from syncoll.search.request import SearchRequest, Strategy
from syncoll.solving import Solution, Solver
from syncoll.verify import require_valid

__all__ = ["search_points"]

_QUICK_SECONDS = 5.0
_THOROUGH_SECONDS = 30.0

_MULTIPLES = (4, None)
"""The limits on C of the certified strategy's passes, in multiples of the least C."""

_MOST_UNDECIDED = 16
"""With so many undecided candidates for one S the search goes on to the next: without a limit on R
they have no end, and a backend that can decide none of them (for want of a licence, say) would keep
it here for ever."""


class _OutOfTimeError(Exception):
    """The time limit of the whole search is reached."""


def search_points(
    request: SearchRequest,
    solver: Solver,
    observer: Observer,
    *,
    keep: Callable[[Frontier], None] | None = None,
    incumbents: Sequence[Point] = (),
) -> Frontier:
    """Searches a frontier by deciding one candidate after the other.

    Ctrl-C (`KeyboardInterrupt`) ends the search and returns what is known, marked as interrupted.

    Args:
        request: what to search, and how far.
        solver: decides the candidates.
        observer: is told what happens.
        keep: is given the frontier so far whenever a point was found.
        incumbents: points known before; only what is better than these is looked for.

    Raises:
        UsageError: when the limits leave nothing to search.
        ModelError: when the collective makes no sense on the topology.
        BackendError: when a backend gives a wrong answer.
    """
    run = _Search(request, solver, observer, keep, incumbents)
    try:
        run.run()
    except _OutOfTimeError:
        run.complete = False
    except KeyboardInterrupt:
        run.complete, run.interrupted = False, True
    return run.frontier()


@dataclass
class _Step:
    """What is known about one number of steps.

    Args:
        steps: S.
        reached: candidates below this R/C are settled, apart from the undecided ones.
        undecided: candidates that the solver gave up on, and why.
        cut_off: whether candidates above `reached` were left out after too many undecided ones.
    """

    steps: int
    reached: Fraction
    undecided: dict[Candidate, str] = field(default_factory=dict)
    cut_off: bool = False


class _Search:
    """One run of the driver."""

    def __init__(
        self,
        request: SearchRequest,
        solver: Solver,
        observer: Observer,
        keep: Callable[[Frontier], None] | None,
        incumbents: Sequence[Point],
    ) -> None:
        self.request, self.solver, self.observer = request, solver, observer
        self.keep = keep
        self.began = time.perf_counter()
        self.bounds = BoundsTable(request.topology, request.collective)
        self.source = CandidateSource(request, self.bounds)
        self.points: list[Point] = sorted(incumbents, key=lambda p: p.steps)
        self.steps: list[_Step] = []
        self.current: _Step | None = None
        self.complete = True
        self.interrupted = False
        self.optimal = False
        self.tried: set[Candidate] = set()
        self.tried_at: Counter[int] = Counter()

    def run(self) -> None:
        source = self.source
        self.observer.bounded(None, source.least_bandwidth)
        assert source.max_steps is not None
        for steps in range(source.least_steps, source.max_steps + 1):
            bound = self._bound(steps)
            self.current = _Step(steps, bound)
            self.steps.append(self.current)
            if self.request.strategy is Strategy.PAPER:
                all_of_them = source.candidates(steps, self._best(steps))
                self._pass(all_of_them, self.request.point_limit, settles=True)
            else:
                self._deepen(steps)
            self.current = None
            best = self._best(steps)
            if best is not None and best <= source.least_bandwidth:
                self.optimal = True
                return

    def _best(self, steps: int | None = None) -> Fraction | None:
        """The least R/C found with at most so many steps."""
        return min(
            (p.bandwidth for p in self.points if steps is None or p.steps <= steps), default=None
        )

    def _bound(self, steps: int) -> Fraction:
        """The proved bound on R/C for S = `steps`."""
        if self.request.strategy is Strategy.PAPER:
            return self.source.least_bandwidth
        self._remaining()
        bound = self.source.least_bandwidth_of(steps)
        self.observer.bounded(steps, bound)
        return bound

    def _deepen(self, steps: int) -> None:
        """The certified strategy for one S.

        The cheapest candidate comes first: most often it meets the bound, and nothing is left to
        do.  Otherwise a point with few chunks is found soon, and leaves less for more chunks to
        beat.
        """
        assert self.current is not None
        first = self.request.point_limit or 2 * _QUICK_SECONDS
        quick = self.request.point_limit or _QUICK_SECONDS
        cheapest = islice(self.source.candidates(steps, self._best(steps)), 1)
        if not self._pass(cheapest, first):
            for multiples in _MULTIPLES:
                candidates = self.source.candidates(steps, self._best(steps), multiples)
                untried = (c for c in candidates if c not in self.tried)
                self._pass(untried, quick, settles=multiples is None)
        if self.request.point_limit is None:
            again = sorted(self.current.undecided, key=lambda c: (c.bandwidth, c.chunks))
            self._pass(again, _THOROUGH_SECONDS)

    def _pass(
        self, candidates: Iterable[Candidate], seconds: float | None, *, settles: bool = False
    ) -> bool:
        """Tries candidates in turn until one has an algorithm, or too many are undecided.

        Args:
            candidates: in ascending order of R/C.
            seconds: time limit for each.
            settles: whether with these, and those tried before, everything cheaper is settled.

        Returns:
            Whether one has an algorithm.
        """
        assert self.current is not None
        undecided = 0
        for candidate in candidates:
            if settles:
                self.current.reached = max(self.current.reached, candidate.bandwidth)
            if self._refuted(candidate):
                self.current.undecided.pop(candidate, None)
                continue
            solution = self._try(candidate, seconds)
            if solution.verdict is Verdict.UNKNOWN:
                self.current.undecided[candidate] = _why(solution)
                undecided += 1
                if undecided >= _MOST_UNDECIDED:
                    self.current.cut_off |= settles
                    return False
                continue
            self.current.undecided.pop(candidate, None)
            if solution.verdict is Verdict.SAT:
                self._add(solution)
                break
        else:
            return False
        # What costs no less than the point just found is of no interest any more.
        found = self._best(self.current.steps)
        assert found is not None  # the loop ended with a point
        for candidate in [c for c in self.current.undecided if c.bandwidth >= found]:
            del self.current.undecided[candidate]
        return True

    def _refuted(self, candidate: Candidate) -> bool:
        """Whether the larger relaxation rules a candidate out, once the first was not found."""
        if self.request.strategy is Strategy.PAPER or not self.tried_at.get(candidate.steps):
            return False
        bound = self.bounds.tighten(
            candidate.chunks, candidate.steps, min(20.0, self._remaining() or 20.0)
        )
        if candidate.bandwidth >= bound:
            return False
        self.observer.settled(candidate, Verdict.UNSAT, 0.0)
        return True

    def _try(self, candidate: Candidate, seconds: float | None) -> Solution:
        remaining = self._remaining()
        limits = [limit for limit in (seconds, remaining) if limit is not None]
        self.observer.trying(candidate)
        self.tried.add(candidate)
        self.tried_at[candidate.steps] += 1
        instance = self.bounds.instance(candidate.chunks, candidate.steps, candidate.rounds)
        began = time.perf_counter()
        solution = solve_directly(self.solver, instance, min(limits) if limits else None)
        self.observer.settled(candidate, solution.verdict, time.perf_counter() - began)
        if solution.outcome.reason is StopReason.CRASHED:
            # Worth knowing at once; the claim stays open all the same.
            self._remaining()
        return solution

    def _remaining(self) -> float | None:
        if self.request.time_limit is None:
            return None
        remaining = self.request.time_limit - (time.perf_counter() - self.began)
        if remaining <= 0:
            raise _OutOfTimeError
        return remaining

    def _add(self, solution: Solution) -> None:
        """Puts a solution's algorithm, at its tightest, on the frontier."""
        assert solution.algorithm is not None
        algorithm = solution.algorithm.tightened(self.request.topology)
        chunks = solution.instance.chunks
        instance = self.bounds.instance(chunks, algorithm.steps, algorithm.rounds)
        require_valid(instance, algorithm)
        bound = self.source.least_bandwidth
        if self.request.strategy is Strategy.CERTIFIED:
            bound = self.bounds.bandwidth(chunks, algorithm.steps)
        point = Point(
            instance,
            algorithm,
            solution.encoding,
            solution.backend,
            solution.total_seconds,
            solution.size,
            bound,
        )
        if any(p.dominates(point) for p in self.points):
            return
        self.points = [p for p in self.points if not point.dominates(p)] + [point]
        self.points.sort(key=lambda p: p.steps)
        self.observer.found(tuple(self.points))
        if self.keep is not None:
            self.keep(self.frontier())

    def frontier(self) -> Frontier:
        """Everything known so far."""
        source, request = self.source, self.request
        return Frontier(
            topology=request.topology,
            collective=request.collective.name,
            points=tuple(self.points),
            open=tuple(self._open()),
            scope=source.scope,
            settings={
                "strategy": str(request.strategy),
                "encoding": self.solver.encoding.name,
                "backend": self.solver.backend.name,
                "k": source.k,
                "max_steps": source.max_steps,
                "max_rounds": request.max_rounds,
                "max_chunks": source.max_chunks
                if request.strategy is Strategy.CERTIFIED
                else request.max_chunks,
                "time_limit": request.time_limit,
                "point_limit": request.point_limit,
            },
            least_steps=source.least_steps,
            least_bandwidth=source.least_bandwidth,
            complete=self.complete,
            interrupted=self.interrupted,
            seconds=time.perf_counter() - self.began,
        )

    def _open(self) -> list[OpenClaim]:
        claims = []
        stopped = "interrupted" if self.interrupted else "time limit"
        for step in self.steps:
            high = self._best(step.steps)
            if step is self.current:  # the search ended here
                low = min([step.reached, *(c.bandwidth for c in step.undecided)])
                if high is None or low < high:
                    claims.append(OpenClaim(step.steps, step.steps, low, high, stopped))
            elif step.undecided or step.cut_off:
                low = min((c.bandwidth for c in step.undecided), default=step.reached)
                reason = "; ".join(sorted(set(step.undecided.values())))
                reason = reason or "too many candidates were not decided at once"
                if high is None or low < high:  # else more steps led to an algorithm of so few
                    claims.append(OpenClaim(step.steps, step.steps, low, high, reason))
        if not self.optimal:
            high = self._best()
            after = self.steps[-1].steps + 1 if self.steps else self.source.least_steps
            reason = f"the search goes to {self.source.max_steps} steps (--max-steps)"
            if self.current is not None or not self.complete:
                reason = stopped
            claims.append(OpenClaim(after, None, self.source.least_bandwidth, high, reason))
        return claims


def _why(solution: Solution) -> str:
    outcome = solution.outcome
    text = f"{outcome.reason} of backend {solution.backend}"
    first = outcome.message.splitlines()[0] if outcome.message else ""
    return f"{text}: {first}" if first and outcome.reason is not StopReason.TIME_LIMIT else text
