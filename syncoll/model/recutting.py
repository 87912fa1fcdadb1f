"""An algorithm with another number of chunks: each goes the way that one of the old chunks goes.

A packing of trees says how often each tree is used; to cut the data otherwise is to use each about
as often in proportion.  Of chunks that start and end alike those that go the same way stand
together, and the new ones are dealt to them in proportion, so that every way is used its share of
times, rounded up or down.  Rounds follow from the loads; R/C is higher by what rounding costs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from syncoll.arrays import IntArray
from syncoll.model.algorithm import Algorithm
from syncoll.model.instance import Instance
from syncoll.model.orbit_algorithm import OrbitAlgorithm
from syncoll.model.rows import ranges

__all__ = ["recut"]


def recut(
    instance: Instance, algorithm: Algorithm, chunks: int
) -> tuple[Instance, Algorithm] | None:
    """The same for another C, with the fewest rounds for that.

    Args:
        instance: non-combining, with G = C * n chunks of which chunk c starts and ends like chunk
            c mod n; so has the one that comes out.
        algorithm: a valid one.
        chunks: the new C.

    Returns:
        None where chunks are numbered otherwise, or carriers take a chunk to one of another
        c // n.
    """
    kinds, left_over = divmod(instance.num_chunks, instance.chunks)
    if left_over or instance.combining:
        return None
    pre, post = instance.pre[:kinds], instance.post[:kinds]
    for table, first in ((instance.pre, pre), (instance.post, post)):
        if not (table.reshape(-1, *first.shape) == first).all():
            return None
    own, carriers = algorithm, None
    if isinstance(algorithm, OrbitAlgorithm):
        own = algorithm.representative
        old = algorithm.carriers
        moved = _moved(old.chunks, kinds, chunks)
        if moved is None:
            return None
        carriers = replace(old, chunks=moved)
    sends = _dealt(own.sends, kinds, instance.chunks, chunks)
    cut = Algorithm((0,) * own.steps, sends)
    whole = cut if carriers is None else OrbitAlgorithm(cut, carriers)
    rounds = tuple(whole.least_rounds(instance.topology))
    new = replace(
        instance,
        chunks=chunks,
        rounds=sum(rounds),
        pre=np.tile(pre, (chunks, 1)),
        post=np.tile(post, (chunks, 1)),
        rounds_per_step=None,
    )
    return new, whole._with(rounds)


def _moved(maps: IntArray, kinds: int, chunks: int) -> IntArray | None:
    """Generators ``[n, G]`` for another C; None where they do not keep c // kinds."""
    first = maps[:, :kinds]
    if (first >= kinds).any():
        return None
    old = np.arange(0, maps.shape[1], kinds)
    if not np.array_equal(maps, (old[:, None] + first[:, None, :]).reshape(len(maps), -1)):
        return None
    new = np.arange(0, kinds * chunks, kinds)
    return (new[:, None] + first[:, None, :]).reshape(len(maps), -1)


def _dealt(sends: IntArray, kinds: int, before: int, after: int) -> IntArray:
    """The sends for another C.

    Args:
        sends: ``[M, 4]``, in order of steps.
        kinds: chunks that start and end alike have the same number modulo this.
        before: C of the sends.
        after: C of those that come out.
    """
    if not len(sends):
        return sends
    by_chunk = sends[np.argsort(sends[:, 0], kind="stable")]
    old, starts, counts = np.unique(by_chunk[:, 0], return_index=True, return_counts=True)
    ways = [by_chunk[s : s + n, 1:].tobytes() for s, n in zip(starts, counts, strict=True)]
    order = np.array(sorted(range(len(old)), key=lambda i: (old[i] % kinds, ways[i])), dtype=int)
    # Chunks without sends are in place; where a kind has some, so are as many of its new ones.
    taken, numbers = [], []
    for kind in np.unique(old % kinds).tolist():
        those = order[old[order] % kinds == kind]
        index = np.arange(after) * before // after
        moving = index < len(those)
        taken.append(those[index[moving]])
        numbers.append(np.flatnonzero(moving) * kinds + kind)
    which, number = np.concatenate(taken), np.concatenate(numbers)
    lengths = counts[which]
    found: IntArray = by_chunk[ranges(starts[which], lengths)]
    found[:, 0] = np.repeat(number, lengths)
    return found
