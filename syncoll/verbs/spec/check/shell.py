"""The shell's part of checks of spec files."""

import argparse

from syncoll.cli import Exit, ask, note, print_text
from syncoll.wording import counted


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    report = ask(arguments)
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
