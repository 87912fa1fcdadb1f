"""Collectives made of others: the inverse of one, and one after the other.

Reducescatter is the inverse of allgather, reduce that of broadcast (SCCL paper, section 3.5): pre
and post change places, and what was a copy becomes a contribution. C always counts the chunks into
which one node's input is cut, so that reducescatter's C is P times that of its dual, as in the
paper's Tables 4 and 5.

In a composed collective each part starts where the one before it ends; the first may combine, the
later ones only move data.  There may be several ways to the same result: allreduce is reducescatter
then allgather, and also reduce then broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from syncoll.errors import ModelError, Origin
from syncoll.model.collective import Collective, RelationTable
from syncoll.model.instance import BoolArray
from syncoll.model.rows import matching

__all__ = ["inverse_of", "part_chunks", "sequence_of"]

_LAST_TRIED = 10_000
"""Up to where C is looked for one by one: beyond the least that any number of nodes asks for."""

_MOST_MEASURED = 1_000
"""How many C a collective of irregular size is measured for."""


def inverse_of(dual: Collective, name: str, origin: Origin | None = None) -> Collective:
    """The inverse of a collective with one root per chunk.

    Args:
        dual: not a composed one; invert its parts instead.
        name: how people call the inverse.
        origin: where a spec file defines it.

    Raises:
        ModelError: when the dual is composed.  That a chunk has several roots is found, and
            raised, when a table is made.
    """
    if dual.ways:
        raise ModelError(
            f"collective {name}: {dual.name} is composed of others and has no inverse of its own",
            origin,
            "the inverse of a collective with a pre and a post",
        )
    inverse = _Inverse(dual, name, origin, _Lookup(dual, _largest_post))
    return Collective(
        name,
        inverse.tabulate,
        inverse.admits,
        f"a C that is the number of chunks with which a node of {dual.name} ends"
        + (f" ({dual.requirement})" if dual.requirement else ""),
        origin,
        combining=not dual.combining,
        dual=dual,
    )


def sequence_of(
    ways: Sequence[Sequence[Collective]],
    name: str,
    origin: Origin | None = None,
    *,
    origins: Sequence[Sequence[Origin]] | None = None,
) -> Collective:
    """The collective that each of these sequences amounts to.

    Args:
        ways: for each way its parts in order.
        name: how people call it.
        origin: where a spec file defines it.
        origins: where the file names each part of each way, for errors.

    Raises:
        ModelError: when a way has no parts, a part other than a first one combines, or only some
            ways combine.  That the parts do not fit together, or that two ways to the same C end
            differently, is found, and raised, when a table is made.
    """
    sequence = _Sequence(
        tuple(tuple(parts) for parts in ways),
        name,
        origin,
        None if origins is None else tuple(tuple(places) for places in origins),
    )
    return Collective(
        name,
        sequence.tabulate,
        sequence.admits,
        "a C for which the parts fit together",
        origin,
        combining=sequence.ways[0][0].combining,
        ways=sequence.ways,
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Inverse:
    """The tables of an inverse; it can be pickled when its dual can."""

    dual: Collective
    name: str
    origin: Origin | None
    chunks_of_dual: _Lookup

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether some C of the dual puts so many chunks at a node."""
        return self.chunks_of_dual(nodes, chunks) is not None

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """The dual's table with pre and post exchanged."""
        found = self.chunks_of_dual(nodes, chunks)
        if found is None:
            raise ModelError(
                f"collective {self.name} is not defined for C = {chunks} on {nodes} nodes",
                self.origin,
            )
        table = self.dual.tabulate(nodes, found)
        roots = (table.post if self.dual.combining else table.pre).sum(axis=1)
        if (roots != 1).any():
            chunk = int(np.flatnonzero(roots != 1)[0])
            raise ModelError(
                f"collective {self.name}: chunk {chunk} of {self.dual.name} has "
                f"{int(roots[chunk])} roots, so it cannot be inverted",
                self.origin,
                "exactly one node where each chunk starts",
            )
        return RelationTable(table.post, table.pre)


