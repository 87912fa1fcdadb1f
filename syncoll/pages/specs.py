"""Pages of a library of definitions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from syncoll.pages.page import Page, PageParts, paged

if TYPE_CHECKING:
    from syncoll.spec import DefinitionSummary, Kind, SpecLibrary

__all__ = ["definitions", "specs_page"]


def definitions(specs: SpecLibrary) -> list[DefinitionSummary]:
    """All of a library, kind by kind."""
    kinds: tuple[Kind, ...] = ("topology", "collective", "relation", "search")
    return [definition for kind in kinds for definition in specs.names(kind)]


@paged
def specs_page(specs: SpecLibrary) -> PageParts:
    """A line for each definition."""
    rows = [(d.kind, d.signature, _first_sentence(d.doc)) for d in definitions(specs)]
    yield Page().table(("kind", "name", "what it is"), rows)
    yield "`syncoll show NAME` shows a machine or a collective, `syncoll search NAME` runs a"
    yield "search, and files of your own use all of them by name."


def _first_sentence(doc: str) -> str:
    return re.split(r"(?<=[.])\s", " ".join(doc.split()), maxsplit=1)[0].removesuffix(".")
