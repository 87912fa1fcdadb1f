"""The ledger of a search: its points and families, their proofs, and the open regions."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from syncoll.clock import limit_in_words
from syncoll.ledger.bounds_table import BoundsTable, in_turn
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.events import BOUNDS, Bound, Event, Log, Undecided
from syncoll.ledger.incumbents import (
    FEW_STEPS,
    MOST_LISTED,
    belonging,
    few_steps,
    merged,
    unbeaten,
    within,
)
from syncoll.ledger.proof_state import with_claims
from syncoll.ledger.request import Candidate, SearchRequest, Strategy
from syncoll.ledger.warm_starts import WarmStarts
from syncoll.results.family import Family
from syncoll.results.frontier import (
    Frontier,
    OpenClaim,
    Point,
    known_cost,
    near,
    staircase,
    thinned,
)
from syncoll.results.proof import Refuted
from syncoll.wording import counted

INTERRUPTED = "interrupted"
"""The reason in an open claim if the search was interrupted."""

OnPoints = Callable[[Frontier], None]
Accepts = Callable[[Point], bool]

_NUMBER = re.compile(r"\b[0-9]+\b")


def scope_of_seeds(names: str, where: str = "") -> str:
    """The set that seeds search, in words; without a name there is no seed."""
    return f"only the points that {names} constructs{where}" if names else "no points: no seed fits"


@dataclass
class StepState:
    """The questions to solvers about one number of steps.

    Args:
        best: the least R/C known with at most S steps.
        cheapest: the candidate that was tried first.
        tried: the candidates that a solver was asked about.
        undecided: the candidates that it did not decide, and why.
    """

    steps: int
    best: Fraction | None = None
    cheapest: Candidate | None = None
    tried: set[Candidate] = field(default_factory=set)
    undecided: dict[Candidate, str] = field(default_factory=dict)

    def is_larger(self, candidate: Candidate) -> bool:
        """Whether the candidate is several copies of an undecided one, which is mostly harder."""
        return any(
            other.bandwidth == candidate.bandwidth and candidate.chunks % other.chunks == 0
            for other in self.undecided
            if other != candidate
        )


class Ledger:
    """The complete state of one search of a collective's frontier.
    Raises `UsageError` if the collective is defined for no C within the limits. Raises
    `ModelError` if the demands of the collective are impossible on the topology.

    Args:
        asked: the encoding and the backend in use, for the record; no encoding for seeds alone.
        on_points: is called with the frontier whenever it is reported.
        accepts: whether there is time to process a new point for its report.
        losses: reasons why answers were lost so far, in words; the frontier lists them.
        composed: whether points are composed of parts: then only limits that a user set are limits.

    Attributes:
        source: the candidates within the limits.
        warm_starts: algorithms near which a solver may find better ones.
        refuted: candidates by solvers.
        steps: the S that solvers were asked about, in order.
        current: the S that solvers are being asked about.
        stopped: why the search ended early, in words; empty for a complete search.
        complete: whether nothing else was left out for want of time.
        scope: the set that was searched, in words; empty for the candidates.
        late: the reason that claims give if the time was over.
    """

    def __init__(
        self,
        request: SearchRequest,
        asked: Mapping[str, str | None],
        bounds: BoundsTable,
        log: Log,
        on_points: OnPoints | None = None,
        *,
        accepts: Accepts = lambda _: True,
        losses: Iterable[str] = (),
        composed: bool = False,
    ) -> None:
        self.request, self.asked, self.bounds, self.log = request, asked, bounds, log
        self.on_points, self.accepts, self.composed = on_points, accepts, composed
        self.source = CandidateSource(request, bounds)
        self.k = request.k if composed else self.source.k
        self.points: list[Point] = []
        self.warm_starts = WarmStarts()
        self.refuted: list[Refuted] = []
        self.late = limit_in_words()
        self._losses = losses
        self._is_for_seeds = asked["encoding"] is None
        self._families: list[Family] = []
        self._proved: dict[int | None, Fraction] = {}
        self.begin_again()

    def begin_again(self) -> None:
        """Begins a search that keeps the results so far."""
        self.began = time.perf_counter()
        self.steps: list[StepState] = []
        self.current: StepState | None = None
        self.stopped, self.complete, self.scope = "", True, ""
        self._listed = 0

    @property
    def families(self) -> tuple[Family, ...]:
        """The families that belong on the frontier."""
        return belonging(self._families, self.request, self.points)

    def record(self, event: Event, engine: str = "", *, limited: bool = False) -> bool:
        """Enters a result of an engine; returns whether it is new and improves the state.

        Args:
            engine: empty for the engine whose turn it is, or that the event names.
            limited: whether a point beyond the limits of the search is only a warm start.
        """
        new, steps = True, None
        match event:
            case Point():
                self.warm_starts.add(event)
                if (limited or self.request.max_messages) and not self.keeps(event):
                    return False
                points, steps = self.points, event.steps
                if unbeaten([event], self.families):
                    points = merged(points, event, self.request.tolerance)
                new = points is not self.points
                if new and not self.accepts(event):
                    return False
                self.bounds.found(steps, event.bandwidth, event)
                self.points = points
            case Family():
                new = not any(event is known for known in self._families)
                self._families += [event] if new else []
                steps = event.steps.at(event.first)
            case Bound():
                steps = event.steps
                if new := event.bandwidth > self._proved.get(steps, Fraction(-1)):
                    self._proved[steps] = event.bandwidth
            case Refuted():
                self.refuted.append(event)
            case Undecided(candidate, why):
                state = next(one for one in self.steps if one.steps == candidate.steps)
                state.undecided[candidate] = why
                engine = engine or self.asked["backend"] or ""
        if new:
            found, proved = self.cheapest(), self.proved(steps)
            if steps is not None:
                found = known_cost(steps, self.points, self.families)
            gap = found / proved if found is not None and proved > 0 else None
            name = self.request.collective.name
            self.log.enter(name, event, engine, tuple(self.points), gap)
        return new

    def proved(self, steps: int | None) -> Fraction:
        """The best bound entered for at most `steps` steps (None: any); -1 for none."""
        holding = (
            bound
            for s, bound in self._proved.items()
            if s is None or (steps is not None and s >= steps)
        )
        return max(holding, default=Fraction(-1))

    def cheapest(self) -> Fraction | None:
        """The least R/C found, or the least limit of a family."""
        ends = [p.bandwidth for p in self.points] + [f.limit for f in self.families]
        return min(ends, default=None)

    def list_members(self) -> bool:
        """Enters members of few steps of new families; returns whether one is new.  The number of
        members that seeds propose depends on the time."""
        grown, self._listed = self._families[self._listed :], len(self._families)
        members = few_steps(grown, self.request)
        new = [self.record(point) for point in members if self.keeps(point)]
        return any(new)

    def keeps(self, point: Point) -> bool:
        """Whether a point from outside the candidates keeps the limits."""
        most = None if self.k is None else (point.steps + self.k) * self.request.grains
        kept = within(point, self.request) and (most is None or point.rounds <= most)
        limit = self.request.max_messages
        return kept and (limit is None or point.messages <= limit)

    def best(self, steps: int) -> Fraction | None:
        """The least R/C found with at most `steps` steps."""
        return min((p.bandwidth for p in self.points if p.steps <= steps), default=None)

    def is_useful(self, steps: int, bandwidth: Fraction, chunks: int | None = None) -> bool:
        """Whether an algorithm of these costs would improve the frontier, and would be the fastest
        for some requested size; with a C also whether it would be the simplest near the best."""
        best, aim = self.best(steps), self.request.aim
        if best is not None and bandwidth >= best:
            return chunks is not None and self.is_simpler(steps, bandwidth, chunks)
        return aim is None or aim.is_useful(steps, bandwidth, self.points)

    def is_simpler(self, steps: int, bandwidth: Fraction, chunks: int) -> bool:
        """Whether an algorithm would be the simplest one near the best that is known for S."""
        tolerance = self.request.tolerance
        among = near(self.points, steps, tolerance, self.families)
        least = known_cost(steps, among, self.families)
        if least is None or bandwidth > (1 + tolerance) * least:
            return False
        return all(chunks < point.chunks for point in among)

    def simpler(self, source: CandidateSource, steps: int) -> Iterator[Candidate]:
        """The candidates of S steps that would be simplest near the best that is known, the ones of
        the fewest chunks first, as long as there is no such point."""
        best = known_cost(steps, self.points, self.families)
        if best is None:
            best = source.bounds.known(steps)
        for one in source.near(steps, best * (1 + self.request.tolerance)):
            among = near(self.points, steps, self.request.tolerance, self.families)
            if any(point.chunks <= one.chunks for point in among):
                return
            yield one

    def may_serve(self, steps: int) -> bool:
        """Whether the least cost that is possible for S would improve the frontier."""
        paper = self.request.strategy is Strategy.PAPER  # one bound for every S
        return self.is_useful(steps, self.bounds.bandwidth(None if paper else steps))

    def tighten(self, steps: int, seconds: float) -> Fraction:
        """As `bound`, for up to about `seconds` and with relaxations that take long."""
        with self.log.turn(BOUNDS):
            bandwidth = self.bounds.tighten(steps, seconds)
            self.record(Bound(steps, bandwidth))
        return bandwidth

    def gaps_are_open(self, source: CandidateSource | None = None) -> bool:
        """Whether a better point of any S, within the limits, may exist.  If the limit of a family
        meets the bound for any number of steps, the S beyond the last point do not count."""
        source, families = source or self.source, self.families
        points = unbeaten(self.points, families)
        least, low = source.least_steps, source.bounds.bandwidth()
        if not points or points[0].steps > least:
            return True
        last = source.request.max_steps
        if last is None:
            ends = [*(p.bandwidth for p in points), *(family.limit for family in families)]
            last = staircase(points)[-1].steps
            if min(ends) > low:
                return True
        for steps in range(least, last + 1):
            best = known_cost(steps, points, families) or Fraction(0)
            if best > source.bounds.bandwidth(steps):
                return True
            if best <= low:
                break  # closed, as for every S after it
        return False

    def bound(self, steps: int | None) -> Bound:
        """Bounds R/C for at most `steps` steps (None: any number), as far as there is time."""
        with self.log.turn(BOUNDS):
            return Bound(steps, self.bounds.bandwidth(steps))

    def report(self) -> Frontier:
        """Reports and saves the frontier found so far."""
        frontier = self.frontier()
        if self.on_points is not None:
            self.on_points(frontier)
        return frontier

    def frontier(self) -> Frontier:
        """The frontier found so far, with its proofs and open regions."""
        source, request, families = self.source, self.request, self.families
        points = thinned(unbeaten(self.points, families), request.tolerance, families)
        steps = self._steps_of(points, families)
        scope = self.scope or source.scope
        if self._is_for_seeds and not self.scope:
            scope = scope_of_seeds(self.asked["backend"] or "")
        limit = source.max_chunks if source.limits_chunks else None
        found = Frontier(
            request.topology,
            request.collective.name,
            points,
            (),
            scope,
            {
                "strategy": str(request.strategy),
                **self.asked,
                "k": self.k,
                "max_steps": source.max_steps,
                "max_rounds": request.max_rounds,
                "max_chunks": request.max_chunks if self.composed else limit,
                "max_messages": request.max_messages,
                "tolerance": str(request.tolerance),
                "time_limit": request.time_limit,
                "point_limit": request.point_limit,
                **({} if request.work is None else {"work": request.work}),
                "symmetric": request.symmetric,
            },
            complete=self.complete and not self.stopped,
            interrupted=self.stopped == INTERRUPTED,
            seconds=time.perf_counter() - self.began,
            refuted=tuple(self.refuted),
            families=families,
        )
        with self.log.turn(BOUNDS):
            reason = ""
            if self.composed:
                only = "searched" if self._is_for_seeds else "only these were searched"
                why = self.late if self.bounds.deadline.passed else f"{only}: {scope}"
                if self.stopped != limit_in_words():
                    why = self.stopped or why
                for one in () if self.bounds.deadline.is_never else in_turn(steps):
                    if not self.bounds.deadline.passed:
                        self.bounds.bandwidth(one)
                reason = "; ".join(dict.fromkeys([why, *self._losses]))
            why_open = (lambda _: reason) if self.composed else self._why_open
            found = with_claims(found, source, steps, why_open)
        proofs = () if found.evidence is None else found.evidence.proofs
        bounds = [(None, found.least_bandwidth), *((one.steps, one.bound) for one in proofs)]
        for s, bandwidth in bounds:  # only bounds that exceed the earlier ones
            if bandwidth > self.proved(s):
                self.record(Bound(s, bandwidth))
        return found

    def ruled_out(self) -> Frontier | None:
        """A frontier without points, if distances and cuts prove that no algorithm keeps the limits
        on S and R; None otherwise."""
        why = self.source.impossible
        if not why:
            return None
        with self.bounds.at_once():
            found = self.frontier()
        claim = OpenClaim(found.least_steps, None, found.least_bandwidth, None, why)
        return replace(found, open=(claim,), impossible=why)

    def _steps_of(self, points: Sequence[Point], families: Sequence[Family]) -> list[int]:
        """The S with a proof: all that were searched; for compositions all that may occur and that
        are near enough for a bound of their own."""
        found, least = {point.steps for point in points}, self.source.least_steps
        if self.composed and self._is_for_seeds:  # unsearched S need no proofs in between
            return sorted({least, *found})
        if self.composed:
            every = range(least, max(found, default=least) + 1)
            near = (s for s in every if not self.bounds.is_far(s))
            return sorted({*near, *found})
        searched = {step.steps for step in self.steps}
        return sorted(searched | found | set(range(least, FEW_STEPS + 1) if families else ()))

    def _why_open(self, steps: int | None) -> str:
        """Why something better may exist for this S, or beyond all that were searched."""
        step = next((one for one in self.steps if one.steps == steps), None)
        # A frontier that is passed on while the search goes on reads as if its time were over.
        limit = limit_in_words()
        stopped = self.stopped or limit
        if step is None:
            limited = steps is None and self.request.max_steps is not None
            if not limited and (self.current is not None or self.stopped):
                return stopped
            if self._is_for_seeds:
                return "no solver was asked"
            most = self.request.max_steps or 0
            if limited and self._listed and most > MOST_LISTED:
                return f"members of pipelines are listed up to {MOST_LISTED} steps"
            if limited:
                return f"the search goes to {counted(self.source.max_steps, 'step')} (--max-steps)"
            return "solvers were only asked about fewer steps; raise --max-steps"
        whys = joined(part for why in step.undecided.values() for part in why.split("; "))
        if step is self.current:
            return "; ".join([stopped, *(w for w in whys if not w.startswith(limit))])
        if not whys and not self.may_serve(step.steps):
            return "not the fastest for any of the sizes"
        if not whys and self.request.max_messages is not None:
            return "algorithms of more messages were left out (--max-messages)"
        return "; ".join(whys) or "too many candidates were left undecided"


def joined(texts: Iterable[str]) -> list[str]:
    """Texts in alphabetical order without duplicates.  Texts that differ only in numbers become the
    first of them and the count of the others.

    >>> joined(["time limit of z3", "C = 10 is too much", "C = 9 is too much", "C = 9 is too much"])
    ['C = 9 is too much (and 1 more with other numbers)', 'time limit of z3']
    """
    alike: dict[str, set[str]] = {}
    for text in texts:
        alike.setdefault(_NUMBER.sub("0", text), set()).add(text)
    found = []
    for _, some in sorted(alike.items()):
        first = min(some, key=lambda text: [int(number) for number in _NUMBER.findall(text)])
        others = f" (and {len(some) - 1} more with other numbers)" if len(some) > 1 else ""
        found.append(f"{first}{others}")
    return found
