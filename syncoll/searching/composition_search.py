"""CompositionSearch: the engine of a collective that is composed of others.

Its points come from the frontiers of the parts: every choice of one point for each part, in every
way to compose it, without dominated ones.  A combining collective without one root per chunk has
more algorithms than compositions: with fewer steps, or with partial sums that never rest at a root.
They are searched directly, and must beat the compositions.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from syncoll.clock import now
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.errors import LocatedError, SyncollError, UsageError
from syncoll.ledger import BoundsTable, CandidateSource, SearchRequest, Size, Strategy
from syncoll.ledger.events import BOUNDS, Event
from syncoll.ledger.incumbents import FEW_STEPS
from syncoll.ledger.ledger import INTERRUPTED, Ledger, scope_of_seeds
from syncoll.model import Collective
from syncoll.model.chunk_lookup import part_chunks
from syncoll.results.frontier import Frontier
from syncoll.searching.agenda import OUT_OF_MEMORY, SAVE_SECONDS, SEEDS, SELDOM, Work
from syncoll.searching.compositions import Compositions
from syncoll.searching.heuristics import SOON_SECONDS
from syncoll.searching.parts import Part, PartSearch, SearchTask, same_problem
from syncoll.searching.search import Search
from syncoll.searching.shares import FAR, SHORT_SECONDS

COMPOSITIONS = "compositions"
"""The name of its row."""


class CompositionSearch:
    """The search of a composition: its ways to compose, and its direct search.
    Every `save_seconds` parts are composed while they are searched.  The rows of `before` come
    before all others."""

    def __init__(
        self,
        search: Search,
        frontiers: PartSearch,
        before: Sequence[Work] = (),
        *,
        save_seconds: float = SAVE_SECONDS,
    ) -> None:
        self._search, self._frontiers, self._ledger = search, frontiers, search.ledger
        self._before = before
        self._deadline, self._agenda = search.deadline, search.agenda
        ledger, self._whole = search.ledger, search.ledger.request
        self._compositions = Compositions(
            self._whole.collective, ledger.is_useful, self._lost, ledger.keeps
        )
        self._ways = list(self._whole.collective.ways)
        self._done: list[str] = []
        self._refusal: SyncollError | None = None
        self._found: Frontier | None = None
        self._save_seconds, self._again = save_seconds, Deadline.after(save_seconds)
        ledger.scope = self._scope([])

    def frontier(self) -> Frontier:
        """The frontier of the compositions and of the direct search."""
        ledger, search = self._ledger, self._search
        with closing(search.seeds):
            self._agenda.run(self.rows())
            if self._found is None or ledger.stopped:
                return search.frontier([])
            if not self._found.open:
                return self._found
            frontier = search.frontier(self._direct_rows())
            return replace(frontier, complete=frontier.complete or not frontier.open)

    def rows(self) -> list[Work]:
        """The engines before the direct search."""
        search, seeds, combining = (
            self._search,
            self._search.seeds,
            self._whole.collective.combining,
        )
        shares, timed = search.shares, not self._deadline.is_never
        turns, again = search.turns(), search.turns()
        look = shares.whole
        if self._is_wide:
            seconds = max(SHORT_SECONDS, self._deadline.left())
            look = min(look, max(shares.first_look, SHORT_SECONDS / seconds))
        bound = Work(BOUNDS, search.any_steps, lambda: timed, share=shares.first_bound)
        whole = self._deadline  # of the seeds' two turns together

        def begin(ledger: Ledger, until: Deadline) -> Iterator[Event]:
            nonlocal whole
            whole = self._deadline.share(shares.whole)
            return turns.first(ledger, until)

        first = [Work(SEEDS, begin, share=look, quiet=True)]
        if self._is_wide:  # in the background seeds go on by themselves
            first.append(
                Work(
                    SEEDS,
                    lambda ledger, _: turns.more(ledger, whole),
                    lambda: timed and not (seeds.in_background or self._is_far()),
                    quiet=True,
                )
            )
        if not search.small:
            first.append(Work(BOUNDS, search.bounds.run, lambda: timed, share=shares.bounds))
        # On a small network the first point comes sooner than a linear program.
        rows = [*self._before, search.background_row(turns, lists=False)]
        rows += [*first, bound] if search.small else [bound, *first]
        rows.append(Work(COMPOSITIONS, self.run, lambda: bool(self._ways), once=False))
        if search.alone or not combining:
            rows.append(Work(SEEDS, again.first, quiet=True))
        if search.alone:
            rows.append(Work(BOUNDS, search.limit_bounds))
        rows.append(
            Work(
                BOUNDS,
                search.bounds.run,
                lambda: seeds.in_background and search.bounds.is_ready,
                once=False,
            )
        )
        if combining and not search.alone:
            rows.append(Work(BOUNDS, self._claim, share=shares.claims_of_parts))
        return rows

    def run(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """The compositions of the next way.
        Raises `UsageError` if the limits leave no room for any way, and there is nothing else to
        search.  Raises `LocatedError` if every way is impossible on the topology."""
        way = self._ways.pop(0)
        if self._done and (self._deadline.passed or not self._may_gain(way)):
            return
        try:
            parts, interrupted = self._searched(way, self._deadline.share(self._share()))
        except (UsageError, LocatedError) as error:
            self._refusal = error
        else:
            self._done.append(_in_words(way))
            ledger.scope = self._scope(self._done)
            late = self._deadline.before(-SOON_SECONDS)  # for points of the last moment
            if interrupted:
                late = late.sooner(SHORT_SECONDS)
            yield from self._composed(parts, late)
            if interrupted:
                self._agenda.stop(INTERRUPTED)
        others = self._done or self._ways or self._whole.collective.combining
        if not others and self._refusal is not None:
            raise self._refusal

    def _claim(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Proves claims about the compositions; other engines follow where a gap is open."""
        self._found = ledger.report()
        return iter(())

    def _searched(self, way: Sequence[Collective], deadline: Deadline) -> tuple[list[Part], bool]:
        """The searched parts of a way, and whether the user interrupted the search."""
        parts, interrupted = [Part(self._request(way, part)) for part in way], False
        for i, part in enumerate(parts):
            left: list[SearchRequest] = []  # each leaves the same time to its successors
            for asked in (other.asked for other in parts[i:]):
                if not (self._frontiers.knows(asked) or any(same_problem(asked, x) for x in left)):
                    left.append(asked)
            until = deadline.share(1 / max(1, len(left)))
            same = [other for other in parts[i:] if same_problem(other.asked, part.asked)]

            def on_points(found: Frontier, same: Sequence[Part] = same) -> None:
                for other in same:
                    other.points = found.points
                self._compose_meanwhile(way, parts)

            asked = replace(part.asked, time_limit=until.seconds)
            frontier = self._frontiers.search(SearchTask(asked, until, on_points, proving=False))
            for other in same:
                other.points = frontier.points
            self._ledger.complete &= frontier.complete
            interrupted = frontier.interrupted
            if interrupted:
                break
        self._ledger.log.began(self._whole.collective.name)
        return parts, interrupted

    def _request(self, way: Sequence[Collective], part: Collective) -> SearchRequest:
        """The request for one part, within the limits of the whole."""
        whole = self._whole
        max_steps, max_chunks = whole.max_steps, whole.max_chunks
        if max_steps is not None:
            max_steps = max(0, max_steps - self._least_steps([x for x in way if x is not part]))
        if max_chunks is not None and part is not way[0]:
            max_chunks = self._most_chunks(part, max_chunks)
        # The time of a part alone does not determine the time of the whole.
        return replace(
            whole,
            collective=part,
            max_steps=max_steps,
            max_chunks=max_chunks,
            aim=None,
            is_part=True,
        )

    def _most_chunks(self, part: Collective, most: int) -> int:
        """The largest C of a part for which the whole has a C within a limit; else the limit."""
        nodes, whole = self._whole.topology.num_nodes, self._whole.collective
        for chunks in filter(self._ledger.bounds.admits, range(most, 0, -1)):
            found = part_chunks(part, nodes, len(whole.tabulate(nodes, chunks).pre))
            if found is not None:
                return found
        return most

    def _least_steps(self, parts: Sequence[Collective]) -> int:
        """The fewest steps that parts can have, one after the other."""
        return sum(BoundsTable(self._whole.topology, part).least_steps for part in parts)

    def _compose_meanwhile(self, way: Sequence[Collective], parts: Sequence[Part]) -> None:
        """Reports compositions at intervals while parts are searched."""
        ledger = self._ledger
        if ledger.on_points is None or not self._again.passed:
            return
        began, points = now(), ledger.points
        complete, ledger.complete = ledger.complete, False
        arrived = self._search.background_row(self._search.turns(), lists=False)
        if arrived.is_ready:
            self._agenda.turn(arrived)
        for point in self._composed(parts, self._deadline.sooner(SAVE_SECONDS)):
            ledger.record(point, COMPOSITIONS)
        if ledger.points is not points:
            scope, ledger.scope = ledger.scope, self._scope([_in_words(way)])
            self._agenda.report(at_once=True)
            ledger.scope = scope
        ledger.complete = complete
        self._again = Deadline.after(max(self._save_seconds, SELDOM * (now() - began)))

    def _composed(self, parts: Sequence[Part], deadline: Deadline) -> Iterator[Event]:
        """The compositions of the points found for the parts until the deadline."""
        try:
            yield from self._compositions.points(parts, deadline)
        except OutOfTimeError:
            self._ledger.complete = False
        except MemoryError as error:
            self._lost(f"{OUT_OF_MEMORY}: {error}")

    def _direct_rows(self) -> list[Work]:
        """The engines that search directly, if compositions leave room for better algorithms; seeds
        of the whole continue next to them."""
        ledger, request = self._ledger, self._whole
        if self._deadline.passed:
            ledger.complete = False
            return []
        source = ledger.source
        last = max((p.steps for p in ledger.points), default=source.least_steps + 2)
        if ledger.families:  # with more steps they have members
            first = min(family.steps.at(family.first) for family in ledger.families)
            last = max(last, min(first, FEW_STEPS))
        ledger.log.began(f"{request.collective.name}, directly")
        direct = replace(
            request,
            strategy=Strategy.CERTIFIED,
            max_steps=last if request.max_steps is None else min(last, request.max_steps),
            max_chunks=request.max_chunks or source.max_chunks // 2,  # compositions have more
            time_limit=self._deadline.seconds,
        )
        candidates = CandidateSource(direct, ledger.bounds)
        ledger.scope = f"{ledger.scope}, and directly {candidates.scope}"
        return self._search.rows(candidates, begun=True)

    def _is_far(self) -> bool:
        """Whether the best cost known is far from the bound."""
        best = self._ledger.cheapest()
        return best is None or best > FAR * self._ledger.bounds.bandwidth()

    @property
    def _is_wide(self) -> bool:
        """Whether seeds of the whole have only a short first turn."""
        return self._search.size > Size.MEDIUM

    def _share(self) -> float:
        """The share of time for a way's parts: the better the seeds' points, the smaller."""
        shares, far = self._search.shares, self._is_far()
        if self._done:
            return shares.other_ways if far else shares.other_ways_near
        far = far or (self._is_wide and self._search.seeds.in_background)
        return shares.parts_far if far else shares.parts

    def _may_gain(self, way: Sequence[Collective]) -> bool:
        """Whether another way may find a better point; it takes at least the steps of its parts."""
        best = self._ledger.best(self._least_steps(way))
        meets = best is not None and best <= self._ledger.bounds.bandwidth()
        return not meets and self._ledger.gaps_are_open()

    def _lost(self, why: str) -> None:
        self._ledger.complete = False
        self._search.answers.lost(why)

    def _scope(self, ways: Sequence[str]) -> str:
        """The set that was searched, in words."""
        listed, answers = "; ".join(ways) or "none within the limits", self._search.answers
        if self._search.alone:
            where = f" for the collective and for parts of compositions ({listed})"
            return scope_of_seeds(answers.backend_name, where)
        seeds = " and points of seeds" if answers.seeding.seeds else ""
        return f"compositions ({listed}){seeds}"


def _in_words(way: Sequence[Collective]) -> str:
    return " then ".join(part.name for part in way)
