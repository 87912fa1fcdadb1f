"""Pairs of sets of nodes with counts, as arrays; an alltoall has a million of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np

from syncoll.arrays import Bools, Ints

NodeSet = tuple[int, ...]

_Record = TypeVar("_Record")
_LARGEST_COUNT = 1 << 32
"""Sums of counts below this fit machine words; larger counts are Python's integers."""


@dataclass(eq=False)
class NodeSetPairs(Sequence[_Record], Generic[_Record]):
    """Records of two sets of nodes and a count, ascending by their sets, no two sets twice.

    A sequence of the records, which are created on access.

    Args:
        sets: the sets in use, ascending, each with its nodes ascending.
        first: ``[K]``, the position of each record's first set.
        second: ``[K]``, the position of its second set.
        counts: ``[K]``.

    Attributes:
        record: the class of the records.
        names: of its attributes: first and second set, and count.
    """

    record: ClassVar[Callable[..., Any]]
    names: ClassVar[tuple[str, str, str]]

    sets: tuple[NodeSet, ...]
    first: Ints
    second: Ints
    counts: Ints

    @classmethod
    def of(cls, records: Iterable[_Record]) -> Self:
        """Creates records; records with the same sets become one."""
        if isinstance(records, cls):
            return records
        return cls.of_parts(map(attrgetter(*cls.names), records))

    @classmethod
    def of_parts(cls, parts: Iterable[tuple[NodeSet, NodeSet, int]]) -> Self:
        """Creates records from their sets and counts; records with the same sets become one."""
        numbers: dict[NodeSet, int] = {}
        rows = [
            (numbers.setdefault(a, len(numbers)), numbers.setdefault(b, len(numbers)), count)
            for a, b, count in parts
        ]
        kind = np.int64 if max((row[2] for row in rows), default=0) < _LARGEST_COUNT else object
        first, second = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
        return cls.made(list(numbers), first, second, np.array([row[2] for row in rows], kind))

    @classmethod
    def made(cls, sets: Sequence[NodeSet], first: Ints, second: Ints, counts: Ints) -> Self:
        """Records with these positions among these sets, which may be in any order."""
        used = np.flatnonzero(np.bincount(np.concatenate([first, second]), minlength=len(sets)))
        named = [sets[i] for i in used.tolist()]
        order = sorted(set(named))
        places = dict(zip(order, range(len(order)), strict=True))
        place = np.zeros(len(sets), dtype=np.int64)
        place[used] = list(map(places.__getitem__, named))
        return cls._among(tuple(order), place[first], place[second], counts)

    @classmethod
    def _among(cls, sets: tuple[NodeSet, ...], first: Ints, second: Ints, counts: Ints) -> Self:
        """Records with these positions among ascending sets, which are all in use."""
        width = max(1, len(sets))
        codes, number = np.unique(first * width + second, return_inverse=True)
        if len(codes) == len(number):
            total = np.empty_like(counts)
            total[number] = counts
        else:
            total = np.zeros(len(codes), dtype=counts.dtype)
            np.add.at(total, number, counts)
        return cls(sets, codes // width, codes % width, total)

    def turned(self) -> Self:
        """Records with the two sets exchanged."""
        return self._among(self.sets, self.second, self.first, self.counts)

    @cached_property
    def singles(self) -> Ints:
        """For each set its node, if it has one; else -1."""
        sizes, every = self.listed
        found = np.full(len(sizes), -1, dtype=np.int64)
        found[sizes == 1] = every[(np.cumsum(sizes) - sizes)[sizes == 1]]
        return found

    @cached_property
    def listed(self) -> tuple[Ints, Ints]:
        """``[sets]``, the sizes of the sets, and their nodes, one set after the other."""
        sizes = np.fromiter(map(len, self.sets), np.int64, len(self.sets))
        return sizes, np.fromiter(chain.from_iterable(self.sets), np.int64, int(sizes.sum()))

    def members(self, nodes: int) -> Bools:
        """``[sets, nodes]``, the members of the sets."""
        sizes, every = self.listed
        found = np.zeros((len(sizes), nodes), dtype=bool)
        found[np.repeat(np.arange(len(sizes)), sizes), every] = True
        return found

    @cached_property
    def first_node(self) -> Ints:
        """``[K]``, the node of the first set, if it has one; else -1."""
        return self.singles[self.first]

    @cached_property
    def second_node(self) -> Ints:
        """``[K]``, the node of the second set, if it has one; else -1."""
        return self.singles[self.second]

    @property
    def plain(self) -> bool:
        """Whether all sets are single nodes."""
        return bool((self.singles >= 0).all())

    def __len__(self) -> int:
        """K."""
        return len(self.first)

    @overload
    def __getitem__(self, index: int) -> _Record: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> _Record | Self:
        """A record, or some of them."""
        if isinstance(index, slice):
            return self.made(self.sets, self.first[index], self.second[index], self.counts[index])
        a, b = self.sets[self.first[index]], self.sets[self.second[index]]
        one: _Record = self.record(a, b, int(self.counts[index]))
        return one

    def __iter__(self) -> Iterator[_Record]:
        """All of them in order."""
        for a, b, count in self.triples():
            yield self.record(a, b, count)

    def triples(self) -> Iterator[tuple[NodeSet, NodeSet, int]]:
        """The two sets and the count of all records."""
        sets = self.sets
        parts = self.first.tolist(), self.second.tolist(), self.counts.tolist()
        for i, j, count in zip(*parts, strict=True):
            yield sets[i], sets[j], count

    def __eq__(self, other: object) -> bool:
        """Whether these are the same records."""
        if self is other:
            return True
        if not isinstance(other, NodeSetPairs):
            return isinstance(other, Sequence) and list(self) == list(other)
        return self.same_pairs(other) and np.array_equal(self.counts, other.counts)

    def same_pairs(self, other: "NodeSetPairs[_Record]") -> bool:
        """Whether these are the same records except for the counts."""
        return (
            self.sets == other.sets
            and np.array_equal(self.first, other.first)
            and np.array_equal(self.second, other.second)
        )

    def __hash__(self) -> int:
        """The hash; equal for equal records."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.sets, self.first.tobytes(), self.second.tobytes()))
