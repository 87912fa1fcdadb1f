"""``syncoll bounds TOPOLOGY COLLECTIVE``: what no algorithm can go below, and why."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from syncoll.cli.arguments import Subparsers, add_format, add_problem, amount, count, duration
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from syncoll.certificates import RoundsBound

__all__ = ["add_parser"]

_DESCRIPTION = """\
Proves lower bounds without searching: the least number of steps (distances), the least bandwidth
cost R/C with any number of steps, and the least R/C for each number of steps.  Each bandwidth bound
comes from exact prices on the links: a round costs at most 1, and what the collective must move
costs at least the bound.

  syncoll bounds dgx1 allgather
  syncoll bounds dgx1 alltoall -C 8 --max-steps 4
  syncoll bounds dgx1 allgather --prices
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "bounds",
        help="proved lower bounds on steps and bandwidth cost",
        description=_DESCRIPTION,
    )
    add_problem(parser)
    parser.add_argument(
        "-C",
        "--chunks",
        type=count,
        metavar="C",
        help="chunks per node (default: the least defined)",
    )
    parser.add_argument(
        "--max-steps",
        type=amount,
        metavar="S",
        help="bounds for S up to this (default: 3 beyond the least)",
    )
    parser.add_argument(
        "--time-limit",
        type=duration,
        metavar="TIME",
        help="for the whole command, from its start, such as 30s, 2min; what is not proved by then "
        "is left out (default: about 20 s for each bound)",
    )
    parser.add_argument("--prices", action="store_true", help="show the prices that prove each")
    add_format(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import deadline
    from syncoll.cli.output import print_json, print_page
    from syncoll.pages.bounds import bounds_page, prices

    session = arguments.session
    bounds = session.bounds(
        session.topology(arguments.topology),
        session.collective(arguments.collective),
        chunks=arguments.chunks,
        max_steps=arguments.max_steps,
        until=deadline(arguments, arguments.time_limit),
    )
    if arguments.format != "json":
        print_page(bounds_page(bounds, with_prices=arguments.prices))
        return Exit.OK

    def priced(bound: RoundsBound) -> dict[str, Any]:
        return {"prices": prices(bound, bounds.topology)} if arguments.prices else {}

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
                {"steps": s, "bandwidth": str(bound.rounds / bounds.chunks), **priced(bound)}
                for s, bound in bounds.by_steps
            ],
            **priced(bounds.any_steps),
        }
    )
    return Exit.OK
