"""Proves lower bounds without searching: the least number of steps (distances), the least bandwidth
cost R/C with any number of steps, and the least R/C for each number of steps.  Each bandwidth bound
comes from exact prices on the links: a round costs at most 1, and what the collective must move
costs at least the bound.

  syncoll bounds dgx1 allgather
  syncoll bounds dgx1 alltoall -C 8 --max-steps 4
  syncoll bounds dgx1 allgather --prices
  syncoll bounds dgx1 allgather -o bounds.json
  syncoll bounds dgx1 'alltoallv("tokens.csv")'
  syncoll bounds dgx1 "allgather within [[0,1,2,3],[4,5,6,7]]"
  syncoll bounds dgx1 "2 * allgather + alltoall"

What -o saves is a frontier without points, whose certificates `syncoll check` checks.
"""

from __future__ import annotations

import argparse
from typing import Any

import syncoll
from syncoll.cli.arguments import STANDARD_OUTPUT
from syncoll.cli.exits import Exit
from syncoll.cli.options import FORMAT, WORK, add, add_problem, time_limit
from syncoll.cli.output import note, picked, print_json, print_page
from syncoll.documents import require_writable
from syncoll.errors import UsageError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    add_problem(parser)
    declared = {
        "-C, --chunks C": "chunks per node (default: the least defined)",
        "--max-steps S": "bounds for S up to this (default: 3 beyond the least)",
        **time_limit(
            "; at the limit, as after Ctrl-C, the bounds proved so far are printed, and always "
            "those by distances and cuts (default: about 20 s for each bound)"
        ),
        **WORK,
        "--prices": "show the prices that prove each",
        "-o, --output FILE": "save the bounds with their certificates, for `syncoll check`; - for "
        "standard output, in place of the table (without --format and --prices)",
    }
    add(parser, declared | FORMAT)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.output is not None:
        require_writable(arguments.output)
    if arguments.output == STANDARD_OUTPUT:
        for option, given in (("--format", arguments.format), ("--prices", arguments.prices)):
            if given and given != "table":
                raise UsageError(
                    f"{option} is about the table, in whose place -o - prints what is saved, as "
                    "JSON; name a file with -o to have both"
                )
    asked = picked(arguments, "topology collective chunks max_steps time_limit work")
    bounds = syncoll.bounds(**asked)
    code = Exit.INTERRUPTED if bounds.interrupted else Exit.OK
    tabulated = arguments.format != "json" and arguments.output != STANDARD_OUTPUT
    if bounds.more and not tabulated:  # the table says so itself
        note(f"syncoll: {bounds.more}")
    if arguments.output == STANDARD_OUTPUT:
        print_json(bounds.document())
        return code
    if arguments.output is not None:
        bounds.save(arguments.output)
        note(f"saved in {arguments.output}")
    if tabulated:
        print_page(bounds.page(prices=arguments.prices))
        return code

    def prices(steps: int | None) -> dict[str, Any]:
        return {"prices": bounds.prices(steps)} if arguments.prices else {}

    print_json(
        {
            "schema": "syncoll/bounds/1",
            "topology": bounds.topology.name,
            "collective": bounds.collective,
            "nodes": bounds.topology.num_nodes,
            "chunks": bounds.chunks,
            "steps": bounds.steps,
            "bandwidth": str(bounds.bandwidth),
            "by_steps": [
                {"steps": s, "bandwidth": str(bound.rounds / bounds.chunks), **prices(s)}
                for s, bound in bounds.by_steps
            ],
            "complete": not bounds.late,
            "interrupted": bounds.interrupted,
            **prices(None),
        }
    )
    return code
