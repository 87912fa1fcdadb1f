"""The shell's part of theorems."""

import argparse
from typing import Any

from syncoll.cli import Exit, command


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""

    def code(found: Any) -> Exit | None:
        more = found.refuted or found.text.left_out
        return Exit.UNCHECKED if found.claims is not None and more else None

    return command.run(arguments, then=code)
