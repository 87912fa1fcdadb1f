"""The shipped definitions, and everything that a user can name: the entry to this package.

A library knows folders of spec files.  It scans their text once for the names that each file may
define, and parses a file only when one of its names is used, so that starting is fast.

Folders come from plugins, which must not hide one another's definitions: an invalid file only makes
unknown the names that no other file defines.  Names in the first folder (syncoll's own, for the
command line) belong to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal as OneOf

from syncoll.errors import SpecError
from syncoll.spec.foreign import ForeignFiles, Reader, Recognise, unrecognised
from syncoll.spec.limits import MAX_FILE_BYTES
from syncoll.spec.module import Found, Module, defined_twice, load_module, unknown_name
from syncoll.spec.parser import parse_combination, parse_failures, parse_reference
from syncoll.spec.source import Source, Span, decode
from syncoll.spec.syntax import Combination, DamageClause, Definition, Literal, Reference
from syncoll.wording import where_typed

if TYPE_CHECKING:  # finding a name must not pay for numpy
    from syncoll.model import Collective, Fabric, Topology
    from syncoll.spec.blame import BlamedCall
    from syncoll.spec.families import SingleTopology, TopologyFamily
    from syncoll.spec.instantiate import SearchSpec
    from syncoll.spec.values import NameScope

Kind = OneOf["topology", "collective", "relation", "search"]

_SUFFIX = ".syncoll"
_DEFINED = re.compile(
    r"^([ \t]*)(relation|collective|topology|search|let)[ \t]+([A-Za-z_][A-Za-z0-9_]*)",
    re.MULTILINE,
)
_CALL = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\(.*)?", re.DOTALL)
_MISSPELT = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_-]*)\s*(?:\(.*)?", re.DOTALL)
_FILE_REFERENCE = re.compile(r"(.*\.syncoll)(?:\s*:(?P<call>.*))?", re.DOTALL)
_COMBINES = re.compile(r"^\s*\(|[+*]|\b(?:inverse|or|then|within|without|reproducible)\b")
"""An operator on collectives in a reference."""
_QUOTED = re.compile(r'"[^"]*"')
_INNER_FILE = re.compile(r"(?<![^\s+*(])(?P<file>[^\s+*(),:]+\.syncoll)\s*:")
"""A file before a name in a combination, as in ``allgather + my.syncoll:shift``."""
_UNQUOTED = re.compile(r"(?<=[(,\s=])[\w./-]+\.(?:csv|txt|tsv|json)(?=\s*[,)])", re.IGNORECASE)
"""A file of numbers among arguments, without its quotation marks."""
_BROKEN = re.compile(
    r'\swith(?:out)?\s*(?=(?:node|switch|link|cable|card|gpu|rank)\b|["0-9])', re.I
)
"""The beginning of the damage after a topology."""
_ROUTED = re.compile(r"\s*routed\s+(?P<topology>[^\s(].*)", re.DOTALL)


@dataclass(frozen=True)
class DefinitionSummary:
    """A summary of a definition for users: a topology, collective, relation, let or search.  Its
    doc is the comment above it."""

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

    A reference is a text such as ``dgx1``, ``ring(8)``, ``broadcast(root=3)``,
    ``machines.syncoll:quad(2)``, or ``machines.syncoll`` if the file has one definition of that
    kind.  With readers, it may be a file in another format after the reader's name and a colon:
    ``nvidia-smi:topo.txt``, or ``nvidia-smi(link=20):topo.txt`` with settings.  On a topology after
    the word ``routed``, as in ``routed torus(4,4)``, a send may take several links in a step; see
    `syncoll.routing.routed`.  Damage follows a topology, as in ``dgx1 without link 3->6``; see
    `syncoll.spec.damages`.

    It has read no file of its folders yet.

    Args:
        readers: by the name before the colon.  Each reference is read once, even from a pipe.
        tell: receives one message for each definition that another one hides.
        recognise: finds the readers that recognise the contents of a file, for messages.

    Attributes:
        recognised: the names of the readers that recognise the contents of a file.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        readers: Mapping[str, Reader] | None = None,
        tell: Callable[[str], None] | None = None,
        recognise: Recognise = unrecognised,
    ) -> None:
        self.folders = tuple(folders)
        self.recognised = recognise
        self._foreign = ForeignFiles(readers or {}, recognise)
        self._receiver = tell
        self._said: set[str] = set()
        self._modules: dict[Path, Module | SpecError] = {}

    # Requests of users ---------------------------------------------------------------------------

    def topology(self, reference: str) -> Topology | Fabric:
        """The topology that a reference names; a physical one if it has switches, or GB/s.

        Raises:
            SpecError: if the reference, or its spec, is wrong.
        """
        from syncoll.spec.instantiate import make_topology

        if self._is_name("topology", reference):
            return make_topology(*self._call("topology", reference))
        whole, failures = _intact(reference)
        if failures:
            from syncoll.spec.damages import without
            from syncoll.spec.values import NameScope

            scope = NameScope(Module(Source.typed(reference), None, self), {})
            return without(self.topology(whole), failures, scope)
        plain = _unrouted(reference)
        network = make_topology(*self._call("topology", plain))
        if plain == reference:
            return network
        from syncoll.routing import as_topology, routed

        return routed(as_topology(network))

    def family(self, reference: str) -> TopologyFamily | SingleTopology:
        """The topologies of a reference with free names, or one damaged network; see `topology`."""
        from syncoll.spec.families import SingleTopology, TopologyFamily

        whole, failures = _intact(reference)
        if failures:
            if self.family(whole).parameters:
                damage = failures[0].span.to(failures[-1].span)
                raise damage.error(
                    "a family of damaged machines",
                    "one machine, with numbers for its arguments, or a family without damage",
                )
            return SingleTopology(self.topology(reference))
        plain = _unrouted(reference)
        call, scope = self._call("topology", plain)
        return TopologyFamily.of(reference, call, scope.module, routed=plain != reference)

    def variants(self, reference: str) -> dict[str, str]:
        """References to a topology with one more switch of its definition on.

        Returns:
            By argument, such as ``nvls=true``, for each parameter that is false by default and not
            given.
        """
        plain = _unrouted(_head(reference)).rstrip()
        if self._foreign.names(plain):
            return {}
        found, call, _ = self._resolve("topology", plain)
        given = {one.name for one in call.arguments}
        free = found.definition.parameters[sum(one.name is None for one in call.arguments) :]
        free = tuple(one for one in free if one.name not in given)
        off = [x.name for x in free if isinstance(x.default, Literal) and x.default.value is False]
        before, after = reference.split(plain, 1)
        if (in_file := _FILE_REFERENCE.fullmatch(plain)) and not (in_file["call"] or "").strip():
            plain = f"{in_file[1].strip()}:{found.definition.name}"
        head = f"{plain.removesuffix(')')}, " if call.arguments else f"{plain.removesuffix('()')}("
        return {f"{name}=true": f"{before}{head}{name}=true){after}" for name in off}

    def collective(
        self,
        reference: str,
        values: Sequence[object] = (),
        named: Mapping[str, object] | None = None,
    ) -> Collective:
        """The collective that a reference names, or several of them combined; see `topology`.

        Args:
            values: further arguments: numbers, Booleans, lists of them, and paths of CSV files.
            named: the same for arguments with a name.
        """
        from syncoll.spec.environment import as_arguments
        from syncoll.spec.instantiate import make_collective, make_combination
        from syncoll.spec.values import NameScope

        combined = self._combined(reference)
        if combined is None:
            call, scope = self._call("collective", reference)
            given = (*call.arguments, *as_arguments(values, named or {}, call.span))
            return make_collective(replace(call, arguments=given), scope)
        if values or named:
            raise combined[0].span.error(
                "arguments for a combination, which has no name", "a name alone"
            )
        return make_combination(combined[0], NameScope(combined[1], {}))

    def search(self, reference: str) -> SearchSpec:
        """The search that a reference names; see `topology`."""
        from syncoll.spec.instantiate import make_search

        return make_search(*self._call("search", reference))

    def _call(self, kind: Kind, reference: str) -> tuple[BlamedCall, NameScope]:
        from syncoll.spec.blame import BlamedCall
        from syncoll.spec.values import NameScope

        found, call, home = self._resolve(kind, reference)
        return BlamedCall(found, call.arguments, call.span), NameScope(home, {})

    def definition(self, kind: Kind, reference: str) -> DefinitionSummary:
        """The summary of a definition, which is not instantiated; see `topology`."""
        plain = reference
        if kind == "topology":
            plain = _unrouted(_intact(reference)[0])
        if kind == "collective" and self._combined(plain) is not None:
            text = " ".join(plain.split())
            return DefinitionSummary(kind, text, text, "", where_typed(), 1)
        return summarise(self._resolve(kind, plain)[0].definition)

    def expect(self, kind: Kind, reference: str) -> None:
        """Raises SpecError unless a reference names something of a kind; makes nothing.  Shipped
        files, the reference's arguments, and files in other formats are not read."""
        if self._is_name(kind, reference):
            return
        if kind == "topology":
            reference = _unrouted(_intact(reference)[0])
            if self.is_read(reference):
                return
        if kind == "collective":
            combined = self._combined(reference)
            if combined is not None:
                node, home = combined
                for one in node.walk():
                    if isinstance(one, Reference):
                        home.look_up(kind, one.id, one.name_span)
                return
        if _CALL.fullmatch(reference) and _FILE_REFERENCE.fullmatch(reference) is None:
            source = Source.typed(reference)
            namespace = "value" if kind == "relation" else kind
            self._refuse_unknown_name(namespace, source, Module(source, None, self))
        else:
            self._resolve(kind, reference)

    def is_read(self, reference: str) -> bool:
        """Whether a reference is to a file in another format, for one of the readers."""
        return self._foreign.names(_unrouted(_head(reference)))

    def read_with(self, reference: str) -> tuple[str, str, list[str]] | None:
        """Reader, file and settings of a reference to a file in another format; None for others."""
        return self._foreign.parts(reference) if self._foreign.names(reference) else None

    @staticmethod
    def is_routed(reference: str) -> bool:
        """Whether a reference is to a topology with routed steps."""
        return _unrouted(reference) != reference

    def names(self, kind: Kind) -> list[DefinitionSummary]:
        """Every shipped definition of a kind, by name.  Reads all files; see `problems`."""
        first = {key for path in self._first_files for key in self._own(path)}
        found = [
            summarise(definition)
            for path in self._files
            for key, definition in self._own(path).items()
            if definition.kind == kind and (path in self._first_files or key not in first)
        ]
        return sorted(found, key=lambda summary: summary.name)

    def problems(self) -> list[SpecError]:
        """The errors of the folders' files: errors of syntax, and names defined twice."""
        result: list[SpecError] = [
            SpecError(f"there is no folder {folder}", expected="the folder of a spec library")
            for folder in self.folders
            if not folder.is_dir()
        ]
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

    # The view of spec files ----------------------------------------------------------------------

    def find(self, namespace: str, name: str) -> Found | None:
        """The shipped definition of a name; raises SpecError if ambiguous or invalid."""
        found: list[tuple[Path, Found]] = []
        broken: list[SpecError] = []
        for path in self._index.get((namespace, name), ()):
            module = self._module(path)
            if isinstance(module, SpecError):
                broken.append(module)
                continue
            definition = module.own.get((namespace, name))
            if definition is not None:
                found.append((path, Found(definition, module)))
        if broken and not found:
            raise broken[0]
        for error in broken:
            self._tell(f"passed over a file that may also define `{name}`: {error}")
        if not found:
            return None
        ours = [one for path, one in found if path in self._first_files]
        chosen, *others = [one for _, one in found]
        if len(ours) != 1 and others:
            raise _ambiguous(others[0].definition, chosen.definition)
        for other in others:
            again = _ambiguous(other.definition, chosen.definition)
            self._tell(f"passed over: {again.origin and again.origin.file}: {again.message}")
        return chosen

    def _tell(self, text: str) -> None:
        if self._receiver is not None and text not in self._said:
            self._said.add(text)
            self._receiver(text)

    def __getstate__(self) -> dict[str, object]:
        """The state for another process, which prints no messages and reads no further files."""
        return {**self.__dict__, "_receiver": None, "recognised": unrecognised}

    def known_names(self, namespace: str) -> Iterable[str]:
        """All shipped names of a namespace, for suggestions."""
        return [name for kind, name in self._index if kind == namespace]

    # Files -------------------------------------------------------------------------------------

    @cached_property
    def _files(self) -> list[Path]:
        return [path for folder in self.folders for path in _files_in(folder)]

    @cached_property
    def _first_files(self) -> frozenset[Path]:
        """The files of the folder whose names cannot be hidden."""
        return frozenset(_files_in(self.folders[0]) if self.folders else ())

    @cached_property
    def _index(self) -> dict[tuple[str, str], list[Path]]:
        """The files that seem to define a name, from the first words of their lines."""
        index: dict[tuple[str, str], list[Path]] = {}
        for path in self._files:
            try:
                with path.open("rb") as file:  # a larger file is refused when it is used
                    content = file.read(MAX_FILE_BYTES)
            except OSError:
                continue
            try:
                text = decode(content)
            except UnicodeDecodeError:  # raised when it is used
                text = content.decode(errors="replace")
            for indent, word, name in _DEFINED.findall(text):
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
                self._modules[path] = load_module(path, str(path), self, shipped=True)
            except SpecError as error:
                self._modules[path] = error
        return self._modules[path]

    def _own(self, path: Path) -> Mapping[tuple[str, str], Definition]:
        module = self._module(path)
        return {} if isinstance(module, SpecError) else module.own

    # References --------------------------------------------------------------------------------

    def _is_name(self, kind: Kind, reference: str) -> bool:
        """Whether a reference is only a shipped name, as most are."""
        return ("value" if kind == "relation" else kind, reference) in self._index

    def _combined(self, reference: str) -> tuple[Combination, Module] | None:
        """Several collectives combined, and their file; None for a plain reference."""
        if self._is_name("collective", reference):
            return None
        if _COMBINES.search(_QUOTED.sub("", reference)) is None or "\0" in reference:
            return None
        source = Source.typed(reference)
        _refuse_unquoted(source)
        in_file = _FILE_REFERENCE.fullmatch(reference)
        if in_file is None and not self._foreign.names(reference):
            self._foreign.refuse_path(source, "collective")
        start, home = 0, Module(source, None, self)
        inner = self._inner_files(source)
        if inner is not None and in_file is not None and not Path(in_file[1].strip()).exists():
            node = parse_combination(source, 0, inner[0])
            return None if isinstance(node, Reference) else (node, inner[1])
        if in_file is not None:
            if in_file["call"] is None or not in_file["call"].strip():
                return None
            label = in_file[1].strip()
            start = in_file.start("call")
            home = load_module(Path(label), label, self, source.span(0, in_file.end(1)))
        node = parse_combination(source, start)
        return None if isinstance(node, Reference) else (node, home)

    def _inner_files(self, source: Source) -> tuple[str, Module] | None:
        """A combination with blanks for its ``file:`` prefixes, and that one file, or None."""
        found = list(_INNER_FILE.finditer(_masked(source.text)))
        if not found:
            return None
        text = source.text
        for one in found:
            text = text[: one.start()] + " " * len(one[0]) + text[one.end() :]
        for one in found[1:]:
            if one["file"] != found[0]["file"]:
                raise source.span(*one.span("file")).error(
                    f"names of two files, {found[0]['file']} and {one['file']}",
                    "the names of one file, which may import another",
                )
        label = found[0]["file"]
        place = source.span(*found[0].span("file"))
        return text, load_module(Path(label), label, self, place)

    def _resolve(self, kind: Kind, reference: str) -> tuple[Found, Reference, Module]:
        """The definition, the call of it, and the file whose names its arguments see."""
        source = Source.typed(reference)
        namespace = "value" if kind == "relation" else kind
        if self._is_name(kind, reference):
            call, home = parse_reference(source), Module(source, None, self)
            return home.look_up(namespace, call.id, call.name_span), call, home
        if kind == "collective":
            _refuse_unquoted(source)
        everything = source.span(0, len(reference))
        if "\0" in reference or not reference.strip():
            raise everything.error(
                f"this is not a reference to a {kind}", f"`name`, `name(…)` or `file{_SUFFIX}:name`"
            )
        if self._foreign.names(reference):
            module = self._foreign.module(reference, self)
            return _only_definition(module, kind, everything)
        if kind == "topology":
            self._foreign.refuse_unnamed(source)
        in_file = _FILE_REFERENCE.fullmatch(reference)
        if in_file is None:
            self._foreign.refuse_path(source, kind)
            self._foreign.refuse_unknown(source, topology=kind == "topology")
            shipped = Module(source, None, self)
            self._refuse_unknown_name(namespace, source, shipped)
            call = parse_reference(source)
            found = shipped.look_up(namespace, call.id, call.name_span)
            return found, call, shipped
        label = in_file[1].strip()
        place = source.span(0, in_file.end(1))
        module = load_module(Path(label), label, self, place)
        if in_file["call"] is None or not in_file["call"].strip():
            return _only_definition(module, kind, place)
        call = parse_reference(source, in_file.start("call"))
        own = replace(module, library=None)
        looked_up = own.look_up(namespace, call.id, call.name_span)
        home = module if looked_up.module is own else looked_up.module
        return Found(looked_up.definition, home), call, module

    def _refuse_unknown_name(self, namespace: str, source: Source, home: Module) -> None:
        """Raises an error for an unknown shipped name (``rnig``, ``dgx-h100``) before anything is
        parsed."""
        match = _MISSPELT.fullmatch(source.text)
        if match is not None:
            name, known = match[1], self.known_names(namespace)
            if name.lower() not in (other.lower() for other in known):
                self._foreign.refuse_path(source, namespace, known=False)
                raise unknown_name(namespace, name, source.span(*match.span(1)), home)


