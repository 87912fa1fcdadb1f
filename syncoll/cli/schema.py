"""Prints the JSON Schema (draft 2020-12) of a kind of file that syncoll writes.

It is complete in itself.

  syncoll schema frontier > frontier.schema.json
"""

from __future__ import annotations

import argparse

import syncoll
from syncoll.cli.exits import Exit
from syncoll.cli.output import print_json

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    kinds = ["frontier", "outcome", "algorithm", "refutation", "forest", "plan", "simulation"]
    kinds += ["recommendation"]
    parser.add_argument(
        "kind",
        metavar="KIND",
        choices=kinds,
        help="frontier (of pareto and search), outcome (of solve), algorithm, refutation, forest, "
        "plan, simulation or recommendation",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    print_json(syncoll.file_schema(arguments.kind))
    return Exit.OK
