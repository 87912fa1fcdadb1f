"""The shipped definitions, and everything that a user can name: the door to this package.

A library knows folders of spec files.  It reads their text once to see which file may define which
name, and parses a file only when one of its names is asked for, so that starting is fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

from syncoll.errors import SpecError
from syncoll.model import Collective, Fabric, Topology
from syncoll.spec import instantiate
from syncoll.spec.module import Found, Module, load_module, make_module, suggest
from syncoll.spec.parser import parse_file, parse_reference
from syncoll.spec.searching import SearchSpec
from syncoll.spec.source import COMMAND_LINE, Source, Span
from syncoll.spec.syntax import Definition, Reference
from syncoll.spec.values import Scope

__all__ = ["DefinitionSummary", "Kind", "Reader", "SpecLibrary", "summarise"]

Kind = Literal["topology", "collective", "relation", "search"]

_SUFFIX = ".syncoll"
_DEFINED = re.compile(
    r"^([ \t]*)(relation|collective|topology|search|let)[ \t]+([A-Za-z_][A-Za-z0-9_]*)",
    re.MULTILINE,
)
_FILE_REFERENCE = re.compile(r"(.*\.syncoll)(?:\s*:(?P<call>.*))?", re.DOTALL)
_READ_REFERENCE = re.compile(
    r"\s*(?P<reader>[A-Za-z][A-Za-z0-9_-]*)\s*(?:\((?P<settings>[^()]*)\)\s*)?:(?P<file>.*)",
    re.DOTALL,
)


class Reader(Protocol):
    """Makes a spec of a file in another format, for references such as ``nvidia-smi:topo.txt``."""

    def __call__(self, file: str, settings: Sequence[str], /) -> str:
        """The text of a spec that defines one topology.

        Args:
            file: its path, as it was written.
            settings: ``NAME=VALUE`` texts, from ``nvidia-smi(link=20):topo.txt``.

        Raises:
            SyncollError: when the file, or a setting, is not what it should be.
        """


@dataclass(frozen=True)
class DefinitionSummary:
    """What people want to know about a definition before they use it.

    Args:
        kind: ``topology``, ``collective``, ``relation``, ``let`` or ``search``.
        name: as it is typed.
        signature: with its parameters and defaults.
        doc: the comment above it.
        file: where it is defined.
        line: in that file.
    """

    kind: str
    name: str
    signature: str
    doc: str
    file: str
    line: int


def summarise(definition: Definition) -> DefinitionSummary:
    """The summary of a definition."""
    span = definition.name_span
    return DefinitionSummary(
        definition.kind,
        definition.name,
        definition.signature,
        definition.doc,
        span.source.label,
        span.line,
    )


class SpecLibrary:
    """Definitions by name: shipped ones from folders, and a user's from files.

    A reference is what a user types: ``dgx1``, ``ring(8)``, ``broadcast(root=3)``,
    ``machines.syncoll:quad(2)``, or ``machines.syncoll`` when the file defines one thing of that
    kind.  With readers, also a file in another format behind the reader's name and a colon:
    ``nvidia-smi:topo.txt``, or ``nvidia-smi(link=20):topo.txt`` with settings.

    Args:
        folders: searched with their subfolders; see `load`.
        readers: by the name that stands before the colon; see `load`.
    """

    def __init__(
        self, folders: Sequence[Path], readers: Mapping[str, Reader] | None = None
    ) -> None:
        self.folders = tuple(folders)
        self.readers = dict(readers or {})
        self._modules: dict[Path, Module | SpecError] = {}
        self._read: dict[str, Module] = {}

    @classmethod
    def load(
        cls, folders: Sequence[Path], readers: Mapping[str, Reader] | None = None
    ) -> SpecLibrary:
        """A library of the spec files in some folders, none of which is read yet.

        Args:
            folders: searched with their subfolders.
            readers: what reads files in other formats.  Each reference is read once, so that it may
                stand for what can be read only once.
        """
        return cls(folders, readers)

    # What users ask for ------------------------------------------------------------------------

    def topology(self, reference: str) -> Topology:
        """The topology that a reference names.

        Raises:
            SpecError: when the reference, or the spec behind it, is wrong.
        """
        found, call, scope = self._resolve("topology", reference)
        return instantiate.make_topology(found, call.arguments, scope, call.span)

    def fabric(self, reference: str) -> Fabric:
        """The physical network of the topology that a reference names, however large.

        Raises:
            SpecError: see `topology`.
            ModelError: when its links share bandwidth and nothing says through which switches.
        """
        found, call, scope = self._resolve("topology", reference)
        return instantiate.make_fabric(found, call.arguments, scope, call.span)

    def collective(self, reference: str) -> Collective:
        """The collective that a reference names; see `topology`."""
        found, call, scope = self._resolve("collective", reference)
        return instantiate.make_collective(found, call.arguments, scope, call.span)

    def search(self, reference: str) -> SearchSpec:
        """The search that a reference names; see `topology`."""
        found, call, scope = self._resolve("search", reference)
        return instantiate.make_search(found, call.arguments, scope, call.span)

    def definition(self, kind: Kind, reference: str) -> DefinitionSummary:
        """What a reference names, without instantiating it; see `topology`."""
        return summarise(self._resolve(kind, reference)[0].definition)

    def is_read(self, reference: str) -> bool:
        """Whether a reference is to a file in another format, for one of the readers."""
        return self._reader_of(reference) is not None

    def names(self, kind: Kind) -> list[DefinitionSummary]:
        """Every shipped definition of a kind, by name.  Reads all files; see `problems`."""
        found = [
            summarise(definition)
            for path in self._files
            for definition in self._definitions(path)
            if definition.kind == kind and definition.name
        ]
        return sorted(found, key=lambda summary: summary.name)

    def problems(self) -> list[SpecError]:
        """What is wrong with the folders' files: errors of syntax, and names defined twice."""
        result: list[SpecError] = []
        first: dict[tuple[str, str], Definition] = {}
        for path in self._files:
            module = self._module(path)
            if isinstance(module, SpecError):
                result.append(module)
                continue
            for key, definition in module.own.items():
                earlier = first.setdefault(key, definition)
                if earlier is not definition:
                    result.append(_ambiguous(definition, earlier))
        return result

    # What spec files see -----------------------------------------------------------------------

    def find(self, namespace: str, name: str) -> Found | None:
        """The shipped definition of exactly this name.

        Raises:
            SpecError: when two files define it, or the file that does is broken.
        """
        found: list[Found] = []
        for path in self._index.get((namespace, name), ()):
            module = self._module(path)
            if isinstance(module, SpecError):
                raise module
            definition = module.own.get((namespace, name))
            if definition is not None:
                found.append(Found(definition, module))
        if len(found) > 1:
            raise _ambiguous(found[1].definition, found[0].definition)
        return found[0] if found else None

    def known_names(self, namespace: str) -> Iterable[str]:
        """All shipped names of a namespace, for suggestions."""
        return [name for kind, name in self._index if kind == namespace]

    # Files -------------------------------------------------------------------------------------

    @cached_property
    def _files(self) -> list[Path]:
        return [path for folder in self.folders for path in sorted(folder.rglob(f"*{_SUFFIX}"))]

    @cached_property
    def _index(self) -> dict[tuple[str, str], list[Path]]:
        """Which files seem to define a name, from the first words of their lines."""
        index: dict[tuple[str, str], list[Path]] = {}
        for path in self._files:
            try:
                text = path.read_text(encoding="utf-8-sig", errors="replace")
            except OSError:
                continue
            matches = list(_DEFINED.finditer(text))
            for indent, word, name in (match.groups() for match in matches):
                if indent:  # a statement of a definition
                    continue
                namespace = "value" if word in ("relation", "let") else word
                paths = index.setdefault((namespace, name), [])
                if path not in paths:
                    paths.append(path)
        return index

    def _module(self, path: Path) -> Module | SpecError:
        if path not in self._modules:
            try:
                self._modules[path] = load_module(path, str(path), self)
            except SpecError as error:
                self._modules[path] = error
        return self._modules[path]

    def _definitions(self, path: Path) -> Iterable[Definition]:
        module = self._module(path)
        return () if isinstance(module, SpecError) else module.own.values()

    # References --------------------------------------------------------------------------------

    def _resolve(self, kind: Kind, reference: str) -> tuple[Found, Reference, Scope]:
        source = Source(COMMAND_LINE, reference)
        everything = source.span(0, len(reference))
        namespace = "value" if kind == "relation" else kind
        if "\0" in reference or not reference.strip():
            raise everything.error(
                f"this is no reference to a {kind}", f"`name`, `name(…)` or `file{_SUFFIX}:name`"
            )
        foreign = self._reader_of(reference)
        if foreign is not None:
            module = self._read_foreign(*foreign, reference)
            only = _only_definition(module, kind, everything)
            call = Reference(only.name, everything, (), span=everything)
            return Found(only, module), call, Scope(module, {})
        if kind == "topology" and reference.strip() in self.readers:
            raise everything.error(
                f"`{reference.strip()}` reads files of another tool, and no file is named",
                f"`{reference.strip()}:FILE`",
            )
        in_file = _FILE_REFERENCE.fullmatch(reference)
        if in_file is None:
            self._refuse_unknown_reader(source, reference, kind)
            shipped = Module(source, None, self)
            call = parse_reference(source)
            found = shipped.look_up(namespace, call.id, call.name_span)
            return found, call, Scope(shipped, {})
        label = in_file[1].strip()
        place = source.span(0, in_file.end(1))
        module = load_module(Path(label), label, self, place)
        if in_file["call"] is None or not in_file["call"].strip():
            only = _only_definition(module, kind, place)
            call = Reference(only.name, place, (), span=place)
            return Found(only, module), call, Scope(module, {})
        call = parse_reference(source, in_file.start("call"))
        own = Module(module.source, module.path, _NOTHING, module.own, imports=module.imports)
        looked_up = own.look_up(namespace, call.id, call.name_span)
        home = module if looked_up.module is own else looked_up.module
        return Found(looked_up.definition, home), call, Scope(module, {})

    def _reader_of(self, reference: str) -> tuple[Reader, re.Match[str]] | None:
        match = _READ_REFERENCE.fullmatch(reference)
        reader = None if match is None else self.readers.get(match["reader"])
        return None if match is None or reader is None else (reader, match)

    def _read_foreign(self, reader: Reader, match: re.Match[str], reference: str) -> Module:
        if reference not in self._read:
            file = match["file"].strip()
            if not file:
                source = Source(COMMAND_LINE, reference)
                end = len(reference)
                raise source.span(end, end).error(
                    f"`{match['reader']}:` without a file", "the path of a file"
                )
            settings = [part.strip() for part in (match["settings"] or "").split(",")]
            text = reader(file, [setting for setting in settings if setting])
            spec = Source(f"{reference} (as a spec)", text)
            self._read[reference] = make_module(spec, None, self, parse_file(spec))
        return self._read[reference]

    def _refuse_unknown_reader(self, source: Source, reference: str, kind: Kind) -> None:
        """Says that nothing has the name before a colon, where that is what is wrong.

        Raises:
            SpecError: on ``nvidea-smi:topo.txt``.
        """
        match = _READ_REFERENCE.fullmatch(reference)
        if match is not None and match["file"].strip():
            name, known = match["reader"], sorted(self.readers) if kind == "topology" else []
            raise source.span(*match.span("reader")).error(
                f"nothing reads files as `{name}`{suggest(name, known)}",
                f"`file{_SUFFIX}:name`" + (f", or one of {', '.join(known)}" if known else ""),
            )


class _Nothing:
    """A library without definitions: behind ``file:`` only the file's own names count."""

    def find(self, namespace: str, name: str) -> Found | None:
        del namespace, name
        return None

    def known_names(self, namespace: str) -> Iterable[str]:
        del namespace
        return ()


_NOTHING = _Nothing()


def _only_definition(module: Module, kind: Kind, place: Span) -> Definition:
    """The one thing of a kind that a file defines."""
    if kind == "search":
        found = list(module.searches)
    else:
        found = [d for d in module.own.values() if d.kind == kind]
    if len(found) == 1:
        return found[0]
    label = module.source.label
    if not found:
        raise place.error(f"{label} defines no {kind}", f"a file with a {kind}")
    names = [f"{label}:{d.name}" for d in found if d.name]
    raise place.error(f"{label} defines {len(found)} {_plural(kind)}", f"one of {', '.join(names)}")


def _plural(kind: str) -> str:
    return {"topology": "topologies", "search": "searches"}.get(kind, f"{kind}s")


def _ambiguous(again: Definition, first: Definition) -> SpecError:
    place = first.name_span
    return again.name_span.error(
        f"{again.kind} `{again.name}` is already defined in {place.source.label}, "
        f"line {place.line}",
        "one definition of each shipped name",
    )