def _masked(text: str) -> str:
    """A text with blanks inside its quotation marks."""
    return _QUOTED.sub(lambda found: '"' + " " * (len(found[0]) - 2) + '"', text)


def _refuse_unquoted(source: Source) -> None:
    """Raises an error for the name of a file of numbers without quotation marks."""
    found = _UNQUOTED.search(_masked(source.text))
    if found is not None:
        raise source.span(*found.span()).error(
            f"a file without quotation marks: {found[0]}",
            f'`"{found[0]}"`; in a shell put single quotes around the whole',
        )


def _unrouted(reference: str) -> str:
    """The topology after the word ``routed``; the reference itself without that word."""
    match = _ROUTED.fullmatch(reference)
    return reference if match is None else match["topology"]


def _head(reference: str) -> str:
    """A reference to a topology without its damage."""
    found = _BROKEN.search(_masked(reference))
    return reference if found is None else reference[: found.start()]


def _intact(reference: str) -> tuple[str, tuple[DamageClause, ...]]:
    """The topology before it was damaged, and its damage, if any."""
    whole = _head(reference)
    if whole == reference:
        return reference, ()
    return whole, parse_failures(Source.typed(reference), len(whole))


def _files_in(folder: Path) -> list[Path]:
    """The spec files of a folder and its subfolders, as far as they can be listed."""
    try:
        return sorted(path for path in folder.rglob(f"*{_SUFFIX}") if path.is_file())
    except OSError:
        return []


def _only_definition(module: Module, kind: Kind, place: Span) -> tuple[Found, Reference, Module]:
    """The only definition of a kind in a file, and a reference to it."""
    if kind == "search":
        found = list(module.searches)
    else:
        found = [d for d in module.own.values() if d.kind == kind]
    if len(found) == 1:
        return Found(found[0], module), Reference(found[0].name, place, (), span=place), module
    label = module.source.label
    if not found:
        empty = " is empty: it" if module.is_empty else ""
        raise place.error(f"{label}{empty} defines no {kind}", f"a file with a {kind}")
    names = [f"{label}:{d.name}" for d in found if d.name]
    several = {"topology": "topologies", "search": "searches"}.get(kind, f"{kind}s")
    raise place.error(f"{label} defines {len(found)} {several}", f"one of {', '.join(names)}")


def _ambiguous(again: Definition, first: Definition) -> SpecError:
    return defined_twice(again, first, "one definition of each shipped name")
