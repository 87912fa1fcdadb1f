"""The frontier of any collective, through the collectives of its decomposition.

* An inverse is searched as its dual on the topology with every link reversed (SCCL paper, section
  3.5), and every point found is inverted; bounds and open claims carry over.
* A composed collective's frontier comes from the frontiers of its parts (`composition_search`).
* A collective within groups begins with the frontiers of the groups on their own nodes
  (`subnetworks`).
* A sum of combining and moving terms begins with the frontiers of its terms (`sum_search`).

Every algorithm is verified again as an algorithm of the requested collective.
"""

from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from syncoll.clock import counting, is_counted
from syncoll.deadline import Deadline
from syncoll.ledger.events import Log
from syncoll.ledger.ledger import Ledger, OnPoints
from syncoll.ledger.request import Observer, SearchRequest
from syncoll.model import Collective
from syncoll.results.frontier import Frontier
from syncoll.searching.agenda import Work
from syncoll.searching.answers import AnswerSource
from syncoll.searching.composition_search import CompositionSearch
from syncoll.searching.decompose import Decomposition
from syncoll.searching.grains import InGrains
from syncoll.searching.parts import Dual, SearchTask, same_problem
from syncoll.searching.passes import in_passes
from syncoll.searching.search import Search
from syncoll.searching.subnetworks import SubnetworkSearch
from syncoll.searching.sum_search import SumSearch
from syncoll.solving import Solver


def search(
    request: SearchRequest,
    answers: Solver | AnswerSource,
    observer: Observer | Log | None = None,
    *,
    on_points: OnPoints | None = None,
    deadline: Deadline | None = None,
) -> Frontier:
    """Searches a frontier.

    Ctrl-C (`KeyboardInterrupt`) ends the search and returns its results so far, marked as
    interrupted.

    Args:
        answers: decides the candidates; an `AnswerSource` may do so with a store and a pool.
        on_points: is given the frontier so far whenever a point was found.
        deadline: of the search; None for the request's time limit from now on.

    Raises:
        UsageError: when the limits leave nothing to search.
        ModelError: when the demands of the collective are impossible on the topology, or its chunks
            and nodes are too many for an algorithm.
        BackendError: when a backend gives a wrong answer.
        OutOfTimeError: when the time was over before any result.
    """
    if request.topology.grains > 1:
        in_grains = InGrains(request)
        log = observer if isinstance(observer, Log) else Log(observer)
        shown = None if on_points is None else _in_rounds(in_grains, on_points)
        with log.in_rounds(request.topology.grains, in_grains.point):
            asked = in_grains.asked
            return in_grains.frontier(
                search(asked, answers, log, on_points=shown, deadline=deadline)
            )
    collective, nodes = request.collective, request.topology.num_nodes
    least = collective.least_chunks(nodes)
    if least is not None:  # refuses collectives whose least C is too large for an algorithm
        collective.tabulate(nodes, least).starts.require_dense()
    source = answers if isinstance(answers, AnswerSource) else AnswerSource(answers)
    counts = request.work is not None and not is_counted()
    with counting() if counts else nullcontext():
        if deadline is None:
            deadline = Deadline.after(request.time_limit if request.work is None else request.work)
        log = observer if isinstance(observer, Log) else Log(observer)
        bounds = source.bounds_of(request)
        if request.max_steps is not None or request.max_rounds is not None:
            found = Ledger(request, source.asked, bounds, log).ruled_out()
            if found is not None:
                return found
        task = SearchTask(request, deadline, on_points, bounds=bounds)
        return _Frontiers(source, log).search(task)


def _in_rounds(in_grains: InGrains, on_points: OnPoints) -> OnPoints:
    return lambda found: on_points(in_grains.frontier(found))


