"""Compositions of what is known of some parts: one point of each, those of use alone.

Where the collective has as many chunks for each C, the costs of a composition follow from those of
its parts, and what is dominated is not even made.  Two parts whose numbers of chunks have no small
multiple in common would make a composition of many millions of sends; they are cut alike instead
(`syncoll.model.recutting`), as the one of them with the most chunks is if that is not too many, for
a fraction of a percent of R/C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import lcm

from syncoll.deadline import Deadline, interrupted_at
from syncoll.errors import ModelError, UsageError
from syncoll.model import Algorithm, Collective, Instance, OrbitAlgorithm
from syncoll.results.frontier import Point
from syncoll.searching.decompose import composed
from syncoll.searching.parts import Part

__all__ = ["Compositions"]

_MOST_REFINED, _LEAST_CHUNKS = 1 << 22, 4
"""Parts are refined to a common multiple of their chunks while the whole lists no more
contributions (sends times nodes).  Where not all are orbits, so that every send is listed, they are
cut into fewer chunks than they have if need be, but not into fewer than so many at a node ..."""

_MOST_LISTED = 1 << 23
"""... and what lists more even so is not made: a file of it has tens of megabytes."""


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
        sizes = _sizes(choice)
        try:
            solved = []
            for part, point, size in zip(parts, choice, sizes or (), strict=False):
                one = part.solved(point, size)
                if one is not None:
                    solved.append(one)
            if len(solved) == len(parts):
                return composed(solved, self._collective)
            self._lost("a composition was not made whose parts could not be cut alike")
            return None
        except ModelError:  # refined, these parts do not tile the collective's chunks
            return None
        except UsageError as error:  # its sends would have to be listed
            self._lost(str(error))
            return None


def _sizes(choice: Sequence[Point]) -> list[int] | None:
    """Into how many chunks each part cuts what all nodes have together; None for too many sends."""
    sizes = [point.instance.num_chunks for point in choice]
    common, largest = lcm(*sizes), max(sizes)
    if common == min(sizes):
        return sizes
    orbits = [p.algorithm for p in choice if isinstance(p.algorithm, OrbitAlgorithm)]
    listed = [p.algorithm for p in choice]
    if len(orbits) == len(choice):
        listed = [orbit.representative for orbit in orbits]
    nodes = choice[0].instance.topology.num_nodes
    per_chunk = nodes * sum(
        Fraction(one.num_sends, n) for one, n in zip(listed, sizes, strict=True)
    )
    if common * per_chunk <= _MOST_REFINED:
        return sizes
    if len(orbits) < len(choice):
        # What is cut anew has as many chunks for each C as it has.
        unit = lcm(*(p.instance.num_chunks // p.chunks for p in choice))
        units = max(int(_MOST_REFINED / (per_chunk * unit)), _LEAST_CHUNKS)
        largest = min(largest, units * unit)
        if largest * per_chunk > _MOST_LISTED:
            return None
    return [largest] * len(sizes)


def _share_of_rounds(choice: Sequence[Point]) -> Fraction:
    """Rounds for each chunk of a composition: its parts are refined to equally many chunks."""
    return sum((Fraction(p.rounds, p.instance.num_chunks) for p in choice), Fraction(0))
