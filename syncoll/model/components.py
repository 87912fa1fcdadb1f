"""Connected components of graphs, and orbits of permutations, on arrays.

Without networkx, which takes longer to load than a small search.
"""

from collections.abc import Sequence

import numpy as np

from syncoll.arrays import Ints


def least_connected(count: int, pairs: Ints) -> Ints:
    """``[count]``: the least member of each one's component in a graph of pairs ``[E, 2]``."""
    least = np.arange(count)
    while True:
        ends = np.minimum(least[pairs[:, 0]], least[pairs[:, 1]])
        found = least.copy()
        for side in (0, 1):
            np.minimum.at(found, least[pairs[:, side]], ends)
            np.minimum.at(found, pairs[:, side], ends)
        found = found[found]
        if np.array_equal(found, least):
            return least
        least = found


def least_of_orbits(count: int, maps: Sequence[Ints]) -> Ints:
    """The least element of the orbit of each of `count` elements under some permutations."""
    pairs = [np.column_stack([np.arange(count), images]) for images in maps]
    return least_connected(count, np.concatenate([np.empty((0, 2), dtype=np.int64), *pairs]))
