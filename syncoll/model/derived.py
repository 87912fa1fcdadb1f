"""Collectives made of others: inverses and sequences.

Reducescatter is the inverse of allgather, reduce the inverse of broadcast (SCCL paper, section
3.5): pre and post change places, and copies become contributions.  C counts the chunks into which
one node's input is cut, so reducescatter's C is P times its dual's, as in the paper's Tables 4 and
5; a C that counts the pieces of a unit is the same in the inverse.  An inverse has an algorithm
exactly if its dual has one with the same S and R on the reversed topology, for each C by itself.

In a composed collective each part starts where the previous one ends; only the first may combine.
Several ways may lead to the same result: allreduce is reducescatter then allgather, and also reduce
then broadcast.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np

from syncoll.errors import ModelError, Origin
from syncoll.model.chunk_lookup import ChunkLookup, kept_lookup, largest_post, num_chunks
from syncoll.model.collective import Collective, not_defined
from syncoll.model.instance import Instance
from syncoll.model.node_sets import paired
from syncoll.model.reproducible import plain_parts
from syncoll.model.rows import MOST_CELLS, RelationTable
from syncoll.model.topology import Topology
from syncoll.wording import counted


def inverse_of(dual: Collective, name: str, origin: Origin | None = None) -> Collective:
    """The inverse of a collective with one root per chunk.  Raises `ModelError` if the dual is
    composed; when a table is made, if a chunk has several roots."""
    if dual.plain is not None:
        raise ModelError(
            f"collective {name}: {dual.name} is reproducible, and its inverse adds nothing up",
            origin,
            f"the inverse of {dual.plain.name}",
        )
    if dual.ways:
        raise ModelError(
            f"collective {name}: {dual.name} is composed of others and has no inverse of its own",
            origin,
            "the inverse of a collective with a pre and a post",
        )
    per_dual = _same if dual.in_units else None
    inverse = _Inverse(dual, name, origin, per_dual)
    requirement = dual.requirement
    if not dual.in_units:
        own = f" ({requirement})" if requirement else ""
        requirement = f"a C that is the number of chunks with which a node of {dual.name} ends{own}"
    return Collective(
        name,
        inverse.tabulate,
        inverse.admits,
        requirement,
        origin,
        combining=not dual.combining,
        dual=dual,
        irregular=dual.irregular,
        in_units=dual.in_units,
        per_dual=per_dual,
    )


def _same(_nodes: int) -> Fraction:
    return Fraction(1)


def sequence_of(
    ways: Sequence[Sequence[Collective]],
    name: str,
    origin: Origin | None = None,
    *,
    origins: Sequence[Sequence[Origin]] | None = None,
) -> Collective:
    """The collective whose result each of these sequences gives.

    Args:
        ways: the parts of each way, in order.
        origins: where the file names each part of each way, for errors.

    Raises:
        ModelError: if a way has no parts, a part other than a first one combines, or only some ways
            combine; when a table is made, if parts do not fit together, or two ways differ.
    """
    sequence = _Sequence(
        tuple(tuple(parts) for parts in ways),
        name,
        origin,
        None if origins is None else tuple(tuple(places) for places in origins),
    )
    firsts = plain_parts([way[0] for way in sequence.ways], name, origin)
    plain = None
    if firsts is not None:
        ways = [(first, *way[1:]) for first, way in zip(firsts, sequence.ways, strict=True)]
        plain = sequence_of(ways, name, origin, origins=origins)
    return Collective(
        name,
        sequence.tabulate,
        sequence.admits,
        "a C for which the parts fit together",
        origin,
        combining=sequence.ways[0][0].combining,
        ways=sequence.ways,
        irregular=sequence.irregular,
        plain=plain,
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Inverse:
    """The tables of an inverse; it can be pickled if its dual can."""

    dual: Collective
    name: str
    origin: Origin | None
    per_dual: Callable[[int], Fraction] | None

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether some C of the dual fits."""
        return _chunks_of_dual(self.dual, self.per_dual, nodes, chunks) is not None

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """The dual's table with pre and post exchanged."""
        found = _chunks_of_dual(self.dual, self.per_dual, nodes, chunks)
        if found is None:
            raise not_defined(self.name, nodes, chunks, self.origin)
        table = self.dual.tabulate(nodes, found)
        roots = (table.ends if self.dual.combining else table.starts).sizes
        if (roots != 1).any():
            chunk = int(np.flatnonzero(roots != 1)[0])
            raise ModelError(
                f"collective {self.name}: chunk {chunk} of {self.dual.name} has "
                f"{int(roots[chunk])} roots, so it cannot be inverted",
                self.origin,
                "exactly one node where each chunk starts",
            )
        return RelationTable(table.ends, table.starts)


