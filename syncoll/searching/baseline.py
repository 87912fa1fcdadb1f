"""Constructs algorithms with one seed, directly and from parts or a dual, without bounds.

A search of one seed alone also proves bounds; this only constructs algorithms for comparison.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from math import lcm

from syncoll.deadline import Deadline
from syncoll.errors import ModelError
from syncoll.ledger.incumbents import MOST_SENDS
from syncoll.model import Algorithm, Collective, Instance, Topology
from syncoll.plugins import SeedLimits
from syncoll.results.frontier import Point
from syncoll.searching.chosen_seed import ChosenSeed
from syncoll.searching.decompose import Decomposition, composed, inverted
from syncoll.searching.heuristics import Heuristics

_MOST_PARTS = 4
"""Algorithms of each part of a composition that are combined with algorithms of the others."""

Solved = tuple[Instance, Algorithm]


def constructed(
    seed: ChosenSeed,
    topology: Topology,
    collective: Collective,
    until: Deadline,
    report: Callable[[str], None],
) -> tuple[list[Solved], str]:
    """Verified algorithms of a seed that are undominated in steps and bandwidth cost.

    Args:
        until: deadline; algorithms constructed by then count.

    Returns:
        The algorithms, the fewest steps first; and without any, the reason in words.
    """
    if collective.irregular:
        return [], f"{collective.name} is irregular: a larger C cannot cut its chunks evenly"
    made = _Constructions(seed, until, report)
    found = made.answer(topology.in_grains, collective)
    if (grains := topology.grains) > 1:
        factor = Fraction(1, grains)
        found = [(one.scaled(topology, factor), own.scaled(factor)) for one, own in found]
    reason = next(iter(made.reasons), "")
    if not found and not reason:
        reason = "it constructed none within its time" if until.passed else "it constructs none"
    return found, reason


class _Constructions(Decomposition[Topology, list[Solved]]):
    """The algorithms of one seed."""

    def __init__(self, seed: ChosenSeed, until: Deadline, report: Callable[[str], None]) -> None:
        self._seed, self._until, self._report = seed, until, report
        self.reasons: list[str] = []

    def direct(self, question: Topology, collective: Collective) -> list[Solved]:
        run = Heuristics(
            [self._seed],
            question,
            collective,
            self._report,
            lambda _, why: self.reasons.append(why),
        )
        limits = SeedLimits(seconds=self._until.seconds, until=self._until)
        points = (found for found in run.turn(limits) if isinstance(found, Point))
        return _undominated((one.instance, one.algorithm) for one in points)

    def inverse(self, question: Topology, collective: Collective, dual: Collective) -> list[Solved]:
        own = self.direct(question, collective)
        turned = self.answer(question.reversed(), dual)
        makers = (partial(inverted, one, collective, question) for one in turned)
        return _undominated([*own, *self._made(makers)])

    def composition(self, question: Topology, collective: Collective) -> list[Solved]:
        found = self.direct(question, collective)
        for way in collective.ways:
            parts = [_spread(self.answer(question, part)) for part in way]
            whole = (some for some in product(*parts) if _sends(some) <= MOST_SENDS)
            found += self._made(partial(composed, some, collective) for some in whole)
        return _undominated(found)

    def _made(self, makers: Iterator[Callable[[], Solved]]) -> Iterator[Solved]:
        for make in makers:
            if self._until.passed:
                return
            try:
                yield make()
            except ModelError:  # the parts have other chunks, or one has no inverse
                continue


def _undominated(solved: Iterable[Solved]) -> list[Solved]:
    found: list[Solved] = []
    for one in sorted(solved, key=lambda one: (one[1].steps, _cost(one))):
        if not found or _cost(one) < _cost(found[-1]):
            found.append(one)
    return found


def _cost(solved: Solved) -> Fraction:
    """R/C."""
    return Fraction(solved[1].rounds, solved[0].chunks)


def _spread(found: Sequence[Solved]) -> list[Solved]:
    """A few, from the fewest steps to the lowest cost."""
    if len(found) <= _MOST_PARTS:
        return list(found)
    last = len(found) - 1
    return [found[i * last // (_MOST_PARTS - 1)] for i in range(_MOST_PARTS)]


def _sends(parts: Sequence[Solved]) -> int:
    """Sends of a composition: chunks are cut until all parts have the same number."""
    chunks = lcm(*(instance.num_chunks for instance, _ in parts))
    return sum(algorithm.num_sends * chunks // one.num_chunks for one, algorithm in parts)
