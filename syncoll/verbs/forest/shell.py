"""The shell's part of forests."""

import argparse

from syncoll.cli import command
from syncoll.errors import UsageError


def more(parser: argparse.ArgumentParser) -> None:
    """Adds --collective."""
    about = "the same as an option"
    parser.add_argument("--collective", dest="named", metavar="COLLECTIVE", help=about)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    collective = arguments.collective or arguments.named or "allgather"
    if arguments.named not in (None, collective):
        raise UsageError(f"{collective} and --collective {arguments.named}: give one of them")
    return command.run(arguments, collective=collective)
