"""Assigns sends to steps such that all steps together have few rounds.

The windows of the sends bound R from below and give candidates for round budgets; list scheduling,
forward and backward, tries some of them.  If the bound is not met, and few variables are undecided,
the integer program is solved, whose plan is optimal unless branch and bound is given up.  Larger
problems get more tries at random: the times of one are the priorities of the next, and the target
is one round less than the incumbent.
"""

from fractions import Fraction

import numpy as np

from syncoll.arrays import Ints
from syncoll.clock import now
from syncoll.deadline import NEVER, Deadline
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.list_scheduler import ListScheduler
from syncoll.scheduling.step_program import StepProgram
from syncoll.scheduling.streams import DENSE, SendPlan, Streams
from syncoll.scheduling.windows import Windows

_MOST_VARIABLES = 4000
"""Integer programs of more variables are not solved."""

_MOST_SECONDS = 1.0
"""An integer program is given up after these seconds; most take far less."""

_LEAST_GAIN = 32
"""An integer program is solved only if it may save more than one in this number of rounds."""

_MOST_FRUITLESS = 2
"""After this number of consecutive programs without a result, not refuted by their relaxation, no
more are solved: programs of more steps are harder, and have less to gain."""

_WORK = 1 << 21
"""Limit on the entries times steps of all tries for one S."""

_STEP_OVERHEAD = 1500
"""A step costs as much as this number of entries."""

_REGULAR = 7
"""Number of deterministic tries; later ones are random."""

_MOST_TRIES = 40

_NEAR = Fraction(21, 20)
"""Random tries are made only if the others came as near as this to the goal."""

_SPREADS = (0.0, 0.5, 1.0)
_LEANS = (Fraction(1, 2), Fraction(0), Fraction(1))


class Assigner:
    """Assigns steps to the sends of streams."""

    def __init__(self, streams: Streams, sets: LinkSets) -> None:
        self._streams, self._sets = streams, sets
        self._scheduler = ListScheduler(streams, sets)
        self.windows = Windows(streams, sets)
        self._ahead = {False: -streams.below.astype(float), True: -streams.depth.astype(float)}
        self._fruitless = 0
        self.wasted = 0.0
        """Seconds spent on integer programs in vain."""
        self.relaxed: dict[int, float] = {}
        """For S that were looked at: no plan has fewer rounds, even if chunks could be cut."""

    def tries(self, steps: int) -> int:
        """Number of list schedules that are worth their time."""
        size = len(self._streams.link) + _STEP_OVERHEAD
        return max(1, min(_MOST_TRIES, _WORK // (size * steps)))

    def best(
        self, steps: int, most_rounds: int, until: Deadline = NEVER, exact: bool = True
    ) -> SendPlan | None:
        """The best plan found of at most `steps` steps and `most_rounds` rounds.  Only if `exact`,
        an integer program may be solved."""
        least = self.windows.bound(steps)
        if least > most_rounds:
            return None
        program = StepProgram(self._streams, self._sets, steps)
        small = program.size <= _MOST_VARIABLES
        tries = min(_REGULAR, self.tries(steps)) if small else self.tries(steps)
        plan = self._listed(steps, least, most_rounds, tries, until)
        most = min(most_rounds, plan.total - 1)
        seconds = min(_MOST_SECONDS, until.left())
        exact = exact and small and self._fruitless < _MOST_FRUITLESS
        if exact and (most + 1 - least) * _LEAST_GAIN > most and seconds > 0:
            began = now()
            better, self.relaxed[steps] = program.minimise(least, most, seconds)
            if better is not None:
                plan, self._fruitless = better, 0
            elif self.relaxed[steps] <= most:
                self._fruitless += 1
                self.wasted += now() - began
        return plan if plan.total <= most_rounds else None

    def _listed(
        self, steps: int, least: int, most_rounds: int, tries: int, until: Deadline
    ) -> SendPlan:
        """The best of this number of list schedules, for any rounds."""
        earliest = self.windows.earliest(steps)
        both_ways = len(self._streams.link) * steps < DENSE
        chance = np.random.default_rng(steps)
        plan = best = self._scheduler.run(
            self._budgets(earliest, least, _LEANS[0]), self._ahead[False], spread=_SPREADS[0]
        )
        for turn in range(1, tries):
            if best.total <= least or until.passed:
                break
            if turn == _REGULAR and best.total > most_rounds * _NEAR:
                break
            ceiling = max(least, min(most_rounds, best.total - 1))
            target = least if turn % 3 != 2 else int(chance.integers(least, ceiling + 1))
            backward = both_ways and turn % 2 == 1
            priority = self._ahead[backward]
            lean = _LEANS[turn // 2 % 3]
            if turn >= _REGULAR:
                lean = Fraction(int(chance.integers(0, 9)), 8)
                if chance.random() < 0.5:
                    times = plan.mean_steps(self._streams)
                    priority = -times if backward else times
                priority = priority + chance.uniform(0, 1.5, len(priority))
            plan = self._scheduler.run(
                self._budgets(earliest, target, lean),
                priority,
                backward=backward,
                spread=_SPREADS[turn // 2 % 3],
            )
            if plan.total < best.total:
                best = plan
        return best

    def _budgets(self, earliest: Ints, target: int, lean: Fraction) -> Ints:
        """Rounds for the steps that add up to `target` and meet the demand of every window.  With
        `lean` 0 work is done as late as the windows allow, with 1 as early."""
        low, high = earliest.copy(), self.windows.latest(len(earliest) - 1, target)
        low[-1] = target
        return np.diff(low + (high - low) * lean.numerator // lean.denominator)
