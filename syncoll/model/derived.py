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

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

from syncoll.errors import LocatedError, ModelError, Origin
from syncoll.model.collective import Collective, RelationTable
from syncoll.model.instance import BoolArray
from syncoll.model.rows import matching
from syncoll.wording import counted

__all__ = ["dual_chunks", "inverse_of", "part_chunks", "sequence_of"]

_LAST_TRIED = 10_000
"""Up to where C is looked for one by one: beyond the least that any number of nodes asks for."""

_MOST_MEASURED = 1_000
"""How many C a collective of irregular size is measured for."""

_MOST_REFUSALS = 100
"""A collective that makes no sense for so many C most likely makes none for any."""

_MOST_CELLS = 1 << 20
"""Cells of tables that are made, for one P, where only trying can tell."""


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
        scales=inverse.scales,
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
        scales=sequence.scales,
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
                f"collective {self.name} is not defined for C = {chunks} on "
                f"{counted(nodes, 'node')}",
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

    def scales(self, nodes: int) -> str | None:
        """Why the tables are proportional to C.

        The most chunks at one node in the dual's post are a fixed multiple of the dual's C, so
        that one C of the dual belongs to each C, proportional to it.  (Where they are 0 only C = 1
        is admitted, if any.)
        """
        reason = self.dual.scales(nodes)
        return None if reason is None else f"it is the inverse of {self.dual.name}, where {reason}"


@dataclass(frozen=True, eq=False, repr=False)
class _Sequence:
    """The tables of a composed collective; it can be pickled when its parts can."""

    ways: tuple[tuple[Collective, ...], ...]
    name: str
    origin: Origin | None
    origins: tuple[tuple[Origin, ...], ...] | None
    lookups: tuple[tuple[_Lookup, ...], ...] = field(init=False)
    admitted: dict[tuple[int, int], bool] = field(init=False, default_factory=dict)
    reasons: dict[int, str | None] = field(init=False, default_factory=dict)

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
                    f"{self._spelled(first)} ({counted(nodes, 'node')}, C = {chunks})",
                    self.place(way),
                    "ways to the same result",
                )
        if result is None:
            raise ModelError(
                f"collective {self.name} is not defined for C = {chunks} on "
                f"{counted(nodes, 'node')}",
                self.origin,
            )
        return result

    def scales(self, nodes: int) -> str | None:
        """Why the tables are proportional to C; None where that is not proved.

        Proportional parts make a proportional whole when it does not matter which of the chunks
        that are in the same places between two parts becomes which, as `_joins_freely` says: then
        the counts of one C, divided by it, are those of every C.  All ways must have the same.
        """
        if nodes not in self.reasons:
            self.reasons[nodes] = self._why_it_scales(nodes)
        return self.reasons[nodes]

    def _why_it_scales(self, nodes: int) -> str | None:
        if any(part.scales(nodes) is None for parts in self.ways for part in parts):
            return None
        shares = []
        try:
            for way in range(len(self.ways)):
                least = self._least(way, nodes)
                table = None if least is None else self._follow(way, nodes, least, freely=True)
                if table is None or least is None:
                    return None
                shares.append(_shares(table, least))
        except LocatedError:  # no table, or too large a one
            return None
        if any(share != shares[0] for share in shares):
            return None
        spelled = " or ".join(self._spelled(way) for way in range(len(self.ways)))
        return f"it is {spelled}, and what each part asks for is proportional to C"

    def _least(self, way: int, nodes: int) -> int | None:
        """The least C that a way admits, looked for as far as the limits of this file."""
        first, cells = self.ways[way][0], 0
        for chunks in range(1, _MOST_MEASURED + 1):
            if self._follow(way, nodes, chunks) is not None:
                return chunks
            if first.admits(nodes, chunks):
                cells += first.tabulate(nodes, chunks).pre.size
            if cells > _MOST_CELLS:
                return None
        return None

    def _spelled(self, way: int) -> str:
        return " then ".join(part.name for part in self.ways[way])

    def _follow(
        self, way: int, nodes: int, chunks: int, *, freely: bool = False
    ) -> RelationTable | None:
        """The table of one way; None when it does not admit that C.

        Args:
            way: which.
            nodes: P.
            chunks: C.
            freely: whether the parts must also join as `_joins_freely` says.
        """
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
                    f"ends ({counted(nodes, 'node')}, C = {chunks})",
                    self.place(way, place),
                    "a part whose pre is the post of the part before it",
                )
            if freely and not _joins_freely(table, later):
                return None
            table = RelationTable(table.pre, later.post[number])
        return table


def part_chunks(part: Collective, nodes: int, global_chunks: int) -> int | None:
    """The C for which a collective has so many chunks in all; None if there is none."""
    return _Lookup(part, _global_chunks)(nodes, global_chunks)


