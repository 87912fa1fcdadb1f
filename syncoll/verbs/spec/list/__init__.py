"""Lists the machines, collectives, relations and searches of the installed spec libraries, with
their arguments and defaults.  `syncoll show NAME` shows one of them.

  syncoll spec list
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncoll.verbs.asking import session_for, verb

if TYPE_CHECKING:
    from syncoll.pages.specs import definitions, specs_page
    from syncoll.verbs.result import Shown, picked

__all__ = ["list_specs"]


@verb
def list_specs() -> Shown:
    """The topologies, collectives, relations and searches that come with syncoll."""
    session = session_for()
    specs = session.specs
    for problem in specs.problems():
        session.tell(str(problem))
    found = [picked(one, "kind name signature doc") for one in definitions(specs)]
    return Shown(specs_page(specs), lambda: {"schema": "syncoll/specs/1", "definitions": found})
