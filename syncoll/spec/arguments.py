"""Values of Python as arguments of a definition, such as a matrix for ``alltoallv``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import PurePath
from typing import Any

from syncoll.spec.limits import MAX_NUMBER
from syncoll.spec.source import Span
from syncoll.spec.syntax import CallArgument, Expr, Literal, MatrixFile

__all__ = ["as_arguments"]

_LONGEST_NAME = 200
"""Characters of a list in a name; a longer one is named by its size and a digest."""


def as_arguments(
    values: Sequence[object], named: Mapping[str, object], span: Span
) -> tuple[CallArgument, ...]:
    """Arguments of a call; raises SpecError unless numbers, Booleans, lists of them, or paths."""
    every = [*((None, value) for value in values), *named.items()]
    return tuple(CallArgument(name, _value(value, span), span=span) for name, value in every)


def _value(value: object, span: Span) -> Expr:
    from syncoll.spec.values import Matrix, written

    if isinstance(value, str | PurePath):
        return MatrixFile(str(value), span=span)
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and len(shape) > 2:
        raise span.error(f"an argument of shape {shape}", "a list of numbers, or a matrix")
    plain = _plain(value, span)
    name = written(plain)
    if isinstance(plain, tuple) and len(name) > _LONGEST_NAME:
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        plain = Matrix.of(plain, f'"{len(plain)} rows, {digest}"')
    return Literal(plain, span=span)


def _plain(value: object, span: Span) -> Any:
    """A Python value as a value of the language."""
    if hasattr(value, "tolist"):  # numpy's
        value = value.tolist()
    if isinstance(value, int | Fraction):
        if not -MAX_NUMBER < value < MAX_NUMBER:
            raise span.error("an argument too large to count", f"a number below {MAX_NUMBER}")
        whole = isinstance(value, Fraction) and value.denominator == 1
        return int(value) if whole else value
    if isinstance(value, float) and value.is_integer():
        return _plain(int(value), span)
    if isinstance(value, list | tuple):
        return tuple(_plain(item, span) for item in value)
    raise span.error(
        f"an argument {value!r}", "whole numbers, Booleans, lists of them, and paths of CSV files"
    )
