"""Sums of collectives: several at the same time on the same links, each on nodes of its own.

``2 * A + B within groups`` requests all chunks of twice A, and of B on each group, with the nodes
of a group numbered from 0.  It is one demand, met by one algorithm, in which other nodes may relay.

Cost.  C counts the pieces into which one unit of each term is cut; a unit is the data that the
term's own C cuts.  A term of weight w has w units and w * C pieces, so R/C is rounds per unit.  The
sum admits a C if each term, on each of its groups, admits its share of it.  Each chunk of the least
C of a term is followed by its further pieces: a buffer in order of chunk numbers has every term's
data in the order of its own runtime.

Structure.  If all terms are inverses, the sum is the inverse of the sum of the duals, in which a
group has as many units as its inverse needs.  If all terms are composed, it is the composition of
the sums of the first parts, of the second parts, and so on.  If some terms combine and others move
data, the sum combines, and a chunk with one contributor is moved.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from itertools import groupby
from math import gcd, lcm
from typing import Any

import numpy as np

from syncoll.errors import ModelError, Origin
from syncoll.model.chunk_lookup import kept_lookup, num_chunks
from syncoll.model.collective import Collective, Share, not_defined
from syncoll.model.derived import dual_of
from syncoll.model.reproducible import plain_parts
from syncoll.model.rows import RelationTable
from syncoll.wording import counted

Groups = Callable[[int], Sequence[Sequence[int]]]

_LAST_TRIED = 10_000
"""The largest C tried in a search for a term's least C."""

_LONGEST_NAME = 60
"""Characters of groups in a name."""


@dataclass(frozen=True)
class Term:
    """One term of a sum.

    Args:
        weight: the number of units.
        groups: P to the groups of nodes, each with the collective on its own; None for all nodes.
        origin: where a spec file names it.
        name: its name with weight and groups; empty for its weight and the collective's name.
    """

    collective: Collective
    weight: int = 1
    groups: Groups | None = None
    origin: Origin | None = None
    name: str = ""


def within(collective: Collective, groups: object, name: str = "") -> Collective:
    """The collective on each of several groups of nodes at once.

    Args:
        groups: lists of nodes; or a function of P that gives them.

    Raises:
        ModelError: if the groups are not lists of distinct nodes, or the collective cannot be part
            of a sum; when a table is made, if a group names an unknown node.

    Examples:
        >>> from syncoll.api import collective
        >>> from syncoll.model import within
        >>> pairs = within(collective("allgather"), [[0, 1], [2, 3]])
        >>> pairs.tabulate(4, 1).post.astype(int).tolist()
        [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    """
    if callable(groups):
        return sum_of([Term(collective, groups=groups)], name or f"{collective.name} within groups")
    listed = checked_groups(groups, None)
    text = "[" + ",".join("[" + ",".join(map(str, group)) + "]" for group in listed) + "]"
    if len(text) > _LONGEST_NAME:
        text = counted(len(listed), "group")
    return sum_of(
        [Term(collective, groups=_Listed(listed))],
        name or f"{_factor(collective.name)} within {text}",
    )


def sum_of(terms: Sequence[Term], name: str = "", origin: Origin | None = None) -> Collective:
    """The collective that requests all terms at the same time.

    Args:
        name: empty for the names of the terms, joined.

    Raises:
        ModelError: if a weight is not a whole number from 1, or an irregular term combines or is
            composed.
    """
    if not terms:
        raise ModelError("a sum without terms", origin, "at least one")
    spelled = []
    for term in terms:
        if isinstance(term.weight, bool) or not isinstance(term.weight, int) or term.weight < 1:
            raise ModelError(
                f"{term.collective.name} has the weight {term.weight}",
                term.origin or origin,
                "a whole number from 1",
            )
        own = term.collective
        if own.irregular and (own.combining or own.dual is not None or own.ways):
            raise ModelError(
                f"{own.name} is irregular, and combines or is composed: it cannot be part of a "
                "sum or within groups",
                term.origin or origin,
                "a collective that means the same for every C",
            )
        weighted = f"{term.weight} * {own.name}" if term.weight > 1 else own.name
        spelled.append(term.name or weighted)
    shares = partial(_term_shares, tuple(terms), origin)
    collectives = [term.collective for term in terms]
    return _made(collectives, shares, name or " + ".join(spelled), origin, spelled)


