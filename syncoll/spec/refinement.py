"""Expressions as they change with C: the analysis behind `syncoll.spec.scaling`.

It runs through an expression as the evaluator does, with a `Form` for every number and a `Truth`
for every Boolean: what they are when every chunk is cut into t pieces, for all t at once.  It
follows definitions, `let`s, lists and loops; where it loses track it raises `Unproved`, which says
nothing about the collective.  What it says holds where the evaluator finds a value at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from syncoll.errors import SpecError
from syncoll.spec import limits, syntax
from syncoll.spec.calls import bind_arguments
from syncoll.spec.forms import Form, Forms, Truth, Unproved
from syncoll.spec.refined_builtins import REFINED_BUILTINS
from syncoll.spec.refined_loops import common, join, list_for
from syncoll.spec.refined_relations import holds
from syncoll.spec.refined_values import (
    NO,
    OPEN,
    YES,
    Couple,
    Interval,
    Items,
    ListLike,
    Many,
    Open,
    Pairs,
    as_number,
    as_truth,
    lifted,
)
from syncoll.spec.syntax import Expr
from syncoll.spec.values import Closure, CombinedRelation, Relation, Scope, WhereRelation

__all__ = ["Budget", "Refinement"]


@dataclass
class Budget:
    """How many expressions may still be looked at."""

    left: int

    def spend(self) -> None:
        """Takes note of one more; raises `Unproved` when there were enough."""
        self.left -= 1
        if self.left < 0:
            raise Unproved


class Refinement:
    """Values under the cutting of chunks.

    Args:
        nodes: P.
        unit: a number that divides every C in question.
        spelled: whether loops are run through element by element.
        budget: shared by all attempts at one proof.
    """

    def __init__(self, nodes: int, unit: int, *, spelled: bool, budget: Budget) -> None:
        self.forms = Forms(unit)
        self.nodes, self.spelled = nodes, spelled
        self.total: Form | None = None
        self.budget = budget
        self._depth = 0

    @staticmethod
    def scope(scope: Scope) -> Scope:
        """A scope of the evaluator as one of the analysis."""
        return Scope(scope.module, {name: lifted(value) for name, value in scope.names.items()})

    # Kinds -------------------------------------------------------------------------------------

    def number(self, expr: Expr, scope: Scope) -> Form:
        """The number that an expression is.

        Raises:
            Unproved: also when it is none.
        """
        return as_number(self.value(expr, scope))

    def truth(self, expr: Expr, scope: Scope) -> Truth:
        """The Boolean that an expression is; see `number`."""
        return as_truth(self.value(expr, scope))

    def relation(self, expr: Expr, scope: Scope) -> Relation:
        """The relation that an expression is; see `number`."""
        value = self.value(expr, scope)
        if not isinstance(value, Relation):
            raise Unproved
        return value

    def items(self, expr: Expr, scope: Scope) -> ListLike:
        """The list that an expression is; see `number`."""
        value = self.value(expr, scope)
        if not isinstance(value, ListLike):
            raise Unproved
        return value

    # Expressions -------------------------------------------------------------------------------

    def value(self, expr: Expr, scope: Scope) -> Any:
        """The value of any expression.

        Raises:
            Unproved: when the analysis does not follow it.
        """
        self.budget.spend()
        return _DISPATCH[type(expr)](self, expr, scope)

    def let(self, statement: syntax.ValueDefinition, scope: Scope) -> Scope:
        """The scope behind a `let` statement; what is not followed may still be unused."""
        value: Any = Closure(statement, scope)
        if not statement.parameters:
            try:
                value = self.value(statement.body, scope)
            except Unproved:
                value = OPEN
        return scope.having(**{statement.name: value})

    def _literal(self, expr: syntax.Number | syntax.Truth, _scope: Scope) -> Any:
        return lifted(expr.value)

    def _name(self, expr: syntax.Name, scope: Scope) -> Any:
        if expr.id in scope.names:
            value = lifted(scope.names[expr.id])
            if isinstance(value, (Open, Closure)):
                raise Unproved
            return value
        if expr.id == "P":
            return Forms.constant(self.nodes)
        if expr.id == "C":
            return self.forms.proportional(Fraction(1))
        if expr.id == "G":
            if self.total is None:
                raise Unproved
            return self.total
        if expr.id == "nodes":
            return Interval(Forms.constant(0), Forms.constant(self.nodes))
        found = scope.module.find("value", expr.id)
        if found is None or found.definition.parameters:
            raise Unproved
        assert isinstance(found.definition, syntax.ValueDefinition)
        return self.elsewhere(found.definition.body, Scope(found.module, {}))

    def elsewhere(self, body: Expr, scope: Scope) -> Any:
        """The value of a definition's body; definitions may form a circle."""
        if self._depth + body.depth > limits.MAX_DEPTH:
            raise Unproved
        self._depth += body.depth
        try:
            return self.value(body, scope)
        finally:
            self._depth -= body.depth

    def _unary(self, expr: syntax.Unary, scope: Scope) -> Any:
        if expr.op == "not":
            return self.truth(expr.operand, scope).negated()
        return self.forms.negate(self.number(expr.operand, scope))

    def _binary(self, expr: syntax.Binary, scope: Scope) -> Any:
        left, right = self.value(expr.left, scope), self.value(expr.right, scope)
        if isinstance(left, Relation) and isinstance(right, Relation):
            return CombinedRelation(expr.op, left, right, expr.span, expr.depth)
        if expr.op in "|&":
            raise Unproved
        return self.forms.compute(expr.op, as_number(left), as_number(right))

    def _logic(self, expr: syntax.Logic, scope: Scope) -> Truth:
        left = self.truth(expr.left, scope)
        if left.value is (expr.op == "or"):
            return left
        right = self.truth(expr.right, scope)
        return left.or_(right) if expr.op == "or" else left.and_(right)

    def _compare(self, expr: syntax.Compare, scope: Scope) -> Truth:
        values = [self.value(operand, scope) for operand in expr.operands]
        result = YES
        for op, left, right in zip(expr.ops, values, values[1:], strict=False):
            result = result.and_(self._compare_two(op, left, right))
        return result

    def _compare_two(self, op: str, left: Any, right: Any) -> Truth:
        if op == "not in":
            return self._compare_two("in", left, right).negated()
        if op == "in":
            if isinstance(right, Relation):
                if not isinstance(left, Couple):
                    raise Unproved
                return holds(self, right, left.first, left.second)
            return self._is_in(as_number(left), right)
        if isinstance(left, Truth) and isinstance(right, Truth) and op in ("==", "!="):
            alike = Truth(left.same and right.same)
            if left.value is not None and right.value is not None:
                alike = Truth(True, left.value == right.value)
            return alike if op == "==" else alike.negated()
        return self.forms.compare(op, as_number(left), as_number(right))

    def _is_in(self, left: Form, right: Any) -> Truth:
        if isinstance(right, Interval):
            return self.within(left, right)
        if isinstance(right, Many):
            return Truth(self.forms.compare("==", left, as_number(right.element)).same)
        if not isinstance(right, Items):
            raise Unproved
        each = (self.forms.compare("==", left, as_number(item)) for item in right.items)
        return reduce(Truth.or_, each, NO)

    def within(self, value: Form, interval: Interval) -> Truth:
        """Whether a whole number is in a range."""
        if not value.whole:
            raise Unproved
        above = self.forms.compare(">=", value, interval.start)
        return above.and_(self.forms.compare("<", value, interval.stop))

    def _conditional(self, expr: syntax.Conditional, scope: Scope) -> Any:
        condition = self.truth(expr.condition, scope)
        if condition.value is not None:
            return self.value(expr.yes if condition.value else expr.no, scope)
        if not condition.same:
            raise Unproved
        return join(self, [self.value(expr.yes, scope), self.value(expr.no, scope)])

    def _pair(self, expr: syntax.PairOf, scope: Scope) -> Couple:
        return Couple(self.number(expr.first, scope), self.number(expr.second, scope))

    def _list_of(self, expr: syntax.ListOf, scope: Scope) -> Items:
        return Items(tuple(self.value(item, scope) for item in expr.items))

    def _index(self, expr: syntax.Index, scope: Scope) -> Any:
        target, position = self.items(expr.target, scope), self.number(expr.position, scope)
        if not position.same:
            raise Unproved
        place = position.known
        if isinstance(target, Interval):
            if not target.start.same:
                raise Unproved
            return self.forms.add(target.start, position)
        if place is not None and isinstance(target, Items):
            if not isinstance(place, int) or not 0 <= place < len(target.items):
                raise Unproved
            return target.items[place]
        element = common(self, target)
        if element is None:
            raise Unproved
        return element

    def _call(self, expr: syntax.Call, scope: Scope) -> Any:
        target = scope.names.get(expr.id)
        if target is None:
            found = scope.module.find("value", expr.id)
            if found is None:
                if expr.id not in REFINED_BUILTINS or any(a.name for a in expr.arguments):
                    raise Unproved
                return REFINED_BUILTINS[expr.id](self, [a.value for a in expr.arguments], scope)
            assert isinstance(found.definition, syntax.ValueDefinition)
            target = Closure(found.definition, Scope(found.module, {}))
        if not isinstance(target, Closure):
            raise Unproved
        names = self._bound(target.definition, target.scope, expr, scope)
        return self.elsewhere(target.definition.body, target.scope.having(**names))

    def _bound(
        self, definition: syntax.ValueDefinition, home: Scope, call: syntax.Call, scope: Scope
    ) -> dict[str, Any]:
        try:
            bound = bind_arguments(definition, call.arguments, call.span)
        except SpecError:
            raise Unproved from None
        names: dict[str, Any] = {}
        for parameter in definition.parameters:
            given = bound[parameter.name]
            if isinstance(given, tuple):
                names[parameter.name] = Items(tuple(self.value(e, scope) for e in given))
            elif given is not None:
                names[parameter.name] = self.value(given, scope)
            else:
                assert parameter.default is not None
                names[parameter.name] = self.elsewhere(parameter.default, home.having(**names))
        return names

    def _set_of(self, expr: syntax.SetOf, scope: Scope) -> Pairs:
        return Pairs(expr, scope)

    def _set_where(self, expr: syntax.SetWhere, scope: Scope) -> WhereRelation:
        return WhereRelation(expr, scope)


_Method = Callable[[Refinement, Any, Scope], Any]
_DISPATCH: Mapping[type[Expr], _Method] = {
    syntax.Number: Refinement._literal,
    syntax.Truth: Refinement._literal,
    syntax.Name: Refinement._name,
    syntax.Unary: Refinement._unary,
    syntax.Binary: Refinement._binary,
    syntax.Logic: Refinement._logic,
    syntax.Compare: Refinement._compare,
    syntax.Conditional: Refinement._conditional,
    syntax.Index: Refinement._index,
    syntax.PairOf: Refinement._pair,
    syntax.ListOf: Refinement._list_of,
    syntax.ListFor: list_for,
    syntax.Call: Refinement._call,
    syntax.SetOf: Refinement._set_of,
    syntax.SetWhere: Refinement._set_where,
}
