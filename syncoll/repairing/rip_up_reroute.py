"""Rip-up and reroute: algorithms of the damaged machine near one of the whole machine.

Lost sends are rerouted (`delivery_trees`), within the same steps and with a few more.  Then rounds
are saved: a step loses a round if all excess sends find other ways without a round in other steps.

A combining algorithm is divided into the collection of each chunk at one node and its distribution
from there.  If several nodes complete a chunk, as in recursive doubling, one of them does it for
all, which takes more steps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import Deadline
from syncoll.model import Algorithm, tree_contributions
from syncoll.plugins.turns import Turn
from syncoll.repairing.budget import Budget
from syncoll.repairing.delivery_trees import NEVER, Deliveries
from syncoll.results import Part

_STEPS_MORE = {False: (0, 1, 2), True: (0, 1, 2, 4)}
"""Numbers of additional steps, for algorithms that move data and for combining ones."""


class BrokenAlgorithm(Part):
    """An algorithm of the whole machine on the damaged machine, where it may no longer work: the
    sends whose ends and chunks remain, sends over lost links included."""

    @property
    def uses_what_is_gone(self) -> bool:
        """Whether a send is over a lost link."""
        sends = self.algorithm.sends
        return bool((self.instance.topology.links_of(sends[:, 1], sends[:, 2]) < 0).any())


def mended(
    several: Sequence[BrokenAlgorithm], turn: Turn
) -> Iterator[tuple[BrokenAlgorithm, Algorithm]]:
    """Rerouted candidates, with their originals; they may have idle steps and spare rounds.

    For each algorithm the candidate with the fewest additional steps comes first, small algorithms
    before large ones.  Then rounds are saved; each candidate has a share of the time.  At the end
    of the turn the current candidate is returned as it is.
    """
    made: list[tuple[BrokenAlgorithm, int, _Mended]] = []
    for broken in sorted(several, key=lambda one: one.algorithm.num_sends):
        for more in _STEPS_MORE[broken.instance.combining]:
            if turn.until.passed:
                return
            best = _best(broken, more, turn.until)
            if best is not None:
                yield broken, best.algorithm(broken)
                made.append((broken, more, best))
                break
    waiting = [
        (broken, more)
        for broken, least, _ in made
        for more in _STEPS_MORE[broken.instance.combining]
        if more > least
    ]
    for i, (broken, _, best) in enumerate(made):
        best.save_rounds(turn.until.share(1 / (len(made) - i + len(waiting))))
        yield broken, best.algorithm(broken)
    for i, (broken, more) in enumerate(waiting):
        share = turn.until.share(1 / (len(waiting) - i))
        again = None if share.passed else _best(broken, more, share)
        if again is not None:
            again.save_rounds(share)
            yield broken, again.algorithm(broken)


def _best(broken: BrokenAlgorithm, more: int, until: Deadline) -> "_Mended | None":
    """The candidate with the fewest rounds for a number of additional steps."""
    best: _Mended | None = None
    for places in _places(broken.algorithm.steps, more, combining=broken.instance.combining):
        if best is not None and until.passed:
            break
        found = _mended_once(broken, places)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
    return best


def _places(steps: int, more: int, *, combining: bool) -> list[tuple[int, ...]]:
    """Positions of additional steps; few, since each choice is tried.  Combining algorithms need
    more steps twice: before the collecting node and after it."""
    if not more:
        return [()]
    ways = {(place,) * more for place in (steps, 0, steps // 2, max(steps - 1, 0))}
    if combining and more > 1:
        half = more // 2
        for one, other in ((steps // 2, steps), (0, steps), (0, steps // 2)):
            ways.add((one,) * half + (other,) * (more - half))
    return sorted(ways, reverse=True)


@dataclass(eq=False)
class _Mended:
    """Deliveries that all arrive in time: the collection, if any, at ``[G]`` roots, and the
    distribution."""

    budget: Budget
    halves: list[Deliveries]
    roots: Ints | None

    @property
    def cost(self) -> int:
        """R."""
        return int(self.budget.needed().sum())

    def save_rounds(self, until: Deadline) -> None:
        """Removes rounds as long as the excess sends find other ways."""
        budget = self.budget
        budget.fixed = True
        for half in self.halves:
            half.rows()  # drops deliveries that are not needed
        budget.rounds = budget.needed()
        vain: set[int] = set()
        while not until.passed:
            excess = {
                step: sum(budget.excess(step).values())
                for step in range(budget.steps)
                if budget.rounds[step] and step not in vain
            }
            if not excess:
                return
            step = min(excess, key=lambda one: (excess[one], one))
            known = budget.snapshot(), [half.known() for half in self.halves]
            over = budget.excess(step)
            budget.shrink(step)
            if self._has_moved(over, step, until):
                vain.clear()
                continue
            budget.restore(known[0])
            for half, own in zip(self.halves, known[1], strict=True):
                half.restore(own)
            vain.add(step)

    def _has_moved(self, over: dict[int, int], step: int, until: Deadline) -> bool:
        for bound in over:
            while True:
                # Earlier moves may have relieved this bound, too.
                left = over_now = self.budget.over(bound, step)
                for half in self.halves:
                    left = half.move(bound, step, left) if left else 0
                if not self.budget.over(bound, step):
                    break
                if left >= over_now or until.passed:
                    return False
        return True

    def algorithm(self, broken: BrokenAlgorithm) -> Algorithm:
        """The algorithm with the fewest rounds for its sends."""
        rows = [half.rows() for half in self.halves]
        rounds = tuple(self.budget.needed().tolist())
        if self.roots is None:
            return Algorithm(rounds, rows[0])
        pre = broken.instance.pre
        order = np.argsort(rows[0][:, 3], kind="stable")
        rows[0] = rows[0][order]
        carried = [tree_contributions(pre, rows[0]), pre[rows[1][:, 0]]]
        return Algorithm(rounds, np.concatenate(rows), np.concatenate(carried))


def _mended_once(broken: BrokenAlgorithm, places: Sequence[int]) -> _Mended | None:
    """The sends with idle steps inserted, and lost ones rerouted."""
    rounds, sends = list(broken.algorithm.rounds_per_step), broken.algorithm.sends.copy()
    for place in sorted(places, reverse=True):
        rounds.insert(place, 0)
        sends[sends[:, 3] >= place, 3] += 1
    budget = Budget(broken.instance.topology, rounds)
    if broken.algorithm.contributions is None:
        pre, post = broken.instance.pre, broken.instance.post
        moved = Deliveries(budget, np.where(pre, 0, NEVER), post & ~pre)
        moved.take(sends)
        return _Mended(budget, [moved], None) if moved.mend() else None
    found = _halves(broken, budget, sends)
    if found is None or not all(half.mend() for half in found[0]):
        return None
    return _Mended(budget, *found)


def _halves(
    broken: BrokenAlgorithm, budget: Budget, sends: Ints
) -> tuple[list[Deliveries], Ints] | None:
    """The collection of each chunk at one node, the first that forwards it if several complete it,
    and its distribution from there; None if no node completes it."""
    assert broken.algorithm.contributions is not None
    pre, post, steps = broken.instance.pre, broken.instance.post, budget.steps
    whole = (broken.algorithm.contributions == pre[sends[:, 0]]).all(axis=1)
    spread, collected = sends[whole], sends[~whole]
    begins, gets = (np.full(pre.shape, NEVER, dtype=np.int64) for _ in range(2))
    np.minimum.at(begins, (spread[:, 0], spread[:, 1]), spread[:, 3])
    np.minimum.at(gets, (spread[:, 0], spread[:, 2]), spread[:, 3] + 1)
    begins[gets <= begins] = NEVER
    silent = (begins == NEVER).all(axis=1)
    begins[silent[:, None] & post & (gets == NEVER)] = steps
    if (begins == NEVER).all(axis=1).any():
        return None
    chunk, roots = np.arange(len(begins)), begins.argmin(axis=1)
    at_root = np.zeros(pre.shape, dtype=bool)
    at_root[chunk, roots] = True
    begins[~at_root] = NEVER
    backwards = np.full(pre.shape, NEVER, dtype=np.int64)
    backwards[chunk, roots] = steps - begins[chunk, roots]
    gathering = Deliveries(budget, backwards, pre & ~at_root, backwards=True)
    turned = collected[:, [0, 2, 1, 3]]
    turned[:, 3] = steps - 1 - turned[:, 3]
    gathering.take(turned)
    spreading = Deliveries(budget, begins, post & ~at_root)
    spreading.take(spread)
    return [gathering, spreading], roots
