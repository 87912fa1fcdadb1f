"""The shell's part of reports."""

import argparse

from syncoll.cli import STANDARD_OUTPUT, Exit, ask, print_page, print_text, write_bytes
from syncoll.documents import require_writable
from syncoll.planning import require_matplotlib


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    to_stream = arguments.output == STANDARD_OUTPUT
    if not to_stream:
        require_writable(arguments.output)
    if arguments.figures is not None:
        require_matplotlib("figures")
    made = ask(arguments)
    if arguments.figures is not None:
        made.save_figures(arguments.figures)
    if to_stream:
        write_bytes(made.html.encode())
        return Exit.OK
    made.save(arguments.output)
    print_page(made.page())
    print_text(f"written to {arguments.output}")
    if arguments.figures is not None:
        print_text(f"drawn in {arguments.figures}")
    return Exit.OK
