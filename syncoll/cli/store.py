"""``syncoll store``: what searches have found out so far."""

from __future__ import annotations

import argparse

from syncoll.cli.arguments import Subparsers, add_format
from syncoll.cli.asking import STORE_VARIABLE, open_store, store_name
from syncoll.cli.exits import Exit

__all__ = ["add_parser"]

_DESCRIPTION = """\
Tells where searches keep their answers, how many there are, and clears them.  Nothing in it is
believed without a check: algorithms are replayed and certificates checked when they are read.

  syncoll store
  syncoll store --clear
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "store", help="what searches have found out so far", description=_DESCRIPTION
    )
    parser.add_argument(
        "--store",
        type=store_name,
        metavar="FILE",
        help=f"the store (default: ${STORE_VARIABLE}, else a file in your cache folder)",
    )
    parser.add_argument("--clear", action="store_true", help="forget everything in it")
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.output import counted, print_json, print_text

    store = open_store(arguments.store)
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
        print_json(
            {
                "schema": "syncoll/store/1",
                "file": str(told.path),
                "bytes": told.bytes,
                "version": told.version,
                "sat": told.sat,
                "unsat": told.unsat,
                "unknown": told.unknown,
                "certificates": told.certificates,
            }
        )
        return Exit.OK
    print_text(f"{told.path}: {told.bytes / 1000:.0f} kB, version {told.version}")
    print_text(
        f"  {counted(told.sat, 'algorithm')}, {counted(told.unsat, 'refutation')}, "
        f"{told.unknown} not decided in time, {counted(told.certificates, 'certificate')}"
    )
    return Exit.OK
