"""Relations: the meaning of `{ … }`, `|`, `&`, `-` and `in`.

A relation is kept as written.  It is evaluated for a pair or for columns of pairs, so that a
comprehension's body is evaluated once for a whole table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from syncoll.errors import SpecError
from syncoll.spec import limits, syntax
from syncoll.spec.arithmetic import Mask, compare, is_boolean, is_column, is_fractional, is_number
from syncoll.spec.blame import at_use
from syncoll.spec.iteration import each
from syncoll.spec.source import Span
from syncoll.spec.syntax import Expr
from syncoll.spec.values import (
    CombinedRelation,
    ListedRelation,
    NameScope,
    NotVectorisable,
    PairValue,
    Relation,
    WhereRelation,
    is_list,
    kind_of,
)

if TYPE_CHECKING:
    from syncoll.spec.evaluator import Evaluator

_RELATION_OPS = {"|": "union", "&": "intersection", "-": "difference"}


def combine(evaluator: Evaluator, expr: syntax.Binary, left: Any, right: Any) -> Relation:
    """The union, intersection or difference of two relations."""
    if expr.op not in _RELATION_OPS:
        raise expr.op_span.error(
            f"`{expr.op}` with a relation", "`|` (union), `&` (intersection) or `-` (difference)"
        )
    for side, value in ((expr.left, left), (expr.right, right)):
        if not isinstance(value, Relation):
            raise side.span.error(
                f"this is {kind_of(value)}", f"a relation, to form the {_RELATION_OPS[expr.op]}"
            )
    depth = 1 + max(_depth_of(left), _depth_of(right))
    if depth > limits.MAX_DEPTH:
        raise expr.op_span.error("a relation combined from too many others", "fewer of them")
    return CombinedRelation(expr.op, left, right, expr.span, depth)


def compare_two(
    evaluator: Evaluator, op: str, a: Expr, left: Any, b: Expr, right: Any, mask: Mask
) -> Any:
    """Compares two neighbours of a chain, ``in`` and ``not in`` included."""
    if op in ("in", "not in"):
        inside = _is_in(evaluator, a, left, b, right, mask)
        if op == "in":
            return inside
        return ~inside if is_column(inside) else not inside
    if op in ("==", "!=") and is_boolean(left) and is_boolean(right):
        return compare(op, left, right)
    evaluator.numeric(left, a.span)
    evaluator.numeric(right, b.span)
    return compare(op, left, right)


def _is_in(evaluator: Evaluator, a: Expr, left: Any, b: Expr, right: Any, mask: Mask) -> Any:
    if isinstance(right, Relation):
        if not isinstance(left, PairValue):
            raise a.span.error(f"this is {kind_of(left)}", "a pair `(c, n)` before `in`")
        if is_fractional(left.first) or is_fractional(left.second):
            raise a.span.error("a fraction in this pair", "whole numbers")
        with evaluator.nested(a.depth, b.span):
            return holds(evaluator, right, left.first, left.second, mask, b.span)
    if not is_list(right):
        raise b.span.error(f"this is {kind_of(right)}", "a list or a relation after `in`")
    evaluator.numeric(left, a.span)
    if isinstance(right, range) and not is_fractional(left):
        return (left >= right.start) & (left < right.stop)
    evaluator.spend(30 * len(right), b.span)
    for item in right if isinstance(right, tuple) else ():
        if not is_number(item):
            raise b.span.error(f"a list with {kind_of(item)} in it", "a list of numbers")
    if not is_column(left) and not any(is_column(item) for item in right):
        return left in right
    result: Any = False
    for item in right:
        evaluator.spend_on(left, item, span=b.span)
        result = result | compare("==", left, item)
    return result


def set_of(evaluator: Evaluator, expr: syntax.SetOf, scope: NameScope, _mask: Mask) -> Relation:
    """The relation of a set of pairs, written out or generated."""
    total = evaluator.ambient.get("G", expr.span)
    chunks: list[int] = []
    nodes: list[int] = []
    for inner in each(evaluator, expr.clauses, scope):
        for pair in expr.pairs:
            c, n = evaluator.whole(pair.first, inner), evaluator.whole(pair.second, inner)
            if is_column(c) or is_column(n):
                raise NotVectorisable
            for what, part, value, size in (
                ("chunk", pair.first, c, total),
                ("node", pair.second, n, evaluator.ambient.get("P", expr.span)),
            ):
                if not 0 <= value < size:
                    raise part.span.error(
                        f"pair ({c}, {n}) names {what} {value}", f"{what}s 0 to {size - 1}"
                    )
            if len(chunks) >= limits.MAX_ROWS:
                raise expr.span.error("a relation of too many pairs", "`{ (c, n) : … }`")
            chunks.append(c)
            nodes.append(n)
    return ListedRelation(np.array(chunks, np.int64), np.array(nodes, np.int64))


def set_where(
    evaluator: Evaluator, expr: syntax.SetWhere, scope: NameScope, _mask: Mask
) -> Relation:
    """The relation of a comprehension; its body is evaluated by `holds`."""
    return WhereRelation(expr, scope)


def holds(evaluator: Evaluator, relation: Relation, c: Any, n: Any, mask: Mask, span: Span) -> Any:
    """Whether (c, n) is in a relation, for numbers or columns; pairs out of range are not."""
    total, nodes = evaluator.ambient.get("G", span), evaluator.ambient.get("P", span)
    inside = (c >= 0) & (c < total) & (n >= 0) & (n < nodes)
    evaluator.spend_on(inside, span=span)
    live = inside if mask is None else inside & mask
    if not np.any(live):
        return inside & False
    with evaluator.nested(_depth_of(relation), span):
        member = _member(evaluator, relation, c, n, live if is_column(live) else mask, span)
    return inside & member


def _member(
    evaluator: Evaluator, relation: Relation, c: Any, n: Any, mask: Mask, span: Span
) -> Any:
    evaluator.spend(4 * limits.WORK_PER_SCALAR, span)
    if isinstance(relation, CombinedRelation):
        left = _member(evaluator, relation.left, c, n, mask, span)
        right = _member(evaluator, relation.right, c, n, mask, span)
        evaluator.spend_on(left, span=span)
        if relation.op == "|":
            return left | right
        if relation.op == "&":
            return left & right
        return left & (~right if is_column(right) else not right)
    if isinstance(relation, ListedRelation):
        keys = relation.chunks * evaluator.ambient.get("P", span) + relation.nodes
        key = c * evaluator.ambient.get("P", span) + n
        evaluator.spend(len(keys), span)
        evaluator.spend_on(key, span=span)
        found = np.isin(key, keys)
        return found if is_column(key) else bool(found)
    assert isinstance(relation, WhereRelation)
    where = relation.syntax
    with evaluator.nested(where.condition.depth, span):
        inner = relation.scope.having(**{where.chunk: c, where.node: n})
        try:
            return evaluator.truth(where.condition, inner, mask)
        except SpecError as error:
            told = at_use(error, relation.scope.module, span)
            if told is error:
                raise
            raise told from None


def _depth_of(value: Any) -> int:
    return value.depth if isinstance(value, CombinedRelation) else 1
