"""Files in formats of other tools, after the name of a reader: ``nvidia-smi:topo.txt``."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from syncoll.spec.module import Module, make_module, suggest
from syncoll.spec.parser import parse_file
from syncoll.spec.source import Source

if TYPE_CHECKING:
    from syncoll.spec.library import SpecLibrary

_REFERENCE = re.compile(
    r"\s*(?P<reader>[A-Za-z][A-Za-z0-9_-]*)\s*(?:\((?P<settings>[^()]*)\)\s*)?:(?P<file>.*)",
    re.DOTALL,
)

_OPTIONS_BEHIND = re.compile(r"(?P<file>.*[^\s(])\s*\((?P<settings>[^()]*)\)", re.DOTALL)
_CALL = re.compile(r"[A-Za-z_]\w*(?:\s*\(.*\))?", re.DOTALL | re.ASCII)
_NAMED = re.compile(r"(?P<file>.+):\s*" + _CALL.pattern, re.DOTALL | re.ASCII)
_PATH = re.compile(r"""^[.~]|\\|(?<!\d)/|/(?!\d)|\.[A-Za-z]\w{0,9}\s*$""")  # 1/2 is a number
_OPERAND = re.compile(r"(?<=[+*])\s+(?P<file>\S+)")
_exists, _is_file, _is_folder = os.path.exists, os.path.isfile, os.path.isdir
"""Unlike pathlib's, they return False for a text that is too long for a path."""


class Reader(Protocol):
    """Makes a spec of a file in another format, for references such as ``nvidia-smi:topo.txt``."""

    def __call__(self, file: str, settings: Sequence[str], /) -> str:
        """The text of a spec that defines one topology, with settings such as ``link=20``.  Raises
        `SyncollError` if the file, or a setting, is invalid."""


Recognise = Callable[[str], Sequence[str]]
"""The names of the readers that recognise the contents of a file."""


def unrecognised(file: str) -> Sequence[str]:
    """No reader recognises a file."""
    return ()


@dataclass(eq=False)
class ForeignFiles:
    """Files in other formats as specs, by the reader's name before the colon; each reference is
    read once."""

    readers: Mapping[str, Reader]
    _recognise: Recognise
    _read: dict[str, Module] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, object]:
        """The state for another process, which reads no further files."""
        return {**self.__dict__, "readers": {}, "_recognise": unrecognised}

    def names(self, reference: str) -> bool:
        """Whether a reference is to a file for one of the readers."""
        match = _REFERENCE.fullmatch(reference)
        return match is not None and match["reader"] in self.readers

    def parts(self, reference: str) -> tuple[str, str, list[str]]:
        """Reader, file and settings of a reference that `names` knows; raises SpecError."""
        match = _REFERENCE.fullmatch(reference)
        assert match is not None
        file = match["file"].strip()
        if not file:
            source = Source.typed(reference)
            end = len(reference)
            raise source.span(end, end).error(
                f"`{match['reader']}:` without a file", "the path of a file"
            )
        settings = [part.strip() for part in (match["settings"] or "").split(",")]
        behind = _OPTIONS_BEHIND.fullmatch(file)
        if behind is not None and not _exists(file) and _exists(behind["file"]):
            given = ",".join([*filter(None, settings), behind["settings"]])
            span = Source.typed(reference).span(reference.rindex("("), len(reference.rstrip()))
            raise span.error(
                "the options of an importer stand before the colon",
                f"`{match['reader']}({given}):{behind['file']}`",
            )
        return match["reader"], file, [one for one in settings if one]

    def module(self, reference: str, library: "SpecLibrary") -> Module:
        """The file of a reference that `names` knows, as a spec; raises SyncollError."""
        if reference not in self._read:
            reader, file, settings = self.parts(reference)
            spec = Source(f"{reference} (as a spec)", self.readers[reader](file, settings))
            self._read[reference] = make_module(spec, None, library, parse_file(spec))
        return self._read[reference]

    def refuse_unnamed(self, source: Source) -> None:
        """Raises an error for a reader's name without a file, as in ``nvidia-smi``."""
        name = source.text.strip()
        if name in self.readers:
            raise source.span(0, len(source.text)).error(
                f"`{name}` reads files of another tool, and no file is named", f"`{name}:FILE`"
            )

    def refuse_path(self, source: Source, kind: str, *, known: bool = True) -> None:
        """Raises an error for a path, as in ``topo.txt`` or ``./f.json:x``; it names its importer.
        With `known`, a text that looks like a name may be one; readers make topologies only."""
        found = _path_in(source.text, known)
        if found is None:
            return
        file, span = source.text[slice(*found)], source.span(*found)
        if not _exists(file):
            raise span.error(f"file {file} does not exist", "an existing file")
        if _is_folder(file):
            raise span.error(f"{file} is a folder", "a file in it")
        from syncoll.documents.sniff import kind_in, noun_of

        ours = noun_of(kind_in(Path(file)))
        if ours:
            raise span.error(f"{file} is {ours}, not a {kind}", f"the name of a {kind}")
        expected = "`file.syncoll:name`: the name of a file in syncoll's language ends in .syncoll"
        if kind != "topology":
            raise span.error(f"{file} is not a .syncoll file", expected)
        names = self._recognise(file)
        if names:
            raise span.error(
                f"{file} is not a .syncoll file; it looks like a file for the importer "
                f"{' or '.join(names)}",
                " or ".join(f"`{name}:{file}`" for name in names),
            )
        raise span.error(
            f"{file} is not a .syncoll file",
            f"`IMPORTER:{file}`, with one of {', '.join(sorted(self.readers))}; or {expected}",
        )

    def refuse_unknown(self, source: Source, *, topology: bool) -> None:
        """Raises an error for an unknown name before a colon, as in ``nvidea-smi:topo.txt``."""
        match = _REFERENCE.fullmatch(source.text)
        if match is not None and match["file"].strip():
            name, known = match["reader"], sorted(self.readers) if topology else []
            raise source.span(*match.span("reader")).error(
                f"no importer is called `{name}`{suggest(name, known)}",
                "`file.syncoll:name`" + (f", or one of {', '.join(known)}" if known else ""),
            )


def _path_in(text: str, known: bool) -> tuple[int, int] | None:
    """The place of a path in a reference, if any.  An existing file is found by any name, unless
    that may be a name of the language; a missing one needs a folder or a suffix."""
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    named = _NAMED.fullmatch(text, start, end)
    for stop in (end, named.end("file") if named else end):
        is_name = _CALL.fullmatch(text, start, stop) is not None
        there = _is_file if is_name else _exists
        if not (is_name and known) and there(text[start:stop]):
            return start, stop
    head = re.split('[(":]', text[start:end], maxsplit=1)[0]
    if not _PATH.search(head):
        return None
    for one in _OPERAND.finditer(text, start, start + len(head)):
        if _PATH.search(one["file"]):
            return one.span("file")
    return start, named.end("file") if named else end
