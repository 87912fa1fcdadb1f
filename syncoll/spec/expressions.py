# ruff: noqa: D102 - each method is named after the grammar's rule that it serves
"""The parser's callbacks for expressions: one method for each rule, from children to a record.

They also raise errors for an expression nested too deeply, a number too large, and reserved names.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from lark import Token, Transformer

from syncoll.spec import syntax
from syncoll.spec.keywords import AMBIENT
from syncoll.spec.limits import MAX_BINDERS, MAX_DEPTH, MAX_NUMBER
from syncoll.spec.source import Source, Span
from syncoll.spec.syntax import Expr, Node

Children = list[Any]
_E = TypeVar("_E", bound=Expr)


class ExpressionBuilder(Transformer[Token, Any]):
    """Makes the records of expressions."""

    def __init__(self) -> None:
        super().__init__()
        self.begin(Source("", ""), 0)

    def begin(self, source: Source, start: int) -> None:
        """Sets the text of the coming tokens, and the place in it where the parser begins."""
        self.source, self.start = source, start

    # Places ------------------------------------------------------------------------------------

    def token_span(self, token: Token) -> Span:
        """The place of a token."""
        start = self.start + (token.start_pos or 0)
        return Span(self.source, start, start + len(token))

    def span_of(self, item: Token | Node) -> Span:
        return self.token_span(item) if isinstance(item, Token) else item.span

    def whole(self, children: Children) -> Span:
        present = [child for child in children if child is not None]
        return self.span_of(present[0]).to(self.span_of(present[-1]))

    def _expr(self, kind: type[_E], children: Children, *parts: Any, at: Span | None = None) -> _E:
        """An expression made of parts; an error `at` a place if it is nested too deeply."""
        span = self.whole(children)
        depth = 1 + max((_depth(part) for part in parts), default=0)
        if depth > MAX_DEPTH:
            raise (at or span).error(
                f"this expression is nested more than {MAX_DEPTH} levels deep",
                "a smaller expression; name parts of it with `let`",
            )
        return kind(*parts, span=span, depth=depth)

    def bound(self, token: Token) -> str:
        """A name that is defined here."""
        name = str(token)
        if name in AMBIENT:
            raise self.token_span(token).error(
                f"`{name}` is always {AMBIENT[name]} and cannot be given another meaning",
                "another name",
            )
        return name

    # Expressions -------------------------------------------------------------------------------

    def number(self, children: Children) -> Expr:
        token, span = children[0], self.whole(children)
        if len(token) > 40 or max(Fraction(str(token)).as_integer_ratio()) >= MAX_NUMBER:
            raise span.error("this number is too large", f"a number below {MAX_NUMBER}")
        value = Fraction(str(token))
        whole = int(value) if value.denominator == 1 else value
        return syntax.Literal(whole, span=span)

    def truth(self, children: Children) -> Expr:
        return syntax.Literal(children[0] == "true", span=self.whole(children))

    def name(self, children: Children) -> Expr:
        return syntax.Name(str(children[0]), span=self.whole(children))

    def group(self, children: Children) -> Expr:
        inner: Expr = children[1]
        return replace(inner, span=self.whole(children))

    def unary(self, children: Children) -> Expr:
        return self._expr(syntax.Unary, children, str(children[0]), children[1])

    def binary(self, children: Children) -> Expr:
        left, op, right = children
        where = self.token_span(op)
        return self._expr(syntax.Binary, children, left, str(op), right, where, at=where)

    def logic(self, children: Children) -> Expr:
        left, op, right = children
        return self._expr(syntax.Logic, children, left, str(op), right, at=self.token_span(op))

    def compare_op(self, children: Children) -> str:
        return " ".join(children)

    def compare(self, children: Children) -> Expr:
        operands = tuple(children[::2])
        if len(operands) > MAX_BINDERS:
            raise self.whole(children).error(
                f"a chain of {len(operands) - 1} comparisons", "a shorter one"
            )
        return self._expr(syntax.Compare, children, operands, tuple(children[1::2]))

    def conditional(self, children: Children) -> Expr:
        at = self.token_span(children[0])
        return self._expr(syntax.Conditional, children, *children[1::2], at=at)

    def index(self, children: Children) -> Expr:
        return self._expr(syntax.Index, children, children[0], children[2])

    def pair(self, children: Children) -> Expr:
        return self._expr(syntax.PairOf, children, children[1], children[3])

    def list_of(self, children: Children) -> Expr:
        return self._expr(syntax.ListOf, children, tuple(_nodes(children)))

    def range_of(self, children: Children) -> Expr:
        return self._expr(syntax.RangeOf, children, children[0], children[2])

    def list_for(self, children: Children) -> Expr:
        _, item, *clauses, _ = children
        return self._generated(children, item, clauses)

    def _generated(self, children: Children, item: Expr, clauses: Children) -> Expr:
        return self._expr(syntax.ListFor, children, item, self.loops_in(clauses))

    def set_of(self, children: Children) -> Expr:
        pairs = tuple(child for child in children if isinstance(child, syntax.PairOf))
        clauses = self.loops_in(children)
        if clauses and not pairs:
            raise clauses[0].span.error("`for` without a pair before it", "`(a, b) for …`")
        return self._expr(syntax.SetOf, children, pairs, clauses)

    def set_where(self, children: Children) -> Expr:
        pair, condition = children[1], children[3]
        names = []
        for part in (pair.first, pair.second):
            if not isinstance(part, syntax.Name) or part.span.text in {"nodes", *AMBIENT}:
                raise part.span.error(
                    "the names of a chunk and a node are missing before the `:`", "`{ (c, n) : … }`"
                )
            names.append(part.id)
        if names[0] == names[1]:
            raise pair.span.error(f"chunk and node are both called `{names[0]}`", "two names")
        return self._expr(syntax.SetWhere, children, *names, condition)

    def comp(self, children: Children) -> Node:
        condition = children[-1] if isinstance(children[-1], Expr) else None
        binders = tuple(child for child in children if isinstance(child, syntax.Binder))
        return syntax.Comprehension(binders, condition, span=self.whole(children))

    def binder(self, children: Children) -> Node:
        name, _, source = children
        return syntax.Binder(self.bound(name), source, span=self.whole(children))

    def loops_in(self, children: Children) -> tuple[syntax.Comprehension, ...]:
        clauses = tuple(child for child in children if isinstance(child, syntax.Comprehension))
        binders = [binder for clause in clauses for binder in clause.binders]
        if len(binders) > MAX_BINDERS:
            raise binders[MAX_BINDERS].span.error(
                f"more than {MAX_BINDERS} variables in one comprehension", "fewer variables"
            )
        return clauses

    def argument(self, children: Children) -> Node:
        name = str(children[0]) if isinstance(children[0], Token) else None
        return syntax.CallArgument(name, children[-1], span=self.whole(children))

    def arguments(self, children: Children) -> tuple[Node, ...]:
        return tuple(_nodes(children))

    def generated(self, children: Children) -> tuple[Node, ...]:
        item = self._generated(children, children[0], children[1:])
        return (syntax.CallArgument(None, item, span=item.span),)

    def call(self, children: Children) -> Expr:
        name, arguments = children[0], children[2] or ()
        where = self.token_span(name)
        return self._expr(syntax.Call, flat(children), str(name), where, arguments)

    def reference(self, children: Children) -> Node:
        arguments = next((child for child in children if isinstance(child, tuple)), ())
        where = self.token_span(children[0])
        span = self.whole(flat(children))
        return syntax.Reference(str(children[0]), where, arguments, span=span)


def _depth(part: Any) -> int:
    """The levels of an expression, or of the deepest one in another node."""
    if isinstance(part, Expr):
        return part.depth
    inner = part.children() if isinstance(part, Node) else part if isinstance(part, tuple) else ()
    return max(map(_depth, inner), default=0)


def _nodes(children: Children) -> list[Any]:
    return [child for child in children if isinstance(child, Node)]


def flat(children: Children) -> Children:
    """The children with a place: tokens and nodes."""
    return [child for child in children if not isinstance(child, tuple)]
