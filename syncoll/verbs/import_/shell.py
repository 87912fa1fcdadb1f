"""The shell's part of imports."""

from __future__ import annotations

import argparse
import sys

from syncoll.cli import STANDARD_OUTPUT, Exit, ask, note, write
from syncoll.documents import write_atomically
from syncoll.errors import UsageError
from syncoll.plugins import parse_options


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    file, path = arguments.file, arguments.output
    spec = ask(arguments, options=parse_options(arguments.option))
    if path in (None, STANDARD_OUTPUT):
        write(sys.stdout, spec)
        return Exit.OK
    if str(file) != "-" and path.exists() and path.samefile(file):
        raise UsageError(f"{path} is the file that is imported; name another one for the spec")
    write_atomically(path, spec.encode())
    note(f"saved in {path}")
    return Exit.OK
