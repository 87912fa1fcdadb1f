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
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.formula import StopReason, Verdict
from syncoll.plugins import SeedLimits
from syncoll.results import Solution
from syncoll.results.evidence import Evidence
from syncoll.results.frontier import Frontier, OpenClaim, Point
from syncoll.results.proof import Refuted, covers
from syncoll.searching.asking import Asking, Waiting
from syncoll.searching.bounds_table import BoundsTable
from syncoll.searching.candidates import Candidate, CandidateSource
from syncoll.searching.hints import KnownAlgorithms
from syncoll.searching.observer import Observer
from syncoll.searching.proving import evidence_of, open_claims, with_bounds
from syncoll.searching.request import SearchRequest, Strategy
from syncoll.trust import require_valid

__all__ = [
    "NO_BOUND",
    "ONLY_CUTS",
    "OUT_OF_MEMORY",
    "patience_of",
    "proofs_until",
    "search_points",
    "seed_limits",
]

_FIRST_SECONDS = 2.0
_KEEP_SECONDS = 5.0
"""How often the points of seeds are kept while they come."""

PROOF_SECONDS = 10.0
"""What the bounds of a frontier may take for which no solver was asked."""

_QUICK_SECONDS = 5.0
_THOROUGH_SECONDS = 30.0

_SEED_SECONDS = 1.0
"""The work that the seeds of a search may do for more than one algorithm each: a solver is often as
fast.  Where there is a time limit it may be more, since searches that need one are long: ..."""

_SHARE_OF_SEEDS = (0.05, 0.3)
"""... this part of it; and never more than that part."""

_SHARE_FOR_SEEDS = 0.6
"""When this part of the time is over they are stopped, however little a busy machine let them
work."""

_PATIENCE_SECONDS = 10.0
_SHARE_OF_PATIENCE = 0.15
"""What a seed's work may take until it has its first algorithm: on a large machine a solver has
none for long."""

_SHARE_OF_SEEDS_ALONE = 0.7
"""The same where no solver is asked; the rest is for what can be proved about their points."""

NO_BOUND = "no time for a bound of its own"
ONLY_CUTS = "no time for a bound beyond the cuts around single nodes"

_MULTIPLES = (4, None)
"""The limits on C of the certified strategy's passes, in multiples of the least C."""

_MOST_UNDECIDED = 16
"""With so many undecided candidates for one S the search goes on to the next: without a limit on R
they have no end, and a backend that can decide none of them (for want of a licence, say) would keep
it here for ever."""


OUT_OF_MEMORY = "out of memory"
"""Why a search ended before its time, in an open claim."""


