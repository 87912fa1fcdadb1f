"""Comprehensions as columns: all turns of a statement's `for` clauses at once.

Each variable becomes one numpy array with a value for every turn, so that a statement with a
million turns costs a few array operations.  Where a list differs from turn to turn, or holds
something else than numbers, the turns are gathered one by one instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from syncoll.spec.arithmetic import is_boolean, is_column, is_fractional, is_number
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.limits import MAX_ROWS
from syncoll.spec.syntax import Comprehension
from syncoll.spec.turns import each
from syncoll.spec.values import ListValue, NameScope, Ragged

__all__ = ["rows"]


def rows(
    evaluator: Evaluator, clauses: tuple[Comprehension, ...], scope: NameScope
) -> Iterator[tuple[NameScope, int]]:
    """The turns of comprehension clauses, in as few batches as possible.

    Yields:
        A scope in which the variables are columns, and how long they are; or, turn by turn, one
        in which they are single values, and 1.

    Raises:
        SpecError: on more than `MAX_ROWS` turns, or whatever evaluating raises.
    """
    if not clauses:
        yield scope, 1
        return
    try:
        yield _columns(evaluator, clauses, scope)
    except Ragged:
        for inner in each(evaluator, clauses, scope):
            yield inner, 1


def _columns(
    evaluator: Evaluator, clauses: tuple[Comprehension, ...], scope: NameScope
) -> tuple[NameScope, int]:
    columns: dict[str, Any] = {}
    size = 1
    for clause in clauses:
        for binder in clause.binders:
            values = evaluator.items(binder.source, scope.having(**columns))
            if size * len(values) > MAX_ROWS:
                raise binder.span.error(
                    f"{size * len(values)} combinations of the `for` variables",
                    f"at most {MAX_ROWS}",
                )
            column = _as_column(values)
            columns = {name: np.repeat(old, len(values)) for name, old in columns.items()}
            columns[binder.name] = np.tile(column, size)
            size *= len(values)
            evaluator.spend(size * len(columns), binder.span)
            if not size:  # whatever comes next is evaluated for no turn
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
        raise Ragged
    if all(is_number(value) for value in values):
        plain = not any(is_fractional(value) for value in values)
        return np.array(values, dtype=np.int64 if plain else object)
    if all(is_boolean(value) for value in values):
        return np.array(values, dtype=bool)
    raise Ragged
