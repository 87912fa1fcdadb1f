"""Shows the place and the size of the store of answers between searches, and clears it.  Everything
in it is checked when it is read: algorithms are replayed, certificates verified.

  syncoll store
  syncoll store --clear
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from syncoll.errors import UsageError
from syncoll.verbs.asking import session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.store import Store

SHELL = Shell(options={"--clear": "delete everything in it"})

NO_STORE = "there is no store: it is turned off (`none`), or cannot be opened"


@verb
def open_store(store: str | Path | None = None) -> Store:
    """The store of answers between searches.

    It has `describe` and `clear`, and is closed by ``with``.

    Args:
        store: its file; None for $SYNCOLL_STORE, else a file in your cache folder.

    Raises:
        UsageError: if it cannot be opened, or is turned off.
        FileFormatError: if the file is not a store.
    """
    found = session_for({} if store is None else {"store": store}).store()
    if found is None:
        raise UsageError(NO_STORE)
    return found
