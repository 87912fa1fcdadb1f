"""The abstract syntax: the statements of a spec file, as frozen records with their places.

``depth`` of an expression counts its levels; the parser bounds it, so everything that walks these
trees may recurse.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar, dataclass_transform

from syncoll.spec.source import Span


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
class _Record:
    """Makes every subclass a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        dataclass(frozen=True, eq=False, repr=False, kw_only=kw_only)(cls)


class Node(_Record, kw_only=True):
    """A node of the syntax tree, with its place in the text."""

    span: Span

    def children(self) -> "Iterator[Node]":
        """The nodes directly inside this one, in reading order."""
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (part for part in value if isinstance(part, Node))

    def walk(self) -> "Iterator[Node]":
        """This node and all inside it, however deep."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.children()


class Expr(Node, kw_only=True):
    """An expression."""

    depth: int = 1


class Literal(Expr):
    """A whole or decimal number, ``true`` or ``false``; from Python any value."""

    value: Any


class MatrixFile(Expr):
    """``matrix "file.csv"``: the lists of whole numbers that a file holds."""

    path: str


class Name(Expr):
    """A variable, a constant, a relation without arguments, or ``nodes``."""

    id: str


class Unary(Expr):
    """``-`` or ``not``."""

    op: str
    operand: Expr


class Binary(Expr):
    """Arithmetic, or ``|`` ``&`` ``-`` on relations."""

    left: Expr
    op: str
    right: Expr
    op_span: Span


class Logic(Expr):
    """``and`` or ``or``; the right side counts only where the left does not decide."""

    left: Expr
    op: str
    right: Expr


class Compare(Expr):
    """``a < b <= c``: every neighbouring pair must agree.  Also ``in`` and ``not in``."""

    operands: tuple[Expr, ...]
    ops: tuple[str, ...]


class Conditional(Expr):
    """``if … then … else …``."""

    condition: Expr
    yes: Expr
    no: Expr


class Index(Expr):
    """``list[position]``."""

    target: Expr
    position: Expr


class PairOf(Expr):
    """``(a, b)``: a link, or a chunk and a node."""

    first: Expr
    second: Expr


class Binder(Node):
    """``name in list`` of a comprehension."""

    name: str
    source: Expr


class Comprehension(Node):
    """``for a in …, b in … if …``."""

    binders: tuple[Binder, ...]
    condition: Expr | None


class ListOf(Expr):
    """``[a, b, c]``."""

    items: tuple[Expr, ...]


class ListFor(Expr):
    """``[expression for …]``, also as the only argument of a call."""

    item: Expr
    clauses: tuple[Comprehension, ...]


class RangeOf(Expr):
    """``first..last`` in a list: all whole numbers from one to the other, both included."""

    first: Expr
    last: Expr


class SetOf(Expr):
    """``{ (a, b), … for … }``: pairs one by one."""

    pairs: tuple[PairOf, ...]
    clauses: tuple[Comprehension, ...]


class SetWhere(Expr):
    """``{ (c, n) : condition }``: all chunks and nodes for which the condition holds."""

    chunk: str
    node: str
    condition: Expr


class CallArgument(Node):
    """One argument of a call; an argument by position has no ``name``."""

    name: str | None
    value: Expr


class Call(Expr):
    """``name(arguments)`` in an expression."""

    id: str
    name_span: Span
    arguments: tuple[CallArgument, ...]


class Reference(Node):
    """A topology or collective by name, with its arguments."""

    id: str
    name_span: Span
    arguments: tuple[CallArgument, ...]


class Combined(Node):
    """Collectives combined to one.

    Args:
        op: ``inverse``, ``then``, ``or``, ``+``, ``*``, ``within``, ``without`` or
            ``reproducible``.
        parts: one collective, or for ``then``, ``or`` and ``+`` several.
        arguments: the weight before ``*``, the groups after ``within``, the nodes after
            ``without``.
        size: the number of operators and names.
    """

    op: str
    parts: "tuple[Combination, ...]"
    arguments: tuple[Expr, ...]
    size: int

    def children(self) -> Iterator[Node]:
        """The parts and arguments, in reading order."""
        yield from sorted(super().children(), key=lambda node: node.span.start)


Combination = Reference | Combined


class End(Node):
    """``switch 0``, ``node 3`` or ``3``: a node or switch of a physical network."""

    is_switch: bool
    number: Expr


class DamageTerm(Node):
    """``node 4``, ``switch 0``, ``link 3->6``, ``link 3<->switch 0`` or ``"words of a label"``.

    Args:
        vertices: a node or a switch, the ends of a link, or empty for a `text`.
        factor: the slowdown; None for a broken part.
    """

    vertices: tuple[End, ...]
    both_ways: bool = False
    text: str = ""
    factor: Expr | None = None


class DamageClause(Node):
    """``without link 3->6 and node 4 and with link 0->1 by 2``: damage at one time."""

    things: tuple[DamageTerm, ...]


class DamagedReference(Node):
    """``dgx1 without link 3->6``; each clause names parts of the network that is left before it."""

    reference: Reference
    failures: tuple[DamageClause, ...]


class Parameter(Node):
    """``name``, ``name = default`` or ``name...``."""

    name: str
    default: Expr | None = None
    variadic: bool = False


class Label(Node):
    """The text of a label; ``{name}`` in it stands for a variable's value."""

    parts: tuple[str | Name, ...]


