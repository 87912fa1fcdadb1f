"""Values of expressions, besides numbers, Booleans and columns of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from syncoll.spec.arithmetic import is_boolean, is_number
from syncoll.spec.source import Span
from syncoll.spec.syntax import SetWhere, ValueDefinition

if TYPE_CHECKING:
    from syncoll.spec.module import Module

ListValue = tuple[Any, ...] | range


class NotVectorisable(Exception):  # noqa: N818 - caught inside this package, never shown
    """An expression whose shape differs from cell to cell; each cell is evaluated by itself."""


@dataclass(frozen=True, slots=True, eq=False)
class NameScope:
    """The names that an expression can see: its own, then the names of its file."""

    module: "Module"
    names: Mapping[str, Any]

    def having(self, **more: Any) -> "NameScope":
        """The same scope with further names."""
        return NameScope(self.module, {**self.names, **more})


@dataclass(frozen=True, slots=True, eq=False)
class PairValue:
    """``(a, b)``."""

    first: Any
    second: Any


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A `let` with parameters, and its scope."""

    definition: ValueDefinition
    scope: NameScope


class Matrix(tuple[tuple[int, ...], ...]):
    """Rows of whole numbers with a name, such as that of their file."""

    name: str

    @classmethod
    def of(cls, rows: Iterable[tuple[int, ...]], name: str) -> "Matrix":
        """Rows with a name for results."""
        made = cls(rows)
        made.name = name
        return made


class Relation:
    """A set of (chunk, node)."""


@dataclass(frozen=True, slots=True, eq=False)
class WhereRelation(Relation):
    """All (c, n) for which a condition holds."""

    syntax: SetWhere
    scope: NameScope


@dataclass(frozen=True, slots=True, eq=False)
class ListedRelation(Relation):
    """The pairs that were written out or generated."""

    chunks: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CombinedRelation(Relation):
    """Union ``|``, intersection ``&`` or difference ``-`` of two relations."""

    op: str
    left: Relation
    right: Relation
    span: Span
    depth: int


def is_list(value: object) -> bool:
    """Whether it is a list."""
    return isinstance(value, (tuple, range))


def kind_of(value: object) -> str:
    """The kind of a value in words."""
    if is_boolean(value):
        return "a Boolean"
    if is_number(value):
        return "a number"
    if is_list(value):
        return "a list"
    if isinstance(value, PairValue):
        return "a pair"
    if isinstance(value, Relation):
        return "a relation"
    return "a function"


def written(value: Any) -> str:
    """A value as it is written in the language, without spaces."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, Matrix):
        return value.name
    if is_list(value):
        return "[" + ",".join(written(item) for item in value) + "]"
    return str(value)
