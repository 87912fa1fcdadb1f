"""The language's own functions in `Refinement`: min max abs sum product any all len range.

`switch` has no meaning in a collective, which is all that is looked at here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from syncoll.spec.forms import Form, Forms, Truth, Unproved
from syncoll.spec.refined_loops import common, elements
from syncoll.spec.refined_values import Interval, Items, ListLike, Many, as_number, as_truth
from syncoll.spec.syntax import Expr
from syncoll.spec.values import Scope
from syncoll.spec.words import BUILTIN_NAMES

if TYPE_CHECKING:
    from syncoll.spec.refinement import Refinement

__all__ = ["REFINED_BUILTINS"]


def _arguments(refinement: Refinement, expressions: Sequence[Expr], scope: Scope) -> ListLike:
    """The arguments of a function that takes a list, or several arguments."""
    if len(expressions) == 1:
        return refinement.items(expressions[0], scope)
    return Items(tuple(refinement.value(e, scope) for e in expressions))


def _quantifier(
    refinement: Refinement, expressions: Sequence[Expr], scope: Scope, decides: bool
) -> Truth:
    values = _arguments(refinement, expressions, scope)
    if isinstance(values, Items):
        step = Truth.or_ if decides else Truth.and_
        return reduce(step, map(as_truth, values.items), Truth(True, not decides))
    element = as_truth(common(refinement, values))
    if element.value is (not decides):
        return Truth(True, not decides)
    return Truth(element.same)


def _fold(
    refinement: Refinement, expressions: Sequence[Expr], scope: Scope, op: str, start: int
) -> Form:
    values = _arguments(refinement, expressions, scope)
    items = values.items if isinstance(values, Items) else elements(refinement, values)
    if items is not None:
        step = lambda a, b: refinement.forms.compute(op, a, as_number(b))  # noqa: E731
        return reduce(step, items, Forms.constant(start))
    element = common(refinement, values)
    if element is None:
        return Forms.constant(start)
    form = as_number(element)
    if form.same:
        return Form(0, whole=form.whole)
    if not form.whole:
        raise Unproved
    return Form(form.step, -math.inf, math.inf, -math.inf, math.inf)


def _extreme(refinement: Refinement, expressions: Sequence[Expr], scope: Scope, sign: str) -> Form:
    values = _arguments(refinement, expressions, scope)
    if not isinstance(values, Items):
        element = common(refinement, values)
        if element is None or not as_number(element).same:
            raise Unproved
        return as_number(element)
    if not values.items:
        raise Unproved
    result = as_number(values.items[0])
    for item in map(as_number, values.items[1:]):
        better = refinement.forms.compare(sign, item, result)
        if not better.same:
            raise Unproved
        if better.value is None:
            result = refinement.forms.join([result, item])
        elif better.value:
            result = item
    return result


def _absolute(refinement: Refinement, expressions: Sequence[Expr], scope: Scope) -> Form:
    if len(expressions) != 1:
        raise Unproved
    value = refinement.number(expressions[0], scope)
    negative = refinement.forms.compare("<", value, Forms.constant(0))
    opposite = refinement.forms.negate(value)
    if negative.value is not None:
        return opposite if negative.value else value
    if not negative.same:
        raise Unproved
    return refinement.forms.join([value, opposite])


def _length(refinement: Refinement, expressions: Sequence[Expr], scope: Scope) -> Form:
    values = _arguments(refinement, expressions, scope)
    if isinstance(values, Items):
        return Forms.constant(len(values.items))
    if isinstance(values, Many):
        return Form(0, 0, 0, 0)
    size = refinement.forms.subtract(values.stop, values.start)
    above = refinement.forms.compare(">=", size, Forms.constant(0))
    if above.value is not True:
        raise Unproved
    return size


def _range(refinement: Refinement, expressions: Sequence[Expr], scope: Scope) -> Interval:
    ends = [refinement.number(e, scope) for e in expressions]
    if len(ends) not in (1, 2) or not all(end.whole for end in ends):
        raise Unproved
    start = ends[0] if len(ends) == 2 else Forms.constant(0)
    return Interval(start, ends[-1])


def _switch(refinement: Refinement, expressions: Sequence[Expr], scope: Scope) -> Form:
    raise Unproved


_Function = Callable[["Refinement", Sequence[Expr], Scope], Any]
REFINED_BUILTINS: Mapping[str, _Function] = {
    "abs": _absolute,
    "all": lambda refinement, arguments, scope: _quantifier(refinement, arguments, scope, False),
    "any": lambda refinement, arguments, scope: _quantifier(refinement, arguments, scope, True),
    "len": _length,
    "max": lambda refinement, arguments, scope: _extreme(refinement, arguments, scope, ">"),
    "min": lambda refinement, arguments, scope: _extreme(refinement, arguments, scope, "<"),
    "product": lambda refinement, arguments, scope: _fold(refinement, arguments, scope, "*", 1),
    "range": _range,
    "sum": lambda refinement, arguments, scope: _fold(refinement, arguments, scope, "+", 0),
    "switch": _switch,
}
assert REFINED_BUILTINS.keys() == BUILTIN_NAMES.keys()