class Statement(Node):
    """A statement with one expression: ``nodes``, ``switches``, ``rounds per``, ``chunks``,
    ``size``, ``pre``, ``post``."""

    keyword: str
    value: Expr


class Require(Node):
    """``require condition "message"``."""

    condition: Expr
    message: str


class Irregular(Node):
    """``irregular``: larger C may do more than cut every chunk."""

    keyword = "irregular"


class Rate(Node):
    """``GB/s``: a unit of bandwidth, with the number of GB/s in it."""

    factor: Fraction


class RoundUnit(Node):
    """``unit … GB/s``: the bandwidth that carries one chunk per round."""

    keyword = "unit"
    value: Expr
    rate: Rate


class Latency(Node):
    """``latency 700 ns`` of a link, with the number of seconds in its unit, and its protocol."""

    value: Expr
    factor: Fraction
    protocol: str = ""


class LinkStatement(Node):
    """``link (a, b), … both ways for … bandwidth … latency … label …``."""

    pairs: tuple[PairOf, ...]
    both_ways: bool
    clauses: tuple[Comprehension, ...]
    bandwidth: Expr | None
    rate: Rate | None
    latency: Latency | None
    label: Label | None
    protocols: tuple[Latency, ...] = ()


class LinkSelection(Node):
    """``links from … to …``: the topology's links that leave and enter these nodes."""

    from_nodes: Expr | None
    to_nodes: Expr | None


class SwitchStatement(Node):
    """``multicast switch(0), … for …`` or ``reduce …``: switches that copy or add up."""

    keyword: str
    switches: tuple[Expr, ...]
    clauses: tuple[Comprehension, ...]


class SharedStatement(Node):
    """``shared { … } for … bandwidth … counting … label …``: a bound for each turn of that `for`.
    `counting` is ``sources``, ``destinations``, or empty if every send counts."""

    selections: tuple[PairOf | LinkSelection, ...]
    inner: tuple[Comprehension, ...]
    outer: tuple[Comprehension, ...]
    bandwidth: Expr
    label: Label | None
    counting: str = ""


class Setting(Node):
    """One line of a search: a bound, a subject, or the name of a plugin."""

    keyword: str
    value: Expr | Combination | DamagedReference | str
    unit: str = ""


class Definition(Node, kw_only=True):
    """A definition with a name, which is empty for some searches.  `doc` has the comment lines
    directly above, without their ``#``."""

    kind: ClassVar[str]
    """The word that introduces it."""
    name: str
    name_span: Span
    parameters: tuple[Parameter, ...] = ()
    doc: str = ""

    @property
    def signature(self) -> str:
        """The name with its parameters, as written, on one line."""
        if not self.parameters:
            return self.name
        inside = ", ".join(" ".join(p.span.text.split()) for p in self.parameters)
        return f"{self.name}({inside})"


class ValueDefinition(Definition, kw_only=True):
    """``relation name(…) = …`` or ``let name(…) = …``, in a file or inside a definition."""

    is_relation: bool
    body: Expr

    @property
    def kind(self) -> str:  # type: ignore[override]
        """``relation`` or ``let``."""
        return "relation" if self.is_relation else "let"


class CollectiveDefinition(Definition, kw_only=True):
    """``collective name(…) { … }``."""

    kind = "collective"

    chunks: Statement
    pre: Statement
    post: Statement
    sizes: Statement | None
    irregular: bool
    body: tuple[Node, ...]


class CombinedDefinition(Definition, kw_only=True):
    """``collective name(…) = …``: made of other collectives."""

    kind = "collective"

    combination: Combination


class TopologyDefinition(Definition, kw_only=True):
    """``topology name(…) { … }``."""

    kind = "topology"

    body: tuple[Node, ...]


class SearchDefinition(Definition, kw_only=True):
    """``search name(…) { … }``."""

    kind = "search"

    settings: tuple[Setting, ...]


class Import(Node):
    """``import "file"``."""

    path: str


class File(Node):
    """A whole file."""

    imports: tuple[Import, ...] = ()
    definitions: tuple[Definition, ...] = field(default=())


def names_used(node: Node) -> list[Name | Call]:
    """The names and calls in a node, in reading order."""
    found = [one for one in node.walk() if isinstance(one, Name | Call)]
    return sorted(found, key=lambda one: one.span.start)


def names_bound(node: Node) -> frozenset[str]:
    """The variables that are bound somewhere in a node."""
    found = set[str]()
    for one in node.walk():
        if isinstance(one, Binder):
            found.add(one.name)
        elif isinstance(one, SetWhere):
            found |= {one.chunk, one.node}
    return frozenset(found)
