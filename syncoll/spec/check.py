"""`syncoll spec check`: everything that can be said about a file without searching.

The file is parsed, every definition is checked statically, and what needs no arguments is built:
topologies whole, collectives on a few small numbers of nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from syncoll.errors import LocatedError, ModelError, SpecError
from syncoll.model import Collective
from syncoll.spec import instantiate, syntax
from syncoll.spec.library import DefinitionSummary, SpecLibrary, summarise
from syncoll.spec.module import Found, Module, load_module
from syncoll.spec.parser import parse_file
from syncoll.spec.resolver import check_definition, find_circles, references
from syncoll.spec.source import read_source
from syncoll.spec.syntax import Definition
from syncoll.spec.values import Scope

__all__ = ["CheckReport", "check_file"]

_SMALL = (1, 2, 3, 4, 8)
"""Numbers of nodes on which collectives are tried, with C = 1, P and 2 P."""

_BEGINS = re.compile(r"^(?:relation|collective|topology|search|let|import)\b", re.MULTILINE)


@dataclass(frozen=True)
class CheckReport:
    """What a check found.

    Args:
        file: as the user named it.
        definitions: in the order of the file.
        errors: in the order of the file; empty when all is well.
        notes: what could not be tried, in words.
    """

    file: str
    definitions: tuple[DefinitionSummary, ...]
    errors: tuple[LocatedError, ...]
    notes: tuple[str, ...] = ()


def check_file(path: str | Path, library: SpecLibrary) -> CheckReport:
    """Checks a file.

    Args:
        path: the file.
        library: the shipped definitions that it may use.

    Returns:
        Its definitions and everything wrong with them; nothing is raised for a wrong file.
    """
    label = str(path)
    try:
        module = load_module(Path(path), label, library)
    except SpecError as error:
        return CheckReport(label, (), tuple(_syntax_errors(Path(path), label, error)))
    definitions = [*module.own.values(), *(s for s in module.searches if not s.name)]
    definitions.sort(key=lambda definition: definition.span.start)
    errors: list[LocatedError] = list(find_circles(module))
    notes: list[str] = []
    sound = not errors
    for definition in definitions:
        found: list[LocatedError] = list(check_definition(definition, module))
        if not found and sound:
            found, note = _try(definition, module)
            notes += [note] if note else []
        errors += found
    unique = {(error.message, error.origin): error for error in errors}
    return CheckReport(
        label, tuple(map(summarise, definitions)), tuple(unique.values()), tuple(notes)
    )


def _syntax_errors(path: Path, label: str, first: SpecError) -> list[SpecError]:
    """The first error, and those of the definitions that begin behind it in their first column."""
    errors = [first]
    try:
        source = read_source(path, label)
    except SpecError:
        return errors
    starts = [match.start() for match in _BEGINS.finditer(source.text)]
    for start, end in pairwise([*starts, len(source.text)]):
        try:
            parse_file(source, start, end)
        except SpecError as error:
            if (error.message, error.origin) != (first.message, first.origin):
                errors.append(error)
    if len(errors) > 1 and first.origin is not None and first.message.startswith("the text ends"):
        return errors[1:]  # the same slip, seen from the end of the file
    return errors


def _try(definition: Definition, module: Module) -> tuple[list[LocatedError], str]:
    """Builds what needs no arguments."""
    if any(p.default is None for p in definition.parameters):
        return [], f"{definition.kind} {definition.signature} needs arguments: names checked only"
    found, scope, span = Found(definition, module), Scope(module, {}), definition.name_span
    if isinstance(definition, syntax.TopologyDefinition):
        return _errors_of(lambda: instantiate.make_topology(found, (), scope, span)), ""
    if isinstance(definition, syntax.SearchDefinition):
        return _errors_of(lambda: instantiate.make_search(found, (), scope, span)), ""
    if not isinstance(definition, syntax.CollectiveDefinition | syntax.CombinedDefinition):
        return [], ""
    try:
        collective = instantiate.make_collective(found, (), scope, span)
    except LocatedError as error:
        return [error], ""
    return _try_collective(found, collective)


def _try_collective(found: Found, collective: Collective) -> tuple[list[LocatedError], str]:
    """Makes the tables of a collective for small P and C, as far as its requirements allow.

    What cannot be combined on few nodes (the root is not among them, say) may be on more.
    """
    definition = found.definition
    conditions = {s.condition.span.origin for s in _requirements(found)}
    if isinstance(definition, syntax.CollectiveDefinition):
        span = definition.post.value.span
    else:
        assert isinstance(definition, syntax.CombinedDefinition)
        span = definition.combination.span
    tried, failure = False, None
    for nodes in _SMALL:
        for chunks in sorted({1, nodes, 2 * nodes}):
            try:
                if not collective.admits(nodes, chunks):
                    continue
                table = collective.tabulate(nodes, chunks)
            except ModelError as error:
                failure = error
                break
            except SpecError as error:
                if error.origin in conditions and "does not hold" in error.message:
                    break  # not defined on so few nodes
                return [error], ""
            tried, failure = True, None
            if not table.post.any():
                return [
                    span.error(
                        f"the post of collective {definition.name} is empty for P = {nodes} and "
                        f"C = {chunks}: nothing is to do",
                        "at least one chunk that must reach a node",
                    )
                ], ""
    if failure is not None:
        return [failure], ""
    if not tried:
        return [], f"collective {definition.signature} could be tried on no P and C up to 16"
    return [], ""


def _requirements(found: Found) -> Iterator[syntax.Require]:
    """What a collective requires, and all that it is made of."""
    waiting, seen = [found], set[Definition]()
    while waiting:
        definition, module = waiting[-1].definition, waiting.pop().module
        if definition in seen:
            continue
        seen.add(definition)
        if isinstance(definition, syntax.CollectiveDefinition):
            yield from (s for s in definition.body if isinstance(s, syntax.Require))
        elif isinstance(definition, syntax.CombinedDefinition):
            for part in references(definition.combination):
                waiting.append(module.look_up("collective", part.id, part.name_span))


def _errors_of(build: Callable[[], object]) -> list[LocatedError]:
    try:
        build()
    except LocatedError as error:
        return [error]
    return []
