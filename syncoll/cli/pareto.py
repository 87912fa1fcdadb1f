"""Finds the best algorithms of a collective on a machine: for each number of steps S (latency cost)
the least bandwidth cost R/C, from the fewest steps possible down to the bandwidth bound.  Every
algorithm shown has passed an independent verifier.

  syncoll pareto dgx1 allgather
  syncoll pareto "ring(8)" "broadcast(root=3)" --max-steps 8
  syncoll pareto dgx1 broadcast --max-steps 5 --jobs 4 --proofs proofs
  syncoll pareto my-machine.syncoll:quad my-collectives.syncoll:shift -o frontier.json

The search improves its points for as long as a gap to a proved bound is open; Ctrl-C and
--time-limit end it with what is known so far, which says what is not settled and how near it is.
Exit codes: 0 searched to the end or points found; 2 bad input; 3 stopped by a limit without a
point; 130 Ctrl-C, and the frontier is saved even without -o.
"""

from __future__ import annotations

import argparse

import syncoll
from syncoll.cli.arguments import add_problem, add_solver
from syncoll.cli.search_command import add_search, run_search

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    add_problem(parser)
    add_search(parser)
    add_solver(parser, pool=True)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    return run_search(
        arguments,
        lambda how: syncoll.pareto(arguments.topology, arguments.collective, **how),
        lambda: None,
    )
