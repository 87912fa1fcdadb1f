"""``syncoll schema KIND``: the JSON Schema of syncoll's files."""

from __future__ import annotations

import argparse

from syncoll.cli.arguments import Subparsers
from syncoll.cli.exits import Exit

__all__ = ["add_parser"]

_DESCRIPTION = """\
Prints the JSON Schema (draft 2020-12) of a kind of file, complete in itself.

  syncoll schema frontier > frontier.schema.json
"""

_KINDS = (
    "frontier (of pareto and search), outcome (of solve), algorithm, refutation, forest or plan"
)


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "schema",
        help="the JSON Schema of syncoll's files",
        description=_DESCRIPTION,
    )
    parser.add_argument(
        "kind",
        metavar="KIND",
        choices=("frontier", "outcome", "algorithm", "refutation", "forest", "plan"),
        help=_KINDS,
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.output import print_json
    from syncoll.documents import schema

    print_json(schema(arguments.kind))
    return Exit.OK