@dataclass(frozen=True, eq=False, repr=False)
class _Sequence:
    """The tables of a composed collective; it can be pickled if its parts can."""

    ways: tuple[tuple[Collective, ...], ...]
    name: str
    origin: Origin | None
    origins: tuple[tuple[Origin, ...], ...] | None
    lookups: tuple[tuple[ChunkLookup, ...], ...] = field(init=False)
    admitted: dict[tuple[int, int], bool] = field(init=False, default_factory=dict)
    compared: set[int] = field(init=False, default_factory=set)
    joined: set[tuple[int, int]] = field(init=False, default_factory=set)
    """Pairs of a way and P whose parts fit together."""

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
        lookups = tuple(tuple(kept_lookup(part, num_chunks) for part in p) for p in self.ways)
        object.__setattr__(self, "lookups", lookups)

    @property
    def irregular(self) -> bool:
        """Whether a part is."""
        return any(part.irregular for parts in self.ways for part in parts)

    def place(self, way: int, part: int = 0) -> Origin | None:
        """Where the spec file names a part."""
        return self.origin if self.origins is None else self.origins[way][part]

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether the parts of one of the ways fit together."""
        if (nodes, chunks) not in self.admitted:
            self.admitted[nodes, chunks] = any(
                self._fits(way, nodes, chunks) for way in range(len(self.ways))
            )
        return self.admitted[nodes, chunks]

    def _fits(self, way: int, nodes: int, chunks: int) -> bool:
        """Whether one way admits that C.  Regular parts that fit together for one C do so for every
        C that each of them admits, since their tables are cut."""
        if self.irregular or (way, nodes) not in self.joined:
            if self._follow(way, nodes, chunks) is None:
                return False
            self.joined.add((way, nodes))
            return True
        first, *later = self.lookups[way]
        least = first.least(nodes)
        if least is None or not first.admits(nodes, chunks):
            return False
        total = len(least[1]) * (chunks // least[0])
        return all(lookup(nodes, total) is not None for lookup in later)

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """The table of the first way that admits C, compared with the other ways."""
        result: RelationTable | None = None
        first = 0
        for way in range(len(self.ways)):
            table = self._follow(way, nodes, chunks)
            if table is None:
                continue
            if result is None:
                result, first = table, way
            elif not result.same_as(table):
                raise self._differing(way, first, f"{counted(nodes, 'node')}, C = {chunks}")
        if result is None:
            raise not_defined(self.name, nodes, chunks, self.origin)
        if not self.irregular and nodes not in self.compared:
            self._compare_ways(nodes)
            self.compared.add(nodes)
        return result

    def _compare_ways(self, nodes: int) -> None:
        """Raises unless all ways have the same result, whichever C they admit.

        Each way admits multiples of the least C for which its parts have equally many chunks, so
        that one such C is compared.
        """
        shares: dict[int, dict[tuple[bytes, bytes], Fraction]] = {}
        for way, lookups in enumerate(self.lookups):
            found = [lookup.least(nodes) for lookup in lookups]
            least = [one for one in found if one is not None]
            if len(least) < len(found) or not all(len(table) for _, table in least):
                continue  # a part is defined for no C here, or has no chunks
            common = lcm(*(len(table) for _, table in least))
            if common * nodes > MOST_CELLS:
                raise ModelError(
                    f"collective {self.name}: the parts of {self._spelled(way)} fit together for "
                    f"{counted(common, 'chunk')} at the least ({counted(nodes, 'node')})",
                    self.place(way),
                    f"at most {MOST_CELLS} pairs of chunk and node",
                )
            tables = [table.cut(common // len(table)) for _, table in least]
            chunks = least[0][0] * (common // len(least[0][1]))
            table = self._joined(way, tables, nodes, chunks)
            shares[way] = {
                (table.starts.sets[i].tobytes(), table.ends.sets[j].tobytes()): Fraction(k, chunks)
                for i, j, k in zip(*(part.tolist() for part in table.kinds), strict=True)
            }
            first = next(iter(shares))
            if shares[way] != shares[first]:
                raise self._differing(way, first, counted(nodes, "node"))

    def _differing(self, way: int, first: int, where: str) -> ModelError:
        return ModelError(
            f"collective {self.name}: {self._spelled(way)} has another result than "
            f"{self._spelled(first)} ({where})",
            self.place(way),
            "ways to the same result",
        )

    def _spelled(self, way: int) -> str:
        return " then ".join(part.name for part in self.ways[way])

    def _follow(self, way: int, nodes: int, chunks: int) -> RelationTable | None:
        """The table of one way; None if it does not admit that C."""
        first, *later = self.lookups[way]
        if not first.admits(nodes, chunks):
            return None
        tables = [first.table(nodes, chunks)]
        for lookup in later:
            theirs = lookup(nodes, len(tables[0]))
            if theirs is None:
                return None
            tables.append(lookup.table(nodes, theirs))
        return self._joined(way, tables, nodes, chunks)

    def _joined(
        self, way: int, tables: Sequence[RelationTable], nodes: int, chunks: int
    ) -> RelationTable:
        """The start of a way's first part and the end of its last one.  Chunks in the same places
        between two parts are paired in order, so a result of cut tables is cut, too."""
        whole = tables[0]
        for place, table in enumerate(tables[1:], start=1):
            number = paired((whole.ends,), (table.starts,))
            if number is None:
                raise ModelError(
                    f"collective {self.name}: {self.ways[way][place].name} does not start where "
                    f"the part before it ends ({counted(nodes, 'node')}, C = {chunks})",
                    self.place(way, place),
                    "a part whose pre is the post of the part before it",
                )
            whole = RelationTable(whole.starts, table.ends.take(number))
        return whole


def _chunks_of_dual(
    dual: Collective, per_dual: Callable[[int], Fraction] | None, nodes: int, chunks: int
) -> int | None:
    """The C of the dual for a C of its inverse; None if no C fits."""
    if per_dual is None:
        return kept_lookup(dual, largest_post)(nodes, chunks)
    found = chunks / per_dual(nodes)
    if found.denominator > 1 or found < 1 or not dual.admits(nodes, int(found)):
        return None
    return int(found)


def inverse_chunks(collective: Collective, nodes: int, chunks: int) -> int | None:
    """The C of an inverse for a C of its dual; None if it is the largest count at a node."""
    if collective.per_dual is None:
        return None
    return int(chunks * collective.per_dual(nodes))


def dual_of(collective: Collective, dual: Collective, nodes: int, chunks: int) -> int:
    """The C of the dual whose algorithms, run backwards, solve its inverse with C = `chunks`.
    Raises `LocatedError` if the inverse is not defined for that C, or a C of the dual has no table.

    Several C of a dual may put that many chunks at a node; one of them defines the inverse.
    """
    found = _chunks_of_dual(dual, collective.per_dual, nodes, chunks)
    if found is None:
        raise ModelError(
            f"collective {collective.name}: no C of {dual.name} fits C = {chunks}",
            collective.origin,
        )
    return found


def dual_instance(instance: Instance, collective: Collective, dual: Collective) -> Instance:
    """The dual's instance, on the reversed topology, of an inverse's; raises as `dual_of`."""
    topology = instance.topology
    return dual.instantiate(
        topology.reversed(),
        chunks=dual_of(collective, dual, topology.num_nodes, instance.chunks),
        steps=instance.steps,
        rounds=instance.rounds,
    )


def require_sense(collective: Collective, topology: Topology, chunks: int) -> None:
    """Raises LocatedError if parts do not fit together for C, or a post cannot be reached."""
    collective.table_on(topology, chunks)
    dual = collective.dual
    if dual is not None:  # solvers get the dual
        dual.table_on(topology.reversed(), dual_of(collective, dual, topology.num_nodes, chunks))
