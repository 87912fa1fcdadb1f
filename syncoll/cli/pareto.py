"""``syncoll pareto TOPOLOGY COLLECTIVE``: the Pareto frontier."""

from __future__ import annotations

import argparse

from syncoll.cli.arguments import Subparsers, add_problem, add_solver
from syncoll.cli.search_command import add_search, check_output, run_search
from syncoll.cli.session_options import add_answers

__all__ = ["add_parser"]

_DESCRIPTION = """\
Finds the best algorithms of a collective on a machine: for each number of steps S (latency cost)
the least bandwidth cost R/C, from the fewest steps possible down to the bandwidth bound.  Every
algorithm shown has passed an independent verifier.

  syncoll pareto dgx1 allgather
  syncoll pareto "ring(8)" "broadcast(root=3)" --max-steps 8
  syncoll pareto dgx1 broadcast --max-steps 5 --jobs 4 --proofs proofs
  syncoll pareto my-machine.syncoll:quad my-collectives.syncoll:shift -o frontier.json

Ctrl-C and --time-limit end the search with what is known so far, which says what is not settled.
Exit codes: 0 searched to the end or points found; 2 bad input; 3 stopped by a limit without a
point; 130 Ctrl-C, and the frontier is saved even without -o.
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "pareto",
        help="the Pareto frontier of a collective on a machine",
        description=_DESCRIPTION,
    )
    add_problem(parser)
    add_search(parser)
    add_solver(parser)
    add_answers(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.searching import SearchRequest, Strategy

    check_output(arguments)
    session = arguments.session
    request = SearchRequest(
        session.topology(arguments.topology),
        session.collective(arguments.collective),
        Strategy(arguments.strategy),
        arguments.k,
        arguments.max_steps,
        arguments.max_rounds,
        arguments.max_chunks,
        arguments.time_limit,
        arguments.point_limit,
    )
    return run_search(arguments, request)