def checked_groups(
    groups: object, nodes: int | None, origin: Origin | None = None
) -> tuple[tuple[int, ...], ...]:
    """Groups as tuples of nodes; P may be unknown.  Raises `ModelError` if they are not non-empty
    lists of distinct, existing nodes, or there are no groups."""
    hint = "a list of groups, each a list of different nodes, such as [[0, 1], [2, 3]]"

    def refused(message: str) -> ModelError:
        return ModelError(message, origin, hint)

    listed: list[tuple[int, ...]] = []
    for number, group in enumerate(_items(groups, "the groups are", refused)):
        members: list[int] = []
        for node in _items(group, f"group {number} is", refused):
            if isinstance(node, bool | np.bool_) or not isinstance(node, int | np.integer):
                shown = str(node) if isinstance(node, Fraction) else repr(node)
                raise refused(f"group {number} names {shown}")
            if int(node) in members:
                raise refused(f"group {number} names node {int(node)} twice")
            if node < 0 or (nodes is not None and node >= nodes):
                there = "" if nodes is None else f"; there are the nodes 0 to {nodes - 1}"
                raise refused(f"group {number} names node {int(node)}{there}")
            members.append(int(node))
        if not members:
            raise refused(f"group {number} is empty")
        listed.append(tuple(members))
    if not listed:
        raise refused("there are no groups")
    return tuple(listed)


