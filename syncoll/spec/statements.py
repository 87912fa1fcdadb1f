"""Statements that several kinds of definitions share: `let` and `require`."""

from __future__ import annotations

from syncoll.spec import syntax
from syncoll.spec.blame import RequirementError
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.values import Closure, NameScope, Pair
from syncoll.wording import counted

__all__ = ["bind_let", "check_requirement", "join_requirements"]


def bind_let(
    evaluator: Evaluator, statement: syntax.ValueDefinition, scope: NameScope
) -> NameScope:
    """The scope behind a `let` statement.

    Raises:
        SpecError: when its value has none.
    """
    if statement.parameters:
        return scope.having(**{statement.name: Closure(statement, scope)})
    value = evaluator.value(statement.body, scope, None)
    if isinstance(value, Pair):
        raise statement.body.span.error("this is a pair", "a number, Boolean, list or relation")
    return scope.having(**{statement.name: value})


def check_requirement(
    evaluator: Evaluator, statement: syntax.Require, scope: NameScope, name: str
) -> None:
    """Evaluates a `require`.

    Raises:
        RequirementError: when it does not hold.
    """
    if not evaluator.truth(statement.condition, scope):
        nodes = evaluator.ambient.nodes
        brief = f"{name} has no meaning" + (f" on {counted(nodes, 'node')}" if nodes else "")
        text = " ".join(statement.condition.span.text.split())
        raise RequirementError(
            f"{brief}: `{text}` does not hold",
            statement.condition.span.origin,
            statement.message,
            brief,
        )


def join_requirements(messages: list[str]) -> str:
    """Several requirements as the end of one ``expected …``."""
    return ", and ".join(messages)
