"""``syncoll schema KIND``: the JSON Schema of syncoll's files."""

from __future__ import annotations

import argparse

from syncoll.cli.arguments import Subparsers
from syncoll.cli.exits import Exit

__all__ = ["add_parser"]


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "schema",
        help="the JSON Schema of syncoll's files",
        description="Prints the JSON Schema of a kind of file; `common` holds what they share.",
    )
    parser.add_argument("kind", choices=("frontier", "outcome", "algorithm", "common"))
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.output import print_json
    from syncoll.files import schema

    print_json(schema(arguments.kind))
    return Exit.OK
