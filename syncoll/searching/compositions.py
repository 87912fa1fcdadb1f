"""Composes points of parts: one point of each, only useful ones.

If the collective has the same number of chunks for each C, the costs of a composition follow from
the costs of its parts, and dominated ones are not constructed.  If the numbers of chunks of two
parts have no small common multiple, the composition would have millions of sends.  They are cut
alike instead (`syncoll.model.recutting`), into the chunks of the finest part unless that is too
many, for a fraction of a percent of R/C.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import lcm
from weakref import ref

from syncoll.clock import now
from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.errors import ModelError, UsageError
from syncoll.model import Algorithm, Collective, Instance, OrbitAlgorithm
from syncoll.results.frontier import Point
from syncoll.searching.decompose import composed
from syncoll.searching.parts import Part, joint_point
from syncoll.searching.shares import NEAR

Choice = tuple[Point, ...]
"""A point of each part."""


@dataclass(frozen=True)
class Room:
    """Limits on the size of a composition, in contributions (sends times nodes).

    Args:
        refined: parts are refined to a common multiple of their chunks up to this.  If a part is
            not an orbit algorithm, so that every send is listed, they may be cut into fewer chunks
            than they have.
        listed: larger compositions are not constructed: a file has tens of megabytes.
    """

    refined: int = 1 << 22
    listed: int = 1 << 23


_LEAST_CHUNKS = 4
"""Parts are not cut into fewer chunks at a node to keep within the limits."""


class Compositions:
    """Constructs each composition once.

    Args:
        collective: the whole.
        is_useful: whether a composition of this S, R/C and C would be useful.
        lost: is given the reason why a useful composition was not constructed.
        admits: whether a composition keeps the limits of the whole.
    """

    def __init__(
        self,
        collective: Collective,
        is_useful: Callable[[int, Fraction, int], bool],
        lost: Callable[[str], None],
        admits: Callable[[Point], bool] = lambda _: True,
        room: Room | None = None,
    ) -> None:
        self._collective, self._is_useful, self._lost = collective, is_useful, lost
        self._admits, self._room = admits, room or Room()
        self._tried: set[tuple[ref[Algorithm], ...]] = set()
        self._made: list[tuple[int, Fraction, int]] = []
        self._per_chunk: Fraction | None = None
        self._seconds_per_send = 0.0

    def points(self, parts: Sequence[Part], deadline: Deadline) -> Iterator[Point]:
        """The new useful compositions within the limits.  Among the most promising ones, the
        cheapest to construct come first, which have few steps; a composition that exceeds the
        remaining time is not begun.

        Raises:
            OutOfTimeError: when the deadline comes before the end.
        """
        late = False
        for choice in self._in_turn(parts):
            if self._seconds_per_send * self._listed(choice) > max(0.0, deadline.left()):
                late = True
                continue
            began = now()
            with interrupted_at(deadline):
                solved = self._solved(parts, choice)
            self._tried.add(_algorithms(choice))
            if solved is None:
                continue
            self._seconds_per_send = (now() - began) / max(1, self._listed(choice))
            instance = solved[0]
            self._per_chunk = Fraction(instance.num_chunks, instance.chunks)
            point = joint_point(solved, choice)
            if not self._admits(point):
                continue
            share, promised = Fraction(point.rounds, instance.num_chunks), _share_of_rounds(choice)
            share = promised if share <= NEAR * promised else share
            self._made.append((point.steps, share, instance.num_chunks))
            yield point
        if late:
            raise OutOfTimeError("the time limit ended before all compositions were constructed")

    def _in_turn(self, parts: Sequence[Part]) -> Iterator[Choice]:
        """The choices worth composing.  A choice that promises no more than a constructed one is
        omitted, and comes only if that one could not be constructed."""
        left = [c for c in product(*(p.points for p in parts)) if _algorithms(c) not in self._tried]
        while left := [choice for choice in left if self._promises(choice)]:
            first: list[Choice] = []
            for choice in sorted(left, key=self._order):
                if not first or _share_of_rounds(choice) < _share_of_rounds(first[-1]):
                    first.append(choice)
            left = [choice for choice in left if choice not in first]
            for choice in sorted(first, key=self._listed):
                if self._promises(choice):  # another may have come meanwhile
                    yield choice

    def _order(self, choice: Choice) -> tuple[int, Fraction, float]:
        return _steps(choice), _share_of_rounds(choice), self._listed(choice)

    def _promises(self, choice: Choice) -> bool:
        """Whether a choice may improve on the frontier and on earlier compositions."""
        steps, share, size = _steps(choice), _share_of_rounds(choice), self._size(choice)
        if any(s <= steps and rounds <= share and n <= size for s, rounds, n in self._made):
            return False
        if self._per_chunk is None:
            return True
        return self._is_useful(steps, self._per_chunk * share, int(size / self._per_chunk))

    def _solved(
        self, parts: Sequence[Part], choice: Sequence[Point]
    ) -> tuple[Instance, Algorithm] | None:
        """One point of each part, one after the other, verified; None where that is impossible."""
        try:
            made = zip(parts, choice, self._sizes(choice) or (), strict=False)
            solved = [part.solved(point, size) for part, point, size in made]
            if solved and None not in solved:
                return composed([one for one in solved if one], self._collective)
            self._lost("a composition was left out: its parts could not be cut into equal chunks")
        except ModelError:  # refined, these parts do not tile the collective's chunks
            pass
        except UsageError as error:  # its sends would have to be listed
            self._lost(str(error))
        return None

    def _sizes(self, choice: Sequence[Point]) -> list[int] | None:
        """Number of chunks of all nodes into which each part is cut; None for too many sends."""
        sizes = [point.instance.num_chunks for point in choice]
        common, largest = lcm(*sizes), max(sizes)
        if common == min(sizes):
            return sizes
        nodes = choice[0].instance.topology.num_nodes
        per_chunk = nodes * _sends_per_chunk(choice)
        if common * per_chunk <= self._room.refined:
            return sizes
        if not all(isinstance(p.algorithm, OrbitAlgorithm) for p in choice):
            # A part that is cut anew keeps its number of chunks for each C.
            unit = lcm(*(p.instance.num_chunks // p.chunks for p in choice))
            units = max(int(self._room.refined / (per_chunk * unit)), _LEAST_CHUNKS)
            largest = min(largest, units * unit)
            if largest * per_chunk > self._room.listed:
                return None
        return [largest] * len(sizes)

    def _listed(self, choice: Sequence[Point]) -> float:
        """About the number of sends that a composition lists, to which its time is proportional."""
        return float(_sends_per_chunk(choice) * self._size(choice))

    def _size(self, choice: Sequence[Point]) -> int:
        """The number of chunks of a composition; 0 for too many sends."""
        return lcm(*(self._sizes(choice) or (0,)))


def _share_of_rounds(choice: Sequence[Point]) -> Fraction:
    """Rounds for each chunk of a composition: its parts are refined to equal numbers of chunks."""
    return sum((Fraction(p.rounds, p.instance.num_chunks) for p in choice), Fraction(0))


def _sends_per_chunk(choice: Sequence[Point]) -> Fraction:
    """Number of sends that a composition lists for each chunk of all nodes together."""
    orbits = all(isinstance(p.algorithm, OrbitAlgorithm) for p in choice)
    listed = ((p.algorithm.num_listed if orbits else p.algorithm.num_sends, p) for p in choice)
    return sum((Fraction(sends, p.instance.num_chunks) for sends, p in listed), Fraction(0))


def _algorithms(choice: Choice) -> tuple[ref[Algorithm], ...]:
    """Weak references: algorithms that better ones replaced are freed."""
    return tuple(ref(point.algorithm) for point in choice)


def _steps(choice: Choice) -> int:
    return sum(point.steps for point in choice)
