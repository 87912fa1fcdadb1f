"""Recutting: an algorithm with another C, whose chunks take the routes of the old chunks.

A packing of trees gives each tree a share of the chunks; another C keeps about the same shares.
Chunks that start and end alike are sorted by their routes, and the new chunks are dealt to these in
proportion: every route gets its share, rounded up or down.  Rounds follow from the loads; R/C grows
by the cost of rounding.
"""

from dataclasses import replace

import numpy as np

from syncoll.arrays import Ints
from syncoll.model.algorithm import Algorithm
from syncoll.model.instance import Instance
from syncoll.model.orbit_algorithm import OrbitAlgorithm
from syncoll.model.rows import ranges


def recut(
    instance: Instance, algorithm: Algorithm, chunks: int
) -> tuple[Instance, Algorithm] | None:
    """The algorithm for another C, with the fewest rounds.

    Args:
        instance: non-combining, with G = C * n chunks; chunk c starts and ends like chunk c mod n,
            also in the result.
        algorithm: a valid one.

    Returns:
        None if chunks are numbered otherwise, or carriers do not keep c // n.
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


def _moved(maps: Ints, kinds: int, chunks: int) -> Ints | None:
    """Generators ``[n, G]`` for another C; None if they do not keep c // kinds."""
    first = maps[:, :kinds]
    if (first >= kinds).any():
        return None
    old = np.arange(0, maps.shape[1], kinds)
    if not np.array_equal(maps, (old[:, None] + first[:, None, :]).reshape(len(maps), -1)):
        return None
    new = np.arange(0, kinds * chunks, kinds)
    return (new[:, None] + first[:, None, :]).reshape(len(maps), -1)


def _dealt(sends: Ints, kinds: int, before: int, after: int) -> Ints:
    """The sends for C = `after` from those for C = `before`; `kinds` is G / C."""
    if not len(sends):
        return sends
    by_chunk = sends[np.argsort(sends[:, 0], kind="stable")]
    old, starts, counts = np.unique(by_chunk[:, 0], return_index=True, return_counts=True)
    ways = [by_chunk[s : s + n, 1:].tobytes() for s, n in zip(starts, counts, strict=True)]
    order = np.array(sorted(range(len(old)), key=lambda i: (old[i] % kinds, ways[i])), dtype=int)
    # Chunks without sends are in place; a kind that has some keeps its number of them.
    taken, numbers = [], []
    for kind in np.unique(old % kinds).tolist():
        those = order[old[order] % kinds == kind]
        index = np.arange(after) * before // after
        moving = index < len(those)
        taken.append(those[index[moving]])
        numbers.append(np.flatnonzero(moving) * kinds + kind)
    which, number = np.concatenate(taken), np.concatenate(numbers)
    lengths = counts[which]
    found: Ints = by_chunk[ranges(starts[which], lengths)]
    found[:, 0] = np.repeat(number, lengths)
    return found
