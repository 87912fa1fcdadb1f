"""Integers: overlaps of amounts laid end to end, and rounding of shares."""

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.packing.remainders import grouped_remainders

_TURNS = 60
_BUSY = 0.5
"""Bounds with a smaller part of the largest load are not relieved."""


def overlaps(mine: Ints, amount: Ints, its: Ints, room: Ints) -> tuple[Ints, Ints, Ints]:
    """Assigns amounts to slots of the same key in order: positions of both, and each share.

    Args:
        mine, amount: ``[N]``, key and size of each amount, at least 0.
        its, room: ``[M]``, key and size of each slot, at least 0.
    """
    order, other = np.argsort(mine, kind="stable"), np.argsort(its, kind="stable")
    keys = _distinct(np.concatenate([mine, its]))
    first, second = np.searchsorted(keys, mine[order]), np.searchsorted(keys, its[other])
    # The start of each key's interval on the line.
    begins = np.arange(len(keys)) * (int(amount.sum()) + int(room.sum()) + 1)
    low, high = _laid(first, amount[order], begins)
    below, above = _laid(second, room[other], begins)
    points = _distinct(np.concatenate([low, high, below, above]))
    point, length = points[:-1], np.diff(points)
    i = np.searchsorted(low, point, side="right") - 1
    j = np.searchsorted(below, point, side="right") - 1
    both = (i >= 0) & (j >= 0)
    point, length, i, j = point[both], length[both], i[both], j[both]
    both = (point < high[i]) & (point < above[j])
    return order[i[both]], other[j[both]], length[both]


def _distinct(values: Ints) -> Ints:
    """As `numpy.unique`, which hashes and then sorts, and takes longer for millions of numbers."""
    ordered = np.sort(values)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _laid(key: Ints, amount: Ints, begins: Ints) -> tuple[Ints, Ints]:
    """The intervals of amounts; amounts of one key follow one another from its begin."""
    sums = np.cumsum(amount)
    before = np.concatenate([np.zeros(1, dtype=np.int64), sums])[np.searchsorted(key, key)]
    high = begins[key] + sums - before
    return high - amount, high


def dealt(group: Ints, shares: Floats, sets: Ints, rounds_per_send: Floats) -> Ints:
    """Rounds shares to whole numbers with the same sum in each group and balanced loads.

    Args:
        group: ``[N]``.
        shares: ``[N]``, at least 0, with an integer sum for each group.
        sets: ``[N, K]``, the bounds that each share loads.
        rounds_per_send: ``[sets]``; 0 without a limit.

    Then single units move within groups from overloaded to underloaded bounds while this helps.
    """
    numbered = np.unique(group, return_inverse=True)[1].reshape(-1)
    rng = np.random.default_rng(len(shares))
    sums = np.rint(np.bincount(numbered, shares)).astype(np.int64)
    whole = grouped_remainders(shares, numbered, sums, -1e-6 * rng.random(len(shares)))
    ideal = _loads(sets, shares, len(rounds_per_send))
    in_rounds = ideal * rounds_per_send
    weight = np.where(in_rounds > _BUSY * in_rounds.max(initial=0), rounds_per_send, 0.0)
    for _ in range(_TURNS):
        off = (_loads(sets, whole, len(weight)) - ideal) * weight
        push = weight[sets].sum(axis=1)
        pull = 2 * off[sets].sum(axis=1)
        down = np.where(whole > 0, push - pull, np.inf)  # gain or loss by one unit less
        up = push + pull
        giver, taker = _least(numbered, down), _least(numbered, up)
        gain = -(down[giver] + up[taker])
        moving = np.flatnonzero((gain > 1e-9) & (giver != taker))
        if not len(moving):
            break
        # Of moves that share a bound only the one that gains most is made.
        touched = np.concatenate([sets[giver[moving]], sets[taker[moving]]], axis=1)
        best = np.zeros(len(weight))
        merit = gain[moving] * (1 + 1e-3 * rng.random(len(moving)))
        limited = weight[touched] > 0
        np.maximum.at(best, touched, np.where(limited, merit[:, None], 0))
        alone = ((best[touched] <= merit[:, None]) | ~limited).all(axis=1)
        whole[giver[moving[alone]]] -= 1
        whole[taker[moving[alone]]] += 1
    return whole


def _loads(sets: Ints, amounts: Ints | Floats, size: int) -> Floats:
    weights = np.repeat(amounts, sets.shape[1])
    return np.asarray(np.bincount(sets.ravel(), weights, size), dtype=np.float64)


def _least(group: Ints, value: Floats) -> Ints:
    """For each group the position of its least value."""
    order = np.lexsort((value, group))
    return order[np.searchsorted(group[order], np.arange(int(group.max(initial=-1)) + 1))]
