"""SymmetricSearch: symmetric algorithms that cost less than the frontier (docs/symmetry.md).

Few chunks come first: for each S the candidates of small C near the best that is known.  After a
failure no candidate with the same C and no more rounds is asked for.  When nothing is left, the
same begins again with more time and larger C: every S has its turn early.

The formula for algorithms that a free group of order H maps to themselves has 1/H of the variables
(`syncoll.lowerings.quotient`).  Large groups come first, since their formulas are the smallest,
then their subgroups, which admit more algorithms.  If none exists, that proves nothing about
others, so only algorithms count, and refutations of the whole formula from before.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

import numpy as np

from syncoll.deadline import Deadline
from syncoll.errors import UnlabelledError
from syncoll.formula import Verdict
from syncoll.ledger import Candidate, CandidateSource, Observer
from syncoll.ledger.events import Event
from syncoll.ledger.ledger import Ledger
from syncoll.results.proof import Refuted
from syncoll.searching.answers import AnswerSource, PendingAnswer
from syncoll.searching.candidate_solver import solved_point
from syncoll.searching.shares import FAR, found_group
from syncoll.symmetry import FreeGroup


class _Level(NamedTuple):
    """The effort for each candidate: time, and a limit on the orbits of sends to choose from."""

    seconds: float
    sends: int


# From seconds for torus(4,4) alltoall to the largest formulas of `benchmarks/exchanges.py`.
LEVELS = (_Level(1.0, 5_000), _Level(4.0, 20_000), _Level(15.0, 60_000), _Level(40.0, 150_000))

MOST_SENDS = 1_500_000
"""Chunks times links times steps.  With more, the whole formula, which is built first, is too large
for the memory."""


@dataclass
class _Turn:
    """One S; `failed` has for each C the most rounds without an algorithm at this level.  `simple`
    has the candidates of few chunks that were asked for."""

    steps: int
    level: int = field(default=0, init=False)
    failed: dict[int, int] = field(default_factory=dict)
    simple: set[Candidate] = field(default_factory=set)
    asked: int = field(default=0, init=False)


class _Asked(NamedTuple):
    turn: _Turn
    candidate: Candidate
    answer: PendingAnswer


@dataclass(eq=False)
class SymmetricSearch:
    """The engine that looks for better symmetric algorithms than are known."""

    ledger: Ledger
    source: CandidateSource
    answers: AnswerSource

    def run(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Points, and refutations for all algorithms; nothing without symmetry."""
        source, bounds = self.source, self.source.bounds
        if bounds.num_sends(source.least_chunks, source.least_steps) > MOST_SENDS:
            return
        turns = [_Turn(s) for s in range(source.least_steps, source.max_steps + 1) if s]
        topology = bounds.topology
        table = bounds.collective.tabulate(topology.num_nodes, source.least_chunks)
        groups = tuple(found_group(topology, table, until).chain())
        if not groups:
            return
        asked: deque[_Asked] = deque()
        try:
            while True:
                while len(asked) < self.answers.width and not until.passed:
                    busy = {one.turn.steps for one in asked}
                    free = [turn for turn in turns if turn.steps not in busy]
                    one = self._next(free, groups, until)
                    if one is None:
                        break
                    asked.append(one)
                if not asked:
                    return
                turn, candidate, answer = asked.popleft()
                try:
                    solution = answer.result()
                except UnlabelledError:  # another encoding might do
                    return
                ledger.log.tell(
                    Observer.settled, candidate, solution.verdict, solution.total_seconds
                )
                if solution.algorithm is not None:
                    yield solved_point(solution, source.bounds)
                    continue
                failed = turn.failed.get(candidate.chunks, 0)
                turn.failed[candidate.chunks] = max(failed, candidate.rounds)
                if solution.verdict is Verdict.UNSAT:
                    yield Refuted(*candidate.numbers, solution.encoding, solution.backend)
        finally:
            for one in asked:
                one.answer.cancel()

    def _next(
        self, free: Sequence[_Turn], groups: Sequence[FreeGroup], until: Deadline
    ) -> _Asked | None:
        """The next question, about an S without a pending one."""
        for turn in sorted(free, key=lambda turn: (turn.level, turn.asked, turn.steps)):
            for candidate in self.ledger.simpler(self.source, turn.steps):
                if candidate not in turn.simple and self._fits(turn, candidate, groups[0].order):
                    turn.simple.add(candidate)
                    return self._ask(turn, candidate, groups, until)
            while turn.level < len(LEVELS):
                left = self._left(turn, groups[0].order)
                if left:
                    candidate = left[len(left) // 2 if turn.failed else 0]
                    return self._ask(turn, candidate, groups, until)
                turn.level += 1
                turn.failed.clear()
        return None

    def _left(self, turn: _Turn, order: int) -> list[Candidate]:
        """The candidates that may be asked for at this level, in ascending order of R/C.  Among
        candidates with the same R/C only the one with the fewest chunks remains."""
        source, steps, below = self.source, turn.steps, self.ledger.best(turn.steps)
        most = source.most_rounds(steps)
        rows = []
        for chunks in source.admitted():
            if not self._fits(turn, Candidate(steps, 0, chunks), order):
                break
            if source.bounds.least_steps > steps:
                continue
            bound = source.bounds.known(steps)
            low = max(steps, ceil(bound * chunks), turn.failed.get(chunks, 0) + 1)
            limit = 2 * FAR * bound if below is None else below
            high = ceil(limit * chunks) - 1
            rounds = np.arange(low, (high if most is None else min(most, high)) + 1)
            rows.append(np.stack([rounds, np.full_like(rounds, chunks)], axis=1))
        if not rows:
            return []
        pairs = np.concatenate(rows)
        # Quotients are rounded correctly: equal fractions are equal floats.
        _, first = np.unique(pairs[:, 0] / pairs[:, 1], return_index=True)
        return [Candidate(steps, rounds, chunks) for rounds, chunks in pairs[first].tolist()]

    def _fits(self, turn: _Turn, candidate: Candidate, order: int) -> bool:
        """Whether the formula of a candidate is small enough for the turn's level."""
        bounds, level = self.source.bounds, LEVELS[min(turn.level, len(LEVELS) - 1)]
        sends = bounds.num_sends(candidate.chunks, turn.steps)
        fits = sends <= min(level.sends * order, MOST_SENDS)
        return fits and bounds.is_writable(candidate.chunks)

    def _ask(
        self, turn: _Turn, candidate: Candidate, groups: Sequence[FreeGroup], until: Deadline
    ) -> _Asked:
        turn.asked += 1
        self.ledger.log.tell(Observer.trying, candidate)
        bounds = self.source.bounds
        seconds = LEVELS[min(turn.level, len(LEVELS) - 1)].seconds
        if (limit := self.source.request.point_limit) is not None:
            seconds = min(seconds, limit)
        instance = bounds.instance(candidate.chunks, candidate.steps, candidate.rounds)
        hint = self.ledger.warm_starts.nearest(instance)
        return _Asked(turn, candidate, self.answers.ask(instance, seconds, hint, until, groups))
