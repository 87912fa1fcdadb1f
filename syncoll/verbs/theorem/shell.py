"""The shell's part of theorems."""

import argparse

from syncoll.cli import Exit, command
from syncoll.verbs.theorem.result import TheoremResult


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""

    def code(found: TheoremResult) -> Exit | None:
        more = found.refuted or found.text.left_out
        return Exit.UNCHECKED if found.claims is not None and more else None

    return command.run(arguments, then=code)
