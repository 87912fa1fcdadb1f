"""Decides whether a collective has an algorithm of S steps and R rounds with C chunks per node, and
shows it.  The exit code tells the verdict: 0 sat, 1 unsat, 3 unknown (a limit was reached);
2 is bad input, 130 Ctrl-C.

  syncoll solve dgx1 allgather -C 6 -S 3 -R 7
  syncoll solve dgx1 alltoall -C 24 -S 8 -R 8 --backend pysat --time-limit 60
  syncoll solve "a100(boxes=2)" allgather -C 4 -S 6 -R 7 --symmetric
  syncoll solve dgx1 'alltoallv("tokens.csv")' -C 1 -S 3 -R 12
  syncoll solve dgx1 "allgather within [[0,1,2,3],[4,5,6,7]]" -C 1 -S 3 -R 3
  syncoll solve dgx1 "2 * allgather + alltoall" -C 8 -S 3 -R 24

--symmetric decides less with less: an algorithm that is found counts as any other, but that there
is no symmetric one refutes nothing.
"""

from __future__ import annotations

import argparse

import syncoll
from syncoll.cli.arguments import json_for_dash
from syncoll.cli.exits import Exit
from syncoll.cli.options import (
    FORMAT,
    WORK,
    Declared,
    add,
    add_instance,
    add_problem,
    add_solver,
    output_folder,
    time_limit,
)
from syncoll.cli.output import note, picked, print_result
from syncoll.documents import require_writable

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    add_problem(parser)
    add_instance(parser)
    declared: Declared = {
        "--symmetric": "look only for algorithms that a group of automorphisms maps to themselves: "
        "far fewer variables; where there is none others may exist, and the answer is unknown",
        **time_limit(" (default: none)"),
        **WORK,
        **FORMAT,
        "-o, --output FILE": "save the answer as JSON; - for standard output, in place of the "
        "table",
        "--proof DIR": (
            output_folder,
            "unsat: write a proof into this folder that others can check (solves once more)",
        ),
    }
    add(parser, declared)
    add_solver(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code tells the verdict."""
    json_for_dash(arguments)
    if arguments.output is not None:
        require_writable(arguments.output)
    asked = "topology collective chunks steps rounds time_limit work symmetric"
    solution = syncoll.solve(**picked(arguments, asked))
    print_result(arguments, solution)
    if arguments.symmetric and solution.restriction is None and solution.size.variables:
        note("no symmetry was found: decided as without --symmetric")
    verdict = str(solution.verdict)
    if arguments.proof is not None and verdict == "unsat":
        done = solution.prove(arguments.proof, time_limit=arguments.time_limit)
        if done.file is None:
            note(f"no proof: {done.reason}")
        else:
            note(f"proof in {done.file}" + (f"; {done.reason}" if done.reason else ""))
    if str(solution.outcome.reason) == "interrupted":
        return Exit.INTERRUPTED
    return {"sat": Exit.OK, "unsat": Exit.IMPOSSIBLE}.get(verdict, Exit.UNDECIDED)
