"""Static checks: every name and every call of a definition, evaluated or not.

The evaluator only sees evaluated code; this pass also sees the branch not taken and the definition
with parameters: ``syncoll spec check`` finds a slip before a search does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import Any

from syncoll.errors import SpecError
from syncoll.spec import syntax
from syncoll.spec.environment import IN_UNITS, bind_arguments, no_such_value
from syncoll.spec.keywords import AMBIENT, BUILTIN_NAMES
from syncoll.spec.module import Module
from syncoll.spec.syntax import Definition, Node
from syncoll.spec.values import NameScope

_Names = dict[str, syntax.ValueDefinition | None]

_WITHIN = dict.fromkeys("CG", ("behind `within`", "`P` or `nodes`"))
_WITHOUT: dict[type[Node], dict[str, tuple[str, str]]] = {
    syntax.TopologyDefinition: dict.fromkeys("CG", ("in a topology", "`P` or `nodes`")),
    syntax.CombinedDefinition: dict.fromkeys(
        ("P", "C", "G", "nodes"),
        ("where collectives are combined", "numbers and the definition's own parameters"),
    ),
}
"""The names without a value in a kind of definition, the place in words, and alternatives."""


def check_definition(definition: Definition, module: Module) -> list[SpecError]:
    """The static errors of a definition, in reading order."""
    without = _WITHOUT.get(type(definition), {})
    if isinstance(definition, syntax.CollectiveDefinition) and definition.sizes is not None:
        without = {"C": ("in a collective with `size`", IN_UNITS)}
    checker = _Checker(module, without)
    checker.visit(definition, {})
    return checker.errors


class _Checker:
    def __init__(self, module: Module, without: Mapping[str, tuple[str, str]]) -> None:
        self.module, self.without = module, without
        self.errors: list[SpecError] = []

    def visit(self, node: Node, names: _Names, kind: str = "collective") -> None:
        """Checks a node, with references to a `kind`, recursively; the parser bounds the depth."""
        children = list(node.children())
        if isinstance(node, (syntax.Name, syntax.Call)):
            self.attempt(self.name if isinstance(node, syntax.Name) else self.call, node, names)
        elif isinstance(node, (syntax.TopologyDefinition, syntax.CollectiveDefinition)):
            children = [*node.parameters, *node.body]
        elif isinstance(node, syntax.Statement) and node.keyword == "size":
            names = {**names, "c": None}
        elif isinstance(node, syntax.Combined) and node.op == "within":
            inside = _Checker(self.module, _WITHIN)  # where P is known
            inside.visit(node.arguments[0], names)
            self.errors += inside.errors
            children = [*node.parts]
        elif isinstance(node, syntax.SetWhere):
            names = {**names, node.chunk: None, node.node: None}
        elif isinstance(node, syntax.SharedStatement):
            names = self.clauses(node.outer, names)
            inner = self.clauses(node.inner, names)
            for selection in node.selections:
                self.visit(selection, inner)
            children = [node.bandwidth, *([node.label] if node.label else [])]
        elif isinstance(node, syntax.Setting):
            kind = node.keyword
        loops = [child for child in children if isinstance(child, syntax.Comprehension)]
        names = self.clauses(loops, names)
        for child in children:
            if child not in loops:
                self.visit(child, names, kind)
            if isinstance(child, syntax.Parameter):
                names = {**names, child.name: None}
            elif isinstance(child, syntax.ValueDefinition):
                names = {**names, child.name: child}
        if isinstance(node, syntax.Reference):
            self.attempt(self.reference, node, kind)

    def attempt(self, check: Callable[[Any, Any], None], node: Node, seen: object) -> None:
        try:
            check(node, seen)
        except SpecError as error:
            self.errors.append(error)

    def clauses(self, clauses: Iterable[syntax.Comprehension], names: _Names) -> _Names:
        for clause in clauses:
            for binder in clause.binders:
                self.visit(binder.source, names)
                names = {**names, binder.name: None}
            if clause.condition is not None:
                self.visit(clause.condition, names)
        return names

    def reference(self, reference: syntax.Reference, kind: str) -> None:
        found = self.module.look_up(kind, reference.id, reference.name_span)
        bind_arguments(found.definition, reference.arguments, reference.span)

    def name(self, node: syntax.Name, names: _Names) -> None:
        if node.id in names:
            definition: Definition | None = names[node.id]
        elif node.id in AMBIENT or node.id == "nodes":
            if node.id in self.without:
                where, expected = self.without[node.id]
                raise node.span.error(f"`{node.id}` has no value {where}", expected)
            return
        else:
            found = self.module.find("value", node.id)
            if found is None:
                raise no_such_value(node.id, node.span, self._scope(names))
            definition = found.definition
        if definition is not None and definition.parameters:
            raise node.span.error(f"`{node.id}` needs arguments", f"`{definition.signature}`")

    def call(self, node: syntax.Call, names: _Names) -> None:
        if node.id in names:
            definition: Definition | None = names[node.id]
            if definition is None:
                return
            if not definition.parameters:
                raise node.name_span.error(f"`{node.id}` takes no arguments", "a function")
        else:
            found = self.module.find("value", node.id)
            if found is None:
                if node.id in BUILTIN_NAMES:
                    return
                raise no_such_value(node.id, node.name_span, self._scope(names), called=True)
            definition = found.definition
        bind_arguments(definition, node.arguments, node.span)

    def _scope(self, names: _Names) -> NameScope:
        return NameScope(self.module, dict.fromkeys(names))


def find_circles(module: Module) -> list[SpecError]:
    """The relations, `let`s and collectives of a file that are defined in terms of themselves."""
    errors: list[SpecError] = []
    uses = {d: set(used_by(d, module)) for d in module.own.values()}
    while True:
        try:
            TopologicalSorter(uses).prepare()
        except CycleError as error:
            circle: list[Definition] = error.args[1][:0:-1]  # each uses the next
            first = circle.index(min(circle, key=lambda d: d.span.start))
            circle = [*circle[first:], *circle[: first + 1]]
            errors.append(
                circle[-2].name_span.error(
                    f"`{circle[0].name}` is defined in terms of itself: "
                    f"{' -> '.join(d.name for d in circle)}",
                    "definitions without a circle",
                )
            )
            uses[circle[-2]].remove(circle[0])
        else:
            return errors


def used_first(definitions: Iterable[Definition], module: Module) -> list[Definition]:
    """Definitions of a file without circles, each after the ones that it uses."""
    wanted = dict.fromkeys(definitions)
    uses = {d: list(used_by(d, module)) for d in (*wanted, *module.own.values())}
    return [d for d in TopologicalSorter(uses).static_order() if d in wanted]


def used_by(definition: Definition, module: Module) -> Iterator[Definition]:
    """The constants, relations and collectives of the same file that a definition names."""
    hidden = {p.name for p in definition.parameters}
    for node in definition.walk():
        if isinstance(node, (syntax.Name, syntax.Call)):
            used = module.own.get(("value", node.id))
            if used is not None and node.id not in hidden:
                yield used
        elif isinstance(node, syntax.Reference) and isinstance(
            definition, syntax.CombinedDefinition
        ):
            with suppress(SpecError):  # reported elsewhere
                found = module.look_up("collective", node.id, node.name_span)
                if found.module is module:
                    yield found.definition
