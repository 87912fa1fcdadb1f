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

import syncoll
from syncoll.cli.arguments import json_for_dash
from syncoll.cli.exits import Exit
from syncoll.cli.options import (
    COLLECTIVE_MEANT,
    FORMAT,
    WORK,
    add,
    add_solver,
    progress,
    time_limit,
)
from syncoll.cli.output import note, picked, print_value
from syncoll.cli.search_command import ended
from syncoll.documents import require_writable
from syncoll.documents.tables import table_format
from syncoll.errors import UsageError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    declared = {
        "file FILE": "a frontier of the whole machine, saved with -o",
        "--without WHAT ...": 'what is broken, such as "link 3->6" or "node 5"; several are broken '
        "together",
        '--slow "WHAT by N" ...': "what has an Nth of its bandwidth (also several)",
    }
    add(parser, declared)
    parser.add_argument(
        "--survey",
        choices=("links", "cables", "nodes", "switches"),
        help="in place of --without: each one in turn; links are directions, cables both of them",
    )
    add(parser, COLLECTIVE_MEANT)
    declared = {
        "--max-steps S": "S at most (default: 3 more than the least possible)",
        "--max-chunks C": "C at most (as for pareto)",
        **time_limit(" (default: 30s; with --survey none for all of it)"),
        **WORK,
        "--search-limit TIME": "with --survey, for each failure (default: 10s)",
    }
    add(parser.add_argument_group("search"), declared)
    declared = {
        **FORMAT,
        "-o, --output FILE": "save the frontier of the damaged machine as JSON as it grows, for "
        "every command that takes one; - for standard output, once, in place of the tables; with "
        "--survey a folder of them, from which it goes on",
        "--table FILE": "with --survey, write a row for each failure and S; a name that ends in "
        ".csv or .parquet",
        **progress(),
    }
    add(parser.add_argument_group("output"), declared)
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
    asked = "without slow collective max_steps max_chunks time_limit work output progress"
    found = syncoll.repair(arguments.file, **picked(arguments, asked))
    code = ended(
        arguments,
        found.frontier,
        lambda: print_value(arguments, found.frontier if to_stdout else found),
    )
    return Exit.UNDECIDED if code is None else code


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
    print_value(arguments, found)
    if arguments.output is not None:
        note(f"saved in {arguments.output}")
    if arguments.table is not None:
        found.save_table(arguments.table)
        note(f"written to {arguments.table}")
    if found.interrupted:
        return Exit.INTERRUPTED
    return Exit.OK if found.found else Exit.UNDECIDED
