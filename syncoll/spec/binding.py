"""Parameters get their values: the step from a definition to a thing with a name."""

from __future__ import annotations

from typing import Any

from syncoll.spec.ambient import Ambient
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.module import Found
from syncoll.spec.naming import call_text
from syncoll.spec.source import Span
from syncoll.spec.syntax import Argument
from syncoll.spec.values import NameScope, Relation

__all__ = ["bind_parameters"]


def bind_parameters(
    found: Found, arguments: tuple[Argument, ...], seen: NameScope, span: Span
) -> tuple[Evaluator, NameScope, str]:
    """Gives every parameter its value.

    Returns:
        What evaluates the definition, the names that it sees, and the name of the result.

    Raises:
        SpecError: when the arguments do not fit the parameters.
    """
    definition = found.definition
    home = NameScope(found.module, {})
    owner = f"{definition.kind} {definition.name}".strip()
    evaluator = Evaluator(Ambient(owner))
    names = evaluator.bind(definition, home, arguments, seen, span)
    for parameter in definition.parameters:
        if isinstance(names[parameter.name], Relation):
            raise span.error(
                f"`{parameter.name}` of {owner} is a relation", "a number, Boolean or list"
            )
    defaults: dict[str, Any] = {}
    for parameter in definition.parameters:
        if parameter.default is not None:
            inner = NameScope(home.module, names)
            defaults[parameter.name] = evaluator.value(parameter.default, inner, None)
    scope = NameScope(found.module, names)
    return evaluator, scope, call_text(definition, names, defaults)
