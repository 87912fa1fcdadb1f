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
from itertools import pairwise

import numpy as np

from syncoll.errors import ModelError, Origin
from syncoll.model.collective import Collective, RelationTable
from syncoll.model.rows import matching

__all__ = ["inverse_of", "part_chunks", "sequence_of"]


def inverse_of(dual: Collective, name: str, origin: Origin | None = None) -> Collective:
    """The inverse of a collective with one root per chunk.

    Args:
        dual: not a composed one; invert its parts instead.
        name: how people call the inverse.
        origin: where a spec file defines it.

    Raises:
        ModelError: when the dual is composed.
    """
    if dual.ways:
        raise ModelError(
            f"collective {name}: {dual.name} is composed of others and has no inverse of its own",
            origin,
            "the inverse of a collective with a pre and a post",
        )
    chunks_of_dual = _Lookup(dual, _largest_post)

    def tabulate(nodes: int, chunks: int) -> RelationTable:
        table = dual.tabulate(nodes, _found(chunks_of_dual, nodes, chunks, name, origin))
        roots = (table.post if dual.combining else table.pre).sum(axis=1)
        if (roots != 1).any():
            chunk = int(np.flatnonzero(roots != 1)[0])
            raise ModelError(
                f"collective {name}: chunk {chunk} of {dual.name} has {int(roots[chunk])} roots, "
                "so it cannot be inverted",
                origin,
                "exactly one node where each chunk starts",
            )
        return RelationTable(table.post, table.pre)

    return Collective(
        name,
        tabulate,
        lambda nodes, chunks: chunks_of_dual(nodes, chunks) is not None,
        f"a C that is the number of chunks at a node of {dual.name}"
        + (f" ({dual.requirement})" if dual.requirement else ""),
        origin,
        combining=not dual.combining,
        dual=dual,
    )


def sequence_of(
    ways: Sequence[Sequence[Collective]], name: str, origin: Origin | None = None
) -> Collective:
    """The collective that each of these sequences amounts to.

    Args:
        ways: for each way its parts in order, at least two.
        name: how people call it.
        origin: where a spec file defines it.

    Raises:
        ModelError: when a part other than a first one combines, or only some ways combine.
    """
    for parts in ways:
        for before, part in pairwise(parts):
            if part.combining:
                raise ModelError(
                    f"collective {name}: {part.name} combines, so it cannot come after "
                    f"{before.name}",
                    origin,
                    "later parts that only move data",
                )
    combining = {parts[0].combining for parts in ways}
    if len(combining) != 1:
        raise ModelError(
            f"collective {name}: one way to it combines and another does not",
            origin,
            "ways to the same result",
        )
    lookups = {part: _Lookup(part, _global_chunks) for parts in ways for part in parts[1:]}

    def follow(parts: Sequence[Collective], nodes: int, chunks: int) -> RelationTable | None:
        if not parts[0].admits(nodes, chunks):
            return None
        table = parts[0].tabulate(nodes, chunks)
        for part in parts[1:]:
            theirs = lookups[part](nodes, len(table.pre))
            if theirs is None:
                return None
            later = part.tabulate(nodes, theirs)
            number = matching(table.post, later.pre)
            if number is None:
                raise ModelError(
                    f"collective {name}: {part.name} does not start where what precedes it ends "
                    f"({nodes} nodes, C = {chunks})",
                    origin,
                    "a part whose pre is the post of the part before it",
                )
            table = RelationTable(table.pre, later.post[number])
        return table

    def tabulate(nodes: int, chunks: int) -> RelationTable:
        for parts in ways:
            table = follow(parts, nodes, chunks)
            if table is not None:
                return table
        raise ModelError(f"collective {name} is not defined for C = {chunks} on {nodes} nodes")

    admitted: dict[tuple[int, int], bool] = {}

    def admits(nodes: int, chunks: int) -> bool:
        if (nodes, chunks) not in admitted:
            admitted[nodes, chunks] = any(follow(p, nodes, chunks) is not None for p in ways)
        return admitted[nodes, chunks]

    return Collective(
        name,
        tabulate,
        admits,
        "a C for which the parts fit together",
        origin,
        combining=combining.pop(),
        ways=tuple(tuple(parts) for parts in ways),
    )


def part_chunks(part: Collective, nodes: int, global_chunks: int) -> int | None:
    """The C for which a collective has so many chunks in all; None if there is none."""
    return _Lookup(part, _global_chunks)(nodes, global_chunks)


def _global_chunks(table: RelationTable) -> int:
    """G."""
    return len(table.pre)


def _largest_post(table: RelationTable) -> int:
    return max(1, int(table.post.sum(axis=0).max(initial=0)))


def _found(lookup: _Lookup, nodes: int, chunks: int, name: str, origin: Origin | None) -> int:
    found = lookup(nodes, chunks)
    if found is None:
        raise ModelError(
            f"collective {name} is not defined for C = {chunks} on {nodes} nodes", origin
        )
    return found


class _Lookup:
    """Finds the C for which a collective's table measures a given number.

    The measure of nearly every collective is proportional to C, so one guess from the least C
    suffices; the rest is looked through from below, once for each P.
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
        # The number of chunks at a node never falls below C for a sensible collective, and a C
        # beyond what is wanted need not be tried.
        for chunks in range(1, wanted + 1):
            measured = self._measured(nodes, chunks)
            if measured is None:
                continue
            if measured == wanted:
                return chunks
            guess = wanted * chunks // measured
            if guess > chunks and self._measured(nodes, guess) == wanted:
                return guess
            if measured > wanted:
                return None
        return None
