"""``syncoll solve TOPOLOGY COLLECTIVE -C -S -R``: one point."""

from __future__ import annotations

import argparse
from pathlib import Path

from syncoll.cli.arguments import (
    Subparsers,
    add_format,
    add_instance,
    add_problem,
    add_solver,
    duration,
)
from syncoll.cli.exits import Exit

__all__ = ["add_parser"]

_DESCRIPTION = """\
Decides whether a collective has an algorithm of S steps and R rounds with C chunks per node, and
shows it.  The exit code tells the verdict: 0 sat, 1 unsat, 3 unknown (a limit was reached).

  syncoll solve dgx1 allgather -C 6 -S 3 -R 7
  syncoll solve dgx1 alltoall -C 24 -S 8 -R 8 --backend pysat --time-limit 60
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "solve",
        help="one (S, R, C): is there an algorithm?",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_problem(parser)
    add_instance(parser)
    parser.add_argument(
        "--time-limit", type=duration, metavar="TIME", help="such as 30s, 2min (default: none)"
    )
    add_format(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="save the answer as JSON")
    add_solver(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import library, make_solver, manager
    from syncoll.cli.output import note, print_json, print_text
    from syncoll.cli.steps import show_algorithm
    from syncoll.files import outcome_document, write_document
    from syncoll.formula import Verdict

    plugins = manager()
    specs = library(plugins)
    topology = specs.topology(arguments.topology)
    instance = specs.collective(arguments.collective).instantiate(
        topology, chunks=arguments.chunks, steps=arguments.steps, rounds=arguments.rounds
    )
    with make_solver(arguments, plugins, seconds=arguments.time_limit) as solver:
        solution = solver.solve(instance)
    if arguments.output is not None:
        write_document(arguments.output, outcome_document(solution))
    if arguments.format == "json":
        print_json(outcome_document(solution))
    else:
        outcome = solution.outcome
        question = (
            f"{instance.collective} on {topology.name} with C = {instance.chunks}, "
            f"S = {instance.steps}, R = {instance.rounds}"
        )
        if solution.algorithm is not None:
            show_algorithm(instance, solution.algorithm)
            print_text(f"sat: {question}; verified.")
        elif outcome.verdict is Verdict.UNSAT:
            print_text(f"unsat: {question} has no algorithm.")
        else:
            print_text(f"unknown: {question} was not decided ({outcome.reason}).")
            if outcome.message:
                print_text(outcome.message)
        phases = ", ".join(f"{name} {value:.2f}" for name, value in solution.seconds.items())
        print_text(
            f"Encoding {solution.encoding}, backend {solution.backend}: "
            f"{solution.size.variables} variables, {solution.size.constraints} constraints; "
            f"seconds: {phases}."
        )
    if arguments.output is not None:
        note(f"saved in {arguments.output}")
    return {Verdict.SAT: Exit.OK, Verdict.UNSAT: Exit.IMPOSSIBLE}.get(
        solution.verdict, Exit.UNDECIDED
    )
