"""Tells where searches keep their answers, how many there are, and clears them.  Nothing in it is
believed without a check: algorithms are replayed and certificates checked when they are read.

  syncoll store
  syncoll store --clear
"""

from __future__ import annotations

import argparse
from pathlib import Path

from syncoll.cli.exits import Exit
from syncoll.cli.options import FORMAT, add
from syncoll.cli.output import note, picked, print_json, print_text
from syncoll.errors import FileFormatError, UsageError
from syncoll.session.settings import STORE_VARIABLE
from syncoll.store import Store, default_path, delete_damaged
from syncoll.wording import counted

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    declared = {
        "--store FILE": f"the store (default: ${STORE_VARIABLE}, else a file in your cache folder)",
        "--clear": "forget everything in it",
    }
    add(parser, declared | FORMAT)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.clear:
        _delete_if_damaged(arguments.session.settings.store_name)
    store = arguments.session.store()
    if store is None:
        if arguments.format == "json":
            print_json({"schema": "syncoll/store/1", "file": None})
        else:
            print_text("there is no store: its name is none, or it cannot be opened")
        return Exit.OK
    with store:
        if arguments.clear:
            store.clear()
        told = store.describe()
    if arguments.format == "json":
        numbers = picked(told, "bytes version sat unsat unknown certificates")
        print_json({"schema": "syncoll/store/1", "file": str(told.path), **numbers})
        return Exit.OK
    print_text(f"{told.path}: {told.bytes / 1000:.0f} kB, version {told.version}")
    print_text(
        f"  {counted(told.sat, 'algorithm')}, {counted(told.unsat, 'refutation')}, "
        f"{told.unknown} not decided in time, {counted(told.certificates, 'certificate')}"
    )
    return Exit.OK


def _delete_if_damaged(name: str | None) -> None:
    """Deletes the file of a store that is to be cleared and cannot be opened for its damage."""
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
