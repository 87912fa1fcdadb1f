"""LargeNeighbourhoods: algorithms with fewer rounds than known ones, a window of steps at a time.

The steps of an algorithm from a to b are an algorithm of their own, for any encoding and backend:
it starts from the chunks' places at step a, and ends where later steps and the collective need
them.  Windows begin narrow, and become wider when no narrow one can be improved.  This is large
neighbourhood search (Shaw, 1998) with windows of time as neighbourhoods.  A window that cannot be
shorter proves nothing about others, so only algorithms count.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import Deadline
from syncoll.errors import UnlabelledError
from syncoll.formula import Verdict
from syncoll.ledger import Candidate, CandidateSource, Observer
from syncoll.ledger.events import Event
from syncoll.ledger.ledger import Ledger
from syncoll.model import Algorithm, Instance, refine, same_chunks
from syncoll.results import Point, Solution
from syncoll.searching.answers import AnswerSource
from syncoll.searching.candidate_solver import solved_point
from syncoll.searching.shares import found_group
from syncoll.searching.symmetric import LEVELS, MOST_SENDS
from syncoll.searching.time_schedule import QUICK_SECONDS
from syncoll.symmetry import Action, FreeGroup

_NARROWEST = 3
"""Steps; narrower windows seldom improve an algorithm."""

_NEAR = Fraction(11, 10)
"""Algorithms whose cost is within this factor of the least may become the best."""


@dataclass(frozen=True, eq=False)
class Window:
    """The steps of an algorithm from `first` up to `last`, without it.

    Args:
        chunks: the chunks that move in it, or could.
        instance: asks for the window with a round less; None if every round is needed.
    """

    first: int
    last: int
    chunks: Ints
    instance: Instance | None

    @classmethod
    def of(cls, instance: Instance, algorithm: Algorithm, first: int, last: int) -> "Window":
        """A window of an algorithm that moves data."""
        sends = algorithm.sends
        before, inside, after = (
            sends[rows]
            for rows in (
                sends[:, 3] < first,
                (sends[:, 3] >= first) & (sends[:, 3] < last),
                sends[:, 3] >= last,
            )
        )
        start = instance.pre.copy()
        start[before[:, 0], before[:, 2]] = True
        end = start.copy()
        end[inside[:, 0], inside[:, 2]] = True
        needed = instance.post.copy()
        needed[after[:, 0], after[:, 1]] = True
        needed &= end
        chunks = np.flatnonzero((needed & ~start).any(axis=1))
        rounds = sum(algorithm.rounds_per_step[first:last]) - 1
        if not len(chunks) or rounds < 0:
            return cls(first, last, chunks, None)
        asked = replace(
            instance,
            pre=start[chunks],
            post=needed[chunks],
            steps=last - first,
            rounds=rounds,
            rounds_per_step=None,
        )
        return cls(first, last, chunks, asked)

    def put(self, into: Algorithm, found: Algorithm) -> Algorithm:
        """The algorithm with a new window in place of its own."""
        step = into.sends[:, 3]
        new = found.sends.copy()
        new[:, 0] = self.chunks[new[:, 0]]
        new[:, 3] += self.first
        rounds = list(into.rounds_per_step)
        rounds[self.first : self.last] = found.rounds_per_step
        kept = into.sends[(step < self.first) | (step >= self.last)]
        return Algorithm(tuple(rounds), np.concatenate([kept, new]))


@dataclass(eq=False)
class _Incumbent:
    """An algorithm that the engine tries to shorten.

    Args:
        groups: the largest of the given groups that maps it to itself, if one does.
        tried: windows without a shorter one, as first and last.
    """

    instance: Instance
    algorithm: Algorithm
    groups: tuple[FreeGroup, ...]
    width: int = _NARROWEST
    tried: set[tuple[int, int]] = field(default_factory=set)


@dataclass(eq=False)
class LargeNeighbourhoods:
    """The engine that makes known algorithms shorter, within the limits of the `source`."""

    ledger: Ledger
    source: CandidateSource
    answers: AnswerSource
    _over: set[tuple[int, int, int]] = field(default_factory=set, init=False)

    def run(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Points of shorter algorithms.

        It begins with the warm starts: for each number of steps with the cheapest that only moves
        data and is not too large.  Later it omits the ones that it could not improve.
        """
        points = self._worth(
            point for point in ledger.warm_starts.points.values() if ledger.keeps(point)
        )
        if not points:
            return
        one = points[0].instance
        group = found_group(one.topology, one.table, until)
        waiting = [_incumbent(p.instance, p.algorithm, group) for p in points]
        while waiting and not until.passed:
            incumbent = waiting.pop(0)
            window = self._next(incumbent)
            if window is None or self._is_optimal(incumbent):
                self._over.add(_numbers(incumbent.instance))
                finer = self._finer(incumbent, group)
                waiting += [] if finer is None else [finer]
                continue
            waiting.append(incumbent)
            solution = self._ask(incumbent, window, until)
            incumbent.tried.add((window.first, window.last))
            if solution is None or solution.algorithm is None:
                continue
            whole = window.put(incumbent.algorithm, solution.algorithm)
            whole = whole.without_useless_sends(incumbent.instance)
            incumbent.algorithm = whole
            incumbent.instance = replace(incumbent.instance, rounds=sum(whole.rounds_per_step))
            incumbent.width = _NARROWEST
            # Others start and end as before.
            incumbent.tried = {
                (a, b) for a, b in incumbent.tried if b <= window.first or a >= window.last
            }
            found = replace(solution, instance=incumbent.instance, algorithm=whole)
            yield solved_point(found, ledger.bounds)

    def _finer(self, incumbent: _Incumbent, group: FreeGroup) -> _Incumbent | None:
        """The incumbent with every chunk cut in two, where a round less is a smaller share."""
        instance = incumbent.instance
        fits = self._sends(instance, _NARROWEST) * 2 <= MOST_SENDS
        most, chunks = self.source.most_rounds(instance.steps), 2 * instance.chunks
        within = most is None or 2 * instance.rounds - 1 <= most
        if not (fits and within and chunks <= self.source.max_chunks):
            return None
        finer = refine(instance, incumbent.algorithm, 2)
        # Chunks of unequal sizes are numbered otherwise for this C.
        own = self.ledger.bounds.instance(chunks, instance.steps, finer[0].rounds)
        found = same_chunks(finer, own)
        return None if found is None else _incumbent(*found, group)

    def _worth(self, points: Iterable[Point]) -> list[Point]:
        """For each S the cheapest algorithm, if it is not far from the best one."""
        found: dict[int, Point] = {}
        for point in sorted(points, key=lambda p: (p.bandwidth, p.chunks)):
            best = self.ledger.best(point.steps)
            if (
                _numbers(point.instance) not in self._over
                and not point.instance.combining
                and point.steps >= _NARROWEST
                and self._sends(point.instance, _NARROWEST) <= MOST_SENDS
                and (best is None or point.bandwidth <= best * _NEAR)
            ):
                found.setdefault(point.steps, point)
        return list(found.values())

    def _is_optimal(self, incumbent: _Incumbent) -> bool:
        """Whether no improvement is possible with this number of steps or chunks."""
        instance = incumbent.instance
        low, best = (self.ledger.bounds.known(instance.steps), self.ledger.best(instance.steps))
        if best is not None and best <= low:
            return True  # another one is optimal
        return Fraction(instance.rounds - 1, instance.chunks) < low

    def _next(self, incumbent: _Incumbent) -> Window | None:
        """The next window, the one with the most rounds first; None when all were tried."""
        instance, algorithm = incumbent.instance, incumbent.algorithm
        rounds = algorithm.rounds_per_step
        order = incumbent.groups[0].order if incumbent.groups else 1
        while incumbent.width <= instance.steps:
            width = incumbent.width
            most = self._sends(instance, width)
            if most > min(LEVELS[-1].sends * order, MOST_SENDS):
                return None
            places = [(a, a + width) for a in range(instance.steps - width + 1)]
            left = [place for place in places if place not in incumbent.tried]
            for first, last in sorted(left, key=lambda at: -sum(rounds[at[0] : at[1]])):
                window = Window.of(instance, algorithm, first, last)
                if window.instance is not None:
                    return window
                incumbent.tried.add((first, last))
            incumbent.width += 1
        return None

    def _ask(self, incumbent: _Incumbent, window: Window, until: Deadline) -> Solution | None:
        instance = incumbent.instance
        candidate = Candidate(instance.steps, instance.rounds - 1, instance.chunks)
        self.ledger.log.tell(Observer.trying, candidate)
        assert window.instance is not None
        pending = self.answers.ask(
            window.instance, QUICK_SECONDS, until=until, groups=incumbent.groups
        )
        try:
            solution = pending.result()
        except UnlabelledError:
            incumbent.groups = ()
            return None
        except BaseException:
            pending.cancel()
            raise
        # A window without an algorithm refutes nothing.
        found = Verdict.UNKNOWN if solution.algorithm is None else Verdict.SAT
        self.ledger.log.tell(Observer.settled, candidate, found, solution.total_seconds)
        return solution

    @staticmethod
    def _sends(instance: Instance, steps: int) -> int:
        return instance.num_chunks * len(instance.topology.links) * steps


def _numbers(instance: Instance) -> tuple[int, int, int]:
    return instance.chunks, instance.steps, instance.rounds


def _incumbent(instance: Instance, algorithm: Algorithm, group: FreeGroup) -> _Incumbent:
    """An incumbent with the largest group of the chain that maps the algorithm to itself."""
    found: tuple[FreeGroup, ...] = ()
    for one in group.chain():
        try:
            if Action.on(one, instance.table).keeps(algorithm.sends):
                found = (one,)
                break
        except ValueError:
            continue
    return _Incumbent(instance, Algorithm(algorithm.rounds_per_step, algorithm.sends), found)
