"""Associations that cost little: a local search that moves subtrees.

The value of an association is the R/C of its fractional packing without steps.  Prices of one
packing bound the value of every other association from below: the cost of its cheapest derivations
under them.  So most moves are refused without a packing.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np

from syncoll.arrays import Floats
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.model.associations import Association
from syncoll_derivations.derivations import Added, SumPacking

_AT_ONCE, _PACKED = 64, 4
"""Moves that are compared by their bounds, and the most promising of them, which are packed."""

_KICKS, _MOST_MOVED = 30, 4
"""Local optima without a gain after which the search ends, and subtrees that are moved between
them."""

_GAIN = 1e-4
"""Smaller relative gains are noise."""


def beginnings(topology: Topology, wholes: Sequence[int]) -> Iterator[Added]:
    """Associations from which the search begins: by distances, and in the order of ranks."""
    far = _distances(topology)
    for near in (_paired, _grouped, lambda *_: ()):
        yield {whole: Association.of(whole, near(far, whole)) for whole in wholes}


class LocalSearch:
    """Better and better associations.

    Args:
        packing: the packing of an association, not yet solved.
    """

    def __init__(self, begin: Added, packing: Callable[[Added], SumPacking]) -> None:
        self._packing, self._random = packing, Random(0)
        self.best = self._now = packing(begin)
        self._kicks = 0

    @property
    def ended(self) -> bool:
        """Whether it has begun from many associations without a gain."""
        return self._kicks > _KICKS

    def run(self, until: Deadline) -> bool:
        """Whether the best association has become better, by the deadline."""
        while not (self.ended or until.passed):
            before = self.best.value
            self._now.run(until)
            if self._now.value < before * (1 - _GAIN) or not before < np.inf:
                self.best, self._kicks = self._now, 0
                return True
            better = self._better(until)
            if better is not None:
                self._now = better
            elif not until.passed:  # a local optimum
                self._kicks += 1
                added = self.best.added
                for _ in range(1 + self._kicks % _MOST_MOVED):
                    if moves := [*_moves(added)]:
                        added = _moved(added, *self._random.choice(moves))
                self._now = self._packing(added)
        return False

    def _better(self, until: Deadline) -> SumPacking | None:
        """A better association one move away; None without one, or without time."""
        least, moves = self._now.value * (1 - _GAIN), [*_moves(self._now.added)]
        self._random.shuffle(moves)
        for begin in range(0, len(moves), _AT_ONCE):
            others = (_moved(self._now.added, *one) for one in moves[begin : begin + _AT_ONCE])
            some = self._now.bounds(others, until)
            bounds = [(bound, i, one) for i, (bound, one) in enumerate(some) if bound < least]
            for _, _, moved in sorted(bounds)[:_PACKED]:
                other = self._packing(moved)
                if other.run(until) < least:
                    return other
        return None


def _moves(added: Added) -> Iterator[tuple[int, int, int]]:
    """Contributors, one of their subtrees, and each other place for it."""
    for whole, one in added.items():
        nodes = [1 << n for n in range(whole.bit_length()) if whole >> n & 1] + [*one.parts]
        for subtree in nodes:
            if subtree == whole:
                continue
            beside = next(sum(two) - subtree for two in one.parts.values() if subtree in two)
            for place in nodes:
                if place & ~subtree and place not in (beside, beside | subtree):
                    yield whole, subtree, place


def _moved(added: Added, whole: int, subtree: int, place: int) -> Added:
    """A subtree is added to the partial sum at another place."""
    sums = {place & ~subtree | subtree, subtree}
    for mask in added[whole].parts:
        rest = mask & ~subtree
        if mask | place == mask != place:  # above the new place
            rest |= subtree
        sums.add(rest if mask & ~subtree else mask)
    return {**added, whole: Association.of(whole, sums)}


def _distances(topology: Topology) -> Floats:
    """``[P, P]``: rounds of a chunk on the fastest path, both ways."""
    far = np.full((topology.num_nodes,) * 2, np.inf)
    np.fill_diagonal(far, 0.0)
    for bound in topology.bounds:
        for a, b in bound.links:
            cost = 1 / float(bound.chunks_per_round)
            far[a, b] = cost if np.isinf(far[a, b]) else max(far[a, b], cost)
    for k in range(len(far)):
        np.minimum(far, far[:, k, None] + far[None, k], out=far)
    return np.asarray(far + far.T)


def _paired(far: Floats, whole: int) -> Iterator[int]:
    """Sets of contributors: the nearest sets are joined in pairs, again and again."""
    sets = [[n] for n in range(whole.bit_length()) if whole >> n & 1]
    while len(sets) > 1:
        left, joined = sets, list[list[int]]()
        while len(left) > 1:
            one = left[0]
            two = min(left[1:], key=lambda other: far[np.ix_(one, other)].sum() / len(other))
            joined.append([*one, *two])
            left = [other for other in left[1:] if other is not two]
        sets = [*joined, *left]
        yield from (sum(1 << n for n in some) for some in joined)


def _grouped(far: Floats, whole: int) -> Iterator[int]:
    """Sets of contributors: nodes as near to one another as to their nearest one."""
    left = [n for n in range(whole.bit_length()) if whole >> n & 1]
    nearest = max(min(far[a, b] for b in left if b != a) for a in left) if len(left) > 1 else 0
    while left:
        box = [n for n in left if far[left[0], n] <= nearest]
        left = [n for n in left if n not in box]
        yield sum(1 << n for n in box)
