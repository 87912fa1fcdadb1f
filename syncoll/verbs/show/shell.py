"""The shell's part of `show`."""

import argparse
from pathlib import Path

import syncoll
from syncoll.cli import Exit, ask, print_value, width
from syncoll.documents.sniff import kind_in
from syncoll.errors import UsageError
from syncoll.spec.kinds import kind_of


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    what, session = arguments.what, arguments.session
    if arguments.collective is not None and not arguments.symmetry:
        raise UsageError(
            f"{what} {arguments.collective}: `syncoll show` shows one thing; two names, a machine "
            "and a collective, go with --symmetry"
        )
    kind = kind_of(session.specs, what)
    if arguments.symmetry:
        return _show_symmetry(arguments, kind)
    if kind == "file" and kind_in(Path(what)) == "forest":
        print_value(arguments, syncoll.load_forest(what), trees=True)
    else:
        print_value(arguments, ask(arguments, width=width()))
    return Exit.OK


def _show_symmetry(arguments: argparse.Namespace, kind: str) -> int:
    what = arguments.what
    if kind != "topology":
        raise UsageError(
            f"--symmetry is about a machine, and {what} is a {kind}; write "
            "`syncoll show --symmetry TOPOLOGY COLLECTIVE`"
        )
    for name, given in (("--nodes", arguments.nodes), ("--chunks", arguments.chunks)):
        if given:
            raise UsageError(f"{name} has no effect with --symmetry; leave it out")
    print_value(arguments, syncoll.symmetry_of(what, arguments.collective))
    return Exit.OK
