"""Decomposes a collective: into the dual that it inverts, or parts one after the other.

`Decomposition` chooses the way for any question about a collective, its frontier (`frontiers`) or
one (S, R, C) of it (`point`). `inverted` and `composed` turn algorithms of parts into one of the
whole: they renumber it to the chunk numbers of the collective, and verify it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from math import lcm
from typing import Generic, TypeVar

from syncoll.documents import StoredAlgorithm
from syncoll.errors import ModelError, VerificationError
from syncoll.model import Algorithm, Collective, Instance, Topology, compose, invert, same_chunks
from syncoll.model.derived import inverse_chunks
from syncoll.model.messages import contiguous
from syncoll.results import Solution
from syncoll.trust import require_valid

Solved = tuple[Instance, Algorithm]
Maker = Callable[[Collective, Topology], Iterator[StoredAlgorithm]]
Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Decomposition(ABC, Generic[Question, Answer]):
    """Answers a question about any collective."""

    def answer(self, question: Question, collective: Collective) -> Answer:
        """Answers through the dual, the parts or the terms of the collective, or directly."""
        if collective.dual is not None:
            return self.inverse(question, collective, collective.dual)
        if collective.ways:
            return self.composition(question, collective)
        if collective.terms and collective.combining:
            return self.together(question, collective)
        return self.direct(question, collective)

    @abstractmethod
    def inverse(self, question: Question, collective: Collective, dual: Collective) -> Answer:
        """Answers for the inverse of a dual."""

    @abstractmethod
    def composition(self, question: Question, collective: Collective) -> Answer:
        """Answers for a collective with `ways` to compose it."""

    def together(self, question: Question, collective: Collective) -> Answer:
        """Answers for a combining sum whose `terms` have nothing in common."""
        return self.direct(question, collective)

    @abstractmethod
    def direct(self, question: Question, collective: Collective) -> Answer:
        """Answers for the collective itself, without a decomposition."""


def inverted(
    solved: Solved, collective: Collective, topology: Topology, chunks: int | None = None
) -> Solved:
    """An algorithm of the dual on the reversed topology as one of its inverse.
    Raises `ModelError` if the inverse has other chunks for this C.  Raises `VerificationError` if
    the algorithm, run backwards, is wrong.

    Args:
        chunks: C of the inverse, where it is known; else it follows from the dual's C.
    """
    if chunks is None:
        chunks = inverse_chunks(collective, topology.num_nodes, solved[0].chunks)
    instance, algorithm = invert(*solved, collective.name)
    instance = replace(instance, topology=topology, chunks=chunks or instance.chunks)
    return _of(collective, instance, algorithm)


def composed(parts: Iterable[Solved], collective: Collective) -> Solved:
    """The algorithms of the parts, one after the other, as one of the whole; raises as `inverted`.

    They are refined to the same number of chunks.  Chunks of several terms of a sum may meet at one
    node between two parts; each continues as a chunk of its own term.
    """
    listed = list(parts)
    if collective.in_units and len(listed) == 2:
        (first, _), (second, _) = listed
        times = lcm(first.num_chunks, second.num_chunks) // first.num_chunks
        nodes, chunks = first.topology.num_nodes, first.chunks * times
        table = collective.tabulate(nodes, chunks)
        return _of(collective, *compose(listed[0], listed[1], collective.name, table))
    whole = reduce(lambda one, two: compose(one, two, collective.name), listed)
    return _of(collective, *whole)


def derived(collective: Collective, topology: Topology, made: Maker) -> Iterator[StoredAlgorithm]:
    """The algorithms that are made for the dual of a collective, for its parts in any way to
    compose it, and for the collective itself; wrong ones are left out."""
    if collective.dual is not None:
        for one in derived(collective.dual, topology.reversed(), made):
            with suppress(ModelError, VerificationError):
                pair = one.instance, one.algorithm
                yield StoredAlgorithm(*inverted(pair, collective, topology), one.where)
        return
    for stages in collective.ways:
        for parts in zip(*(derived(part, topology, made) for part in stages), strict=False):
            with suppress(ModelError, VerificationError):
                pairs = [(part.instance, part.algorithm) for part in parts]
                yield StoredAlgorithm(*composed(pairs, collective), parts[0].where)
    yield from made(collective, topology)


def inverted_solution(solution: Solution, instance: Instance, collective: Collective) -> Solution:
    """The dual's solution as one of the inverse's instance; raises as `inverted`."""
    if solution.algorithm is None:
        return replace(solution, instance=instance)
    solved = solution.instance, solution.algorithm
    found, algorithm = inverted(solved, collective, instance.topology, instance.chunks)
    return replace(solution, instance=found, algorithm=algorithm)


def _of(collective: Collective, instance: Instance, algorithm: Algorithm) -> Solved:
    """The algorithm with the chunk numbers of the collective itself, verified."""
    table = collective.tabulate(instance.topology.num_nodes, instance.chunks)
    found = same_chunks((instance, algorithm), table)
    if found is None:
        raise ModelError(
            f"the parts of collective {collective.name} with C = {instance.chunks} compose to "
            "another collective",
            collective.origin,
        )
    instance = replace(found[0], origin=collective.origin)
    algorithm = contiguous(instance, found[1])
    require_valid(instance, algorithm)
    return instance, algorithm
