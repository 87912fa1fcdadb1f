"""Finds the best algorithms of a machine on which something broke, from a frontier of the whole
machine: algorithms that do not use what is broken are kept, others get ways around it, and the
search of the damaged machine goes on from there.  Then stands what is lost, and what of that no
algorithm can have back, by a bound that is proved.

  syncoll pareto dgx1 allgather -o whole.json
  syncoll repair whole.json --without "link 3->6" -o damaged.json
  syncoll repair whole.json --without "link 3<->2" --without "node 5"
  syncoll repair whole.json --slow "link 3->2 by 2"

What is broken: "link 3->6", "link 3<->6" for both directions, "link 3->switch 0", "node 5" (the
others go on without it), "switch 0", or the label of a cable as `syncoll show` prints it, or words
of it: "card 2" for the network card of GPU 2.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import syncoll
from syncoll.cli.arguments import (
    add_format,
    add_progress,
    add_solver,
    add_time_limit,
    amount,
    count,
    json_for_dash,
    output_file,
)
from syncoll.cli.exits import Exit
from syncoll.cli.output import note, picked, print_json, print_page
from syncoll.cli.search_command import free_name

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a frontier of the whole machine, saved with -o"
    )
    parser.add_argument(
        "--without",
        metavar="WHAT",
        action="append",
        default=[],
        help='what is broken, such as "link 3->6" or "node 5"; several are broken together',
    )
    parser.add_argument(
        "--slow",
        metavar='"WHAT by N"',
        action="append",
        default=[],
        help="what has an Nth of its bandwidth (also several)",
    )
    parser.add_argument(
        "--collective", metavar="COLLECTIVE", help="that it is (default: by the name in the file)"
    )
    group = parser.add_argument_group("search")
    group.add_argument(
        "--max-steps",
        type=amount,
        metavar="S",
        help="S at most (default: 3 more than the least possible)",
    )
    group.add_argument("--max-chunks", type=count, metavar="C", help="C at most (as for pareto)")
    add_time_limit(group, " (default: 30s)")
    output = parser.add_argument_group("output")
    add_format(output)
    output.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="save the frontier of the damaged machine as JSON as it grows, for every command that "
        "takes one; - for standard output, once, in place of the tables",
    )
    add_progress(output)
    add_solver(parser, pool=True)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    to_stdout = arguments.output is not None and str(arguments.output) == "-"
    json_for_dash(arguments)
    found = syncoll.repair(
        arguments.file,
        **picked(
            arguments, "without slow collective max_steps max_chunks time_limit output progress"
        ),
    )
    frontier, output = found.frontier, arguments.output
    if frontier.interrupted and output is None:
        output = free_name(frontier)
        frontier.save(output)
    if arguments.format == "json":
        print_json(frontier.document() if to_stdout else found.document())
    else:
        print_page(found.page())
    if output is not None and not frontier.unsaved:
        note(f"saved in {output}")
    if frontier.interrupted:
        return Exit.INTERRUPTED
    if frontier.unsaved:
        return Exit.BAD_INPUT
    return Exit.OK if frontier else Exit.UNDECIDED
