"""Comprehensions turn by turn, and the elements of lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from syncoll.spec import limits, syntax
from syncoll.spec.arithmetic import Mask, first_live, is_column, is_fractional, is_number
from syncoll.spec.faults import describe_cell
from syncoll.spec.values import ListValue, NameScope, Ragged
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.spec.evaluator import Evaluator

__all__ = ["each", "index", "list_for"]


def list_for(evaluator: Evaluator, expr: syntax.ListFor, scope: NameScope, mask: Mask) -> ListValue:
    """The list that a comprehension makes."""
    found: list[Any] = []
    for inner in each(evaluator, expr.clauses, scope, mask):
        if len(found) >= limits.MAX_LIST:
            raise expr.span.error(
                f"a list of more than {limits.MAX_LIST} elements", "a shorter list"
            )
        found.append(evaluator.element(expr.item, inner, mask))
    return tuple(found)


def each(
    evaluator: Evaluator,
    clauses: tuple[syntax.Comprehension, ...],
    scope: NameScope,
    mask: Mask = None,
) -> Iterator[NameScope]:
    """The scope of every turn of a comprehension, one by one."""
    if not clauses:
        yield scope
        return
    clause, rest = clauses[0], clauses[1:]
    for inner in _turns(evaluator, clause.binders, scope, mask):
        if clause.condition is not None:
            keep = evaluator.truth(clause.condition, inner, mask)
            if is_column(keep):
                raise Ragged
            if not keep:
                continue
        yield from each(evaluator, rest, inner, mask)


def _turns(
    evaluator: Evaluator, binders: tuple[syntax.Binder, ...], scope: NameScope, mask: Mask
) -> Iterator[NameScope]:
    if not binders:
        yield scope
        return
    for item in evaluator.items(binders[0].source, scope, mask):
        evaluator.spend(limits.WORK_PER_SCALAR, binders[0].span)
        yield from _turns(evaluator, binders[1:], scope.having(**{binders[0].name: item}), mask)


def index(evaluator: Evaluator, expr: syntax.Index, scope: NameScope, mask: Mask) -> Any:
    """An element of a list; for a column of positions, a column of elements."""
    target = evaluator.items(expr.target, scope, mask)
    position = evaluator.whole(expr.position, scope, mask)
    size = len(target)
    hint = f"0 to {size - 1}" if size else "a list that is not empty"
    if not is_column(position):
        if not 0 <= position < size:
            raise expr.position.span.error(
                f"position {position} of a list of {counted(size, 'element')}", hint
            )
        return target[position]
    bad = (position < 0) | (position >= size)
    cell = first_live(bad, mask)
    if cell is not None:
        shown = np.broadcast_to(position, cell[1])[cell[0]]
        raise expr.position.span.error(
            f"position {shown} of a list of {size} elements" + describe_cell(cell, scope), hint
        )
    evaluator.spend(size, expr.span)
    if not all(is_number(item) and not is_column(item) for item in target):
        raise Ragged
    if not size:  # no cell counts
        return np.zeros_like(position)
    plain = not any(is_fractional(item) for item in target)
    table = np.array(target, dtype=np.int64 if plain else object)
    result = table[np.where(bad, 0, position)]
    evaluator.spend_on(result, span=expr.span)
    return result
