"""``syncoll spec check FILE`` and ``syncoll spec list``."""

from __future__ import annotations

import argparse
from pathlib import Path

from syncoll.cli.arguments import Subparsers, add_format
from syncoll.cli.exits import Exit

__all__ = ["add_parser"]

_CHECK = """\
Reads a spec file, checks every definition and tries those that need no arguments.  Every error is
told with its line and column.  Exit code 0 when all is well, else 2.

  syncoll spec check my-machine.syncoll
"""

_LIST = """\
Lists the machines, collectives, relations and searches of the installed spec libraries, each with
its arguments and their defaults.  `syncoll show NAME` shows one of them.

  syncoll spec list
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "spec",
        help="check a spec file; list what comes with syncoll",
        description="Checks spec files, and lists the definitions that come with syncoll.",
    )
    verbs = parser.add_subparsers(
        title="verbs",
        dest="verb",
        metavar="VERB",
        help="`syncoll spec VERB --help` explains it",
    )
    check = verbs.add_parser(
        "check",
        help="everything that is wrong with a file, and what it defines",
        description=_CHECK,
    )
    check.add_argument("file", metavar="FILE", help="a .syncoll file")
    check.set_defaults(run=_check)
    listing = verbs.add_parser(
        "list",
        help="machines, collectives, relations and searches that come with syncoll",
        description=_LIST,
    )
    add_format(listing)
    listing.set_defaults(run=_list)


def _check(arguments: argparse.Namespace) -> int:
    from syncoll.cli.output import counted, note, print_text
    from syncoll.errors import UsageError
    from syncoll.routing import as_topology
    from syncoll.spec import check_file

    if not Path(arguments.file).is_file():
        what = "a folder" if Path(arguments.file).is_dir() else "no file"
        raise UsageError(f"{arguments.file} is {what}; expected a .syncoll file")
    report = check_file(arguments.file, arguments.session.specs, as_topology)
    for error in report.errors:
        note(f"{error}\n")
    for definition in report.definitions:
        print_text(f"{definition.kind} {definition.signature}")
    for text in report.notes:
        print_text(f"note: {text}")
    if report.errors:
        note(f"syncoll: {report.file}: {counted(len(report.errors), 'error')}")
        return Exit.BAD_INPUT
    print_text(f"{report.file}: all is well")
    return Exit.OK


def _list(arguments: argparse.Namespace) -> int:
    from syncoll.cli.output import note, print_json, print_page
    from syncoll.pages.specs import definitions, specs_page

    specs = arguments.session.specs
    for problem in specs.problems():
        note(f"syncoll: {problem}")
    if arguments.format == "json":
        print_json(
            {
                "schema": "syncoll/specs/1",
                "definitions": [
                    {"kind": d.kind, "name": d.name, "signature": d.signature, "doc": d.doc}
                    for d in definitions(specs)
                ],
            }
        )
        return Exit.OK
    print_page(specs_page(specs))
    return Exit.OK
