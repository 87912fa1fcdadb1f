"""From a definition with arguments to a model object: where names, defaults and bodies meet."""

from __future__ import annotations

from syncoll.model import Collective, Fabric, Topology
from syncoll.spec import syntax
from syncoll.spec.binding import bind_parameters
from syncoll.spec.blame import BlamedCall, blaming
from syncoll.spec.combining import Combiner
from syncoll.spec.machine import build_topology
from syncoll.spec.module import Found
from syncoll.spec.searching import SearchSpec, read_bounds
from syncoll.spec.source import Span
from syncoll.spec.syntax import Argument, Reference
from syncoll.spec.values import NameScope

__all__ = ["make_collective", "make_search", "make_topology"]


def make_topology(
    found: Found, arguments: tuple[Argument, ...], seen: NameScope, span: Span
) -> Topology | Fabric:
    """Instantiates a topology.

    Raises:
        SpecError: when the arguments do not fit, or the definition makes no sense with them.
    """
    definition = found.definition
    assert isinstance(definition, syntax.TopologyDefinition)
    call = BlamedCall(found, arguments, span)
    with blaming(call):
        evaluator, scope, name = bind_parameters(found, arguments, seen, span)
        return build_topology(definition, evaluator, scope, name, call.origin)


def make_collective(
    found: Found, arguments: tuple[Argument, ...], seen: NameScope, span: Span
) -> Collective:
    """Instantiates a collective; see `make_topology`.

    Raises:
        ModelError: when the collectives that it is made of cannot be combined like that.
    """
    return Combiner().collective(found, arguments, seen, span)


def make_search(
    found: Found, arguments: tuple[Argument, ...], seen: NameScope, span: Span
) -> SearchSpec:
    """Instantiates a search, with its topology and its collective; see `make_topology`."""
    definition = found.definition
    assert isinstance(definition, syntax.SearchDefinition)
    evaluator, scope, name = bind_parameters(found, arguments, seen, span)
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
