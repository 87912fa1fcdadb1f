"""Comprehensions, turn by turn or all turns at once as columns, and the elements of lists.

As columns each variable becomes one numpy array with a value for every turn, so that a statement
with a million turns costs a few array operations.  If a list differs from turn to turn, or holds
other values than numbers, the turns are gathered one by one instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from syncoll.spec import limits, syntax
from syncoll.spec.arithmetic import (
    Mask,
    first_live,
    is_boolean,
    is_column,
    is_fractional,
    is_number,
)
from syncoll.spec.errors import describe_cell
from syncoll.spec.values import ListValue, NameScope, NotVectorisable
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.spec.evaluator import Evaluator


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


def range_of(evaluator: Evaluator, expr: syntax.RangeOf, scope: NameScope, mask: Mask) -> range:
    """The whole numbers of ``first..last``, both included."""
    first, last = (evaluator.whole(end, scope, mask) for end in (expr.first, expr.last))
    if is_column(first) or is_column(last):
        raise NotVectorisable
    if last < first:
        raise expr.span.error(
            f"a range that runs down, from {first} to {last}",
            f"`{last}..{first}`, which includes both; or `range(start, end)`, which may be empty",
        )
    if last - first >= limits.MAX_LIST:
        raise expr.span.error(
            f"a range of {last - first + 1} numbers", f"at most {limits.MAX_LIST}"
        )
    evaluator.spend(last - first + 1, expr.span)
    return range(first, last + 1)


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
                raise NotVectorisable
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
    if isinstance(expr.target, syntax.Index):
        found = _of_matrix(evaluator, expr, expr.target, scope, mask)
        if found is not None:
            return found
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
        raise NotVectorisable
    if not size:  # no cell counts
        return np.zeros_like(position)
    plain = not any(is_fractional(item) for item in target)
    table = np.array(target, dtype=np.int64 if plain else object)
    result = table[np.where(bad, 0, position)]
    evaluator.spend_on(result, span=expr.span)
    return result


def _of_matrix(
    evaluator: Evaluator, expr: syntax.Index, row: syntax.Index, scope: NameScope, mask: Mask
) -> Any:
    """``matrix[i][j]`` for columns of positions, or None if `index` must go cell by cell."""
    if isinstance(row.target, syntax.Index):
        return None
    target = evaluator.items(row.target, scope, mask)
    first = evaluator.whole(row.position, scope, mask)
    if not is_column(first) or not isinstance(target, tuple) or not target:
        return None
    second = evaluator.whole(expr.position, scope, mask)
    table = _table(target)
    if table is None or is_fractional(first) or is_fractional(second):
        return None
    evaluator.spend(table.size, expr.span)
    height, width = table.shape
    inside = (first >= 0) & (first < height) & (second >= 0) & (second < width)
    if first_live(~inside, mask) is not None:
        return None
    result = table[np.where(inside, first, 0), np.where(inside, second, 0)]
    evaluator.spend_on(result, span=expr.span)
    return result


def _table(rows: tuple[Any, ...]) -> Any:
    """Equally long lists of whole numbers as one array; None for another list."""
    if not all(isinstance(row, tuple) and len(row) == len(rows[0]) for row in rows):
        return None
    if not all(type(item) is int for row in rows for item in row) or not rows[0]:
        return None
    return np.array(rows, dtype=np.int64)


def rows(
    evaluator: Evaluator, clauses: tuple[syntax.Comprehension, ...], scope: NameScope
) -> Iterator[tuple[NameScope, int]]:
    """The turns of comprehension clauses in as few batches as possible: scopes in which the
    variables are columns, with their length; or, turn by turn, single values, with 1.  Raises
    `SpecError` for more than `MAX_ROWS` turns."""
    if not clauses:
        yield scope, 1
        return
    try:
        yield _columns(evaluator, clauses, scope)
    except NotVectorisable:
        for inner in each(evaluator, clauses, scope):
            yield inner, 1


def _columns(
    evaluator: Evaluator, clauses: tuple[syntax.Comprehension, ...], scope: NameScope
) -> tuple[NameScope, int]:
    columns: dict[str, Any] = {}
    size = 1
    for clause in clauses:
        for binder in clause.binders:
            values = evaluator.items(binder.source, scope.having(**columns))
            if size * len(values) > limits.MAX_ROWS:
                raise binder.span.error(
                    f"{size * len(values)} combinations of the `for` variables",
                    f"at most {limits.MAX_ROWS}",
                )
            column = _as_column(values)
            columns = {name: np.repeat(old, len(values)) for name, old in columns.items()}
            columns[binder.name] = np.tile(column, size)
            size *= len(values)
            evaluator.spend(size * len(columns), binder.span)
            if not size:  # nothing else is evaluated
                return scope, 0
        if clause.condition is not None:
            keep = evaluator.truth(clause.condition, scope.having(**columns))
            if not is_column(keep):
                keep = np.full(size, bool(keep))
            columns = {name: old[keep] for name, old in columns.items()}
            size = int(keep.sum())
            if not size:
                return scope, 0
    return scope.having(**columns), size


def _as_column(values: ListValue) -> Any:
    if isinstance(values, range):
        return np.arange(values.start, values.stop, dtype=np.int64)
    if any(is_column(value) for value in values):
        raise NotVectorisable
    if all(is_number(value) for value in values):
        plain = not any(is_fractional(value) for value in values)
        return np.array(values, dtype=np.int64 if plain else object)
    if all(is_boolean(value) for value in values):
        return np.array(values, dtype=bool)
    raise NotVectorisable
