"""The environment of an expression: the values of `P`, `C` and `G`, and arguments of calls.

Converts values of Python to arguments of a definition, such as a matrix for ``alltoallv``.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import PurePath
from typing import Any

from syncoll.errors import SpecError
from syncoll.spec.keywords import BUILTIN_NAMES
from syncoll.spec.layouts import is_layout, layout_of, layout_rows
from syncoll.spec.limits import MAX_NUMBER
from syncoll.spec.module import suggest
from syncoll.spec.source import Span
from syncoll.spec.syntax import CallArgument, Definition, Expr, Literal, MatrixFile
from syncoll.spec.values import Matrix, NameScope, written

_AMBIENT_HINT = {
    "P": "`P` only in collectives in braces, and in topologies after `nodes`",
    "C": "`C` only in collectives in braces",
    "G": "`G` only in collectives in braces, after `chunks`",
}

IN_UNITS = "sizes in units: C is the number of pieces into which each unit is cut"
"""The alternative to C in a collective with sizes."""


@dataclass
class Ambient:
    """The known values of `P`, `C` and `G`; `in_units` in a collective with sizes, without C."""

    owner: str
    nodes: int | None = None
    chunks: int | None = None
    total: int | None = None
    switches: int | None = None
    in_units: bool = False

    def get(self, name: str, span: Span) -> int:
        """The value of `P`, `C` or `G`; raises SpecError if it has none here."""
        value = {"P": self.nodes, "C": self.chunks, "G": self.total}[name]
        if value is None and name == "C" and self.in_units:
            raise span.error(f"`C` has no value in {self.owner}, which has sizes", IN_UNITS)
        if value is None:
            raise span.error(f"`{name}` has no value here, in {self.owner}", _AMBIENT_HINT[name])
        return value


def bind_arguments(
    definition: Definition, arguments: tuple[CallArgument, ...], span: Span
) -> dict[str, Expr | tuple[Expr, ...] | None]:
    """The argument of each parameter: None for its default, a tuple for ``name...``."""
    signature = f"`{definition.signature}`"
    parameters = definition.parameters
    bound: dict[str, Expr | tuple[Expr, ...] | None] = {}
    positional = [p for p in parameters if not p.variadic]
    variadic = next((p for p in parameters if p.variadic), None)
    if variadic is not None:
        positional = positional[: parameters.index(variadic)]
    extra: list[Expr] = []
    place = 0
    named = False
    for argument in arguments:
        if argument.name is not None:
            named = True
            names = [p.name for p in parameters if not p.variadic]
            if argument.name not in names:
                raise argument.span.error(
                    f"`{definition.name}` has no parameter `{argument.name}`"
                    + suggest(argument.name, names),
                    signature,
                )
            if argument.name in bound:
                raise argument.span.error(f"`{argument.name}` is given twice", signature)
            bound[argument.name] = argument.value
        elif named:
            raise argument.span.error("an argument without a name after one with a name", signature)
        elif place < len(positional):
            bound[positional[place].name] = argument.value
            place += 1
        elif variadic is not None:
            extra.append(argument.value)
        else:
            count = len(arguments)
            raise argument.span.error(
                f"`{definition.name}` takes {_count(len(positional))}, not {count}", signature
            )
    for parameter in parameters:
        if parameter.variadic:
            bound[parameter.name] = tuple(extra)
        elif parameter.name not in bound:
            if parameter.default is None:
                raise span.error(
                    f"`{definition.name}` needs a value for `{parameter.name}`", signature
                )
            bound[parameter.name] = None
    return bound


def _count(number: int) -> str:
    return {0: "no arguments", 1: "one argument"}.get(number, f"at most {number} arguments")


def no_such_value(name: str, span: Span, scope: NameScope, *, called: bool = False) -> SpecError:
    """The error for an undefined name in an expression."""
    known = [*scope.names, *scope.module.known_names("value"), *BUILTIN_NAMES]
    for namespace in ("topology", "collective"):
        if scope.module.find(namespace, name) is not None:
            return span.error(f"`{name}` is a {namespace}", "a number, a list or a relation")
    if called:
        what = "relation or function"
    else:
        what = "variable, constant or relation"
        known += ["P", "C", "G", "nodes"]
    if name in BUILTIN_NAMES:
        return span.error(f"`{name}` needs arguments", f"`{BUILTIN_NAMES[name]}`")
    return span.error(f"there is no {what} `{name}`" + suggest(name, known), f"a known {what}")


_LONGEST_NAME = 200
"""Characters of a list in a name; a longer one is named by its size and a digest."""


def as_arguments(
    values: Sequence[object], named: Mapping[str, object], span: Span
) -> tuple[CallArgument, ...]:
    """Arguments of a call; raises SpecError unless numbers, Booleans, lists of them, or paths."""
    every = [*((None, value) for value in values), *named.items()]
    return tuple(CallArgument(name, _value(value, span), span=span) for name, value in every)


def _value(value: object, span: Span) -> Expr:
    if isinstance(value, str | PurePath):
        return MatrixFile(str(value), span=span)
    if is_layout(value):
        value = layout_rows(layout_of(value), lambda *why: span.error(*why[:2]))
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
        f"an argument {value!r}",
        "whole numbers, Booleans, lists of them, layouts, and paths of CSV and JSON files",
    )
