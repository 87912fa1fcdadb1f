"""``syncoll spec check FILE`` and ``syncoll spec list``."""

from __future__ import annotations

import argparse

from syncoll.cli.arguments import Subparsers, add_format
from syncoll.cli.exits import Exit

__all__ = ["add_parser"]


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "spec",
        help="check a spec file; list what comes with syncoll",
        description="Checks spec files, and lists the definitions that come with syncoll.",
    )
    verbs = parser.add_subparsers(title="verbs", dest="verb", required=True)
    check = verbs.add_parser(
        "check",
        help="everything that is wrong with a file, and what it defines",
        description="Reads a file, checks every definition and tries those that need no "
        "arguments.  Exit code 0 when all is well, else 2.",
    )
    check.add_argument("file", metavar="FILE")
    check.set_defaults(run=_check)
    listing = verbs.add_parser(
        "list",
        help="machines, collectives, relations and searches that come with syncoll",
        description="Lists the definitions of the installed spec libraries.",
    )
    add_format(listing)
    listing.set_defaults(run=_list)


def _check(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import library, manager
    from syncoll.cli.output import note, print_text
    from syncoll.spec import check_file

    report = check_file(arguments.file, library(manager()))
    for error in report.errors:
        note(f"{error}\n")
    for definition in report.definitions:
        print_text(f"{definition.kind} {definition.signature}")
    for text in report.notes:
        print_text(f"note: {text}")
    if report.errors:
        count = len(report.errors)
        note(f"syncoll: {report.file}: {count} error{'s' if count != 1 else ''}")
        return Exit.BAD_INPUT
    print_text(f"{report.file}: all is well")
    return Exit.OK


def _list(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import library, manager
    from syncoll.cli.output import console, print_json, table
    from syncoll.spec import Kind

    specs = library(manager())
    kinds: tuple[Kind, ...] = ("topology", "collective", "relation", "search")
    found = [definition for kind in kinds for definition in specs.names(kind)]
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/specs/1",
                "definitions": [
                    {"kind": d.kind, "name": d.name, "signature": d.signature, "doc": d.doc}
                    for d in found
                ],
            }
        )
        return Exit.OK
    rows = [(d.kind, d.signature, d.doc.split("\n", 1)[0]) for d in found]
    console().print(table("", ("kind", "name", "what it is"), rows))
    return Exit.OK
