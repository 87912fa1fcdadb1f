"""The lower envelope of times that are computed size by size, such as simulated times.

Algorithms are timed at sizes a factor of four apart.  Times do not fall with the size, and grow at
most in proportion to it, so algorithms far from the fastest are skipped.  Algorithms near the
fastest are also timed between two such sizes.  If the fastest changes between two sizes, a search
finds the crossover, to the byte.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import TypeAlias

from syncoll.documents import StoredAlgorithm

Seconds: TypeAlias = Callable[[StoredAlgorithm, Sequence[Fraction | int]], Sequence[Fraction]]
"""The times of an algorithm, in seconds, for some sizes, in bytes."""

FAR = 1 << 42
"""A size, in bytes, at which latencies are negligible."""

_SIZES = (1, 1 << 5, *(1 << bits for bits in range(10, 31, 2)), 1 << 34, FAR)
"""Sizes at which algorithms are timed first, in bytes."""

_NEAR = Fraction(3, 2)
"""Algorithms slower than the fastest by more than this factor are not timed nearby."""

_SAME = 1 + Fraction(1, 10**9)
"""Times that differ by at most this factor are equal: simulated times are rounded."""


def fastest(seconds: Sequence[Fraction]) -> int:
    """The position of the least time, the first among equals."""
    least = min(seconds) * _SAME
    return next(i for i, time in enumerate(seconds) if time <= least)


@dataclass(frozen=True)
class Nearest:
    """The size, in bytes, at which an algorithm comes nearest to the fastest.  Without a size it is
    the limit for growing sizes; `slower` is its time over the least, if that is above 0."""

    size: int | None
    slower: Fraction | None


@dataclass(frozen=True)
class Envelope:
    """The fastest algorithms, by number, with their first sizes; and the other algorithms."""

    starts: tuple[tuple[int, int], ...]
    others: Mapping[int, Nearest]

    def fastest(self, size: int) -> int:
        """The number of the fastest algorithm for a size."""
        return next(number for number, low in reversed(self.starts) if low <= size)


def envelope(algorithms: Sequence[StoredAlgorithm], seconds: Seconds) -> Envelope:
    """The fastest algorithm for each size; ties go to the first.  Times never fall with the size,
    and the time per byte never rises."""
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
        """The algorithms that may be the fastest between two sizes."""
        rows = [(known[size], known[size][best[size]]) for size in (low, high)]
        return {i for row, least in rows for i, time in row.items() if time <= least * _NEAR}

    def crossing(low: int, high: int) -> int:
        """The first size from which the fastest at `low` is slower than the fastest at `high`."""
        before, after = best[low], best[high]
        own, other = (1, _SAME) if before < after else (_SAME, 1)

        def lead(sizes: Sequence[int]) -> list[Fraction]:
            """Positive if the later of the two is chosen."""
            both = zip(*(seconds(algorithms[i], sizes) for i in (before, after)), strict=True)
            return [own * one - other * two for one, two in both]

        return first_led(low, high, lead)

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


def first_led(low: int, high: int, lead: Callable[[Sequence[int]], Sequence[Fraction]]) -> int:
    """The first size above `low` with a positive `lead`, which `high` has and `low` has not."""
    leads = dict(zip((low, high), lead((low, high)), strict=True))
    while high - low > 1:
        root = low - (high - low) * leads[low] / (leads[high] - leads[low])
        tried = (int(root), int(root) + 1, (low + high) // 2)
        sizes = sorted({min(max(size, low + 1), high - 1) for size in tried})
        leads.update(zip(sizes, lead(sizes), strict=True))
        later = next((size for size in sizes if leads[size] > 0), high)
        low, high = max([low, *(size for size in sizes if size < later)]), later
    return high


def enough(times: Iterable[Sequence[Fraction]], tolerance: Fraction) -> list[int]:
    """Algorithms, by number, that are enough: at each size one of them is slower than the fastest
    by at most a share.  The others are left out, the last ones first.

    Args:
        times: of the algorithms, for each size.

    >>> enough([[Fraction(101), Fraction(100)]], Fraction(1, 50))
    [0]
    """
    near = [{i for i, x in enumerate(row) if x <= min(row) * (1 + tolerance)} for row in times]
    kept = set().union(*near)
    for number in sorted(kept, reverse=True):
        if all(len(others & kept) > (number in others) for others in near):
            kept.remove(number)
    return sorted(kept)


def _nearest(number: int, known: Mapping[int, Mapping[int, Fraction]]) -> Nearest:
    """The timed size at which an algorithm comes nearest to the fastest."""
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
