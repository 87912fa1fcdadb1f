"""Finds the best algorithms of a collective on a machine: for each number of steps S (latency cost)
the least bandwidth cost R/C, from the fewest steps possible down to the bandwidth bound.  Every
algorithm shown has passed an independent verifier.

  syncoll pareto dgx1 allgather
  syncoll pareto "ring(8)" "broadcast(root=3)" --max-steps 8
  syncoll pareto dgx1 broadcast --max-steps 5 --jobs 4 --proofs proofs
  syncoll pareto dgx1 allgather --optimise-for 64KiB:4MiB --alpha 1us --beta 25GB/s
  syncoll pareto my-machine.syncoll:quad my-collectives.syncoll:shift -o frontier.json
  syncoll pareto dgx1 'alltoallv("tokens.csv")'
  syncoll pareto dgx1 "allgather within [[0,1,2,3],[4,5,6,7]]"
  syncoll pareto dgx1 "2 * allgather + alltoall"

The search improves its points for as long as a gap to a proved bound is open; Ctrl-C and
--time-limit end it with what is known so far, which says what is not settled and how near it is.
Exit codes: 0 searched to the end or points found; 1 proved impossible before any search
(--max-steps or --max-rounds is below the bounds by distances and cuts); 2 bad input; 3 stopped by a
limit without a point; 130 Ctrl-C, and the frontier is saved even without -o.
"""

from __future__ import annotations

import argparse
from typing import Any

import syncoll
from syncoll.api.base import deadline_of
from syncoll.cli.options import add, add_problem, add_solver
from syncoll.cli.output import note, picked, print_page
from syncoll.cli.search_command import add_search, run_search
from syncoll.deadline import interrupted_at
from syncoll.errors import OutOfTimeError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    add_problem(parser)
    add_search(parser)
    add_solver(parser, pool=True)
    sizes = {
        "--optimise-for FROM:TO": "sizes of messages as nccl-tests counts them (of an allgather or "
        "gather the output), also FROM..TO, or one size, such as 64KiB:4MiB: only points are "
        "searched that may be the fastest for one of them, by S * alpha + (R/C) * L * beta; the "
        "simulated times of the points are shown below the frontier",
        "--alpha TIME": "of a step, such as 0.7us (default: the latencies of the machine)",
        "--beta BANDWIDTH": "of a link of one chunk per round, such as 25GB/s (default: what the "
        "machine's description says)",
    }
    add(parser.add_argument_group("sizes of messages"), sizes)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    aim = picked(arguments, "optimise_for alpha beta")

    def ask(how: dict[str, Any]) -> syncoll.FrontierResult:
        return syncoll.pareto(arguments.topology, arguments.collective, **how, **aim)

    return run_search(arguments, ask, lambda: None, lambda found: _show_times(found, arguments))


def _show_times(frontier: syncoll.FrontierResult, arguments: argparse.Namespace) -> None:
    """Which point is the fastest for which of the sizes that were asked for."""
    if arguments.optimise_for is None or not frontier:
        return
    from syncoll.pages.simulation import fastest_page

    times = {"sizes": arguments.optimise_for, "alpha": arguments.alpha, "beta": arguments.beta}
    try:
        with interrupted_at(deadline_of(arguments.time_limit)):
            page = fastest_page(syncoll.simulate(frontier, **times, factor=2, classics=False))
    except OutOfTimeError:
        note("syncoll: no time was left to simulate the points; `syncoll simulate` does that")
        return
    print_page(page)
    note("`syncoll simulate` tells more of a saved frontier, with the classics beside it")
