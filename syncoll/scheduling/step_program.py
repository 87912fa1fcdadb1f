"""The integer program of step assignment, for few streams.

Let y(e, t) be the number of chunks that have taken entry e after step t, and r(t) the rounds of
step t:

    minimise    sum of r(t);
    subject to  y(e, t) >= y(e, t - 1);
                y(e, t) <= y(e', t - 1)                             where e' brings the chunks to e;
                sum over e in L of y(e, t) - y(e, t - 1) <= b r(t)  for every (L, b) of B

An entry with x others before it and y after it can be used in the steps from x to S - 1 - y only.
In few steps there is little to decide: its variables are those steps but one.  All rows except the
last kind have two variables, one of either sign; hence the linear relaxation is seldom far from
integral, and branch and bound (HiGHS) has little to do.  Solutions are counted anew in whole
numbers, so tolerances can cost a round but never the plan's validity.
"""

import numpy as np

from syncoll.arrays import Floats
from syncoll.deadline import Deadline
from syncoll.linear.program import Entries, GrowingProgram
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.streams import SendPlan, Streams

_MOST_NODES = 10
"""Limit on the nodes of branch and bound."""

_TOLERANCE = 1e-5


class StepProgram:
    """The program of streams in at most `steps` steps."""

    def __init__(self, streams: Streams, sets: LinkSets, steps: int) -> None:
        self._streams, self._sets, self._steps = streams, sets, steps
        self._first = streams.depth
        self._last = steps - 1 - streams.below
        free = self._last - self._first
        self._start = np.cumsum(free) - free
        self._rounds_at = int(free.sum())
        self._entry = np.repeat(np.arange(len(free)), free)
        self._step = np.arange(self._rounds_at) - (self._start - self._first)[self._entry]
        self.size = self._rounds_at + steps
        """Number of variables."""

    def minimise(self, least: int, most: int, seconds: float) -> tuple[SendPlan | None, float]:
        """The plan of the fewest rounds found, or None.  Also the bound of the linear relaxation on
        the rounds of every plan, 0 if unknown."""
        program = self._program(most)
        until = Deadline.after(seconds)
        if not program.run(seconds):
            return None, 0.0
        optimum = program.optimum()
        relaxed = optimum.value
        if relaxed > most + _TOLERANCE:
            return None, relaxed
        plan = self._plan(optimum.columns, most)
        if plan is not None and plan.total <= max(least, relaxed + 1 - _TOLERANCE):
            return plan, relaxed
        left = until.left()
        # R is whole: a gap below 1 proves the optimum.
        gap = 1 - _TOLERANCE
        program = self._program(most, integer=True, mip_max_nodes=_MOST_NODES, mip_abs_gap=gap)
        total = dict.fromkeys(range(self._rounds_at, self.size), 1.0)
        program.add(total, float(max(least, relaxed - _TOLERANCE)), float(most))
        program.run(left)
        found = program.columns
        return (None if found is None else self._plan(found, most)), relaxed

    def _program(self, most: int, *, integer: bool = False, **options: float) -> GrowingProgram:
        """The program, or its relaxation, without the row that bounds R."""
        costs = np.zeros(self.size)
        costs[self._rounds_at :] = 1
        high = np.full(self.size, float(most))
        high[: self._rounds_at] = self._streams.count[self._entry]
        program = GrowingProgram(**options)
        program.add_columns(costs, high=high, integer=integer)
        program.add_rows(*self._rows())
        return program

    def _rows(self) -> tuple[Floats, Floats, Entries]:
        """All rows but the one that bounds R: their bounds and entries."""
        streams, sets = self._streams, self._sets
        entry, step = self._entry, self._step
        own = np.arange(self._rounds_at)
        parent = streams.parent[entry]
        # y(e, t - 1) <= y(e, t)
        later = np.flatnonzero(step > self._first[entry])
        # y(e, t) <= y(e', t - 1), where the latter is not all chunks for sure
        above = np.where(parent >= 0, parent, 0)
        waits = np.flatnonzero((parent >= 0) & (step - 1 < self._last[above]))
        smaller = np.concatenate([later - 1, waits])
        larger = np.concatenate(
            [later, self._start[above[waits]] + step[waits] - 1 - self._first[above[waits]]]
        )
        pairs = len(smaller)
        # Loads: y(e, t) counts for step t and against step t + 1; the chunks that have not gone
        # before the last step go in it.
        width = sets.of_link.shape[1]
        of_entry = sets.of_link[streams.link]
        every_set = of_entry[entry]
        places = np.concatenate(
            [(every_set * self._steps + (step + after)[:, None]).ravel() for after in (0, 1)]
        )
        signs = np.repeat([1.0, -1.0], self._rounds_at * width)
        variables = np.tile(np.repeat(own, width), 2)
        fixed = (of_entry * self._steps + self._last[:, None]).ravel()
        limited = places < sets.size * self._steps
        places, signs, variables = places[limited], signs[limited], variables[limited]
        counts = np.repeat(streams.count, width)[fixed < sets.size * self._steps]
        fixed = fixed[fixed < sets.size * self._steps]
        used = np.unique(np.concatenate([places, fixed]))
        constant = np.bincount(np.searchsorted(used, fixed), counts, minlength=len(used))
        row = np.concatenate(
            [
                np.tile(np.arange(pairs), 2),
                pairs + np.searchsorted(used, places),
                pairs + np.arange(len(used)),
            ]
        )
        column = np.concatenate([smaller, larger, variables, self._rounds_at + used % self._steps])
        value = np.concatenate(
            [np.repeat([1.0, -1.0], pairs), signs, -sets.bandwidth[used // self._steps]]
        )
        if sets.several.any():  # a variable that counts several times in a row
            both = np.stack([row, column])
            (row, column), place = np.unique(both, axis=1, return_inverse=True)
            value = np.bincount(place.reshape(-1), value)
        order = np.lexsort((column, row))
        high = np.concatenate([np.zeros(pairs), -constant])
        sizes = np.bincount(row, minlength=len(high))
        return np.full(len(high), -np.inf), high, (sizes, column[order], value[order])

    def _plan(self, solution: Floats, most: int) -> SendPlan | None:
        """The plan of a solution, if it is integral and has at most `most` rounds."""
        done = np.rint(solution[: self._rounds_at]).astype(np.int64)
        if np.abs(solution[: self._rounds_at] - done).max(initial=0) > _TOLERANCE:
            return None
        entries = len(self._streams.link)
        sent = np.zeros((entries, self._steps + 1), dtype=np.int64)
        np.add.at(sent, (self._entry, self._step), done)
        np.subtract.at(sent, (self._entry, self._step + 1), done)
        np.add.at(sent, (np.arange(entries), self._last), self._streams.count)
        entry, step = np.nonzero(sent)
        amount = sent[entry, step]
        plan = SendPlan.of(self._streams, self._sets, self._steps, entry, step, amount)
        return plan if plan.total <= most and (plan.amount > 0).all() else None
