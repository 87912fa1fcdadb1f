"""Compositions of what is known of some parts: one point of each, those of use alone.

Where the collective has as many chunks for each C, the costs of a composition follow from those of
its parts, and what is dominated is not even made.  Two parts whose numbers of chunks have no small
multiple in common would make a composition of many millions of sends; all but the one with the most
chunks are cut anew instead, as that one is (`syncoll.model.recutting`), for a fraction of a percent
of R/C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import lcm

from syncoll.deadline import Deadline, interrupted_at
from syncoll.errors import ModelError, UsageError
from syncoll.model import Algorithm, Collective, Instance
from syncoll.results.frontier import Point
from syncoll.searching.decompose import composed
from syncoll.searching.parts import Part

__all__ = ["Compositions"]

_MOST_SENDS = 1 << 20
"""Parts are refined to a common multiple of their chunks while the whole has no more sends."""


class Compositions:
    """Makes each composition once.

    Args:
        collective: the whole.
        is_of_use: whether a composition of so many steps and this R/C would be.
        lost: is told why one that would be of use was not made.
    """

    def __init__(
        self,
        collective: Collective,
        is_of_use: Callable[[int, Fraction], bool],
        lost: Callable[[str], None],
    ) -> None:
        self._collective, self._is_of_use, self._lost = collective, is_of_use, lost
        self._tried: dict[tuple[int, ...], tuple[Point, ...]] = {}
        self._per_chunk: Fraction | None = None

    def points(self, parts: Sequence[Part], deadline: Deadline) -> Iterator[Point]:
        """Those of use that were not made before, by what they cost.

        Raises:
            OutOfTimeError: when the deadline comes before the end.
        """
        for choice in sorted(product(*(part.points for part in parts)), key=_share_of_rounds):
            numbers = tuple(id(point.algorithm) for point in choice)
            steps = sum(point.steps for point in choice)
            if numbers in self._tried or not (
                self._per_chunk is None
                or self._is_of_use(steps, self._per_chunk * _share_of_rounds(choice))
            ):
                continue
            with interrupted_at(deadline):
                solved = self._solved(parts, choice)
            self._tried[numbers] = choice  # which keeps the algorithms, and so their numbers
            if solved is None:
                continue
            instance = solved[0]
            if not self._collective.irregular:
                self._per_chunk = Fraction(instance.num_chunks, instance.chunks)
            yield Point(
                *solved,
                "+".join(dict.fromkeys(p.encoding for p in choice)),
                "+".join(dict.fromkeys(p.backend for p in choice)),
                sum(p.seconds for p in choice),
            )

    def _solved(
        self, parts: Sequence[Part], choice: Sequence[Point]
    ) -> tuple[Instance, Algorithm] | None:
        """One point of each part, one after the other, verified; None where that cannot be."""
        sizes = [point.instance.num_chunks for point in choice]
        common, most = lcm(*sizes), max(sizes)
        sends = sum(common // n * p.algorithm.num_sends for n, p in zip(sizes, choice, strict=True))
        if common > most and sends > _MOST_SENDS:
            sizes = [most] * len(sizes)
        try:
            solved = []
            for part, point, size in zip(parts, choice, sizes, strict=True):
                one = part.solved(point, size)
                if one is None:
                    self._lost("a composition was not made whose parts cannot be cut alike")
                    return None
                solved.append(one)
            return composed(solved, self._collective)
        except ModelError:  # refined, these parts do not tile the collective's chunks
            return None
        except UsageError as error:  # its sends would have to be listed
            self._lost(str(error))
            return None


def _share_of_rounds(choice: Sequence[Point]) -> Fraction:
    """Rounds for each chunk of a composition: its parts are refined to equally many chunks."""
    return sum((Fraction(p.rounds, p.instance.num_chunks) for p in choice), Fraction(0))
