"""Writes one page about a frontier, or an answer, to look at, to send and to print: the points with
their proved bounds, how long each takes for which size, every step on the network, the prices and
cuts that prove the bounds, what was assumed, and how to get it all again.

Every algorithm is replayed and every claim checked before it is shown; with --collective and
--topology also what a file alone cannot prove, as by `syncoll check`.  The page is one file that
loads nothing when it is opened.

Times are simulated as by `syncoll simulate`, with the classics that run on this machine beside
them, and by the formula S * alpha + (R/C) * L * beta.  --alpha is the latency of a step, --beta
what a link of one chunk per round carries.  Where neither the command nor the machine says them
they are assumed, the page says so, and its reader can change them.

  syncoll report frontier.json -o report.html
  syncoll report frontier.json --alpha 0.7us --beta 25GB/s --collective allgather -o report.html
  syncoll report frontier.json --figures figures
"""

from __future__ import annotations

import argparse

import syncoll
from syncoll.cli.arguments import STANDARD_OUTPUT, classics_of
from syncoll.cli.exits import Exit
from syncoll.cli.options import FILE, Declared, add, add_meant, output_folder, progress
from syncoll.cli.output import picked, print_page, print_text, write_bytes
from syncoll.documents import require_writable
from syncoll.planning import require_matplotlib

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    declared: Declared = {
        **FILE,
        "-o, --output PAGE = report.html": "the page to write; - for standard output",
        "--alpha TIME": "latency of a step, such as 0.7us",
        "--beta BANDWIDTH": "of a link of one chunk per round, such as 25GB/s",
        "--figures FOLDER": (
            output_folder,
            "also draw figures for papers, each as SVG and as PNG",
        ),
        "--classics NAMES = all": "to simulate beside it: all, none, or names with commas between "
        "them",
    }
    add(parser, {**declared, **progress()})
    add_meant(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    to_stream = arguments.output == STANDARD_OUTPUT
    if not to_stream:
        require_writable(arguments.output)
    if arguments.figures is not None:
        require_matplotlib("figures")
    asked = picked(arguments, "alpha beta collective topology progress")
    made = syncoll.report(arguments.file, classics=classics_of(arguments), **asked)
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
