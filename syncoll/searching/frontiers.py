"""The frontier of any collective, through the collectives that it is made of.

* An inverse is searched as its dual on the topology with every link reversed (SCCL paper, section
  3.5), and every point found is inverted; bounds and open claims carry over.
* A composed collective's frontier comes from those of its parts (`composition_search`).
* A sum of what is added up and what is moved begins with those of its terms (`sum_search`).

Every algorithm that comes out is verified again as an algorithm of the collective that was asked
for.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import cache

from syncoll.clock import counting, is_counted
from syncoll.deadline import Deadline
from syncoll.ledger.events import Log
from syncoll.ledger.ledger import Ledger, OnPoints
from syncoll.ledger.request import Observer, SearchRequest
from syncoll.model import Collective
from syncoll.results.family import Family
from syncoll.results.frontier import Frontier, OpenClaim, Point
from syncoll.searching.answers import AnswerSource
from syncoll.searching.composition_search import CompositionSearch
from syncoll.searching.decompose import Decomposition
from syncoll.searching.duals import Dual, inverted_family, inverted_point
from syncoll.searching.parts import SearchTask, same_problem, underlying
from syncoll.searching.passes import in_passes
from syncoll.searching.search import Search
from syncoll.searching.sum_search import SumSearch
from syncoll.solving import Solver

__all__ = ["search"]


def search(
    request: SearchRequest,
    answers: Solver | AnswerSource,
    observer: Observer | Log | None = None,
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
        log, bounds = Log.of(observer), source.bounds_of(request)
        if request.max_steps is not None or request.max_rounds is not None:
            found = Ledger(request, source.asked, bounds, log).ruled_out()
            if found is not None:
                return found
        task = SearchTask(request, deadline, on_points, bounds=bounds)
        return _Frontiers(source, log).search(task)


def _require_room(request: SearchRequest) -> None:
    """Passes when an algorithm for the least C is not too large to be looked for."""
    collective, nodes = request.collective, request.topology.num_nodes
    least = collective.least_chunks(nodes)
    if least is not None:
        collective.tabulate(nodes, least).starts.require_dense()


class _Frontiers(Decomposition[SearchTask, Frontier]):
    """One search with the frontiers of parts that came up in it."""

    def __init__(self, answers: AnswerSource, log: Log) -> None:
        self.answers, self.log = answers, log
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
        search = self._begin(question)
        frontier = search.frontier(search.rows())
        if not frontier.interrupted:
            self._known.append((question.request, frontier))
        return frontier

    def knows(self, request: SearchRequest) -> bool:
        """Whether a question, or that which it turns out to be, was asked before."""
        asked = underlying(request)
        return any(same_problem(known, asked) for known, _ in self._known)

    def together(self, question: SearchTask, collective: Collective) -> Frontier:
        """That of a sum: what its terms have, laid over each other, and what is better."""
        search = self._begin(question)
        sums = SumSearch(search, lambda: _Frontiers(self.answers, self.log))
        frontier = search.frontier([*sums.rows(), *search.rows()])
        terms = " and ".join(term.name for term in collective.terms)
        scope = f"frontiers of {terms} laid over each other, and {frontier.scope}"
        return replace(frontier, scope=scope)

    def _begin(
        self, task: SearchTask, known: Ledger | None = None, *, composed: bool = False
    ) -> Search:
        """A search with the engines and the ledger of a collective.

        Args:
            known: of a search that had less time.
        """
        request, answers = task.request, self.answers
        self.log.began(request.collective.name)
        bounds = task.bounds if known is None else known.bounds
        ledger = Ledger(
            request,
            answers.asked,
            bounds or answers.bounds_of(request),
            self.log,
            on_points=task.on_points,
            points=() if known is None else known.points,
            families=() if known is None else known.families,
            refuted=() if known is None else known.refuted,
            composed=composed,
            losses=answers.losses,
        )
        seeds = answers.seeding.run(request.topology, request.collective)
        return Search(ledger, answers, seeds, task.deadline, proving=task.proving or composed)

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
        if not (question.deadline.is_never and collective.combining and self.answers.solver):
            return CompositionSearch(self._begin(question, composed=True), self).frontier()
        known: Ledger | None = None

        def one_pass(seconds: float) -> Frontier:
            """Parts that had less time are searched anew."""
            nonlocal known
            parts = _Frontiers(self.answers, self.log)
            task = replace(question, deadline=Deadline.after(seconds))
            search = self._begin(task, known, composed=True)
            search.ledger.late = f"not within a pass of {seconds:g} s"
            frontier = CompositionSearch(search, parts).frontier()
            known = search.ledger
            return frontier

        return in_passes(one_pass, question.on_points, self.answers.losses)


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