def dual_chunks(dual: Collective, nodes: int, chunks: int) -> int | None:
    """The C of a dual whose table is that of its inverse with C = `chunks`; None if there is none.

    Where the dual's chunks do not grow in proportion to its C, several may put so many chunks at a
    node; the inverse is that of the one found here.

    Raises:
        ModelError: when none was found, and some C of the dual makes no sense.
        SpecError: the same for a dual of a spec file.
    """
    return _Lookup(dual, _largest_post)(nodes, chunks)


def _global_chunks(table: RelationTable) -> int:
    """G."""
    return len(table.pre)


def _largest_post(table: RelationTable) -> int:
    return max(1, int(table.post.sum(axis=0).max(initial=0)))


def _both(table: RelationTable) -> BoolArray:
    return np.concatenate([table.pre, table.post], axis=1)


def _joins_freely(before: RelationTable, after: RelationTable) -> bool:
    """Whether chunks that are in the same places between two parts also start, or end, alike.

    For each set of places one of both must hold.  Then any pairing of its chunks has as many that
    start here and end there.
    """
    starts, ends = defaultdict(set), defaultdict(set)
    for place, start in zip(before.post, before.pre, strict=True):
        starts[place.tobytes()].add(start.tobytes())
    for place, end in zip(after.pre, after.post, strict=True):
        ends[place.tobytes()].add(end.tobytes())
    return all(len(starts[place]) == 1 or len(ends[place]) == 1 for place in starts)


def _shares(table: RelationTable, chunks: int) -> dict[bytes, Fraction]:
    """How many chunks, per C, start and end alike."""
    counts = Counter(row.tobytes() for row in _both(table))
    return {row: Fraction(count, chunks) for row, count in counts.items()}


class _Lookup:
    """Finds the C for which a collective's table measures a given number.

    Where the tables are proportional to C, so are the measures, and the least C says all.  For
    other collectives a guess of that kind is tried first, and then everything from below, once for
    each P, as far as the limits at the head of this file.
    """

    def __init__(self, collective: Collective, measure: Callable[[RelationTable], int]) -> None:
        self._collective, self._measure = collective, measure
        self._known: dict[tuple[int, int], int | None] = {}
        self._refusals: dict[int, list[LocatedError]] = defaultdict(list)
        self._least: dict[int, int | None] = {}
        self._cells: dict[int, int] = defaultdict(int)

    def _measured(self, nodes: int, chunks: int) -> int | None:
        if (nodes, chunks) not in self._known:
            value = None
            try:
                if self._collective.admits(nodes, chunks):
                    table = self._collective.tabulate(nodes, chunks)
                    value = self._measure(table)
                    self._cells[nodes] += table.pre.size
            except LocatedError as error:  # no C that could be the one
                self._refusals[nodes].append(error)
            self._known[nodes, chunks] = value
        return self._known[nodes, chunks]

    def __call__(self, nodes: int, wanted: int) -> int | None:
        """See the class; raises what kept a table from being made where no C was found."""
        if self._collective.scales(nodes) is not None:
            found = self._proportional(nodes, wanted)
        else:
            found = self._searched(nodes, wanted)
        if found is None and self._refusals[nodes]:
            raise self._refusals[nodes][0]
        return found

    def _proportional(self, nodes: int, wanted: int) -> int | None:
        if nodes not in self._least:
            tried = range(1, _LAST_TRIED + 1)
            admitted = (c for c in tried if self._collective.admits(nodes, c))
            self._least[nodes] = next(admitted, None)
        least = self._least[nodes]
        measured = None if least is None else self._measured(nodes, least)
        if least is None or not measured or wanted * least % measured:
            return None
        found = wanted * least // measured
        return found if self._measured(nodes, found) == wanted else None

    def _searched(self, nodes: int, wanted: int) -> int | None:
        # All nodes together have at least C chunks in a sensible collective, so that a node has at
        # least C / P of them (as after a scatter), and larger C need not be tried.  Measures may
        # go up and down, but once one was too large only so much is spent on that.
        left, exceeded = _MOST_MEASURED, False
        for chunks in range(1, min(wanted * nodes, _LAST_TRIED) + 1):
            measured = self._measured(nodes, chunks)
            if len(self._refusals[nodes]) >= _MOST_REFUSALS:
                return None
            if measured is not None and measured == wanted:
                return chunks
            if not measured:
                continue
            guess = wanted * chunks // measured
            if not exceeded and guess > chunks and self._measured(nodes, guess) == wanted:
                return guess
            left -= 1
            exceeded = exceeded or measured > wanted
            if not left or (exceeded and self._cells[nodes] > _MOST_CELLS):
                return None
        return None
