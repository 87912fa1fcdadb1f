"""``syncoll solve TOPOLOGY COLLECTIVE -C -S -R``: one point."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from syncoll.cli.arguments import (
    Subparsers,
    add_format,
    add_instance,
    add_problem,
    add_solver,
    duration,
    json_for_dash,
    output_file,
    output_folder,
)
from syncoll.cli.exits import Exit

if TYPE_CHECKING:
    from syncoll.results import Solution

__all__ = ["add_parser"]

_DESCRIPTION = """\
Decides whether a collective has an algorithm of S steps and R rounds with C chunks per node, and
shows it.  The exit code tells the verdict: 0 sat, 1 unsat, 3 unknown (a limit was reached);
2 is bad input, 130 Ctrl-C.

  syncoll solve dgx1 allgather -C 6 -S 3 -R 7
  syncoll solve dgx1 alltoall -C 24 -S 8 -R 8 --backend pysat --time-limit 60
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "solve", help="one (S, R, C): is there an algorithm?", description=_DESCRIPTION
    )
    add_problem(parser)
    add_instance(parser)
    parser.add_argument(
        "--time-limit",
        type=duration,
        metavar="TIME",
        help="for the whole command, from its start, such as 30s, 2min (default: none)",
    )
    add_format(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=output_file,
        metavar="FILE",
        help="save the answer as JSON; - for standard output, in place of the table",
    )
    parser.add_argument(
        "--proof",
        type=output_folder,
        metavar="DIR",
        help="unsat: write a proof into this folder that others can check (solves once more)",
    )
    add_solver(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.cli.arguments import deadline, instance_of
    from syncoll.cli.output import note, print_json, print_page
    from syncoll.documents import require_writable, write_document
    from syncoll.formula import StopReason, Verdict
    from syncoll.pages.solution import solution_page

    json_for_dash(arguments)
    if arguments.output is not None:
        require_writable(arguments.output)
    session = arguments.session
    until = deadline(arguments, arguments.time_limit)
    with session.solver() as solver:  # its process starts while the question is put together
        instance, collective = instance_of(arguments)
        solution = session.solve(instance, collective, until, solver)
    if arguments.format == "json":
        print_json(_document(solution))
    else:
        print_page(solution_page(solution))
    # After the answer is printed: a full disk must not cost it.
    if arguments.output is not None:
        write_document(arguments.output, _document(solution))
        note(f"saved in {arguments.output}")
    if arguments.proof is not None and solution.verdict is Verdict.UNSAT:
        done = session.refute(solution, arguments.proof, until)
        if done.file is None:
            note(f"no proof: {done.reason}")
        else:
            note(f"proof in {done.file}" + (f"; {done.reason}" if done.reason else ""))
    if solution.outcome.reason is StopReason.INTERRUPTED:
        return Exit.INTERRUPTED
    return {Verdict.SAT: Exit.OK, Verdict.UNSAT: Exit.IMPOSSIBLE}.get(
        solution.verdict, Exit.UNDECIDED
    )


def _document(solution: Solution) -> dict[str, object]:
    from syncoll.documents import outcome_document  # only where a document is wanted

    return outcome_document(solution)
