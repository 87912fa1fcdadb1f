"""The shell's part of the store."""

from __future__ import annotations

import argparse
from pathlib import Path

from syncoll.cli.exits import Exit
from syncoll.cli.output import note, print_json, print_text
from syncoll.errors import FileFormatError, UsageError
from syncoll.store import Store, default_path, delete_damaged
from syncoll.verbs.result import picked
from syncoll.wording import counted


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.clear:
        _delete_if_damaged(arguments.session.settings.store_name)
    store = arguments.session.store()
    if store is None:
        if arguments.format == "json":
            print_json({"schema": "syncoll/store/1", "file": None})
        else:
            print_text("there is no store: it is turned off (`none`), or cannot be opened")
        return Exit.OK
    with store:
        if arguments.clear:
            store.clear()
        found = store.describe()
    if arguments.format == "json":
        numbers = picked(found, "bytes version sat unsat unknown certificates")
        print_json({"schema": "syncoll/store/1", "file": str(found.path), **numbers})
        return Exit.OK
    print_text(f"{found.path}: {found.bytes / 1000:.0f} kB, version {found.version}")
    print_text(
        f"  {counted(found.sat, 'algorithm')}, {counted(found.unsat, 'refutation')}, "
        f"{found.unknown} not decided in time, {counted(found.certificates, 'certificate')}"
    )
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
