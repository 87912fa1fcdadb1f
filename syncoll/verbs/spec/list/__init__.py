"""Lists the machines, collectives, relations and searches of the installed spec libraries, with
their arguments and defaults.  `syncoll show NAME` shows one of them.

  syncoll spec list
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from syncoll.pages.page import Page, PageParts, paged
from syncoll.verbs.asking import session_for, verb

if TYPE_CHECKING:
    from syncoll.spec import DefinitionSummary, Kind
    from syncoll.values import picked
    from syncoll.verbs.result import Shown


@verb
def list_specs() -> Shown:
    """The topologies, collectives, relations and searches that come with syncoll."""
    session = session_for()
    for problem in session.specs.problems():
        session.tell(str(problem))
    found = [one for kind in get_args(Kind) for one in session.specs.names(kind)]
    entries = [picked(one, "kind name signature doc") for one in found]
    return Shown(_page(found), lambda: {"schema": "syncoll/specs/1", "definitions": entries})


@paged
def _page(found: Sequence[DefinitionSummary]) -> PageParts:
    """A line for each definition, with the first sentence of its documentation."""
    docs = (re.split(r"(?<=[.])\s", " ".join(one.doc.split()), maxsplit=1)[0] for one in found)
    pairs = zip(found, docs, strict=True)
    rows = [(one.kind, one.signature, doc.removesuffix(".")) for one, doc in pairs]
    yield Page().table(("kind", "name", "what it is"), rows)
    yield "`syncoll show NAME` shows a machine or a collective, `syncoll search NAME` runs a"
    yield "search, and files of your own use all of them by name."
