"""Relations in `Refinement`: whether a pair is in one.

Pairs that a loop makes for every chunk, as in ``{ (i, i mod P) for i in range(G) }``, are not run
through, since their number depends on C.  The loop's variable is computed from the chunk instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncoll.spec import syntax
from syncoll.spec.forms import Form, Forms, Truth, Unproved
from syncoll.spec.refined_loops import Part, common, parts_of, turns
from syncoll.spec.refined_values import NO, OPEN, YES, Interval, Pairs, as_truth
from syncoll.spec.syntax import Expr
from syncoll.spec.values import CombinedRelation, Relation, Scope, WhereRelation

if TYPE_CHECKING:
    from syncoll.spec.refinement import Refinement

__all__ = ["holds"]


def holds(
    refinement: Refinement, relation: Relation, c: Form, n: Form, *, inside: bool = False
) -> Truth:
    """Whether (c, n) is in a relation.

    Args:
        relation: which.
        c: the number of a chunk.
        n: that of a node.
        inside: whether there surely are such a chunk and such a node.

    Raises:
        Unproved: when the analysis does not follow it.
    """
    there = YES
    if not inside:
        if refinement.total is None:
            raise Unproved
        zero = Forms.constant(0)
        chunks = refinement.within(c, Interval(zero, refinement.total))
        there = chunks.and_(refinement.within(n, Interval(zero, Forms.constant(refinement.nodes))))
        if there.value is False:
            return there
    return there.and_(_member(refinement, relation, c, n))


def _member(refinement: Refinement, relation: Relation, c: Form, n: Form) -> Truth:
    refinement.budget.spend()
    if isinstance(relation, CombinedRelation):
        left, right = (_member(refinement, side, c, n) for side in (relation.left, relation.right))
        if relation.op == "|":
            return left.or_(right)
        if relation.op == "&":
            return left.and_(right)
        if relation.op == "-":
            return left.and_(right.negated())
        raise Unproved
    if isinstance(relation, Pairs):
        return _among(refinement, relation, c, n)
    assert isinstance(relation, WhereRelation)
    where = relation.syntax
    inner = relation.scope.having(**{where.chunk: c, where.node: n})
    return as_truth(refinement.elsewhere(where.condition, inner))


def _among(refinement: Refinement, relation: Pairs, c: Form, n: Form) -> Truth:
    """Whether a pair is among those of a set.

    A loop over a number of chunks, which no turn by turn can follow, is solved instead: its
    variable is computed from c.
    """
    parts = parts_of(relation.syntax.clauses)
    scope = relation.scope
    solved = _solvable(refinement, parts, scope)
    result = NO
    for pair in relation.syntax.pairs:
        for inner, condition, several in turns(refinement, solved.before, scope):
            one = _matches(refinement, pair, solved, inner, c, n, condition)
            if several and one.value is True:  # there may be no such turn
                one = Truth(True)
            result = result.or_(one)
    return result


def _matches(
    refinement: Refinement,
    pair: syntax.PairOf,
    solved: _Solvable,
    scope: Scope,
    c: Form,
    n: Form,
    under: Truth,
) -> Truth:
    """Whether a turn of the loops makes this pair."""
    if solved.binder is not None:
        name = solved.binder.name
        target, exact = _solve(refinement, pair.first, name, c, scope)
        if exact.value is False:
            return exact
        interval = refinement.items(solved.binder.source, scope)
        if not isinstance(interval, Interval):
            raise Unproved
        under = under.and_(exact).and_(refinement.within(target, interval))
        scope = scope.having(**{name: target})
        for condition in solved.after:
            if under.value is False:
                return under
            under = under.and_(refinement.truth(condition, scope))
    else:
        under = under.and_(refinement.forms.compare("==", refinement.number(pair.first, scope), c))
    if under.value is False:
        return under
    return under.and_(refinement.forms.compare("==", refinement.number(pair.second, scope), n))


def _solvable(refinement: Refinement, parts: Sequence[Part], scope: Scope) -> _Solvable:
    """Takes the one loop that is to be solved out of a comprehension, if there is one."""
    seen = scope
    for place, part in enumerate(parts):
        if not isinstance(part, syntax.Binder):
            continue
        if any(_mentions(earlier, part.name) for earlier in parts[:place]):
            raise Unproved  # it hides a name that is meant there; the order could not change
        values = refinement.items(part.source, seen)
        if isinstance(values, Interval) and not (values.start.same and values.stop.same):
            others = [p for p in parts[place + 1 :] if isinstance(p, syntax.Binder)]
            conditions = [p for p in parts[place + 1 :] if not isinstance(p, syntax.Binder)]
            for later, other in enumerate(parts[place + 1 :], place + 1):
                if isinstance(other, syntax.Binder) and (
                    _mentions(other.source, part.name)
                    or any(_mentions(earlier, other.name) for earlier in parts[:later])
                ):
                    raise Unproved
            return _Solvable((*parts[:place], *others), part, tuple(conditions))
        element = common(refinement, values)
        seen = seen.having(**{part.name: OPEN if element is None else element})
    return _Solvable(tuple(parts), None, ())


def _solve(
    refinement: Refinement, expr: Expr, name: str, target: Form, scope: Scope
) -> tuple[Form, Truth]:
    """What a variable is where an expression has a value, and the condition for that."""
    if isinstance(expr, syntax.Name) and expr.id == name:
        return target, YES
    if not isinstance(expr, syntax.Binary):
        raise Unproved
    inside = [_mentions(side, name) for side in (expr.left, expr.right)]
    if inside.count(True) != 1:
        raise Unproved
    within, other = (expr.left, expr.right) if inside[0] else (expr.right, expr.left)
    value = refinement.number(other, scope)
    if expr.op == "+" or (expr.op == "-" and inside[0]):
        op = "-" if expr.op == "+" else "+"
        return _solve(refinement, within, name, refinement.forms.compute(op, target, value), scope)
    factor = value.known
    if expr.op != "*" or not isinstance(factor, int) or factor < 1:
        raise Unproved
    rest = refinement.forms.compute("mod", target, value)
    exact = refinement.forms.compare("==", rest, Forms.constant(0))
    if exact.value is False:
        return target, exact
    solved, more = _solve(
        refinement, within, name, refinement.forms.compute("div", target, value), scope
    )
    return solved, exact.and_(more)


@dataclass(frozen=True, slots=True, eq=False)
class _Solvable:
    """A comprehension without the loop that is to be solved.

    Args:
        before: the other loops, and the conditions before it.
        binder: that loop; None if there is none.
        after: the conditions behind it.
    """

    before: tuple[Part, ...]
    binder: syntax.Binder | None
    after: tuple[Expr, ...]


def _mentions(expr: syntax.Node, name: str) -> bool:
    """Whether an expression, or a loop, uses or gives a name."""
    if isinstance(expr, (syntax.Name, syntax.Call)) and expr.id == name:
        return True
    if isinstance(expr, syntax.Binder) and expr.name == name:
        return True
    return any(_mentions(child, name) for child in expr.children())
