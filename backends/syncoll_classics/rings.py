"""Rings as disseminations: round a Hamiltonian cycle, one way or both ways at once."""

from __future__ import annotations

import numpy as np

from syncoll_classics.dissemination import Dissemination
from syncoll_classics.hamiltonian import Cycle

__all__ = ["around", "both_ways"]


def around(cycle: Cycle) -> Dissemination:
    """Each chunk goes once round the cycle: P - 1 steps."""
    return _split(cycle, len(cycle) - 1)


def both_ways(cycle: Cycle, *, farther_forth: bool) -> Dissemination:
    """Each chunk goes both ways round a cycle at once: P div 2 steps.

    Args:
        farther_forth: whether the opposite node of an even cycle is reached forwards.
    """
    length = len(cycle)
    return _split(cycle, length // 2 if farther_forth else (length - 1) // 2)


def _split(cycle: Cycle, forth: int) -> Dissemination:
    """The nodes up to so many places ahead are reached forwards, the others backwards."""
    length = len(cycle)
    order = np.array(cycle)
    place = np.argsort(order)
    ahead = (place[None, :] - place[:, None]) % length
    forwards = ahead <= forth
    parents = np.where(
        forwards, order[(place[None, :] - 1) % length], order[(place[None, :] + 1) % length]
    )
    steps = np.where(forwards, ahead - 1, length - ahead - 1)
    parents = np.where(ahead > 0, parents, -1)
    return Dissemination(parents.astype(np.int64), np.where(ahead > 0, steps, -1).astype(np.int64))
