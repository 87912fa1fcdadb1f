"""The shell's part of the store."""

import argparse
from pathlib import Path

from syncoll.cli import Exit, note, print_value
from syncoll.errors import FileFormatError, UsageError
from syncoll.pages import Page
from syncoll.store import Store, default_path, delete_damaged
from syncoll.values import picked
from syncoll.verbs.result import Shown
from syncoll.verbs.store import NO_STORE
from syncoll.wording import counted


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.clear:
        _delete_if_damaged(arguments.session.settings.store_name)
    store = arguments.session.store()
    page, document = Page(), {"schema": "syncoll/store/1", "file": None}
    if store is None:
        page.text(NO_STORE)
    else:
        with store:
            if arguments.clear:
                store.clear()
            found = store.describe()
        document |= {"file": str(found.path)}
        document |= picked(found, "bytes version sat unsat unknown certificates")
        page.text(f"{found.path}: {found.bytes / 1000:.0f} kB, version {found.version}").text(
            f"  {counted(found.sat, 'algorithm')}, {counted(found.unsat, 'refutation')}, "
            f"{found.unknown} not decided in time, {counted(found.certificates, 'certificate')}"
        )
    print_value(arguments, Shown(page, lambda: document))
    return Exit.OK


def _delete_if_damaged(name: str | None) -> None:
    """Deletes the file of a store that cannot be opened because it is damaged."""
    if name == "none":
        return
    path = Path(name) if name else default_path()
    if name and not path.exists():
        raise UsageError(f"there is no store {path}; there is nothing to clear")
    try:
        Store.open(Path(name) if name else None).close()
    except FileFormatError as error:
        delete_damaged(path, is_default=not name)
        note(f"syncoll: {path} was deleted, since it could not be read any more: {error}")
