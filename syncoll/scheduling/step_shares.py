"""The shares of sends in each step, by a linear program over kinds of sends.

A kind of sends has a kind above it, whose sends bring its chunks, or none.  Let f(k, t) be the
share of the sends of kind k in step t, and F its sum up to t.  Let W(k, L) be the rounds that its
sends need on a link set L of B:

    minimise    sum of r(t);
    subject to  sum over t of f(k, t) = 1;
                F(k, t) <= F(above k, t - 1);
                sum over k of W(k, L) f(k, t) <= r(t)    for every L and t

The size does not depend on the number of sends, and few L matter: only L that a solution
overloads get rows.  The optimum is the need of the busiest L plus filling and draining, which
decrease with more steps.
"""

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram
from syncoll.scheduling.link_sets import LinkSets

_ADDED, _ROUNDS_OF_ROWS = 48, 12
"""Number of link sets that get rows at once, and of times that this happens."""

_ENOUGH = 1 + 1e-3
"""A set that is overloaded by less needs no rows."""


def needed_rounds(sets: LinkSets, link: Ints, kind: Ints, count: Ints, kinds: int) -> Floats:
    """``[L, kinds]``: the rounds that the sends of each kind need on each set; no row twice.

    Args:
        link, kind, count: ``[E]``, the link of some sends, their kind and their number.
    """
    work = np.zeros(sets.size * kinds)
    for of_link in sets.of_link.T:
        used = of_link[link]
        inside = used < sets.size
        work += np.bincount(used[inside] * kinds + kind[inside], count[inside], len(work))
    rounds = work.reshape(sets.size, kinds) * sets.rounds_per_send[:-1, None]
    rounds = rounds[rounds.any(axis=1)]
    return np.asarray(np.unique(np.round(rounds, 9), axis=0))


class StepShares:
    """Kinds of sends.

    Args:
        work: ``[L, kinds]``, see `needed_rounds`.
        above: ``[kinds]``, the kind whose sends come before, a lower number; -1 for none.
    """

    def __init__(self, work: Floats, above: Ints) -> None:
        self._work, self._above = work, above
        # The number of sends that must come before, and after.
        self._place, self._left = place, left = np.zeros((2, len(above)), dtype=np.int64)
        inner = np.flatnonzero(above >= 0).tolist()
        for one in inner:
            place[one] = place[above[one]] + 1
        for one in reversed(inner):
            left[above[one]] = max(left[above[one]], left[one] + 1)

    @property
    def height(self) -> int:
        """The fewest steps."""
        return int(self._place.max(initial=-1)) + 1

    @property
    def least_rounds(self) -> float:
        """The rounds of the busiest set, a lower bound for every number of steps."""
        return float(self._work.sum(axis=1).max(initial=0.0))

    def sums(self, steps: int, until: Deadline) -> Floats | None:
        """``[kinds, S]``: the share of each kind's sends that is over after each step; None if the
        time is over."""
        place, left, size = self._place, self._left, len(self._place)
        free = steps - place - left
        start = np.cumsum(free) - free
        column = np.repeat(np.arange(size), free)
        step = place[column] + np.arange(len(column)) - start[column]
        number = np.full((size, steps), -1, dtype=np.int64)
        number[column, step] = np.arange(len(column))
        program = GrowingProgram(np.concatenate([np.zeros(len(column)), np.ones(steps)]))
        program.add_rows(
            np.ones(size), np.ones(size), (free, np.arange(len(column)), _ones(column))
        )
        for one in np.flatnonzero(place > 0).tolist():
            own, before = number[one], number[self._above[one]]
            for t in range(int(place[one]), steps - 1 - int(left[one])):
                mine, its = own[place[one] : t + 1], before[place[one] - 1 : t]
                its = its[its >= 0]
                program.add_rows(
                    [-np.inf],
                    [0.0],
                    (
                        [len(mine) + len(its)],
                        np.concatenate([mine, its]),
                        np.concatenate([_ones(mine), -_ones(its)]),
                    ),
                )
        loads = self._work[:, column]
        chosen = np.zeros(len(self._work), dtype=bool)
        wanted = np.append(self._work.argmax(axis=0), self._work.sum(axis=1).argsort()[-_ADDED:])
        found: Floats = np.zeros((size, steps))
        for _ in range(_ROUNDS_OF_ROWS):
            chosen[wanted] = True
            for row in np.unique(wanted).tolist():
                self._limit(program, loads[row], number, steps)
            if not program.run(until.seconds):
                return None
            solution = program.optimum().columns
            found = np.zeros((size, steps))
            found[column, step] = np.maximum(solution[: len(column)], 0)
            over = (self._work @ found) / np.maximum(solution[len(column) :], 1e-9)
            over = np.where(self._work @ found > 1e-6 * self.least_rounds, over, 0).max(axis=1)
            over[chosen] = 0
            wanted = np.argsort(-over)[:_ADDED]
            wanted = wanted[over[wanted] > _ENOUGH]
            if not len(wanted):
                break
        return self._ordered(found)

    def _limit(self, program: GrowingProgram, load: Floats, number: Ints, steps: int) -> None:
        """A set's rows, one for each step."""
        rounds_at = int(number.max()) + 1
        sizes: list[int] = []
        columns: list[Ints] = []
        values: list[Floats] = []
        for t in range(steps):
            own = number[:, t][number[:, t] >= 0]
            own = own[load[own] > 0]
            sizes.append(len(own) + 1)
            columns += [own, np.array([rounds_at + t])]
            values += [load[own], -np.ones(1)]
        program.add_rows(
            np.full(steps, -np.inf),
            np.zeros(steps),
            (sizes, np.concatenate(columns), np.concatenate(values)),
        )

    def _ordered(self, parts: Floats) -> Floats:
        """The sums over the steps, without sends that precede their chunks due to tolerances."""
        sums = np.minimum(parts.cumsum(axis=1), 1.0)
        steps = parts.shape[1]
        for one, (place, left) in enumerate(
            zip(self._place.tolist(), self._left.tolist(), strict=True)
        ):
            sums[one, :place] = 0
            sums[one, steps - 1 - left :] = 1
            if place:
                sums[one, 1:] = np.minimum(sums[one, 1:], sums[self._above[one], :-1])
        return np.asarray(np.maximum.accumulate(sums, axis=1))


def _ones(like: Ints) -> Floats:
    return np.ones(len(like))