@dataclass(eq=False)
class _Frontiers(Decomposition[SearchTask, Frontier]):
    """One search with the frontiers of its parts."""

    answers: AnswerSource
    log: Log
    _known: list[tuple[SearchRequest, Frontier]] = field(default_factory=list)
    _groups: "_Frontiers | None" = None

    def search(self, task: SearchTask) -> Frontier:
        return self.answer(task, task.request.collective)

    def direct(self, question: SearchTask, collective: Collective) -> Frontier:
        """The frontier of a collective with a pre and a post; the same question is asked once.  On
        a topology that equals its reversal, allgather answers for its inverse too."""
        request, limits = (
            question.request,
            ("strategy", "k", "max_steps", "max_rounds", "max_chunks", "max_messages", "tolerance"),
        )
        for known, frontier in self._known:
            alike = all(getattr(known, name) == getattr(request, name) for name in limits)
            if alike and same_problem(known, request):
                return frontier
        search = self._begin(question)
        frontier = search.frontier([*self._of_groups(search), *search.rows()])
        if not frontier.interrupted:
            self._known.append((request, frontier))
        return frontier

    def _of_groups(self, search: Search) -> list[Work]:
        """The row of a collective within groups, which are searched on their own nodes first."""
        if self._groups is None:
            self._groups = _Frontiers(self.answers, self.log)
        return SubnetworkSearch(search, self._groups).rows()

    def knows(self, request: SearchRequest) -> bool:
        """Whether it was searched before."""
        return any(same_problem(known, request) for known, _ in self._known)

    def together(self, question: SearchTask, collective: Collective) -> Frontier:
        """The frontier of a sum: the overlaid frontiers of its terms, and better points."""
        search = self._begin(question)
        sums = SumSearch(search, lambda: _Frontiers(self.answers, self.log))
        rows = [*self._of_groups(search), *sums.rows(), *search.rows()]
        frontier = search.frontier(rows)
        terms = " and ".join(term.name for term in collective.terms)
        scope = f"overlaid frontiers of {terms}, and {frontier.scope}"
        return replace(frontier, scope=scope)

    def _begin(
        self, task: SearchTask, ledger: Ledger | None = None, *, composed: bool = False
    ) -> Search:
        """A search with the engines of a collective, and the ledger of an earlier search with less
        time or an empty one."""
        request, answers = task.request, self.answers.of(task.request.collective)
        self.log.began(request.collective.name)
        if ledger is None:
            bounds, shown = task.bounds or answers.bounds_of(request), task.on_points
            ledger = Ledger(
                request,
                answers.asked,
                bounds,
                self.log,
                shown,
                accepts=task.accepts,
                losses=answers.losses,
                composed=composed,
            )
        seeds = answers.seeding.run(request.topology, request.collective)
        return Search(ledger, answers, seeds, task.deadline, proving=task.proving or composed)

    def inverse(self, question: SearchTask, collective: Collective, dual: Collective) -> Frontier:
        searched, on_points = Dual.of(question.request), question.on_points
        if searched is None:
            return self.direct(question, collective)
        invert = searched.frontier
        turned = None if on_points is None else lambda found: on_points(invert(found))
        before, accepts = searched.leaving_time(question.deadline), searched.accepts
        return invert(self.search(SearchTask(searched.asked, before, turned, accepts)))

    def composition(self, question: SearchTask, collective: Collective) -> Frontier:
        if not (question.deadline.is_never and collective.combining and self.answers.solver):
            search = self._begin(question, composed=True)
            return CompositionSearch(search, self, self._of_groups(search)).frontier()
        known: Ledger | None = None

        def one_pass(seconds: float) -> Frontier:
            """Searches parts that had less time anew."""
            nonlocal known
            parts = _Frontiers(self.answers, self.log)
            task = replace(question, deadline=Deadline.after(seconds))
            if known is not None:
                known.begin_again()
            search = self._begin(task, known, composed=True)
            search.ledger.late = f"not within a pass of {seconds:g} s"
            frontier = CompositionSearch(search, parts, parts._of_groups(search)).frontier()
            known = search.ledger
            return frontier

        return in_passes(one_pass, question.on_points, self.answers.losses)
