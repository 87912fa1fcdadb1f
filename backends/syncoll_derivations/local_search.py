"""Associations that cost little: a local search that moves subtrees.

The value of an association is the R/C of its fractional packing without steps.  Prices of one
packing bound the value of every other association from below: the cost of its cheapest derivations
under them.  So most moves are refused without a packing.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np

from syncoll.arrays import FloatArray
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.model.associations import Association
from syncoll_derivations.derivations import Added, SumPacking

__all__ = ["LocalSearch", "beginnings"]

_AT_ONCE, _PACKED = 64, 4
"""Moves that are compared by their bounds, and the most promising of them, which are packed."""

_KICKS, _MOST_MOVED = 30, 4
"""Local optima without a gain after which the search ends, and subtrees that are moved between
them.  Row hypercube(3) of benchmarks/results/reproducible.md."""

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
                moved = self.best.added
                for _ in range(1 + self._kicks % _MOST_MOVED):
                    moved = self._random.choice([*_moves(moved)] or [moved])
                self._now = self._packing(moved)
        return False

    def _better(self, until: Deadline) -> SumPacking | None:
        """A better association one move away; None without one, or without time."""
        least, moves = self._now.value * (1 - _GAIN), [*_moves(self._now.added)]
        self._random.shuffle(moves)
        for begin in range(0, len(moves), _AT_ONCE):
            some = self._now.bounds(moves[begin : begin + _AT_ONCE], until)
            bounds = [(bound, i, one) for i, (bound, one) in enumerate(some) if bound < least]
            for _, _, moved in sorted(bounds)[:_PACKED]:
                other = self._packing(moved)
                if other.run(until) < least:
                    return other
        return None


def _moves(added: Added) -> Iterator[Added]:
    """Each subtree on each other place."""
    for whole, one in added.items():
        nodes = [1 << n for n in range(whole.bit_length()) if whole >> n & 1] + [*one.parts]
        for subtree in nodes:
            if subtree == whole:
                continue
            beside = next(sum(two) - subtree for two in one.parts.values() if subtree in two)
            for place in nodes:
                if place & ~subtree and place not in (beside, beside | subtree):
                    yield {**added, whole: _moved(one, subtree, place)}


def _moved(one: Association, subtree: int, place: int) -> Association:
    """A subtree is added to the partial sum at another place."""
    parts: dict[int, tuple[int, int]] = {}

    def joined(left: int, right: int) -> int:
        low, high = sorted((left, right), key=lambda mask: mask & -mask)
        parts[low | high] = low, high
        return low | high

    def copied(mask: int) -> int:
        """A subtree without the moved one; 0 for that itself."""
        found = 0 if mask == subtree else mask
        if found and mask in one.parts:
            left, right = map(copied, one.parts[mask])
            found = joined(left, right) if left and right else left or right
        if mask == place:
            found = joined(found, whole_copy(subtree))
        return found

    def whole_copy(mask: int) -> int:
        if mask in one.parts:
            joined(*map(whole_copy, one.parts[mask]))
        return mask

    copied(one.whole)
    return Association(one.whole, parts)


def _distances(topology: Topology) -> FloatArray:
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


def _paired(far: FloatArray, whole: int) -> Iterator[int]:
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


def _grouped(far: FloatArray, whole: int) -> Iterator[int]:
    """Sets of contributors: nodes as near to one another as to their nearest one."""
    left = [n for n in range(whole.bit_length()) if whole >> n & 1]
    nearest = max(min(far[a, b] for b in left if b != a) for a in left) if len(left) > 1 else 0
    while left:
        box = [n for n in left if far[left[0], n] <= nearest]
        left = [n for n in left if n not in box]
        yield sum(1 << n for n in box)
