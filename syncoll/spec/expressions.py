# ruff: noqa: D102 - each method is named after the grammar's rule that it serves
"""The parser's callbacks for expressions: one method for each rule, from children to a record.

What the grammar cannot say is refused here: an expression nested too deeply, a number too large, a
name that the language has taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from lark import Token, Transformer

from syncoll.spec import syntax
from syncoll.spec.keywords import AMBIENT
from syncoll.spec.limits import MAX_BINDERS, MAX_DEPTH, MAX_NUMBER
from syncoll.spec.source import Source, Span
from syncoll.spec.syntax import Expr, Node

__all__ = ["Children", "ExpressionBuilder", "flat"]

Children = list[Any]


class ExpressionBuilder(Transformer[Token, Any]):
    """Makes the records of expressions."""

    def __init__(self) -> None:
        super().__init__()
        self.begin(Source("", ""), 0)

    def begin(self, source: Source, start: int) -> None:
        """Says which text the coming tokens are from, and where in it the parser began."""
        self.source, self.start = source, start

    # Places ------------------------------------------------------------------------------------

    def token_span(self, token: Token) -> Span:
        """Where a token stands."""
        start = self.start + (token.start_pos or 0)
        return Span(self.source, start, start + len(token))

    def span_of(self, item: Token | Node) -> Span:
        return self.token_span(item) if isinstance(item, Token) else item.span

    def whole(self, children: Children) -> Span:
        present = [child for child in children if child is not None]
        return self.span_of(present[0]).to(self.span_of(present[-1]))

    def _deep(self, span: Span, *parts: Expr | None) -> int:
        depth = 1 + max((part.depth for part in parts if part is not None), default=0)
        if depth > MAX_DEPTH:
            raise span.error(
                f"this expression is nested more than {MAX_DEPTH} levels deep",
                "a smaller expression; name parts of it with `let`",
            )
        return depth

    def bound(self, token: Token) -> str:
        """A name that gets a meaning here."""
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
        op, operand = children
        span = self.whole(children)
        return syntax.Unary(str(op), operand, span=span, depth=self._deep(span, operand))

    def binary(self, children: Children) -> Expr:
        left, op, right = children
        where, depth = self.token_span(op), self._deep(self.token_span(op), left, right)
        span = self.whole(children)
        return syntax.Binary(left, str(op), right, where, span=span, depth=depth)

    def logic(self, children: Children) -> Expr:
        left, op, right = children
        depth = self._deep(self.token_span(op), left, right)
        return syntax.Logic(left, str(op), right, span=self.whole(children), depth=depth)

    def compare_op(self, children: Children) -> str:
        return " ".join(children)

    def compare(self, children: Children) -> Expr:
        operands, span = tuple(children[::2]), self.whole(children)
        if len(operands) > MAX_BINDERS:
            raise span.error(f"a chain of {len(operands) - 1} comparisons", "a shorter one")
        depth = self._deep(span, *operands)
        return syntax.Compare(operands, tuple(children[1::2]), span=span, depth=depth)

    def conditional(self, children: Children) -> Expr:
        condition, yes, no = children[1::2]
        span = self.whole(children)
        depth = self._deep(self.token_span(children[0]), condition, yes, no)
        return syntax.Conditional(condition, yes, no, span=span, depth=depth)

    def index(self, children: Children) -> Expr:
        target, _, position, _ = children
        span = self.whole(children)
        return syntax.Index(target, position, span=span, depth=self._deep(span, target, position))

    def pair(self, children: Children) -> Expr:
        first, second = children[1], children[3]
        span = self.whole(children)
        return syntax.PairOf(first, second, span=span, depth=self._deep(span, first, second))

    def list_of(self, children: Children) -> Expr:
        items = tuple(_nodes(children))
        span = self.whole(children)
        return syntax.ListOf(items, span=span, depth=self._deep(span, *items))

    def list_for(self, children: Children) -> Expr:
        _, item, *clauses, _ = children
        return self._generated(item, clauses, self.whole(children))

    def _generated(self, item: Expr, clauses: Children, span: Span) -> Expr:
        depth = self._deep(span, item, *self.clause_parts(clauses))
        return syntax.ListFor(item, tuple(clauses), span=span, depth=depth)

    def set_of(self, children: Children) -> Expr:
        pairs = tuple(child for child in children if isinstance(child, syntax.PairOf))
        clauses = tuple(child for child in children if isinstance(child, syntax.Comprehension))
        span = self.whole(children)
        if clauses and not pairs:
            raise clauses[0].span.error("`for` without a pair before it", "`(a, b) for …`")
        depth = self._deep(span, *pairs, *self.clause_parts(clauses))
        return syntax.SetOf(pairs, clauses, span=span, depth=depth)

    def set_where(self, children: Children) -> Expr:
        pair, condition = children[1], children[3]
        span = self.whole(children)
        names = []
        for part in (pair.first, pair.second):
            if not isinstance(part, syntax.Name) or part.span.text in {"nodes", *AMBIENT}:
                raise part.span.error(
                    "before the `:` stand the names of a chunk and a node", "`{ (c, n) : … }`"
                )
            names.append(part.id)
        if names[0] == names[1]:
            raise pair.span.error(f"chunk and node are both called `{names[0]}`", "two names")
        depth = self._deep(span, condition)
        return syntax.SetWhere(names[0], names[1], condition, span=span, depth=depth)

    def comp(self, children: Children) -> Node:
        condition = children[-1] if isinstance(children[-1], Expr) else None
        binders = tuple(child for child in children if isinstance(child, syntax.Binder))
        return syntax.Comprehension(binders, condition, span=self.whole(children))

    def binder(self, children: Children) -> Node:
        name, _, source = children
        return syntax.Binder(self.bound(name), source, span=self.whole(children))

    def clause_parts(self, clauses: Iterable[Any]) -> list[Expr | None]:
        parts: list[Expr | None] = []
        for clause in clauses:
            parts += [*(binder.source for binder in clause.binders), clause.condition]
        binders = [binder for clause in clauses for binder in clause.binders]
        if len(binders) > MAX_BINDERS:
            raise binders[MAX_BINDERS].span.error(
                f"more than {MAX_BINDERS} variables in one comprehension", "fewer variables"
            )
        return parts

    def argument(self, children: Children) -> Node:
        name = str(children[0]) if isinstance(children[0], Token) else None
        return syntax.Argument(name, children[-1], span=self.whole(children))

    def arguments(self, children: Children) -> tuple[Node, ...]:
        return tuple(_nodes(children))

    def generated(self, children: Children) -> tuple[Node, ...]:
        span = self.whole(children)
        item = self._generated(children[0], children[1:], span)
        return (syntax.Argument(None, item, span=span),)

    def call(self, children: Children) -> Expr:
        name, arguments, span = children[0], children[2] or (), self.whole(flat(children))
        depth = self._deep(span, *(argument.value for argument in arguments))
        where = self.token_span(name)
        return syntax.Call(str(name), where, arguments, span=span, depth=depth)

    def reference(self, children: Children) -> Node:
        arguments = next((child for child in children if isinstance(child, tuple)), ())
        where = self.token_span(children[0])
        span = self.whole(flat(children))
        return syntax.Reference(str(children[0]), where, arguments, span=span)


def _nodes(children: Children) -> list[Any]:
    return [child for child in children if isinstance(child, Node)]


def flat(children: Children) -> Children:
    """The tokens and nodes among the children, which have a place."""
    return [child for child in children if not isinstance(child, tuple)]
