"""From a definition with arguments to a model object: where names, defaults and bodies meet.

A collective has a pre and a post of its own, or is made of other collectives: ``inverse``, ``then``
and ``or`` become `inverse_of` and `sequence_of`, each with the place where it stands.  A collective
that several parts name with equal arguments is made once, so that a search sees that it is the same
one (the SCCL paper's allreduce needs its allgather twice, section 3.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from syncoll.errors import Origin
from syncoll.model import Collective, Fabric, Topology, inverse_of, sequence_of
from syncoll.spec import syntax
from syncoll.spec.blame import BlamedCall, blaming
from syncoll.spec.collective import build_collective
from syncoll.spec.environment import Ambient
from syncoll.spec.evaluator import Evaluator
from syncoll.spec.limits import MAX_PARTS
from syncoll.spec.module import Found
from syncoll.spec.searching import SearchSpec, read_bounds
from syncoll.spec.source import Span
from syncoll.spec.syntax import Argument, Combination, Definition, Reference
from syncoll.spec.topology_builder import build_topology
from syncoll.spec.values import NameScope, Relation, written

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


def call_text(definition: Definition, names: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """``ring(8)``, ``broadcast(root=3)``: without the arguments that equal their default."""
    parts: list[str] = []
    for parameter in definition.parameters:
        value = names[parameter.name]
        if parameter.variadic:
            parts += [written(item) for item in value]
        elif parameter.default is None:
            parts.append(written(value))
        elif written(value) != written(defaults[parameter.name]):
            parts.append(f"{parameter.name}={written(value)}")
    return f"{definition.name}({','.join(parts)})" if parts else definition.name


class Combiner:
    """Makes one collective with all that it refers to."""

    def __init__(self) -> None:
        self._active: list[Definition] = []
        self._calls: list[BlamedCall] = []
        self._made: dict[tuple[Definition, str], tuple[Collective, int]] = {}

    def collective(
        self, found: Found, arguments: tuple[Argument, ...], seen: NameScope, span: Span
    ) -> Collective:
        """Instantiates a collective.

        Raises:
            SpecError: when the arguments do not fit, or the definition leads back to itself.
            ModelError: when what it is made of cannot be combined like that.
        """
        return self._sized(found, arguments, seen, span)[0]

    def _sized(
        self, found: Found, arguments: tuple[Argument, ...], seen: NameScope, span: Span
    ) -> tuple[Collective, int]:
        """A collective, and how many it is made of."""
        definition = found.definition
        if definition in self._active:
            circle = self._active[self._active.index(definition) :]
            chain = " -> ".join(d.name for d in [*circle, definition])
            raise span.error(
                f"`{definition.name}` is defined in terms of itself: {chain}",
                "definitions without a circle",
            )
        if len(self._active) >= MAX_PARTS:
            raise _too_many(span)
        calls = self._calls_to(BlamedCall(found, arguments, span))
        with blaming(*calls):
            _, scope, name = bind_parameters(found, arguments, seen, span)
        key = definition, name
        if key not in self._made:
            self._active.append(definition)
            self._calls.append(calls[0])
            with blaming(*calls):
                self._made[key] = self._make(calls, scope, name)
            self._active.pop()
            self._calls.pop()
        return self._made[key]

    def _calls_to(self, call: BlamedCall) -> list[BlamedCall]:
        """A call, and behind it those of the shipped definitions in which it stands."""
        calls = [call]
        for outer in reversed(self._calls):
            if not outer.found.module.shipped:
                break
            calls.append(outer)
        return calls

    def _make(self, calls: list[BlamedCall], scope: NameScope, name: str) -> tuple[Collective, int]:
        definition = calls[0].found.definition
        if isinstance(definition, syntax.CombinedDefinition):
            blamed = calls[-1].span.origin if calls[0].found.module.shipped else None
            return self._combined(definition.combination, scope, name, blamed)
        return build_collective(calls, scope, name), 1

    def _combined(
        self, node: Combination, scope: NameScope, name: str | None, call: Origin | None
    ) -> tuple[Collective, int]:
        """The value of a combination, called `name` or else by what it consists of.

        Its errors are told at its own place, or at the call where there is one to blame instead.
        """
        if isinstance(node, syntax.Reference):
            found = scope.module.look_up("collective", node.id, node.name_span)
            other, size = self._sized(found, node.arguments, scope, node.span)
            return (other if name is None else replace(other, name=name)), size
        if isinstance(node, syntax.Inverse):
            dual, size = self._combined(node.operand, scope, None, call)
            if size >= MAX_PARTS:
                raise _too_many(node.span)
            made = inverse_of(dual, name or f"inverse {dual.name}", call or node.span.origin)
            return made, size + 1
        choice = node.ways if isinstance(node, syntax.Choice) else (node,)
        total, spelled = 1, []
        ways: list[tuple[Collective, ...]] = []
        origins = []
        for way in choice:
            written = way.parts if isinstance(way, syntax.Sequence) else (way,)
            parts = []
            for part in written:
                one, size = self._combined(part, scope, None, call)
                total += size
                if total > MAX_PARTS:
                    raise _too_many(part.span)
                parts.append(one)
            spelled.append(" then ".join(part.name for part in parts))
            if len(parts) == 1 and parts[0].ways:  # a way that is composed itself
                ways += parts[0].ways
                origins += [[call or way.span.origin] * len(inner) for inner in parts[0].ways]
            else:
                ways.append(tuple(parts))
                origins.append([call or part.span.origin for part in written])
        made = sequence_of(
            ways,
            name or f"({' or '.join(spelled)})",
            call or node.span.origin,
            origins=origins,
        )
        return made, total


def _too_many(span: Span) -> Exception:
    return span.error(f"a collective combined from more than {MAX_PARTS} parts", "fewer parts")
