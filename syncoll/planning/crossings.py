"""The lower envelope of times that are known size by size, such as simulated ones.

All algorithms are timed at sizes a factor of two apart.  Where the fastest at a size is not that at
the one before, the size from which on it is faster is looked for between them, to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from syncoll.documents import StoredAlgorithm

__all__ = ["FAR", "TIMED_SIZES", "Envelope", "Nearest", "Seconds", "envelope", "fastest"]

Seconds: TypeAlias = Callable[[StoredAlgorithm, Sequence[Fraction | int]], Sequence[Fraction]]
"""What an algorithm takes for each of some sizes of one node's data."""

FAR = 1 << 50
"""A size, in bytes, at which latencies count for nothing any more."""

TIMED_SIZES = (1, 1 << 5, *(1 << bits for bits in range(10, 31)), 1 << 34, 1 << 40, FAR)
"""Sizes at which every algorithm is timed, in bytes."""

_SAME = 1 + Fraction(1, 10**9)
"""Times that differ by no larger factor are the same: simulated ones are rounded."""


def fastest(seconds: Sequence[Fraction]) -> int:
    """The position of the least of some times; of those that are the same the first."""
    least = min(seconds) * _SAME
    return next(i for i, time in enumerate(seconds) if time <= least)


@dataclass(frozen=True)
class Nearest:
    """Where an algorithm that is never the fastest comes nearest to it.

    Args:
        size: of one node's data, in bytes; None as sizes grow.
        slower: its time there over the least, at least 1; None where that is 0.
    """

    size: int | None
    slower: Fraction | None


@dataclass(frozen=True)
class Envelope:
    """Which of some algorithms is the fastest for which size.

    Args:
        starts: by size: the number of an algorithm, and the size from which on it is the fastest.
        others: by number, of those that never are.
    """

    starts: tuple[tuple[int, int], ...]
    others: Mapping[int, Nearest]

    def fastest(self, size: int) -> int:
        """The number of the fastest for a size."""
        return next(number for number, low in reversed(self.starts) if low <= size)


def envelope(algorithms: Sequence[StoredAlgorithm], seconds: Seconds) -> Envelope:
    """The fastest for each size.

    Args:
        algorithms: at least one; of those that are as fast the first counts.
        seconds: of each, continuous and of few straight pieces.
    """
    times: dict[int, list[Fraction]] = {}
    best: dict[int, int] = {}

    def look(sizes: Sequence[int]) -> None:
        new = sorted({*sizes}.difference(times))
        if new:
            columns = zip(*(seconds(one, new) for one in algorithms), strict=True)
            times.update(zip(new, map(list, columns), strict=True))
            best.update((size, fastest(times[size])) for size in new)

    def crossing(low: int, high: int) -> int:
        """From where on the fastest at one size is slower than that at a larger size."""
        before, after = best[low], best[high]

        def lead(pair: Sequence[Fraction]) -> Fraction:
            """Above 0 where the later one is chosen of the two."""
            own, other = pair
            return own - other * _SAME if before < after else own * _SAME - other

        leads = {size: lead([times[size][i] for i in (before, after)]) for size in (low, high)}
        while high - low > 1:
            root = low - (high - low) * leads[low] / (leads[high] - leads[low])
            tried = (int(root), int(root) + 1, (low + high) // 2)
            sizes = sorted({min(max(size, low + 1), high - 1) for size in tried})
            both = (seconds(algorithms[i], sizes) for i in (before, after))
            leads.update(zip(sizes, map(lead, zip(*both, strict=True)), strict=True))
            later = next((size for size in sizes if leads[size] > 0), high)
            low, high = max([low, *(size for size in sizes if size < later)]), later
        return high

    look(TIMED_SIZES)
    edges = [0]
    between = list(pairwise(TIMED_SIZES))
    while between:
        pairs = [(low, high) for low, high in between if best[low] != best[high]]
        edges += [high for low, high in pairs if high - low == 1]
        pairs = [(low, high) for low, high in pairs if high - low > 1]
        found = [crossing(*pair) for pair in pairs]
        look([size for at in found for size in (at - 1, at)])
        cuts = zip(pairs, found, strict=True)
        between = [x for pair, at in cuts for x in pairwise(sorted({*pair, at - 1, at}))]
    best[0] = best[TIMED_SIZES[0]]
    starts = tuple((best[size], size) for size in sorted(edges))
    rest = {*range(len(algorithms))}.difference(number for number, _ in starts)
    return Envelope(starts, {number: _nearest(number, times) for number in sorted(rest)})


def _nearest(number: int, times: Mapping[int, Sequence[Fraction]]) -> Nearest:
    """Where one comes nearest to the fastest, among sizes for which all times are known."""
    known = {size: row[number] / least for size, row in times.items() if (least := min(row))}
    if not known:
        return Nearest(None, None)
    size = min(sorted(known), key=known.__getitem__)
    slower = known[size] if known[size] > _SAME else Fraction(1)
    return Nearest(None if size == FAR else size, slower)
