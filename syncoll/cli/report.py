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
from pathlib import Path

import syncoll
from syncoll.cli.arguments import STANDARD_OUTPUT, add_meant, output_file, output_folder
from syncoll.cli.exits import Exit
from syncoll.cli.output import print_page, print_text, write_bytes
from syncoll.documents import require_writable
from syncoll.planning import require_matplotlib

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    parser.add_argument("file", metavar="FILE", type=Path, help="saved with -o")
    parser.add_argument(
        "-o",
        "--output",
        metavar="PAGE",
        type=output_file,
        default=Path("report.html"),
        help="the page to write; - for standard output (default: report.html)",
    )
    parser.add_argument("--alpha", metavar="TIME", help="latency of a step, such as 0.7us")
    parser.add_argument(
        "--beta", metavar="BANDWIDTH", help="of a link of one chunk per round, such as 25GB/s"
    )
    parser.add_argument(
        "--figures",
        metavar="FOLDER",
        type=output_folder,
        help="also draw figures for papers, each as SVG and as PNG",
    )
    parser.add_argument(
        "--classics",
        metavar="NAMES",
        default="all",
        help="to simulate beside it: all, none, or names with commas between them (default: all)",
    )
    add_meant(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    to_stream = arguments.output == STANDARD_OUTPUT
    if not to_stream:
        require_writable(arguments.output)
    if arguments.figures is not None:
        require_matplotlib("figures")
    chosen = arguments.classics
    made = syncoll.report(
        arguments.file,
        alpha=arguments.alpha,
        beta=arguments.beta,
        collective=arguments.collective,
        topology=arguments.topology,
        classics=chosen == "all" or ([] if chosen == "none" else chosen.split(",")),
    )
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
