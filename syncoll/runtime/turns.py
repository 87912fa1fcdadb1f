"""The order of sends within a step: to everybody in turn, each rank beginning with its neighbour.

The sends of a step may be in any order, and by number all ranks would begin with rank 0: on a
switch they then wait at that one port, while the others idle.  So rank r sends to r + 1 first, then
to r + 2, and so on round to r - 1, and what goes to the same rank takes turns.  Where ranks send
alike, no two send to the same rank at a time; and what comes to a rank comes from r - 1, r - 2, and
so on.  All formats have this order from here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["distance", "in_turn"]

IntArray = npt.NDArray[np.int64]


def distance(source: int, destination: int, num_nodes: int) -> int:
    """How many ranks further on, round the circle, a destination is."""
    return (destination - source) % num_nodes


def in_turn(sends: IntArray, num_nodes: int) -> IntArray:
    """The places of sends in the order in which they are written.

    Args:
        sends: ``[M, 4]``: chunk, source, destination and step.
        num_nodes: P.

    Returns:
        ``[M]``, a permutation: by step; then the first sends between any two ranks before the
        second ones, and so on, those between two ranks by chunk; then by the distance from source
        to destination; then by source.
    """
    chunk, source, destination, step = sends.T
    pair = (step * num_nodes + source) * num_nodes + destination
    grouped = np.lexsort((chunk, pair))
    starts = np.flatnonzero(np.diff(pair[grouped], prepend=-1))
    turn = np.empty(len(sends), dtype=np.int64)
    turn[grouped] = np.arange(len(sends)) - np.repeat(starts, np.diff([*starts, len(sends)]))
    return np.lexsort((source, (destination - source) % num_nodes, turn, step))
