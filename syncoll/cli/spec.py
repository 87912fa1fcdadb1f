"""Checks spec files, and lists the definitions that come with syncoll."""

from __future__ import annotations

import argparse

import syncoll
from syncoll.cli.exits import Exit
from syncoll.cli.options import FORMAT, add
from syncoll.cli.output import note, picked, print_json, print_page, print_text
from syncoll.pages.specs import definitions
from syncoll.wording import counted

__all__ = ["add_arguments"]

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    verbs = parser.add_subparsers(
        title="verbs", dest="verb", metavar="VERB", help="`syncoll spec VERB --help` explains it"
    )
    told = "everything that is wrong with a file, and what it defines"
    check = verbs.add_parser("check", help=told, description=_CHECK)
    add(check, {"file FILE": (str, "a .syncoll file")})
    check.set_defaults(run=_check)
    told = "machines, collectives, relations and searches that come with syncoll"
    listing = verbs.add_parser("list", help=told, description=_LIST)
    add(listing, FORMAT)
    listing.set_defaults(run=_list)


def _check(arguments: argparse.Namespace) -> int:
    report = syncoll.check_spec(arguments.file)
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
    specs = arguments.session.specs
    for problem in specs.problems():
        note(f"syncoll: {problem}")
    if arguments.format != "json":
        print_page(syncoll.list_specs())
        return Exit.OK
    found = [picked(one, "kind name signature doc") for one in definitions(specs)]
    print_json({"schema": "syncoll/specs/1", "definitions": found})
    return Exit.OK