@dataclass(frozen=True, eq=False, repr=False)
class _Sequence:
    """The tables of a composed collective; it can be pickled when its parts can."""

    ways: tuple[tuple[Collective, ...], ...]
    name: str
    origin: Origin | None
    origins: tuple[tuple[Origin, ...], ...] | None
    lookups: tuple[tuple[_Lookup, ...], ...] = field(init=False)
    admitted: dict[tuple[int, int], bool] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.ways or not all(self.ways):
            raise ModelError(
                f"collective {self.name} is a sequence without parts", self.origin, "a part"
            )
        for way, parts in enumerate(self.ways):
            for place, (before, part) in enumerate(pairwise(parts), start=1):
                if part.combining:
                    raise ModelError(
                        f"collective {self.name}: {part.name} combines, so it cannot come after "
                        f"{before.name}",
                        self.place(way, place),
                        "later parts that only move data",
                    )
            if parts[0].combining != self.ways[0][0].combining:
                raise ModelError(
                    f"collective {self.name}: one way to it combines and another does not",
                    self.place(way),
                    "ways to the same result",
                )
        lookups = tuple(tuple(_Lookup(part, _global_chunks) for part in p[1:]) for p in self.ways)
        object.__setattr__(self, "lookups", lookups)

    def place(self, way: int, part: int = 0) -> Origin | None:
        """Where the spec file names a part."""
        return self.origin if self.origins is None else self.origins[way][part]

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether the parts of one of the ways fit together."""
        if (nodes, chunks) not in self.admitted:
            self.admitted[nodes, chunks] = any(
                self._follow(way, nodes, chunks) is not None for way in range(len(self.ways))
            )
        return self.admitted[nodes, chunks]

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """Where the first part starts and the last one ends, in the first way that admits C."""
        result: RelationTable | None = None
        first = 0
        for way in range(len(self.ways)):
            table = self._follow(way, nodes, chunks)
            if table is None:
                continue
            if result is None:
                result, first = table, way
            elif matching(_both(result), _both(table)) is None:
                raise ModelError(
                    f"collective {self.name}: {self._spelled(way)} does not amount to the same as "
                    f"{self._spelled(first)} ({nodes} nodes, C = {chunks})",
                    self.place(way),
                    "ways to the same result",
                )
        if result is None:
            raise ModelError(
                f"collective {self.name} is not defined for C = {chunks} on {nodes} nodes",
                self.origin,
            )
        return result

    def _spelled(self, way: int) -> str:
        return " then ".join(part.name for part in self.ways[way])

    def _follow(self, way: int, nodes: int, chunks: int) -> RelationTable | None:
        """The table of one way; None when it does not admit that C."""
        parts = self.ways[way]
        if not parts[0].admits(nodes, chunks):
            return None
        table = parts[0].tabulate(nodes, chunks)
        for place, part in enumerate(parts[1:], start=1):
            theirs = self.lookups[way][place - 1](nodes, len(table.pre))
            if theirs is None:
                return None
            later = part.tabulate(nodes, theirs)
            number = matching(table.post, later.pre)
            if number is None:
                raise ModelError(
                    f"collective {self.name}: {part.name} does not start where what precedes it "
                    f"ends ({nodes} nodes, C = {chunks})",
                    self.place(way, place),
                    "a part whose pre is the post of the part before it",
                )
            table = RelationTable(table.pre, later.post[number])
        return table


def part_chunks(part: Collective, nodes: int, global_chunks: int) -> int | None:
    """The C for which a collective has so many chunks in all; None if there is none."""
    return _Lookup(part, _global_chunks)(nodes, global_chunks)


def _global_chunks(table: RelationTable) -> int:
    """G."""
    return len(table.pre)


def _largest_post(table: RelationTable) -> int:
    return max(1, int(table.post.sum(axis=0).max(initial=0)))


def _both(table: RelationTable) -> BoolArray:
    return np.concatenate([table.pre, table.post], axis=1)


class _Lookup:
    """Finds the C for which a collective's table measures a given number.

    The measure of nearly every collective is proportional to C, so one guess from the least C
    suffices; the rest is looked through from below, once for each P, as far as the two limits at
    the head of this file.
    """

    def __init__(self, collective: Collective, measure: Callable[[RelationTable], int]) -> None:
        self._collective, self._measure = collective, measure
        self._known: dict[tuple[int, int], int | None] = {}

    def _measured(self, nodes: int, chunks: int) -> int | None:
        if (nodes, chunks) not in self._known:
            value = None
            if self._collective.admits(nodes, chunks):
                value = self._measure(self._collective.tabulate(nodes, chunks))
            self._known[nodes, chunks] = value
        return self._known[nodes, chunks]

    def __call__(self, nodes: int, wanted: int) -> int | None:
        # All nodes together have at least C chunks in a sensible collective, so that a node has at
        # least C / P of them (as after a scatter), and larger C need not be tried.
        left = _MOST_MEASURED
        for chunks in range(1, min(wanted * nodes, _LAST_TRIED) + 1):
            measured = self._measured(nodes, chunks)
            if measured is None:
                continue
            if measured == wanted:
                return chunks
            guess = wanted * chunks // measured
            if guess > chunks and self._measured(nodes, guess) == wanted:
                return guess
            left -= 1
            if measured > wanted or not left:
                return None
        return None