def search_points(
    request: SearchRequest,
    asking: Asking,
    observer: Observer,
    *,
    keep: Callable[[Frontier], None] | None = None,
    incumbents: Sequence[Point] = (),
    refuted: Iterable[Refuted] = (),
    seeds: bool = True,
    deadline: Deadline | None = None,
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
        deadline: when it must be over; None for the request's time limit from now on.

    Raises:
        UsageError: when the limits leave nothing to search.
        ModelError: when the collective makes no sense on the topology.
        BackendError: when a backend gives a wrong answer.
    """
    if deadline is None:
        deadline = Deadline.after(request.time_limit)
    run = _Search(request, asking, observer, keep, incumbents, refuted, deadline)
    try:
        if seeds:
            run.seed()
        run.run()
    except OutOfTimeError:
        run.complete = False
    except KeyboardInterrupt:
        asking.cancel_all()
        run.complete, run.interrupted = False, True
    except MemoryError as error:
        asking.cancel_all()
        asking.lost(f"{OUT_OF_MEMORY}: {error}")
        run.complete, run.exhausted = False, True
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
        deadline: Deadline,
    ) -> None:
        self.request, self.asking, self.observer = request, asking, observer
        self.keep = keep
        self.began = time.perf_counter()
        self.deadline = deadline
        self.bounds = BoundsTable(request.topology, request.collective, asking.prove, deadline)
        self.source = CandidateSource(request, self.bounds)
        self.points: list[Point] = sorted(incumbents, key=lambda p: p.steps)
        self.known = KnownAlgorithms(self.points)
        self.refuted: list[Refuted] = list(refuted)
        self.steps: list[_Step] = []
        self.current: _Step | None = None
        self.complete = True
        self.interrupted = self.exhausted = False
        self.tried: set[Candidate] = set()
        self.tried_at: Counter[int] = Counter()

    def seed(self) -> None:
        """Starts from what the seeds construct."""
        only = self.asking.solver is None
        kept = time.perf_counter()
        max_steps = self.request.max_steps if only else self.source.max_steps
        limits = seed_limits(self.request, self.deadline, max_steps, alone=only)
        for point in self.asking.seeding.points(
            self.request.topology, self.request.collective, limits, patience_of(self.deadline)
        ):
            self.known.add(point)
            most = self.source.most_rounds(point.steps)
            if (most is None or point.rounds <= most) and self.source.covers(point.chunks):
                self._merge(point)
            if only and self.keep is not None and time.perf_counter() >= kept + _KEEP_SECONDS:
                self.bounds.deadline = NEVER.sooner(0.0)  # what is proved comes later
                self.keep(self.frontier())
                kept = time.perf_counter()
        if only:
            self.bounds.deadline = proofs_until(self.deadline)
        if self.points and self.keep is not None:
            self.keep(self.frontier())

    def run(self) -> None:
        """Asks for one number of steps after the other."""
        source = self.source
        if self.bounds.irregular:
            self.observer.limited(source.max_chunks)
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
        # Closed here: where Python does it in its own time, a Ctrl-C that comes then is lost.
        with closing(self._answers(candidates, seconds)) as answers:
            if not self._found(answers):
                return False
        # What costs no less than the point just found is of no interest any more.
        found = self._best(self.current.steps)
        assert found is not None  # the loop ended with a point
        for candidate in [c for c in self.current.undecided if c.bandwidth >= found]:
            del self.current.undecided[candidate]
        return True

    def _found(self, answers: Iterable[tuple[Candidate, Solution | None]]) -> bool:
        """Whether a candidate has an algorithm, before too many are undecided."""
        assert self.current is not None
        undecided = 0
        for candidate, solution in answers:
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
                return True
            self.refuted.append(
                Refuted(
                    candidate.steps,
                    candidate.rounds,
                    candidate.chunks,
                    solution.encoding,
                    solution.backend,
                )
            )
        return False

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
                scaling=not self.bounds.irregular,
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
    ) -> Generator[tuple[Candidate, Solution | None], None, None]:
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
        return self.asking.ask(instance, min(limits) if limits else None, hint, self.deadline)

    def _remaining(self) -> float | None:
        self.deadline.check()
        return self.deadline.seconds

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
                "max_chunks": source.max_chunks if source.limits_chunks else None,
                "time_limit": request.time_limit,
                "point_limit": request.point_limit,
            },
            left_out=source.left_out,
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
            evidence,
            self.source.least_steps,
            lambda steps: reasons.get(steps, self._beyond) + self._unproved(steps),
        )
        best = self._best()
        if best is None or best > self.source.least_bandwidth:
            after = max((p.steps for p in evidence.proofs), default=self.source.least_steps - 1)
            low = self.source.least_bandwidth
            reason = self._beyond + self._unproved(None)
            claims.append(OpenClaim(after + 1, None, low, best, reason))
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
        if self.exhausted:
            return OUT_OF_MEMORY
        return "interrupted" if self.interrupted else "time limit"

    def _unproved(self, steps: int | None) -> str:
        """What was left out of the proofs for want of time."""
        if steps not in self.bounds.skipped:
            return ""
        return f"; {NO_BOUND}" if steps is not None else f"; {ONLY_CUTS}"

    def _reason(self, step: _Step) -> str:
        """Why something better may exist for this S."""
        whys = sorted({part for why in step.undecided.values() for part in why.split("; ")})
        if step is self.current:
            return "; ".join([self._stopped, *(w for w in whys if not w.startswith("time limit"))])
        return "; ".join(whys) or ("too many candidates were not decided at once")


def seed_limits(
    request: SearchRequest, deadline: Deadline, max_steps: int | None, *, alone: bool
) -> SeedLimits:
    """How far the seeds of a search may go.

    Args:
        request: the limits on R and C.
        deadline: when the search must be over.
        max_steps: S at most; None for no limit.
        alone: whether no solver is asked.
    """
    part = _SHARE_OF_SEEDS_ALONE if alone else _SHARE_FOR_SEEDS
    until = deadline.share(part)
    work = until.seconds
    if not alone:
        work = _SEED_SECONDS
        if not deadline.is_never:
            least, most = (max(0.0, deadline.left()) * part for part in _SHARE_OF_SEEDS)
            work = min(max(work, least), most)
    return SeedLimits(max_steps, request.max_rounds, request.max_chunks, work, until)


def patience_of(deadline: Deadline) -> float:
    """How much work each seed may do until it has its first algorithm.

    Args:
        deadline: when the search must be over.
    """
    return min(_PATIENCE_SECONDS, max(0.0, deadline.left()) * _SHARE_OF_PATIENCE)


def proofs_until(limit: Deadline) -> Deadline:
    """Until when bounds are computed for what seeds alone constructed: not much longer than that
    took, since nothing is searched that they could end.

    Args:
        limit: when the time of the search is over.
    """
    return limit.sooner(PROOF_SECONDS)


def _why(solution: Solution) -> str:
    outcome = solution.outcome
    text = f"{outcome.reason} of backend {solution.backend}"
    if outcome.losses:
        lost = [loss.partition(":")[0] for loss in outcome.losses]
        timed_out = outcome.reason is StopReason.TIME_LIMIT
        return "; ".join(dict.fromkeys([*lost, text] if timed_out else lost))
    first = outcome.message.splitlines()[0] if outcome.message else ""
    return f"{text}: {first}" if first and outcome.reason is not StopReason.TIME_LIMIT else text
