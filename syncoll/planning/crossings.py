"""The lower envelope of times that are known size by size, such as simulated ones.

Algorithms are timed at sizes a factor of four apart, but where they must be far from the fastest:
more bytes take no less time, and no more in proportion.  Those that come near to the fastest are
timed between two such sizes, too.  Where the fastest at a size is not that at the one before, the
size from which on it is faster is looked for between them, to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import TypeAlias

from syncoll.documents import StoredAlgorithm

__all__ = ["FAR", "Envelope", "Nearest", "Seconds", "envelope", "fastest"]

Seconds: TypeAlias = Callable[[StoredAlgorithm, Sequence[Fraction | int]], Sequence[Fraction]]
"""What an algorithm takes for each of some sizes of one node's data."""

FAR = 1 << 50
"""A size, in bytes, at which latencies count for nothing any more."""

_SIZES = (1, 1 << 5, *(1 << bits for bits in range(10, 31, 2)), 1 << 34, FAR)
"""Sizes at which algorithms are timed first, in bytes."""

_NEAR = Fraction(3, 2)
"""Who takes more than so many times the least time is not timed there."""

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
        seconds: of each; more bytes take no less, and a byte of more bytes takes no more.
    """
    known: dict[int, dict[int, Fraction]] = {}
    best: dict[int, int] = {}

    def look(wanted: Mapping[int, Collection[int]]) -> None:
        """Times some algorithms at each of some sizes."""
        new = {size: who for size, who in wanted.items() if size not in known}
        known.update((size, {}) for size in new)
        for number, one in enumerate(algorithms):
            if sizes := [size for size, who in new.items() if number in who]:
                for size, time in zip(sizes, seconds(one, sizes), strict=True):
                    known[size][number] = time
        best.update((size, [*known[size]][fastest([*known[size].values()])]) for size in new)

    def near(low: int, high: int) -> set[int]:
        """Those that may be the fastest between two sizes."""
        rows = [(known[size], known[size][best[size]]) for size in (low, high)]
        return {i for row, least in rows for i, time in row.items() if time <= least * _NEAR}

    def crossing(low: int, high: int) -> int:
        """From where on the fastest at one size is slower than that at a larger size."""
        before, after = best[low], best[high]

        def lead(sizes: Sequence[int]) -> dict[int, Fraction]:
            """Above 0 where the later one is chosen of the two."""
            both = zip(*(seconds(algorithms[i], sizes) for i in (before, after)), strict=True)
            if before < after:
                leads = [own - other * _SAME for own, other in both]
            else:
                leads = [own * _SAME - other for own, other in both]
            return dict(zip(sizes, leads, strict=True))

        leads = lead([low, high])
        while high - low > 1:
            root = low - (high - low) * leads[low] / (leads[high] - leads[low])
            tried = (int(root), int(root) + 1, (low + high) // 2)
            sizes = sorted({min(max(size, low + 1), high - 1) for size in tried})
            leads.update(lead(sizes))
            later = next((size for size in sizes if leads[size] > 0), high)
            low, high = max([low, *(size for size in sizes if size < later)]), later
        return high

    known.update((size, {}) for size in _SIZES)
    for number, one in enumerate(algorithms):
        ends = dict(zip((1, FAR), seconds(one, (1, FAR)), strict=True))
        least = {size: min(row.values(), default=ends[FAR]) for size, row in known.items()}
        sizes = [
            size
            for size in _SIZES
            if size in ends or max(ends[1], ends[FAR] * size / FAR) <= least[size] * _NEAR
        ]
        for size, time in zip(sizes, seconds(one, sizes), strict=True):
            known[size][number] = time
    best.update((size, [*row][fastest([*row.values()])]) for size, row in known.items())
    look({isqrt(x * y): near(x, y) for x, y in pairwise(_SIZES)})
    edges = [0]
    between = list(pairwise(sorted(known)))
    while between:
        pairs = [(low, high) for low, high in between if best[low] != best[high]]
        edges += [high for low, high in pairs if high - low == 1]
        pairs = [(low, high) for low, high in pairs if high - low > 1]
        found = {pair: crossing(*pair) for pair in pairs}
        look({size: near(*pair) for pair, at in found.items() for size in (at - 1, at)})
        between = [x for pair, at in found.items() for x in pairwise(sorted({*pair, at - 1, at}))]
    best[0] = best[_SIZES[0]]
    starts = tuple((best[size], size) for size in sorted(edges))
    rest = {*range(len(algorithms))}.difference(number for number, _ in starts)
    return Envelope(starts, {number: _nearest(number, known) for number in sorted(rest)})


def _nearest(number: int, known: Mapping[int, Mapping[int, Fraction]]) -> Nearest:
    """Where one comes nearest to the fastest, among the sizes at which it was timed."""
    slower = {
        size: row[number] / least
        for size, row in known.items()
        if number in row and (least := min(row.values()))
    }
    if not slower:
        return Nearest(None, None)
    size = min(sorted(slower), key=slower.__getitem__)
    times = slower[size] if slower[size] > _SAME else Fraction(1)
    return Nearest(None if size == FAR else size, times)
