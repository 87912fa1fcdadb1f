"""The frontier of any collective, through the collectives that it is made of.

* An inverse is searched as its dual on the topology with every link reversed (SCCL paper, section
  3.5), and every point found is inverted; bounds and open claims carry over.
* A composed collective's frontier comes from the frontiers of its parts (`composing`).
* A sum of what is added up and what is moved begins with the frontiers of its terms (`overlaying`).

Every algorithm that comes out is verified again as an algorithm of the collective that was asked
for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import count
from math import exp, log

from syncoll.clock import counting, is_counted
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.events import Log
from syncoll.ledger.incumbents import known_cost, merged, within
from syncoll.ledger.ledger import INTERRUPTED, OnPoints
from syncoll.ledger.proof_state import without_algorithms
from syncoll.ledger.request import Observer, SearchRequest
from syncoll.model import Collective
from syncoll.results.family import Family
from syncoll.results.frontier import Frontier, OpenClaim, Point
from syncoll.searching.answers import AnswerSource
from syncoll.searching.composing import Composing, Known, SearchTask
from syncoll.searching.decompose import Decomposition
from syncoll.searching.driver import OUT_OF_MEMORY, search_points
from syncoll.searching.duals import Dual, inverted_family, inverted_point
from syncoll.searching.overlaying import SHARES_OF_TERMS, Overlays
from syncoll.searching.parts import same_problem, underlying
from syncoll.solving import Solver

__all__ = ["search"]

_PASS_SECONDS, _NEAR = 60.0, 1.01
"""How long a search without a limit of time of what is composed of parts goes on at first, and how
many times what is proved is near enough; a pass that comes nearer by no more is the last."""


def search(
    request: SearchRequest,
    answers: Solver | AnswerSource,
    observer: Observer | None = None,
    *,
    on_points: OnPoints | None = None,
    deadline: Deadline | None = None,
) -> Frontier:
    """Searches a frontier.

    Ctrl-C (`KeyboardInterrupt`) ends the search and returns what is known, marked as interrupted.

    Args:
        answers: decides the candidates; an `AnswerSource` may do so with a store and a pool.
        on_points: is given the frontier so far whenever a point was found.
        deadline: when it must be over; None for the request's time limit from now on.

    Raises:
        UsageError: when the limits leave nothing to search.
        ModelError: when the collective makes no sense on the topology, or its chunks and nodes are
            too many for an algorithm.
        BackendError: when a backend gives a wrong answer.
        OutOfTimeError: when the time was over before anything is known.
    """
    _require_room(request)
    source = answers if isinstance(answers, AnswerSource) else AnswerSource(answers)
    counts = request.work is not None and not is_counted()
    with counting() if counts else nullcontext():
        if deadline is None:
            deadline = Deadline.after(request.time_limit if request.work is None else request.work)
        return _ruled_out(request, source) or _Frontiers(source, Log.of(observer)).search(
            SearchTask(request, deadline, on_points)
        )


def _require_room(request: SearchRequest) -> None:
    """Passes when an algorithm for the least C is not too large to be looked for."""
    collective, nodes = request.collective, request.topology.num_nodes
    least = collective.least_chunks(nodes)
    if least is not None:
        collective.tabulate(nodes, least).starts.require_dense()


def _ruled_out(request: SearchRequest, answers: AnswerSource) -> Frontier | None:
    """A frontier without points if no algorithm keeps the limits, proved before any search."""
    if request.max_steps is None and request.max_rounds is None:
        return None
    began = time.perf_counter()
    source = CandidateSource(
        request, BoundsTable(request.topology, request.collective, answers.prove)
    )
    if not source.impossible:
        return None
    found = Frontier(
        request.topology,
        request.collective.name,
        (),
        (),
        source.scope,
        request.settings(
            answers.asked,
            k=request.k,
            max_steps=request.max_steps,
            max_chunks=request.max_chunks,
        ),
    )
    found = without_algorithms(found, source)
    return replace(found, seconds=time.perf_counter() - began)


class _Frontiers(Decomposition[SearchTask, Frontier]):
    """One search with the frontiers of parts that came up in it."""

    def __init__(self, answers: AnswerSource, observer: Observer) -> None:
        self.answers, self.observer = answers, observer
        self._known: list[tuple[SearchRequest, Frontier]] = []

    def search(self, task: SearchTask) -> Frontier:
        return self.answer(task, task.request.collective)

    def direct(self, question: SearchTask, collective: Collective) -> Frontier:
        """That of a collective with a pre and a post; the same question is asked once.

        A topology that its reversal maps to itself lets allgather serve for its inverse too.
        """
        for known, frontier in self._known:
            if _same_question(known, question.request):
                return frontier
        frontier = self._points(question, self.answers)
        if not frontier.interrupted:
            self._known.append((question.request, frontier))
        return frontier

    def knows(self, request: SearchRequest) -> bool:
        """Whether a question, or that which it turns out to be, was asked before."""
        asked = underlying(request)
        return any(same_problem(known, asked) for known, _ in self._known)

    def together(self, question: SearchTask, collective: Collective) -> Frontier:
        """That of a sum: what its terms have, laid over each other, and what is better."""
        began = time.perf_counter()
        request = question.request
        bounds = BoundsTable(request.topology, request.collective, self.answers.prove)
        source = CandidateSource(request, bounds)  # what cannot be is said at once
        points: list[Point] = []
        stopped = ""
        for share in SHARES_OF_TERMS:
            # What had less time is searched anew.
            overlays = Overlays(_Frontiers(self.answers, self.observer), question, share)
            for point in overlays.points():
                if within(point, request) and source.keeps(point):
                    points = merged(points, point)
            self.observer.began(collective.name)
            self.observer.found(tuple(points))
            if overlays.interrupted:
                stopped = INTERRUPTED
                break
        frontier = self._points(question, self.answers, points, stopped, bounds)
        terms = " and ".join(term.name for term in collective.terms)
        scope = f"frontiers of {terms} laid over each other, and {frontier.scope}"
        return replace(frontier, scope=scope, seconds=time.perf_counter() - began)

    def _points(
        self,
        task: SearchTask,
        answers: AnswerSource,
        incumbents: Sequence[Point] = (),
        stopped: str = "",
        bounds: BoundsTable | None = None,
    ) -> Frontier:
        self.observer.began(task.request.collective.name)
        return search_points(
            task.request,
            answers,
            self.observer,
            on_points=task.on_points,
            incumbents=incumbents,
            stopped=stopped,
            bounds=bounds,
            proving=task.proving,
            deadline=task.deadline,
        )

    def inverse(self, question: SearchTask, collective: Collective, dual: Collective) -> Frontier:
        if dual.combining:  # what its inverse asks for is moved, and needs no detour
            return self.direct(question, collective)
        request, on_points = question.request, question.on_points
        asked = Dual(request)
        bounds, per_dual = asked.bounds, asked.per_dual

        known: dict[int, tuple[Point, Point]] = {}  # with the points of which these are the ids

        def turned_point(point: Point) -> Point:
            """Turned round once, however often the frontier is looked at: it takes long."""
            # Claims change a point's bound, but never its algorithm.
            if id(point.algorithm) not in known:
                known[id(point.algorithm)] = point, inverted_point(point, request)
            turned = known[id(point.algorithm)][1]
            bound = point.bound
            if bound is not None:
                bound = bound * point.chunks / turned.chunks
            return replace(point, instance=turned.instance, algorithm=turned.algorithm, bound=bound)

        @cache
        def turned_family(family: Family) -> Family:
            return inverted_family(family, request)

        def turn(frontier: Frontier) -> Frontier:
            assert frontier.evidence is not None  # a search always leaves some
            evidence = frontier.evidence.renumbered(asked.turned)
            evidence = evidence.inverse(per_dual, bounds.admits)
            limit, settings = evidence.max_chunks, {**frontier.settings, "inverse_of": dual.name}
            if settings.get("max_chunks") is not None:
                settings["max_chunks"] = limit
            limited = rf"C <= {frontier.evidence.max_chunks}\b"
            scope = re.sub(limited, f"C <= {limit}", frontier.scope)
            return replace(
                frontier,
                topology=request.topology,
                collective=request.collective.name,
                points=tuple(turned_point(p) for p in frontier.points),
                scope=f"inverses of {dual.name}: {scope}",
                settings=settings,
                refuted=(),
                open=tuple(_scaled(claim, 1 / per_dual) for claim in frontier.open),
                least_bandwidth=frontier.least_bandwidth / per_dual,
                evidence=evidence,
                families=tuple(map(turned_family, frontier.families)),
            )

        turned = None if on_points is None else lambda found: on_points(turn(found))
        return turn(self.search(SearchTask(asked.asked, question.deadline, turned)))

    def composition(self, question: SearchTask, collective: Collective) -> Frontier:
        if question.deadline.is_never and collective.combining and self.answers.solver is not None:
            return self._in_passes(question)
        with closing(Composing(self, question)) as composing:
            return composing.frontier()

    def _in_passes(self, task: SearchTask) -> Frontier:
        """Without a limit of time: passes that have one, each twice that of the one before, until
        one finds and proves little more.  What has a limit is divided among seeds, parts, bounds
        and solvers; what has none would wait for the first of them to come to its end.
        """
        began = time.perf_counter()
        known: Known | None = None
        found: Frontier | None = None
        for seconds in (_PASS_SECONDS * 2**i for i in count()):
            before = found
            try:
                limited = replace(task, deadline=Deadline.after(seconds))
                found, known = self._pass(limited, known, f"not within a pass of {seconds:g} s")
                if task.on_points is not None:
                    task.on_points(found)
            except OutOfTimeError:  # before anything was known
                continue
            except KeyboardInterrupt:
                if found is None:
                    raise
                found = replace(found, interrupted=True)
            lost = found.interrupted or OUT_OF_MEMORY in self.answers.losses
            if lost or _is_near(found) or (before is not None and not _is_nearer(found, before)):
                break
        assert found is not None
        complete = not (found.interrupted or self.answers.losses)
        return replace(found, complete=complete, seconds=time.perf_counter() - began)

    def _pass(self, task: SearchTask, known: Known | None, late: str) -> tuple[Frontier, Known]:
        """One of them; parts that had less time are searched anew."""
        parts = _Frontiers(self.answers, self.observer)
        with closing(Composing(parts, task, known, late)) as composing:
            return composing.frontier(), composing.known


def _excess(frontier: Frontier, steps: Iterable[int]) -> tuple[int, float]:
    """For how many of these S there is nothing, and how many times what is proved the others cost,
    in geometric mean.
    """
    proofs = () if frontier.evidence is None else frontier.evidence.proofs
    missing, found = 0, list[float]()
    for s in steps:
        cost = known_cost(s, frontier.points, frontier.families)
        proved = [one.bound for one in proofs if one.steps >= s]
        bound = max([*proved, frontier.least_bandwidth])
        if cost is None or not bound:
            missing += 1
        else:
            found.append(log(cost / bound))
    return missing, exp(sum(found) / len(found)) if found else 1.0


def _steps_of(frontier: Frontier) -> list[int]:
    """From the fewest possible to those of the last point."""
    last = max((point.steps for point in frontier.points), default=frontier.least_steps)
    return list(range(frontier.least_steps, last + 1))


def _is_near(frontier: Frontier) -> bool:
    """Whether little is open."""
    return not frontier.open or _excess(frontier, _steps_of(frontier)) <= (0, _NEAR)


def _is_nearer(frontier: Frontier, before: Frontier) -> bool:
    """Whether more was found or proved, by more than a little."""
    steps = _steps_of(frontier)
    (missing, gap), (missed, was) = _excess(frontier, steps), _excess(before, steps)
    return missing < missed or gap * _NEAR < was


def _scaled(claim: OpenClaim, factor: Fraction) -> OpenClaim:
    """The same claim where bandwidth costs are larger by the factor."""
    high = None if claim.high is None else claim.high * factor
    return replace(claim, low=claim.low * factor, high=high)


def _same_question(one: SearchRequest, two: SearchRequest) -> bool:
    """Whether two requests differ in nothing but the name of the topology."""
    limits = ("strategy", "k", "max_steps", "max_rounds", "max_chunks")
    return all(getattr(one, name) == getattr(two, name) for name in limits) and same_problem(
        one, two
    )
