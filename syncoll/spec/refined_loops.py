"""Lists and loops in `Refinement`: turn by turn, or one turn that stands for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from syncoll.spec import syntax
from syncoll.spec.forms import Form, Forms, Truth, Unproved
from syncoll.spec.refined_values import YES, Interval, Items, ListLike, Many
from syncoll.spec.syntax import Expr
from syncoll.spec.values import Scope

if TYPE_CHECKING:
    from syncoll.spec.refinement import Refinement

__all__ = ["Part", "common", "elements", "join", "list_for", "parts_of", "turns"]

_MOST_SPELLED = 1 << 12
"""Elements of a list that are looked at one by one."""

Part = syntax.Binder | Expr
"""A variable or a condition of a comprehension."""


def join(refinement: Refinement, values: Sequence[Any]) -> Any:
    """What is common to values of which the same one is meant everywhere."""
    first = values[0]
    if all(isinstance(value, Form) for value in values):
        return refinement.forms.join(values)
    if all(isinstance(value, Truth) for value in values):
        alike = all(value.value is first.value for value in values)
        same = all(value.same for value in values)
        return Truth(same, first.value if alike and same else None)
    if all(isinstance(value, Items) for value in values):
        if len({len(value.items) for value in values}) == 1:
            columns = zip(*(value.items for value in values), strict=True)
            return Items(tuple(join(refinement, column) for column in columns))
        items = [item for value in values for item in value.items]
        return Many(join(refinement, items))
    if all(isinstance(value, ListLike) for value in values):
        elements = [common(refinement, value) for value in values]
        elements = [element for element in elements if element is not None]
        return Many(join(refinement, elements)) if elements else Items(())
    raise Unproved


def common(refinement: Refinement, values: ListLike) -> Any:
    """What is common to the elements of a list; None when it is surely empty."""
    if isinstance(values, Many):
        return values.element
    if isinstance(values, Items):
        return join(refinement, values.items) if values.items else None
    start, stop = values.start, values.stop
    if not (start.same and stop.same and start.whole and stop.whole):
        raise Unproved
    if start.first >= stop.last:
        return None
    return Form(0, 0, 0, start.first, stop.last - 1)


def elements(refinement: Refinement, values: ListLike) -> tuple[Any, ...] | None:
    """The elements of a list one by one, as far as that is wanted and possible."""
    if isinstance(values, Interval):
        start, stop = values.start.known, values.stop.known
        if refinement.spelled and isinstance(start, int) and isinstance(stop, int):
            if stop - start > _MOST_SPELLED:
                raise Unproved
            return tuple(Forms.constant(i) for i in range(start, stop))
    elif isinstance(values, Items) and (refinement.spelled or len(values.items) == 1):
        return values.items
    return None


def turns(
    refinement: Refinement, parts: Sequence[Part], scope: Scope, under: Truth = YES
) -> Iterator[tuple[Scope, Truth, bool]]:
    """The turns of a comprehension.

    Args:
        parts: its variables and conditions, in order.
        scope: what they see.
        under: the conditions so far.

    Yields:
        What the turn sees, the condition under which there is such a turn, and whether it
        stands for any number of turns.
    """
    if under.value is False:
        return
    if not parts:
        yield scope, under, False
        return
    part, rest = parts[0], parts[1:]
    if not isinstance(part, syntax.Binder):
        condition = refinement.truth(part, scope)
        yield from turns(refinement, rest, scope, under.and_(condition))
        return
    values = refinement.items(part.source, scope)
    items = elements(refinement, values)
    if items is not None:
        for item in items:
            yield from turns(refinement, rest, scope.having(**{part.name: item}), under)
        return
    element = common(refinement, values)
    if element is not None:
        inner = scope.having(**{part.name: element})
        for seen, condition, _ in turns(refinement, rest, inner, under):
            yield seen, condition, True


def list_for(refinement: Refinement, expr: syntax.ListFor, scope: Scope) -> ListLike:
    """The list that a comprehension makes."""
    found, exact = [], True
    for inner, condition, several in turns(refinement, parts_of(expr.clauses), scope):
        if not condition.same:
            raise Unproved
        exact = exact and condition.value is True and not several
        found.append(refinement.value(expr.item, inner))
        if len(found) > _MOST_SPELLED:
            raise Unproved
    return Items(tuple(found)) if exact else Many(join(refinement, found))


def parts_of(clauses: Sequence[syntax.Comprehension]) -> list[Part]:
    """The variables and conditions of a comprehension, in order."""
    parts: list[Part] = []
    for clause in clauses:
        parts += clause.binders
        parts += [] if clause.condition is None else [clause.condition]
    return parts
