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
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from syncoll.formula import StopReason, Verdict
from syncoll.plugins import SeedLimits
from syncoll.search.asking import Asking, Waiting
from syncoll.search.bounds_table import BoundsTable
from syncoll.search.candidates import Candidate, CandidateSource
from syncoll.search.evidence import Evidence
from syncoll.search.frontier import Frontier, OpenClaim, Point
from syncoll.search.hints import KnownAlgorithms
from syncoll.search.observer import Observer
from syncoll.search.proof import Refuted, covers
from syncoll.search.proving import evidence_of, open_claims, with_bounds
from syncoll.search.request import SearchRequest, Strategy
from syncoll.solving import Solution
from syncoll.verify import require_valid

__all__ = ["proofs_until", "search_points"]

_FIRST_SECONDS = 2.0
_KEEP_SECONDS = 5.0
"""How often the points of seeds are kept while they come."""

PROOF_SECONDS = 10.0
"""What the bounds of a frontier may take for which no solver was asked."""

_QUICK_SECONDS = 5.0
_THOROUGH_SECONDS = 30.0

_SEED_SECONDS = 1.0
"""The seeds of a search get no more: a solver is often as fast."""

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
    asking: Asking,
    observer: Observer,
    *,
    keep: Callable[[Frontier], None] | None = None,
    incumbents: Sequence[Point] = (),
    refuted: Iterable[Refuted] = (),
    seeds: bool = True,
) -> Frontier:
    """Searches a frontier by deciding one candidate after the other.

    Ctrl-C (`KeyboardInterrupt`) ends the search and returns what is known, marked as interrupted.

    Args:
        request: what to search, and how far.
        asking: decides the candidates.
        observer: is told what happens.
        keep: is given the frontier so far whenever a point was found.
        incumbents: points known before; only what is better than these is looked for.
        refuted: what a solver ruled out before.
        seeds: whether to ask the seeds first.

    Raises:
        UsageError: when the limits leave nothing to search.
        ModelError: when the collective makes no sense on the topology.
        BackendError: when a backend gives a wrong answer.
    """
    run = _Search(request, asking, observer, keep, incumbents, refuted)
    try:
        if seeds:
            run.seed()
        run.run()
    except _OutOfTimeError:
        run.complete = False
    except KeyboardInterrupt:
        asking.cancel_all()
        run.complete, run.interrupted = False, True
    return run.frontier()


@dataclass
class _Step:
    """What is known about one number of steps.

    Args:
        steps: S.
        undecided: candidates that the solver gave up on, and why.
    """

    steps: int
    undecided: dict[Candidate, str] = field(default_factory=dict)


