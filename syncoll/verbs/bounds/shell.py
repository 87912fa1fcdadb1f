"""The shell's part of bounds."""

import argparse

import syncoll
from syncoll.cli import STANDARD_OUTPUT, command, note
from syncoll.errors import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    to_stream, is_json = arguments.output == STANDARD_OUTPUT, arguments.format == "json"
    if to_stream and (arguments.prices or is_json):
        option = "--prices" if arguments.prices else "--format"
        raise UsageError(
            f"{option} changes the table, which -o - replaces; name a file with -o to have both"
        )

    def then(bounds: "syncoll.BoundsResult") -> None:
        if bounds.more and (to_stream or is_json):  # the table has it
            note(f"syncoll: {bounds.more}")

    return command.run(arguments, then)
