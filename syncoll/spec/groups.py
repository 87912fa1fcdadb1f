"""The lists of nodes behind ``within``: for any P if the expression depends on P, else the same.

An expression that does not depend on P is evaluated, and refused, at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from syncoll.errors import Origin
from syncoll.model.sums import checked_groups
from syncoll.spec.collective import mentions
from syncoll.spec.environment import Ambient
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.syntax import Expr
from syncoll.spec.values import NameScope, written

__all__ = ["SpecGroups"]

_LONGEST_TEXT = 200
"""Characters up to which groups are written out in a name."""


@dataclass(frozen=True, eq=False)
class SpecGroups:
    """The groups that an expression describes, with the place of their errors and a name."""

    expr: Expr
    scope: NameScope
    origin: Origin
    text: str
    fixed: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def of(cls, expr: Expr, scope: NameScope, origin: Origin) -> SpecGroups:
        """The groups of an expression; raises LocatedError at once if it is independent of P."""
        text = " ".join(expr.span.text.split())
        where = expr.span.origin if origin.file == expr.span.source.label else origin
        if mentions(expr, {"P", "nodes"}, {}, scope):
            return cls(expr, scope, where, text)
        value = Evaluator(Ambient("groups")).value(expr, scope, None)
        fixed = checked_groups(value, None, where)
        long = written(value)
        return cls(expr, scope, where, long if len(long) <= _LONGEST_TEXT else text, fixed)

    def __call__(self, nodes: int) -> Sequence[Sequence[int]]:
        """The groups for P nodes; raises as `of`."""
        value: object = self.fixed
        if value is None:
            value = Evaluator(Ambient("groups", nodes)).value(self.expr, self.scope, None)
        return checked_groups(value, nodes, self.origin)