class _Search:
    """One run of the driver."""

    def __init__(
        self,
        request: SearchRequest,
        asking: Asking,
        observer: Observer,
        keep: Callable[[Frontier], None] | None,
        incumbents: Sequence[Point],
        refuted: Iterable[Refuted],
    ) -> None:
        self.request, self.asking, self.observer = request, asking, observer
        self.keep = keep
        self.began = time.perf_counter()
        until = None if request.time_limit is None else self.began + request.time_limit
        self.bounds = BoundsTable(request.topology, request.collective, asking.prove, until)
        self.source = CandidateSource(request, self.bounds)
        self.points: list[Point] = sorted(incumbents, key=lambda p: p.steps)
        self.known = KnownAlgorithms(self.points)
        self.refuted: list[Refuted] = list(refuted)
        self.steps: list[_Step] = []
        self.current: _Step | None = None
        self.complete = True
        self.interrupted = False
        self.tried: set[Candidate] = set()
        self.tried_at: Counter[int] = Counter()

    def seed(self) -> None:
        """Starts from what the seeds construct."""
        only = self.asking.solver is None
        until, kept = self.bounds.until, time.perf_counter()
        limits = SeedLimits(
            self.request.max_steps if only else self.source.max_steps,
            self.request.max_rounds,
            self.request.max_chunks,
            self.request.time_limit if only else _SEED_SECONDS,
        )
        for point in self.asking.seeding.points(
            self.request.topology, self.request.collective, limits
        ):
            self.known.add(point)
            most = self.source.most_rounds(point.steps)
            if most is None or point.rounds <= most:
                self._merge(point)
            if only and self.keep is not None and time.perf_counter() >= kept + _KEEP_SECONDS:
                self.bounds.until = time.perf_counter()  # what is proved comes later
                self.keep(self.frontier())
                kept = time.perf_counter()
        if only:
            self.bounds.until = proofs_until(until)
        if self.points and self.keep is not None:
            self.keep(self.frontier())

    def run(self) -> None:
        """Asks for one number of steps after the other."""
        source = self.source
        self.observer.bounded(None, source.least_bandwidth)
        if self.asking.solver is None:
            return
        assert source.max_steps is not None
        for steps in range(source.least_steps, source.max_steps + 1):
            self._announce(steps)
            self.current = _Step(steps)
            self.steps.append(self.current)
            if self.request.strategy is Strategy.PAPER:
                all_of_them = source.candidates(steps, self._best(steps))
                self._pass(all_of_them, self.request.point_limit)
            else:
                self._deepen(steps)
            self.current = None
            best = self._best(steps)
            if best is not None and best <= source.least_bandwidth:
                return

    def _best(self, steps: int | None = None) -> Fraction | None:
        """The least R/C found with at most so many steps."""
        return min(
            (p.bandwidth for p in self.points if steps is None or p.steps <= steps), default=None
        )

    def _announce(self, steps: int) -> None:
        """Tells the proved bound on R/C for S = `steps`."""
        if self.request.strategy is Strategy.CERTIFIED:
            self._remaining()
            self.observer.bounded(steps, self.source.least_bandwidth_of(steps))

    def _deepen(self, steps: int) -> None:
        """The certified strategy for one S.

        The cheapest candidate comes first: most often it meets the bound, and nothing is left to
        do.  Otherwise a point with few chunks is found soon, and leaves less for more chunks to
        beat.
        """
        assert self.current is not None
        quick = self.request.point_limit or _QUICK_SECONDS
        cheapest = list(islice(self.source.candidates(steps, self._best(steps)), 1))
        # A stronger bound may rule it out sooner than a solver finds that out.
        if not self._pass(cheapest, self.request.point_limit or _FIRST_SECONDS):
            again = [c for c in cheapest if c in self.current.undecided]
            found = self.request.point_limit is None and self._pass(again, 2 * _QUICK_SECONDS)
        else:
            found = True
        if not found:
            for multiples in _MULTIPLES:
                candidates = self.source.candidates(steps, self._best(steps), multiples)
                untried = (c for c in candidates if c not in self.tried and not self._larger(c))
                self._pass(untried, quick)
        if self.request.point_limit is None:
            again = sorted(self.current.undecided, key=lambda c: (c.bandwidth, c.chunks))
            self._pass(again, _THOROUGH_SECONDS)
        larger = (c for c in self.source.candidates(steps, self._best(steps)) if self._larger(c))
        self._pass((c for c in larger if c not in self.tried), quick)

    def _larger(self, candidate: Candidate) -> bool:
        """Whether several copies of an undecided candidate would do: most often that is harder."""
        assert self.current is not None
        return any(
            other.bandwidth == candidate.bandwidth and candidate.chunks % other.chunks == 0
            for other in self.current.undecided
            if other != candidate
        )

    def _pass(self, candidates: Iterable[Candidate], seconds: float | None) -> bool:
        """Tries candidates in turn until one has an algorithm, or too many are undecided.

        Args:
            candidates: in ascending order of R/C.
            seconds: time limit for each.

        Returns:
            Whether one has an algorithm.
        """
        assert self.current is not None
        undecided = 0
        for candidate, solution in self._answers(candidates, seconds):
            if solution is None:
                self.current.undecided.pop(candidate, None)
                continue
            if solution.verdict is Verdict.UNKNOWN:
                self.current.undecided[candidate] = _why(solution)
                undecided += 1
                if undecided >= _MOST_UNDECIDED:
                    return False
                continue
            self.current.undecided.pop(candidate, None)
            if solution.verdict is Verdict.SAT:
                self._add(solution)
                break
            self.refuted.append(
                Refuted(
                    candidate.steps,
                    candidate.rounds,
                    candidate.chunks,
                    solution.encoding,
                    solution.backend,
                )
            )
        else:
            return False
        # What costs no less than the point just found is of no interest any more.
        found = self._best(self.current.steps)
        assert found is not None  # the loop ended with a point
        for candidate in [c for c in self.current.undecided if c.bandwidth >= found]:
            del self.current.undecided[candidate]
        return True

    def _refuted(self, candidate: Candidate) -> bool:
        """Whether an earlier answer rules a candidate out, or the larger relaxation does.

        The larger relaxation is looked at once the first candidate was not found.
        """
        ruled_out = any(
            covers(
                answer,
                candidate.steps,
                candidate.rounds,
                candidate.chunks,
                scaling=self.bounds.scales is not None,
            )
            for answer in self.refuted
        )
        if ruled_out:
            return True
        if self.request.strategy is Strategy.PAPER or not self.tried_at.get(candidate.steps):
            return False
        bound = self.bounds.tighten(
            candidate.chunks, candidate.steps, min(20.0, self._remaining() or 20.0)
        )
        return candidate.bandwidth < bound

    def _answers(
        self, candidates: Iterable[Candidate], seconds: float | None
    ) -> Iterator[tuple[Candidate, Solution | None]]:
        """Each candidate in turn with its answer, or None where something else rules it out.

        As many are asked at once as there are solvers; what nobody wants any more is cancelled.
        """
        rest = iter(candidates)
        asked: deque[tuple[Candidate, Waiting | None, float]] = deque()
        try:
            while True:
                while len(asked) < self.asking.width:
                    candidate = next(rest, None)
                    if candidate is None:
                        break
                    waiting = None
                    if not self._refuted(candidate):
                        waiting = self._ask(candidate, seconds)
                    asked.append((candidate, waiting, time.perf_counter()))
                if not asked:
                    return
                candidate, waiting, began = asked.popleft()
                if waiting is None:
                    self.observer.settled(candidate, Verdict.UNSAT, 0.0)
                    yield candidate, None
                    continue
                solution = waiting.result()
                spent = time.perf_counter() - began
                self.observer.settled(candidate, solution.verdict, spent)
                yield candidate, solution
        finally:
            for _, waiting, _ in asked:
                if waiting is not None:
                    waiting.cancel()

    def _ask(self, candidate: Candidate, seconds: float | None) -> Waiting:
        remaining = self._remaining()
        limits = [limit for limit in (seconds, remaining) if limit is not None]
        self.observer.trying(candidate)
        self.tried.add(candidate)
        self.tried_at[candidate.steps] += 1
        instance = self.bounds.instance(candidate.chunks, candidate.steps, candidate.rounds)
        hint = self.known.nearest(instance)
        return self.asking.ask(instance, min(limits) if limits else None, hint)

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
        point = Point(
            instance,
            algorithm,
            solution.encoding,
            solution.backend,
            solution.total_seconds,
            solution.size,
        )
        self.known.add(point)
        if self._merge(point) and self.keep is not None:
            self.keep(self.frontier())

    def _merge(self, point: Point) -> bool:
        """Whether the point belongs on the frontier, where it then is."""
        if any(p.dominates(point) for p in self.points):
            return False
        self.points = [p for p in self.points if not point.dominates(p)] + [point]
        self.points.sort(key=lambda p: p.steps)
        self.observer.found(tuple(self.points))
        return True

    def frontier(self) -> Frontier:
        """Everything known so far."""
        source, request = self.source, self.request
        searched = {step.steps for step in self.steps} | {p.steps for p in self.points}
        evidence = evidence_of(source, self.points, self.refuted, sorted(searched))
        return Frontier(
            topology=request.topology,
            collective=request.collective.name,
            points=tuple(with_bounds(self.points, evidence)),
            open=tuple(self._open(evidence)),
            scope=self._scope,
            settings={
                "strategy": str(request.strategy),
                "encoding": self.asking.encoding_name,
                "backend": self.asking.backend_name,
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
            evidence=evidence,
            refuted=tuple(self.refuted),
        )

    @property
    def _scope(self) -> str:
        """Among what the points are the best, in words."""
        if self.asking.solver is None:
            return f"nothing, only what {self.asking.backend_name} constructs"
        return self.source.scope

    def _open(self, evidence: Evidence) -> list[OpenClaim]:
        reasons = {step.steps: self._reason(step) for step in self.steps}
        claims = open_claims(
            evidence, self.source.least_steps, lambda steps: reasons.get(steps, self._beyond)
        )
        best = self._best()
        if best is None or best > self.source.least_bandwidth:
            after = max((p.steps for p in evidence.proofs), default=self.source.least_steps - 1)
            low = self.source.least_bandwidth
            claims.append(OpenClaim(after + 1, None, low, best, self._beyond))
        return claims

    @property
    def _beyond(self) -> str:
        """Why nothing is known about S that were not searched."""
        if self.current is not None or not self.complete:
            return self._stopped
        if self.asking.solver is None:
            return "no solver was asked"
        return f"the search goes to {self.source.max_steps} steps (--max-steps)"

    @property
    def _stopped(self) -> str:
        return "interrupted" if self.interrupted else "time limit"

    def _reason(self, step: _Step) -> str:
        """Why something better may exist for this S."""
        if step is self.current:
            return self._stopped
        return "; ".join(sorted(set(step.undecided.values()))) or (
            "too many candidates were not decided at once"
        )


def proofs_until(limit: float | None) -> float:
    """Until when bounds are computed for what seeds alone constructed: not much longer than that
    took, since nothing is searched that they could end.

    Args:
        limit: when the time of the search is over; None for no limit.
    """
    now = time.perf_counter()
    return now + PROOF_SECONDS if limit is None else min(now + PROOF_SECONDS, max(limit, now + 1))


def _why(solution: Solution) -> str:
    outcome = solution.outcome
    text = f"{outcome.reason} of backend {solution.backend}"
    first = outcome.message.splitlines()[0] if outcome.message else ""
    return f"{text}: {first}" if first and outcome.reason is not StopReason.TIME_LIMIT else text
