"""Static checks: every name and every call of a definition, evaluated or not.

The evaluator meets only what it runs through; this pass also sees the branch not taken and the
definition with parameters, so that ``syncoll spec check`` finds a slip before a search does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from syncoll.errors import SpecError
from syncoll.spec import syntax
from syncoll.spec.environment import bind_arguments, no_such_value
from syncoll.spec.keywords import AMBIENT, BUILTIN_NAMES
from syncoll.spec.module import Module
from syncoll.spec.syntax import Definition, Node
from syncoll.spec.values import NameScope

__all__ = ["check_definition", "find_circles", "references", "used_by", "used_first"]

_Names = dict[str, syntax.ValueDefinition | None]

_WITHOUT: dict[type[Definition], dict[str, tuple[str, str]]] = {
    syntax.TopologyDefinition: dict.fromkeys("CG", ("in a topology", "`P` or `nodes`")),
    syntax.CombinedDefinition: dict.fromkeys(
        ("P", "C", "G", "nodes"),
        ("where collectives are combined", "numbers and the definition's own parameters"),
    ),
}
"""The names that have no value in a kind of definition, how to say so, and what could be there."""


def check_definition(definition: Definition, module: Module) -> list[SpecError]:
    """Everything that is statically wrong with a definition, in reading order."""
    checker = _Checker(module, _WITHOUT.get(type(definition), {}))
    names = checker.parameters(definition, {})
    if isinstance(definition, syntax.ValueDefinition):
        checker.visit(definition.body, names)
    elif isinstance(definition, (syntax.TopologyDefinition, syntax.CollectiveDefinition)):
        checker.body(definition.body, names)
    elif isinstance(definition, syntax.SearchDefinition):
        for setting in definition.settings:
            checker.setting(setting, names)
    elif isinstance(definition, syntax.CombinedDefinition):
        for reference in references(definition.combination):
            checker.reference("collective", reference, names)
    return checker.errors


def references(combination: syntax.Combination) -> Iterator[syntax.Reference]:
    """The collectives that a combination names, in reading order."""
    if isinstance(combination, syntax.Reference):
        yield combination
        return
    for part in combination.children():
        assert isinstance(part, syntax.Combination)
        yield from references(part)


class _Checker:
    def __init__(self, module: Module, without: Mapping[str, tuple[str, str]]) -> None:
        self.module, self.without = module, without
        self.errors: list[SpecError] = []

    def parameters(self, definition: Definition, names: _Names) -> _Names:
        inner = dict(names)
        for parameter in definition.parameters:
            if parameter.default is not None:
                self.visit(parameter.default, inner)
            inner[parameter.name] = None
        return inner

    def body(self, statements: Iterable[Node], names: _Names) -> None:
        for statement in statements:
            if isinstance(statement, syntax.ValueDefinition):
                self.visit(statement.body, self.parameters(statement, names))
                names = {**names, statement.name: statement}
            elif isinstance(statement, syntax.LinkStatement):
                inner = self.clauses(statement.clauses, names)
                for part in (*statement.pairs, statement.bandwidth, statement.label):
                    self.visit(part, inner)
            elif isinstance(statement, syntax.SharedStatement):
                outer = self.clauses(statement.outer, names)
                inner = self.clauses(statement.inner, outer)
                for selection in statement.selections:
                    self.visit(selection, inner)
                self.visit(statement.bandwidth, outer)
                self.visit(statement.label, outer)
            else:
                self.visit(statement, names)

    def clauses(self, clauses: Iterable[syntax.Comprehension], names: _Names) -> _Names:
        for clause in clauses:
            for binder in clause.binders:
                self.visit(binder.source, names)
                names = {**names, binder.name: None}
            self.visit(clause.condition, names)
        return names

    def setting(self, setting: syntax.Setting, names: _Names) -> None:
        value = setting.value
        if not isinstance(value, syntax.Reference):
            if isinstance(value, Node):
                self.visit(value, names)
            return
        self.reference(setting.keyword, value, names)

    def reference(self, kind: str, reference: syntax.Reference, names: _Names) -> None:
        for argument in reference.arguments:
            self.visit(argument, names)
        try:
            found = self.module.look_up(kind, reference.id, reference.name_span)
            bind_arguments(found.definition, reference.arguments, reference.span)
        except SpecError as error:
            self.errors.append(error)

    def visit(self, node: Node | None, names: _Names) -> None:
        """Checks a node and everything inside it; recursion is bounded by the parser."""
        if node is None:
            return
        if isinstance(node, syntax.Name):
            self.name(node, names)
        elif isinstance(node, syntax.Call):
            self.call(node, names)
        elif isinstance(node, (syntax.ListFor, syntax.SetOf)):
            inner = self.clauses(node.clauses, names)
            parts = node.pairs if isinstance(node, syntax.SetOf) else (node.item,)
            for part in parts:
                self.visit(part, inner)
            return
        elif isinstance(node, syntax.SetWhere):
            self.visit(node.condition, {**names, node.chunk: None, node.node: None})
            return
        for child in node.children():
            self.visit(child, names)

    def name(self, node: syntax.Name, names: _Names) -> None:
        definition: Definition | None = None
        if node.id in names:
            definition = names[node.id]
        elif node.id in AMBIENT or node.id == "nodes":
            if node.id in self.without:
                where, expected = self.without[node.id]
                self.errors.append(node.span.error(f"`{node.id}` has no value {where}", expected))
            return
        else:
            found = self.module.find("value", node.id)
            if found is None:
                self.errors.append(no_such_value(node.id, node.span, self._scope(names)))
                return
            definition = found.definition
        if definition is not None and definition.parameters:
            self.errors.append(
                node.span.error(
                    f"`{node.id}` stands without its arguments", f"`{definition.signature}`"
                )
            )

    def call(self, node: syntax.Call, names: _Names) -> None:
        if node.id in names:
            definition: Definition | None = names[node.id]
            if definition is None or not definition.parameters:
                if definition is not None:
                    self.errors.append(
                        node.name_span.error(f"`{node.id}` takes no arguments", "a function")
                    )
                return
        else:
            found = self.module.find("value", node.id)
            if found is None:
                if node.id not in BUILTIN_NAMES:
                    self.errors.append(
                        no_such_value(node.id, node.name_span, self._scope(names), called=True)
                    )
                return
            definition = found.definition
        try:
            bind_arguments(definition, node.arguments, node.span)
        except SpecError as error:
            self.errors.append(error)

    def _scope(self, names: _Names) -> NameScope:
        return NameScope(self.module, dict.fromkeys(names))


def find_circles(module: Module) -> list[SpecError]:
    """The relations, `let`s and collectives of a file that are defined in terms of themselves."""
    errors: list[SpecError] = []
    state: dict[Definition, int] = {}  # 1: being looked at, 2: done
    for start in module.own.values():
        if start in state:
            continue
        state[start] = 1
        path: list[tuple[Definition, Iterator[Definition]]] = [(start, used_by(start, module))]
        while path:
            definition, uses = path[-1]
            used = next(uses, None)
            if used is None:
                state[definition] = 2
                path.pop()
            elif state.get(used) == 1:
                chain = [d.name for d, _ in path]
                circle = [*chain[chain.index(used.name) :], used.name]
                errors.append(
                    definition.name_span.error(
                        f"`{used.name}` is defined in terms of itself: {' -> '.join(circle)}",
                        "definitions without a circle",
                    )
                )
            elif used not in state:
                state[used] = 1
                path.append((used, used_by(used, module)))
    return errors


def used_first(definitions: Iterable[Definition], module: Module) -> list[Definition]:
    """Definitions of a file without circles, each behind those of them that it uses."""
    wanted = dict.fromkeys(definitions)
    ordered: dict[Definition, None] = {}
    waiting = list(wanted)[::-1]
    opened: set[Definition] = set()
    while waiting:
        definition = waiting[-1]
        if definition in opened:
            ordered.setdefault(waiting.pop())
            continue
        opened.add(definition)
        waiting += [used for used in used_by(definition, module) if used not in opened]
    return [definition for definition in ordered if definition in wanted]


def used_by(definition: Definition, module: Module) -> Iterator[Definition]:
    """The constants, relations and collectives of the same file whose names appear in one."""
    if isinstance(definition, syntax.CombinedDefinition):
        for reference in references(definition.combination):
            try:
                found = module.look_up("collective", reference.id, reference.name_span)
            except SpecError:  # told elsewhere
                continue
            if found.module is module:
                yield found.definition
    waiting: list[Node] = [definition]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (syntax.Name, syntax.Call)):
            used = module.own.get(("value", node.id))
            if used is not None and node.id not in {p.name for p in definition.parameters}:
                yield used
        waiting.extend(node.children())
