"""From a definition with arguments to a model object: where names, defaults and bodies meet."""

from __future__ import annotations

from typing import Any

from syncoll.model import Collective, Topology
from syncoll.spec import syntax
from syncoll.spec.ambient import Ambient
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.machine import build_topology
from syncoll.spec.module import Found
from syncoll.spec.movement import build_collective
from syncoll.spec.naming import call_text
from syncoll.spec.resolver import combining_error
from syncoll.spec.searching import SearchSpec, read_bounds
from syncoll.spec.source import Span
from syncoll.spec.syntax import Argument, Reference
from syncoll.spec.values import Relation, Scope

__all__ = ["make_collective", "make_search", "make_topology"]


def make_topology(
    found: Found, arguments: tuple[Argument, ...], seen: Scope, span: Span
) -> Topology:
    """Instantiates a topology.

    Args:
        found: the definition.
        arguments: as written.
        seen: the names that the arguments see.
        span: the call, for errors.

    Raises:
        SpecError: when the arguments do not fit, or the definition makes no sense with them.
    """
    definition = found.definition
    assert isinstance(definition, syntax.TopologyDefinition)
    evaluator, scope, name = _bound(found, arguments, seen, span)
    return build_topology(definition, evaluator, scope, name)


def make_collective(
    found: Found, arguments: tuple[Argument, ...], seen: Scope, span: Span
) -> Collective:
    """Instantiates a collective; see `make_topology`."""
    definition = found.definition
    if isinstance(definition, syntax.CombinedDefinition):
        raise combining_error(definition)
    assert isinstance(definition, syntax.CollectiveDefinition)
    _, scope, name = _bound(found, arguments, seen, span)
    return build_collective(definition, scope, name)


def make_search(
    found: Found, arguments: tuple[Argument, ...], seen: Scope, span: Span
) -> SearchSpec:
    """Instantiates a search, with its topology and its collective; see `make_topology`."""
    definition = found.definition
    assert isinstance(definition, syntax.SearchDefinition)
    evaluator, scope, name = _bound(found, arguments, seen, span)
    subjects: dict[str, Reference] = {
        s.keyword: s.value for s in definition.settings if isinstance(s.value, Reference)
    }
    topology = subjects["topology"]
    place = found.module.look_up("topology", topology.id, topology.name_span)
    collective = subjects["collective"]
    other = found.module.look_up("collective", collective.id, collective.name_span)
    bounds = read_bounds(definition, evaluator, scope)
    return SearchSpec(
        name if definition.name else "",
        make_topology(place, topology.arguments, scope, topology.span),
        make_collective(other, collective.arguments, scope, collective.span),
        **bounds.numbers,
        seconds=bounds.seconds,
        encoding=bounds.plugins.get("encoding"),
        backend=bounds.plugins.get("backend"),
        origin=definition.name_span.origin,
    )


def _bound(
    found: Found, arguments: tuple[Argument, ...], seen: Scope, span: Span
) -> tuple[Evaluator, Scope, str]:
    """Gives every parameter its value, and the result its name."""
    definition = found.definition
    home = Scope(found.module, {})
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
            inner = Scope(home.module, names)
            defaults[parameter.name] = evaluator.value(parameter.default, inner, None)
    scope = Scope(found.module, names)
    return evaluator, scope, call_text(definition, names, defaults)
