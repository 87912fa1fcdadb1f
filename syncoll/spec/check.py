"""`syncoll spec check`: everything that can be said about a file without searching.

The file is parsed, every definition is checked statically, and what needs no arguments is built and
evaluated, see `trials`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from syncoll.errors import LocatedError, SpecError
from syncoll.model import Fabric
from syncoll.spec.library import DefinitionSummary, SpecLibrary, summarise
from syncoll.spec.module import load_module
from syncoll.spec.parser import parse_file
from syncoll.spec.resolver import check_definition, find_circles, used_by, used_first
from syncoll.spec.source import read_source
from syncoll.spec.syntax import Definition
from syncoll.spec.trials import Trials

__all__ = ["CheckReport", "check_file"]

_BEGINS = re.compile(r"^(?:relation|collective|topology|search|let|import)\b", re.MULTILINE)


@dataclass(frozen=True)
class CheckReport:
    """What a check found.

    Args:
        definitions: in the order of the file.
        errors: in the order of the file; empty when all is well.
    """

    file: str
    definitions: tuple[DefinitionSummary, ...]
    errors: tuple[LocatedError, ...]
    notes: tuple[str, ...] = ()


def check_file(
    path: str | Path, library: SpecLibrary, lower: Callable[[Fabric], object] | None = None
) -> CheckReport:
    """Checks a file.

    Args:
        lower: what tries whether algorithms can be searched for on a physical topology.

    Returns:
        Its definitions and everything wrong with them; nothing is raised for a wrong file.
    """
    label = str(path)
    try:
        module = load_module(Path(path), label, library)
    except SpecError as error:
        return CheckReport(label, (), tuple(_syntax_errors(Path(path), label, error)))
    if module.is_empty:
        what = "contains comments only" if module.source.text.strip() else "is empty"
        nothing = SpecError(f"{label} {what}", None, "a definition, such as a topology")
        return CheckReport(label, (), (nothing,))
    definitions = [*module.own.values(), *(s for s in module.searches if not s.name)]
    definitions.sort(key=lambda definition: definition.span.start)
    errors: list[LocatedError] = list(find_circles(module))
    notes: list[str] = []
    if not definitions:
        notes.append("it imports other files and defines nothing itself")
    trials = None if errors else Trials(module, lower)
    results: dict[Definition, list[LocatedError]] = {}
    wrong: set[Definition] = set()  # and what uses something that is: each cause is told once
    told: dict[Definition, str] = {}
    for definition in used_first(definitions, module) if trials is not None else definitions:
        found: list[LocatedError] = list(check_definition(definition, module))
        whole = trials is not None and wrong.isdisjoint(used_by(definition, module))
        if not found and trials is not None:
            found, told[definition] = trials.run(definition, whole=whole)
        if found or not whole:
            wrong.add(definition)
        results[definition] = found
    for definition in definitions:
        errors += results[definition]
        notes += [told[definition]] if told.get(definition) else []
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
