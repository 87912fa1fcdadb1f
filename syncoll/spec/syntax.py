"""The abstract syntax: what a spec file says, as frozen records that know where they were written.

``depth`` of an expression counts its levels; the parser bounds it, so everything that walks these
trees may recurse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction

from syncoll.spec.source import Span

__all__ = [
    "Argument",
    "Binary",
    "Binder",
    "Call",
    "Choice",
    "CollectiveDefinition",
    "Combination",
    "CombinedDefinition",
    "Compare",
    "Comprehension",
    "Conditional",
    "Definition",
    "Expr",
    "File",
    "Import",
    "Index",
    "Inverse",
    "Irregular",
    "Label",
    "LinkSelection",
    "LinkStatement",
    "ListFor",
    "ListOf",
    "Logic",
    "Name",
    "Node",
    "Number",
    "PairOf",
    "Parameter",
    "Rate",
    "Reference",
    "Require",
    "RoundUnit",
    "SearchDefinition",
    "Sequence",
    "SetOf",
    "SetWhere",
    "Setting",
    "SharedStatement",
    "Statement",
    "TopologyDefinition",
    "Truth",
    "Unary",
    "ValueDefinition",
]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Node:
    """Anything that was written somewhere."""

    span: Span

    def children(self) -> Iterator[Node]:
        """The nodes directly inside this one, in reading order."""
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (part for part in value if isinstance(part, Node))


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Expr(Node):
    """An expression."""

    depth: int = 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Number(Expr):
    """A whole or decimal number."""

    value: int | Fraction


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Truth(Expr):
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Name(Expr):
    """A variable, a constant, a relation without arguments, or ``nodes``."""

    id: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Unary(Expr):
    """``-`` or ``not``."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binary(Expr):
    """Arithmetic, or ``|`` ``&`` ``-`` on relations."""

    left: Expr
    op: str
    right: Expr
    op_span: Span


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Logic(Expr):
    """``and`` or ``or``; the right side counts only where the left does not decide."""

    left: Expr
    op: str
    right: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compare(Expr):
    """``a < b <= c``: every neighbouring pair must agree.  Also ``in`` and ``not in``."""

    operands: tuple[Expr, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Conditional(Expr):
    """``if … then … else …``."""

    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Index(Expr):
    """``list[position]``."""

    target: Expr
    position: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairOf(Expr):
    """``(a, b)``: a link, or a chunk and a node."""

    first: Expr
    second: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binder(Node):
    """``name in list`` of a comprehension."""

    name: str
    source: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comprehension(Node):
    """``for a in …, b in … if …``."""

    binders: tuple[Binder, ...]
    condition: Expr | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ListOf(Expr):
    """``[a, b, c]``."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ListFor(Expr):
    """``[expression for …]``, also as the only argument of a call."""

    item: Expr
    clauses: tuple[Comprehension, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SetOf(Expr):
    """``{ (a, b), … for … }``: pairs one by one."""

    pairs: tuple[PairOf, ...]
    clauses: tuple[Comprehension, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SetWhere(Expr):
    """``{ (c, n) : condition }``: all chunks and nodes for which the condition holds."""

    chunk: str
    node: str
    condition: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Argument(Node):
    """One argument of a call; ``name`` is None when it is given by position."""

    name: str | None
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Expr):
    """``name(arguments)`` in an expression."""

    id: str
    name_span: Span
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reference(Node):
    """A topology or collective by name, with its arguments."""

    id: str
    name_span: Span
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Inverse(Node):
    """``inverse`` of a collective."""

    operand: Combination
    size: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sequence(Node):
    """``one then other``; see `Inverse`."""

    parts: tuple[Combination, ...]
    size: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Choice(Node):
    """``one way or another`` to the same result; see `Inverse`."""

    ways: tuple[Combination, ...]
    size: int


Combination = Reference | Inverse | Sequence | Choice


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parameter(Node):
    """``name``, ``name = default`` or ``name...``."""

    name: str
    default: Expr | None = None
    variadic: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Label(Node):
    """The text of a label; ``{name}`` in it stands for a variable's value."""

    parts: tuple[str | Name, ...]

    def children(self) -> Iterator[Node]:
        """The variables in it."""
        yield from (part for part in self.parts if isinstance(part, Name))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Statement(Node):
    """A statement with one expression: ``nodes``, ``switches``, ``chunks``, ``pre``, ``post``."""

    keyword: str
    value: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Require(Node):
    """``require condition "message"``."""

    condition: Expr
    message: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Irregular(Node):
    """``irregular``: larger C do something else than cut every chunk."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rate(Node):
    """``GB/s``: what a bandwidth counts.

    Args:
        factor: how many GB/s one of it is.
    """

    factor: Fraction


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RoundUnit(Node):
    """``unit … GB/s``: the bandwidth that carries one chunk per round."""

    value: Expr
    rate: Rate


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinkStatement(Node):
    """``link (a, b), … both ways for … bandwidth … label …``."""

    pairs: tuple[PairOf, ...]
    both_ways: bool
    clauses: tuple[Comprehension, ...]
    bandwidth: Expr | None
    rate: Rate | None
    label: Label | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinkSelection(Node):
    """``links from … to …``: those of the topology's links that leave and enter such nodes."""

    from_nodes: Expr | None
    to_nodes: Expr | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SharedStatement(Node):
    """``shared { … } for … bandwidth … label …``: one bound for each turn of the outer `for`."""

    selections: tuple[PairOf | LinkSelection, ...]
    inner: tuple[Comprehension, ...]
    outer: tuple[Comprehension, ...]
    bandwidth: Expr
    label: Label | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Setting(Node):
    """One line of a search: a bound, a subject, or the name of a plugin."""

    keyword: str
    value: Expr | Reference | str
    unit: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Definition(Node):
    """Something with a name.

    Args:
        name: as written; empty for a search without one.
        parameters: in order.
        doc: the comment lines directly above, without their ``#``.
    """

    name: str
    name_span: Span
    parameters: tuple[Parameter, ...] = ()
    doc: str = ""

    @property
    def kind(self) -> str:
        """The word that introduces it."""
        raise NotImplementedError

    @property
    def signature(self) -> str:
        """The name with its parameters, as written, on one line."""
        if not self.parameters:
            return self.name
        inside = ", ".join(" ".join(p.span.text.split()) for p in self.parameters)
        return f"{self.name}({inside})"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ValueDefinition(Definition):
    """``relation name(…) = …`` or ``let name(…) = …``, in a file or inside a definition."""

    is_relation: bool
    body: Expr

    @property
    def kind(self) -> str:
        """``relation`` or ``let``."""
        return "relation" if self.is_relation else "let"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class CollectiveDefinition(Definition):
    """``collective name(…) { … }``."""

    chunks: Statement
    pre: Statement
    post: Statement
    irregular: Irregular | None
    body: tuple[Node, ...]

    @property
    def kind(self) -> str:
        """``collective``."""
        return "collective"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class CombinedDefinition(Definition):
    """``collective name(…) = …``: made of other collectives."""

    combination: Combination

    @property
    def kind(self) -> str:
        """``collective``."""
        return "collective"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class TopologyDefinition(Definition):
    """``topology name(…) { … }``."""

    nodes: Statement
    body: tuple[Node, ...]

    @property
    def kind(self) -> str:
        """``topology``."""
        return "topology"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SearchDefinition(Definition):
    """``search name(…) { … }``."""

    settings: tuple[Setting, ...]

    @property
    def kind(self) -> str:
        """``search``."""
        return "search"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Import(Node):
    """``import "file"``."""

    path: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class File(Node):
    """A whole file."""

    imports: tuple[Import, ...] = ()
    definitions: tuple[Definition, ...] = field(default=())
