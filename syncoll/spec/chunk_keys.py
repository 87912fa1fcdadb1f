"""Keys of the chunks of a relation: chunks with equal keys are at the same nodes.

``{ (c, n) : n == (c div P) mod P }`` depends on a chunk only through ``(c div P) mod P``, which
takes P values.  The largest parts of a condition that use the chunk but not the node are evaluated
once for all chunks.  The whole condition is evaluated for one chunk of each combination of their
values, since expressions have no side effects.  A condition with a part that cannot be evaluated
for every chunk (if it only counts under a condition) has no keys: all chunks differ.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import SpecError
from syncoll.model.node_sets import by_first
from syncoll.spec import syntax
from syncoll.spec.arithmetic import is_boolean, is_number
from syncoll.spec.limits import WORK_PER_SCALAR
from syncoll.spec.source import Span
from syncoll.spec.syntax import Expr, Node, names_bound, names_used
from syncoll.spec.values import (
    CombinedRelation,
    ListedRelation,
    NameScope,
    NotVectorisable,
    PairValue,
    Relation,
    WhereRelation,
)

if TYPE_CHECKING:
    from syncoll.spec.evaluator import Evaluator

_WORK_PER_PART = 200 * WORK_PER_SCALAR
"""The cost of going through one relation of a definition."""


def alike(evaluator: "Evaluator", relation: Relation, total: int, span: Span) -> tuple[Ints, Ints]:
    """The first chunk of each class that a relation treats alike, and ``[G]`` the classes."""
    every = np.arange(total, dtype=np.int64)
    kind = np.zeros(total, dtype=np.int64)
    try:
        with evaluator.nested(1, span):
            for key in _of_relation(evaluator, relation, every[:, None], span):
                evaluator.spend_on(key, span=span)
                _, own = np.unique(key, return_inverse=True)
                _, kind = np.unique(kind * total + own.ravel(), return_inverse=True)
    except (NotVectorisable, SpecError):  # errors are raised where they count
        return every, every
    _, first, kind = np.unique(kind, return_index=True, return_inverse=True)
    return by_first(first, kind)


def _of_relation(
    evaluator: "Evaluator", relation: Relation, chunk: Ints, span: Span
) -> Iterator[Ints]:
    """The keys of a relation for some chunks and every node."""
    # A relation that is named twice is visited twice, and so may be one inside another.
    evaluator.spend(_WORK_PER_PART, span)
    total = evaluator.ambient.get("G", span)
    if isinstance(relation, CombinedRelation):
        yield from _of_relation(evaluator, relation.left, chunk, span)
        yield from _of_relation(evaluator, relation.right, chunk, span)
    elif isinstance(relation, ListedRelation):
        named = np.isin(chunk, relation.chunks)
        yield np.where(named, chunk, -1)
    else:
        assert isinstance(relation, WhereRelation)
        yield ((chunk >= 0) & (chunk < total)).astype(np.int64)
        where = relation.syntax
        scope = relation.scope.having(**{where.chunk: chunk})
        yield from _of(evaluator, where.condition, scope, where.chunk, frozenset({where.node}))


def _of(
    evaluator: "Evaluator", expr: Node, scope: NameScope, chunk: str, unknown: frozenset[str]
) -> Iterator[Ints]:
    """The keys of an expression in which `unknown` names have a value for each cell only."""
    names = _names(expr)
    if chunk not in names:
        return
    if isinstance(expr, Expr) and not names & unknown:
        value = evaluator.value(expr, scope, None)
        yield from _columns(value)
        return
    if isinstance(expr, syntax.Name):
        raise NotVectorisable  # another variable of the same name
    if isinstance(expr, syntax.Compare) and expr.ops in (("in",), ("not in",)):
        pair, relation = expr.operands
        if (
            isinstance(pair, syntax.PairOf)
            and not _names(pair.first) & unknown
            and chunk in _names(pair.first)
            and not _names(relation) & (unknown | {chunk})
        ):
            inside = evaluator.value(relation, scope, None)
            if isinstance(inside, Relation):
                first = evaluator.whole(pair.first, scope)
                yield from _of_relation(evaluator, inside, first, relation.span)
                yield from _of(evaluator, pair.second, scope, chunk, unknown)
                return
    for child in expr.children():
        yield from _of(evaluator, child, scope, chunk, unknown | names_bound(expr))


def _columns(value: object) -> Iterator[Ints]:
    """The columns in a value."""
    if isinstance(value, PairValue):
        value = value.first, value.second
    if isinstance(value, tuple):
        for item in value:
            yield from _columns(item)
    elif isinstance(value, np.ndarray):
        if value.dtype == object:  # fractions
            raise NotVectorisable
        yield value
    elif not (is_number(value) or is_boolean(value) or isinstance(value, range)):
        raise NotVectorisable


def _names(expr: Node) -> frozenset[str]:
    return frozenset(one.id for one in names_used(expr))
