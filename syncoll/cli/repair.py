"""Finds the best algorithms of a machine on which something broke, from a frontier of the whole
machine: algorithms that do not use what is broken are kept, others get ways around it, and the
search of the damaged machine goes on from there.  Then stands what is lost, and what of that no
algorithm can have back, by a bound that is proved.

  syncoll pareto dgx1 allgather -o whole.json
  syncoll repair whole.json --without "link 3->6" -o damaged.json
  syncoll repair whole.json --without "link 3<->2" --without "node 5"
  syncoll repair whole.json --slow "link 3->2 by 2"
  syncoll repair whole.json --survey links -o failures

What is broken: "link 3->6", "link 3<->6" for both directions, "link 3->switch 0", "node 5" (the
others go on without it), "switch 0", or the label of a cable as `syncoll show` prints it, or words
of it: "card 2" for the network card of GPU 2.

--survey breaks each link (one of those that are alike) by itself, and tells which is the worst.
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
    add_work,
    amount,
    count,
    duration,
    json_for_dash,
    output_file,
)
from syncoll.cli.exits import Exit
from syncoll.cli.output import note, picked, print_json, print_page
from syncoll.cli.search_command import free_name
from syncoll.documents import require_writable
from syncoll.documents.tables import table_format
from syncoll.errors import UsageError

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
        "--survey",
        choices=("links", "cables", "nodes", "switches"),
        help="in place of --without: each one in turn; links are directions, cables both of them",
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
    add_time_limit(group, " (default: 30s; with --survey none for all of it)")
    add_work(group)
    group.add_argument(
        "--search-limit",
        type=duration,
        metavar="TIME",
        help="with --survey, for each failure (default: 10s)",
    )
    output = parser.add_argument_group("output")
    add_format(output)
    output.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="save the frontier of the damaged machine as JSON as it grows, for every command that "
        "takes one; - for standard output, once, in place of the tables; with --survey a folder of "
        "them, from which it goes on",
    )
    output.add_argument(
        "--table",
        type=output_file,
        metavar="FILE",
        help="with --survey, write a row for each failure and S; a name that ends in .csv or "
        ".parquet",
    )
    add_progress(output)
    add_solver(parser, pool=True)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.survey is not None:
        return _survey(arguments)
    for name in ("search_limit", "table"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} is for --survey")
    to_stdout = arguments.output is not None and str(arguments.output) == "-"
    json_for_dash(arguments)
    found = syncoll.repair(
        arguments.file,
        **picked(
            arguments,
            "without slow collective max_steps max_chunks time_limit work output progress",
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
    if frontier.impossible:
        return Exit.IMPOSSIBLE
    return Exit.OK if frontier else Exit.UNDECIDED


def _survey(arguments: argparse.Namespace) -> int:
    """Every single failure in turn."""
    for name in ("without", "slow", "max_steps", "max_chunks"):
        if getattr(arguments, name):
            raise UsageError(f"--{name.replace('_', '-')} with --survey: say one of them")
    if arguments.table is not None:
        table_format(arguments.table)
        require_writable(arguments.table)
    found = syncoll.survey(
        arguments.file,
        arguments.survey,
        **picked(arguments, "collective search_limit time_limit work output progress"),
    )
    if arguments.format == "json":
        print_json(found.document())
    else:
        print_page(found.page())
    if arguments.output is not None:
        note(f"saved in {arguments.output}")
    if arguments.table is not None:
        found.save_table(arguments.table)
        note(f"written to {arguments.table}")
    if found.interrupted:
        return Exit.INTERRUPTED
    return Exit.OK if found.found else Exit.UNDECIDED
