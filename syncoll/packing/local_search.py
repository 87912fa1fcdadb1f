"""Fits whole numbers of chunks into whole rounds, by moving chunks from tree to tree.

Shares that are rounded one by one overload some bound in nearly every step, by a chunk or two; each
of these costs a round.  Here every step has a target number of rounds.  As long as some bound is
overloaded, a chunk moves from a tree that loads it to the tree with the least remaining overload.
Where no such move helps, the most overloaded step gets one more round.  A packing knows many trees
of almost optimal cost: few rounds are added, about half a round a step, for any C.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats, Ints
from syncoll.deadline import Deadline

NarrowArray = npt.NDArray[np.float32]

_TINY = 1e-3
"""Smaller overloads of a round are noise of 32-bit floats; the result is counted in whole numbers.
"""

_TIGHT = 0.8
"""Cells loaded by less than this share of their rounds are not watched; limits memory."""

_FRUITLESS = 20
"""After this number of trees without a useful move a step gets another round; limits work."""

_RESTS = 3
"""Number of moves during which a moved chunk stays, against cycles; row torus(8,8) allgather of
benchmarks/results/scale.md."""

_MOST_LOOKED_AT = 600
"""Trees to which a chunk may move, drawn at random where there are more; limits work."""


class ChunkMoves:
    """Moves chunks between the trees of the same demand.

    Args:
        loads: ``[T, B, S]``, the load of one chunk on each tree on one bound of each orbit.
        rate: ``[B]``, chunks per round.
        sizes: number of trees of each demand, which follow one another.
    """

    def __init__(self, loads: Ints, rate: Floats, sizes: Sequence[int]) -> None:
        self._trees, self._bounds, self._steps = loads.shape
        rounds = loads.astype(np.float32) / rate.astype(np.float32)[:, None]
        self._rounds: NarrowArray = rounds.reshape(self._trees, -1)
        self._ends = np.cumsum([0, *sizes])
        self._demand = np.repeat(np.arange(len(sizes)), sizes)

    def fitted(self, numbers: Ints, rounds: Ints, until: Deadline) -> Ints:
        """Numbers of chunks that fit into about these rounds.

        Args:
            numbers: ``[T]``, to begin with.
            rounds: ``[S]``, target of each step.

        Returns:
            ``[T]``, with the same sums for every demand.
        """
        random = np.random.default_rng(len(numbers))
        given = np.tile(rounds, self._bounds).astype(np.float32)
        load = numbers.astype(np.float32) @ self._rounds
        watched = np.flatnonzero(load > _TIGHT * given)
        of_step = watched % self._steps
        each = np.ascontiguousarray(self._rounds[:, watched])
        each_cell = np.ascontiguousarray(each.T)
        load, given = load[watched], given[watched]
        numbers = numbers.copy()
        rests = np.zeros(self._trees, dtype=np.int64)
        turn = fruitless = 0
        while not until.passed:
            over = np.maximum(0, load - given)
            overloaded = np.flatnonzero(over > _TINY)
            if not len(overloaded):
                break
            turn += 1
            guilt = each_cell[overloaded].sum(axis=0) * (random.random(self._trees) + 0.5)
            guilt[(numbers == 0) | (rests > turn)] = 0
            giver = int(guilt.argmax())
            if fruitless >= _FRUITLESS or not guilt[giver] > 0:
                step = int(np.bincount(of_step, over, self._steps).argmax())
                given[of_step == step] += 1
                rests[:] = fruitless = 0
                continue
            others = self._others(giver, random)
            room = given - load + each[giver]
            left = np.maximum(0, each[others] - room).sum(axis=1)
            taker = int(left.argmin())
            if left[taker] < over.sum() - _TINY:
                taker = int(others[taker])
                numbers[giver] -= 1
                numbers[taker] += 1
                load += each[taker] - each[giver]
                rests[taker] = turn + 1 + _RESTS
                fruitless = 0
            else:
                rests[giver] = turn + 1 + _FRUITLESS
                fruitless += 1
        return numbers

    def _others(self, tree: int, random: np.random.Generator) -> Ints:
        """Trees of the same demand, itself among them: to stay changes nothing."""
        demand = self._demand[tree]
        first, end = int(self._ends[demand]), int(self._ends[demand + 1])
        if end - first > _MOST_LOOKED_AT:
            drawn: Ints = random.choice(end - first, _MOST_LOOKED_AT, replace=False)
            return first + drawn
        return np.arange(first, end)
