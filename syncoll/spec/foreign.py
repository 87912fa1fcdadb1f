"""Files in formats of other tools, behind the name of what reads them: ``nvidia-smi:topo.txt``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from syncoll.spec.module import Module, make_module, suggest
from syncoll.spec.parser import parse_file
from syncoll.spec.source import Source

if TYPE_CHECKING:
    from syncoll.spec.library import SpecLibrary

__all__ = ["ForeignFiles", "Reader"]

_REFERENCE = re.compile(
    r"\s*(?P<reader>[A-Za-z][A-Za-z0-9_-]*)\s*(?:\((?P<settings>[^()]*)\)\s*)?:(?P<file>.*)",
    re.DOTALL,
)


class Reader(Protocol):
    """Makes a spec of a file in another format, for references such as ``nvidia-smi:topo.txt``."""

    def __call__(self, file: str, settings: Sequence[str], /) -> str:
        """The text of a spec that defines one topology.

        Args:
            settings: ``NAME=VALUE`` texts, from ``nvidia-smi(link=20):topo.txt``.

        Raises:
            SyncollError: when the file, or a setting, is not what it should be.
        """


class ForeignFiles:
    """What references to files in other formats name; each reference is read once.

    Args:
        readers: by the name that stands before the colon.
    """

    def __init__(self, readers: Mapping[str, Reader]) -> None:
        self.readers = dict(readers)
        self._read: dict[str, Module] = {}

    def __getstate__(self) -> dict[str, object]:
        """What goes to another process, where nothing more is read."""
        return {**self.__dict__, "readers": {}}

    def names(self, reference: str) -> bool:
        """Whether a reference is to a file for one of the readers."""
        match = _REFERENCE.fullmatch(reference)
        return match is not None and match["reader"] in self.readers

    def module(self, reference: str, library: SpecLibrary) -> Module:
        """The file behind a reference that `names` knows, as a spec.

        Args:
            library: whose names the spec sees.

        Raises:
            SyncollError: when no file is named, or the reader refuses it.
        """
        if reference not in self._read:
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
            text = self.readers[match["reader"]](file, [one for one in settings if one])
            spec = Source(f"{reference} (as a spec)", text)
            self._read[reference] = make_module(spec, None, library, parse_file(spec))
        return self._read[reference]

    def refuse_unnamed(self, source: Source) -> None:
        """Says that a reader's name alone, as in ``nvidia-smi``, names no file."""
        name = source.text.strip()
        if name in self.readers:
            raise source.span(0, len(source.text)).error(
                f"`{name}` reads files of another tool, and no file is named", f"`{name}:FILE`"
            )

    def refuse_unknown(self, source: Source, *, topology: bool) -> None:
        """Says that nothing has the name before a colon, as in ``nvidea-smi:topo.txt``.

        Args:
            topology: whether a topology is asked for, which is what readers make.
        """
        match = _REFERENCE.fullmatch(source.text)
        if match is not None and match["file"].strip():
            name, known = match["reader"], sorted(self.readers) if topology else []
            raise source.span(*match.span("reader")).error(
                f"nothing reads files as `{name}`{suggest(name, known)}",
                "`file.syncoll:name`" + (f", or one of {', '.join(known)}" if known else ""),
            )