def _items(value: object, what: str, refused: Callable[[str], ModelError]) -> list[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise refused(f"{what} {value!r}")
    return list(value)


def _factor(name: str) -> str:
    return f"({name})" if " " in name else name


@dataclass(frozen=True)
class _Listed:
    """Groups that are the same for every P, comparable and picklable."""

    groups: tuple[tuple[int, ...], ...]

    def __call__(self, _nodes: int) -> Sequence[Sequence[int]]:
        return self.groups


@dataclass(frozen=True)
class _Share:
    """The demand of the term of a number on a group: node i of it is node i of the term's own
    table.  The scale is the term's own C divided by that of the sum."""

    term: int
    nodes: tuple[int, ...]
    scale: Fraction


_Shares = Callable[[int], Sequence[_Share] | None]
"""P to the shares of a sum; None if it is not defined for P."""


def _made(
    collectives: Sequence[Collective],
    shares: _Shares,
    name: str,
    origin: Origin | None,
    names: Sequence[str] = (),
) -> Collective:
    """The sum of shares, with the structure common to its collectives; `names` are the terms'."""
    parts = tuple(collectives)
    combining = any(part.combining for part in parts)
    whole = _Sum(parts, shares, name, origin, combining)
    dual, per_dual = None, None
    ways: tuple[tuple[Collective, ...], ...] = ()
    if all(part.dual is not None and part.combining == combining for part in parts):
        duals = [part.dual for part in parts if part.dual is not None]
        turned = _DualShares(parts, shares)
        dual = _made(duals, turned, f"inverse ({name})", origin)
        per_dual = turned.per_dual
    elif all(part.ways and part.combining == combining for part in parts):
        ways = _ways(parts, shares, origin)
    terms: tuple[Collective, ...] = ()
    plain = plain_parts(parts, name, origin)
    # Terms with the same contributors share an association, which searches of each would not.
    if len(parts) > 1 and dual is None and not ways and plain is None:
        alone = [partial(_one_term, shares, number) for number in range(len(parts))]
        called = names or [part.name for part in parts]
        terms = tuple(
            _made([part], one, own, origin)
            for part, one, own in zip(parts, alone, called, strict=True)
        )
    return Collective(
        name,
        whole.tabulate,
        whole.admits,
        "; ".join(dict.fromkeys(part.requirement for part in parts if part.requirement)),
        origin,
        combining=combining,
        dual=dual,
        ways=ways,
        terms=terms,
        irregular=any(part.irregular for part in parts),
        in_units=True,
        per_dual=per_dual,
        shares=whole.listed,
        plain=None if plain is None else _made(plain, shares, name, origin, names),
    )


def _ways(
    parts: Sequence[Collective], shares: _Shares, origin: Origin | None
) -> tuple[tuple[Collective, ...], ...]:
    """The terms in step: all first parts, then all second parts; ways of equal lengths only."""
    made = []
    for way in range(min(len(part.ways) for part in parts)):
        own = [part.ways[way] for part in parts]
        if len({len(one) for one in own}) > 1:
            continue
        steps = []
        for place, stage in enumerate(zip(*own, strict=True)):
            names = [_factor(one.name) for one, _ in groupby(stage)]
            steps.append(
                _made(
                    stage,
                    partial(_stage_shares, own, shares, place),
                    f"{' + '.join(names)} of the terms"
                    if len(names) > 1
                    else f"{names[0]} of each",
                    origin,
                )
            )
        made.append(tuple(steps))
    return tuple(made)


@dataclass(frozen=True, eq=False, repr=False)
class _Sum:
    parts: tuple[Collective, ...]
    shares: _Shares
    name: str
    origin: Origin | None
    combining: bool
    _known: dict[int, Sequence[_Share] | None] = field(init=False, default_factory=dict)

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether every term admits its share of C on each of its groups."""
        found = self._shares(nodes)
        if found is None:
            return False
        asked = {(share.term, len(share.nodes), share.scale) for share in found}
        for term, size, scale in asked:
            own = chunks * scale
            if own.denominator > 1 or not self.parts[term].admits(size, int(own)):
                return False
        return True

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """The chunks of all shares, one share after the other."""
        tables = []
        for share in self._shares(nodes) or ():
            own = chunks * share.scale
            if own.denominator > 1:
                raise not_defined(self.name, nodes, chunks, self.origin)
            part = self.parts[share.term]
            table = self._table(share.term, len(share.nodes), int(own))
            if self.combining and not part.combining:
                self._require_moved(part, table)
            tables.append((table, np.array(share.nodes, dtype=np.int64)))
        if not tables:
            raise ModelError(
                f"collective {self.name} is not defined on {counted(nodes, 'node')}", self.origin
            )
        return RelationTable.joined(tables, nodes)

    def listed(self, nodes: int) -> list[Share]:
        """The collectives on their nodes; none if it is not defined for P."""
        found = self._shares(nodes) or ()
        return [Share(self.parts[one.term], one.nodes, one.scale) for one in found]

    def _shares(self, nodes: int) -> Sequence[_Share] | None:
        if nodes not in self._known:
            self._known[nodes] = self.shares(nodes)
        return self._known[nodes]

    def _table(self, term: int, size: int, chunks: int) -> RelationTable:
        """A term's own table, with the pieces of each chunk of its least C next to one another."""
        part = self.parts[term]
        least = None if part.irregular else kept_lookup(part, num_chunks).least(size)
        if least is None or chunks % least[0]:
            return part.tabulate(size, chunks)
        return least[1].repeated(chunks // least[0])

    def _require_moved(self, part: Collective, table: RelationTable) -> None:
        wrong = np.flatnonzero(table.starts.sizes != 1)
        if len(wrong):
            raise ModelError(
                f"collective {self.name}: chunk {int(wrong[0])} of {part.name} starts at "
                f"{int(table.starts.sizes[wrong[0]])} nodes, and others of the sum combine",
                self.origin,
                "terms without a reduction whose chunks start at one node each",
            )


def _term_shares(terms: Sequence[Term], origin: Origin | None, nodes: int) -> Sequence[_Share]:
    """The shares of a sum that was written as terms."""
    found = []
    for number, term in enumerate(terms):
        groups: Sequence[Sequence[int]] = (range(nodes),)
        if term.groups is not None:
            groups = checked_groups(term.groups(nodes), nodes, term.origin or origin)
        found += [_Share(number, tuple(group), Fraction(term.weight)) for group in groups]
    return found


def _one_term(shares: _Shares, term: int, nodes: int) -> Sequence[_Share] | None:
    """The shares of one term of a sum."""
    return [replace(share, term=0) for share in shares(nodes) or () if share.term == term] or None


@dataclass(frozen=True, eq=False, repr=False)
class _DualShares:
    """The shares of the dual: for each term the amount of its dual that its inverse needs."""

    parts: tuple[Collective, ...]
    shares: _Shares

    def __call__(self, nodes: int) -> Sequence[_Share] | None:
        found = self._turned(nodes)
        return None if found is None else _scaled(found, self.per_dual(nodes))

    def per_dual(self, nodes: int) -> Fraction:
        """C of the sum divided by its dual's C, a whole number that divides every C of the sum:
        each has a C of the dual, and a weight stays a weight in the dual."""
        return Fraction(lcm(*(share.scale.denominator for share in self._turned(nodes) or ())))

    def _turned(self, nodes: int) -> list[_Share] | None:
        def ratio(term: int, size: int) -> Fraction | None:
            part = self.parts[term]
            assert part.dual is not None
            least = part.least_chunks(size, _LAST_TRIED)
            if least is None:
                return None
            return Fraction(dual_of(part, part.dual, size, least), least)

        return _rescaled(self.shares(nodes), ratio)


def _stage_shares(
    ways: Sequence[Sequence[Collective]], shares: _Shares, place: int, nodes: int
) -> Sequence[_Share] | None:
    """The shares of one part of each way, with the number of chunks of the first part."""

    def ratio(term: int, size: int) -> Fraction | None:
        per_chunk = []
        for part in (ways[term][0], ways[term][place]):
            least = kept_lookup(part, num_chunks).least(size)
            if least is None:
                return None
            per_chunk.append(Fraction(least[0], len(least[1])))
        return per_chunk[1] / per_chunk[0]

    found = _rescaled(shares(nodes), ratio)
    return _scaled(found, 1 / _common(found)) if found and place else found


def _rescaled(
    shares: Sequence[_Share] | None, ratio: Callable[[int, int], Fraction | None]
) -> list[_Share] | None:
    """Shares scaled by a ratio of term and group size; None without any, or without a ratio."""
    known, found = cache(ratio), []
    for share in shares or ():
        factor = known(share.term, len(share.nodes))
        if factor is None:
            return None
        found.append(replace(share, scale=share.scale * factor))
    return found or None


def _common(shares: Sequence[_Share]) -> Fraction:
    """The largest common divisor of all scales, as a fraction."""
    scales = [share.scale for share in shares]
    return Fraction(
        gcd(*(one.numerator for one in scales)), lcm(*(one.denominator for one in scales))
    )


def _scaled(shares: Sequence[_Share], factor: Fraction) -> list[_Share]:
    return [replace(one, scale=one.scale * factor) for one in shares]
