"""A `Collective` from a collective definition: tables of pre and post for each P and C.

The definition describes the least C, and a larger C cuts every chunk (`syncoll.model.cutting`),
unless the definition is irregular.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import SpecError, SpecLimitError
from syncoll.model import Collective, RelationTable
from syncoll.model.cutting import Cutting
from syncoll.model.node_sets import NodeSets
from syncoll.spec import limits, syntax
from syncoll.spec.blame import BlamedCall, blaming
from syncoll.spec.chunk_keys import alike
from syncoll.spec.environment import Ambient
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.membership import holds
from syncoll.spec.source import Span
from syncoll.spec.syntax import Node
from syncoll.spec.values import ListedRelation, NameScope, NotVectorisable, Relation
from syncoll.wording import counted

_BLOCK = 1 << 18
"""Cells that are evaluated together: few enough for the processor's caches."""


class EmptyError(SpecError):
    """All sizes are 0 for one P; other P may have data."""


def build_collective(calls: Sequence[BlamedCall], scope: NameScope, name: str) -> Collective:
    """Makes a collective of the definition of the first call; see `blaming` for the others."""
    definition = calls[0].found.definition
    assert isinstance(definition, syntax.CollectiveDefinition)
    lets = {s.name: s for s in definition.body if isinstance(s, syntax.ValueDefinition)}
    on_chunks = [
        s
        for s in definition.body
        if isinstance(s, syntax.Require) and mentions(s.condition, {"C", "G"}, lets, scope)
    ]
    spec = _CollectiveSpec(definition, scope, name, frozenset(on_chunks), tuple(calls))
    origin = definition.post.span.origin
    asked = on_chunks[0].condition.span.origin if on_chunks else None
    if calls[0].found.module.shipped:
        origin, asked = calls[-1].span.origin, None
    tables: _CollectiveSpec | Cutting | _Sized = spec
    if definition.sizes is not None:
        tables = _Sized(spec)
    elif not definition.irregular:
        hint = "a line `irregular` in its braces"
        tables = Cutting(name, spec.tabulate, spec.admits, spec.refusal, hint)
    return Collective(
        name,
        tables.tabulate,
        tables.admits,
        ", and ".join(r.message for r in on_chunks),
        origin,
        requirement_origin=asked,
        irregular=definition.irregular,
        in_units=definition.sizes is not None,
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Sized:
    """The tables of a definition with sizes, one for each P; size w makes w * C chunks."""

    spec: "_CollectiveSpec"
    _known: dict[int, tuple[RelationTable, Ints]] = field(init=False, default_factory=dict)
    _last: dict[tuple[int, int], RelationTable] = field(init=False, default_factory=dict)

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether its chunks can be written out; true for C = 1, where `tabulate` gives the
        reason."""
        _, sizes = self._described(nodes)
        return chunks == 1 or int(sizes.sum()) * chunks <= limits.MAX_CHUNKS

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """The chunks in pieces, the pieces of each next to one another."""
        if (nodes, chunks) in self._last:
            return self._last[nodes, chunks]
        table, sizes = self._described(nodes)
        total = int(sizes.sum()) * chunks
        if total > limits.MAX_CHUNKS:
            with blaming(*self.spec.calls, late=True):
                raise self.spec.too_many(total, nodes)
        self._last.clear()  # the search asks for one C many times
        self._last[nodes, chunks] = table.repeated(sizes * chunks)
        return self._last[nodes, chunks]

    def _described(self, nodes: int) -> tuple[RelationTable, Ints]:
        if nodes not in self._known:
            self._known[nodes] = self.spec.sized(nodes)
        return self._known[nodes]


@dataclass(frozen=True, eq=False, repr=False)
class _CollectiveSpec:
    """A definition with its arguments.  Requirements that use C or G (`on_chunks`) decide which C
    are admitted; the others must hold for every C."""

    definition: syntax.CollectiveDefinition
    scope: NameScope
    name: str
    on_chunks: frozenset[syntax.Require]
    calls: tuple[BlamedCall, ...]

    def admits(self, nodes: int, chunks: int) -> bool:
        """Whether the collective is defined for C; raises SpecError if it is not for P at all."""
        evaluator = self._evaluator(nodes, chunks)
        with blaming(*self.calls, late=True):
            return self._prelude(evaluator, asking=True) is not None

    def tabulate(self, nodes: int, chunks: int) -> RelationTable:
        """The pre and post for one P and one C."""
        with blaming(*self.calls, late=True):
            evaluator = self._evaluator(nodes, chunks)
            scopes = self._prelude(evaluator, asking=False)
            assert scopes is not None
            return self._table(evaluator, scopes)

    def sized(self, nodes: int) -> tuple[RelationTable, Ints]:
        """The chunks that a definition with sizes describes, and ``[G]`` their sizes."""
        assert self.definition.sizes is not None
        expr = self.definition.sizes.value
        with blaming(*self.calls, late=True):
            evaluator = self._evaluator(nodes, None)
            scopes = self._prelude(evaluator, asking=False)
            assert scopes is not None
            table = self._table(evaluator, scopes)
            number = np.arange(len(table), dtype=np.int64)
            scope = scopes[self.definition.sizes]
            try:
                found = evaluator.number(expr, scope.having(c=number))
            except NotVectorisable:
                found = [evaluator.number(expr, scope.having(c=c)) for c in number.tolist()]
            sizes = np.broadcast_to(np.array(found), number.shape)
            for c in np.flatnonzero((sizes < 0) | (sizes % 1 != 0))[:1].tolist():
                rounds = any(p.name == "round_up" for p in self.definition.parameters)
                raise expr.span.error(
                    f"the size of chunk {c}{_way(table, c)} of {self.name} is {sizes[c]} units",
                    "a whole number of units from 0"
                    + (", or `round_up=true`" if rounds and sizes[c] > 0 else ""),
                )
            for c in np.flatnonzero(sizes > limits.MAX_CHUNKS)[:1].tolist():
                raise expr.span.error(
                    f"the size of chunk {c} of {self.name} is {sizes[c]} units, too many chunks to "
                    "expand",
                    f"at most {limits.MAX_CHUNKS}, as larger units would give",
                )
            if not sizes.any():
                expected = "at least one chunk of a size above 0"
                raise EmptyError("all sizes are 0", expr.span.origin, expected)
        return table, sizes.astype(np.int64)

    def refusal(self, guilty: str, message: str, expected: str) -> SpecError:
        """The error of a definition that would have to be irregular."""
        span = self.definition.name_span
        for statement in self.definition.body:
            if guilty == "require" and statement in self.on_chunks:
                span = statement.span
            elif isinstance(statement, syntax.Statement) and statement.keyword == guilty:
                span = statement.value.span
        return span.error(message, expected)

    def too_many(self, total: int, nodes: int, span: Span | None = None) -> SpecLimitError:
        """The error for too large a table, at a place or at the sizes, whose unit may be larger."""
        units = "" if span else ", as larger units would give"
        if span is None:
            assert self.definition.sizes is not None
            span = self.definition.sizes.value.span
        return SpecLimitError(
            f"{self.name} has {counted(total, 'chunk')} on {counted(nodes, 'node')}, too many to "
            "expand",
            span.origin,
            f"at most {limits.MAX_CHUNKS} chunks{units}",
        )

    def _table(self, evaluator: Evaluator, scopes: Mapping[Node, NameScope]) -> RelationTable:
        """The tables of pre and post, once everything before them has been evaluated."""
        span = self.definition.chunks.value.span
        nodes, total = (evaluator.ambient.get(name, span) for name in "PG")
        if total > limits.MAX_CHUNKS:
            raise self.too_many(total, nodes, span)
        tables = []
        for statement in (self.definition.pre, self.definition.post):
            relation = evaluator.relation(statement.value, scopes[statement])
            tables.append(table_of(evaluator, relation, total, nodes, statement.value.span))
        return RelationTable(*tables)

    def _evaluator(self, nodes: int, chunks: int | None) -> Evaluator:
        sized = self.definition.sizes is not None
        return Evaluator(Ambient(f"collective {self.name}", nodes, chunks, in_units=sized))

    def _prelude(self, evaluator: Evaluator, *, asking: bool) -> dict[Node, NameScope] | None:
        """The scope of each statement but pre and post; None if `asking` for a C not admitted."""
        scope, seen = self.scope, {}
        for statement in self.definition.body:
            seen[statement] = scope
            if isinstance(statement, syntax.ValueDefinition):
                scope = evaluator.let(statement, scope)
            elif isinstance(statement, syntax.Require):
                if not asking or statement not in self.on_chunks:
                    evaluator.require(statement, scope, self.name)
                elif not evaluator.truth(statement.condition, scope):
                    return None
            elif isinstance(statement, syntax.Statement) and statement.keyword == "chunks":
                total = evaluator.whole(statement.value, scope)
                if total < 1:
                    raise statement.value.span.error(
                        f"{self.name} has {counted(total, 'chunk')}", "at least 1 chunk"
                    )
                evaluator.ambient.total = total
        return seen


def table_of(
    evaluator: Evaluator, relation: Relation, total: int, nodes: int, span: Span
) -> NodeSets:
    """The nodes at which a relation holds, for each of `total` chunks; raises SpecError."""
    if isinstance(relation, ListedRelation) and total * nodes <= limits.MAX_CELLS:
        evaluator.spend(total * nodes + len(relation.chunks), span)
        listed = np.zeros((total, nodes), dtype=bool)
        listed[relation.chunks, relation.nodes] = True
        return NodeSets.of(listed)
    first = kind = np.arange(total, dtype=np.int64)
    if total * nodes > limits.FEW_CELLS:
        first, kind = alike(evaluator, relation, total, span)
    if len(first) * nodes > limits.MAX_CELLS:
        raise SpecLimitError(
            f"{evaluator.ambient.owner} has {counted(len(first), 'kind')} of chunks here, on "
            f"{counted(nodes, 'node')}, too many to expand",
            span.origin,
            f"at most {limits.MAX_CELLS} pairs of a kind and a node",
        )
    packed = np.empty((len(first), -(-nodes // 8)), dtype=np.uint8)
    n = np.arange(nodes, dtype=np.int64)[None, :]
    height = max(1, _BLOCK // nodes)
    for start in range(0, len(first), height):
        c = first[start : start + height, None]
        part = np.empty((len(c), nodes), dtype=bool)
        try:
            part[:] = holds(evaluator, relation, c, n, None, span)
        except NotVectorisable:
            for row, chunk in zip(part, c[:, 0].tolist(), strict=True):
                for node in range(nodes):
                    row[node] = holds(evaluator, relation, chunk, node, None, span)
        packed[start : start + height] = np.packbits(part, axis=1)
    kinds = NodeSets.of_packed(packed, nodes)
    return kinds.take(kind)


def _way(table: RelationTable, chunk: int) -> str:
    """The start and end of a chunk that goes from one node to one; else empty."""
    ends = [np.flatnonzero(row).tolist() for row in (table.pre[chunk], table.post[chunk])]
    if [len(nodes) for nodes in ends] != [1, 1]:
        return ""
    return f", from node {ends[0][0]} to node {ends[1][0]},"


def mentions(
    start: Node, wanted: set[str], lets: Mapping[str, syntax.ValueDefinition], scope: NameScope
) -> bool:
    """Whether an expression, or a definition that it uses, names one of the wanted names."""
    waiting: list[tuple[Node, Mapping[str, syntax.ValueDefinition], NameScope]] = [
        (start, lets, scope)
    ]
    seen: set[Node] = set()
    while waiting:
        node, visible, home = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        for name in {one.id for one in syntax.names_used(node)}:
            if name in wanted:
                return True
            if name in visible:
                waiting.append((visible[name].body, visible, home))
            elif name not in home.names and (found := home.module.find("value", name)):
                waiting.append((found.definition, {}, NameScope(found.module, {})))
    return False
