"""Modules: the definitions of a file, and its names: its own, imported, then shipped ones.

There are four namespaces: topologies, collectives, searches, and values (relations and `let`).
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from syncoll.errors import SpecError
from syncoll.spec.kept import parse_once
from syncoll.spec.keywords import list_words
from syncoll.spec.limits import MAX_FILE_BYTES, MAX_IMPORTS
from syncoll.spec.parser import parse_file
from syncoll.spec.source import Source, Span, read_source
from syncoll.spec.syntax import Definition, File

_LEAST_PART, _MOST_SUGGESTED = 3, 3
"""Letters of a word that other names may contain, and the number of these suggestions."""

_NAMESPACES = {
    "topology": "a topology",
    "collective": "a collective",
    "search": "a search",
    "value": "a relation or constant",
}


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A definition, and the file whose names it sees."""

    definition: Definition
    module: "Module"


class Library(Protocol):
    """Definitions that every file sees."""

    def find(self, namespace: str, name: str) -> Found | None:
        """The definition of exactly this name."""

    def known_names(self, namespace: str) -> Iterable[str]:
        """All names, for suggestions."""


def module_of(source: Source) -> "Module":
    """A text that is in no file and sees no names."""
    return Module(source, None, None)


@dataclass(frozen=True, eq=False)
class Module:
    """One file, or a text without a path.  Its `own` definitions are by namespace and name, without
    searches that have no name; if shipped, it belongs to a spec library and not to a user."""

    source: Source
    path: Path | None
    library: Library | None
    own: dict[tuple[str, str], Definition] = field(default_factory=dict, repr=False)
    searches: tuple[Definition, ...] = ()
    imports: "tuple[Module, ...]" = ()
    shipped: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the file has no text except comments."""
        return not (self.own or self.searches or self.imports)

    def find(self, namespace: str, name: str) -> Found | None:
        """The definition of a name in this file."""
        for module in (self, *self.imports):
            definition = module.own.get((namespace, name))
            if definition is not None:
                return Found(definition, module)
        return self.library.find(namespace, name) if self.library else None

    def known_names(self, namespace: str) -> list[str]:
        """Every name of a namespace that this file sees."""
        own = [key for module in (self, *self.imports) for key in module.own]
        names = [name for kind, name in own if kind == namespace]
        shipped = self.library.known_names(namespace) if self.library else ()
        return list(dict.fromkeys([*names, *shipped]))

    def look_up(self, namespace: str, name: str, span: Span) -> Found:
        """Finds a topology, collective or search, in any case; raises SpecError unless unique."""
        found = self.find(namespace, name)
        if found is None:
            known = self.known_names(namespace)
            alike = [other for other in known if other.lower() == name.lower()]
            found = self.find(namespace, alike[0]) if len(alike) == 1 else None
        if found is None:
            raise unknown_name(namespace, name, span, self)
        return found


def unknown_name(namespace: str, name: str, span: Span, module: Module) -> SpecError:
    """The error for a topology, collective or search that is not defined."""
    known = module.known_names(namespace)
    for other, words in _NAMESPACES.items():
        if other != namespace and name in module.known_names(other):
            hint = f"; `{name}` is {words}"
            break
    else:
        hint = suggest(name, known)
    return span.error(
        f"there is no {namespace} `{name}`{hint}",
        f"one of {', '.join(sorted(known))}" if known else f"a {namespace} to be defined",
    )


def suggest(name: str, known: Iterable[str]) -> str:
    """``; did you mean …?`` when a known name is close."""
    close = list_words(f"`{other}`" for other in close_names(name, known))
    return f"; did you mean {close}?" if close else ""


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The closest known name; else a few names that contain it."""
    known, word = list(known), name.lower()
    by_lower = {other.lower(): other for other in known}
    close = difflib.get_close_matches(name, known, 1, 0.6)
    close = close or [by_lower[n] for n in difflib.get_close_matches(word, by_lower, 1, 0.6)]
    if close or len(word) < _LEAST_PART:
        return close
    return [other for other in known if word in other.lower()][:_MOST_SUGGESTED]


def make_module(
    source: Source,
    path: Path | None,
    library: Library,
    file: File,
    imports: tuple[Module, ...] = (),
    shipped: bool = False,
) -> Module:
    """Puts a parsed file's definitions into their namespaces; raises SpecError on duplicates."""
    imported: dict[tuple[str, str], Definition] = {}
    for module in imports:
        for key, definition in module.own.items():
            if imported.setdefault(key, definition) is not definition:
                raise defined_twice(definition, imported[key], "another name")
    own: dict[tuple[str, str], Definition] = {}
    for definition in file.definitions:
        if definition.name:
            kind = "value" if definition.kind in ("relation", "let") else definition.kind
            key = kind, definition.name
            for earlier in (own, imported):
                if key in earlier:
                    raise defined_twice(definition, earlier[key], "another name")
            own[key] = definition
    searches = tuple(d for d in file.definitions if d.kind == "search")
    return Module(source, path, library, own, searches, imports, shipped)


def defined_twice(again: Definition, first: Definition, expected: str) -> SpecError:
    """The error for a name that two definitions have."""
    place = first.name_span
    return again.name_span.error(
        f"{again.kind} `{again.name}` is already defined in {place.source.label}, "
        f"line {place.line}",
        expected,
    )


@dataclass(eq=False)
class _Loader:
    """Reads a file and its imports, each once."""

    library: Library
    shipped: bool
    done: dict[Path, Module] = field(default_factory=dict)
    bytes: int = 0

    def load(self, path: Path, label: str, blame: Span | None, chain: dict[Path, str]) -> Module:
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):
            real = path
        if real in chain:
            assert blame is not None
            labels = list(chain.values())
            circle = [*labels[list(chain).index(real) :], label]
            raise blame.error(
                f"this import leads back to a file that is being read: {' -> '.join(circle)}",
                "imports without a circle; put the definitions that both files need into a third",
            )
        if real in self.done:
            return self.done[real]
        source = read_source(path, label, blame)
        self.bytes += len(source.text)
        if blame is not None and (
            len(self.done) + len(chain) > MAX_IMPORTS or self.bytes > 4 * MAX_FILE_BYTES
        ):
            raise blame.error(
                f"more than {MAX_IMPORTS} files or {4 * MAX_FILE_BYTES >> 20} MiB are imported",
                "fewer and smaller files",
            )
        file = parse_once(source, parse_file) if self.shipped else parse_file(source)
        inner = {**chain, real: label}
        imports: dict[Module, None] = {}
        for item in file.imports:
            if not item.path or "\0" in item.path:
                raise item.span.error(
                    "an import without a file name", "the path of a .syncoll file"
                )
            below = str(Path(label).parent / item.path)
            imports[self.load(path.parent / item.path, below, item.span, inner)] = None
        module = make_module(source, path, self.library, file, tuple(imports), self.shipped)
        self.done[real] = module
        return module


def load_module(
    path: Path, label: str, library: Library, blame: Span | None = None, *, shipped: bool = False
) -> Module:
    """Reads a file and its imports; raises SpecError if invalid, circular, or with duplicates."""
    return _Loader(library, shipped).load(path, label, blame, {})
