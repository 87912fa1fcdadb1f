"""``syncoll solve TOPOLOGY COLLECTIVE -C -S -R``: one point."""

from __future__ import annotations

import argparse
import time
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
    from syncoll.deadline import Deadline
    from syncoll.model import Collective, Instance
    from syncoll.plugins import PluginManager
    from syncoll.results import Solution
    from syncoll.solving import Solver

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
    from syncoll.cli.arguments import deadline, library, make_instance, make_solver, manager
    from syncoll.cli.output import note, print_json
    from syncoll.documents import require_writable, write_document
    from syncoll.formula import StopReason, Verdict

    json_for_dash(arguments)
    if arguments.output is not None:
        require_writable(arguments.output)
    plugins = manager()
    specs = library(plugins)
    instance = make_instance(arguments, specs)
    collective = specs.collective(arguments.collective)
    until = deadline(arguments, arguments.time_limit)
    with make_solver(arguments, plugins) as solver:
        solution = _solve(solver, instance, collective, until)
    if arguments.format == "json":
        print_json(_document(solution))
    else:
        _show(solution)
    # After the answer is printed: a full disk must not cost it.
    if arguments.output is not None:
        write_document(arguments.output, _document(solution))
        note(f"saved in {arguments.output}")
    if arguments.proof is not None and solution.verdict is Verdict.UNSAT:
        _prove(arguments, plugins, solution, until)
    if solution.outcome.reason is StopReason.INTERRUPTED:
        return Exit.INTERRUPTED
    return {Verdict.SAT: Exit.OK, Verdict.UNSAT: Exit.IMPOSSIBLE}.get(
        solution.verdict, Exit.UNDECIDED
    )


def _document(solution: Solution) -> dict[str, object]:
    from syncoll.documents import outcome_document

    return outcome_document(solution)


def _prove(
    arguments: argparse.Namespace, plugins: PluginManager, solution: Solution, until: Deadline
) -> None:
    """Writes a refutation, or says why there is none."""
    from syncoll.cli.output import note
    from syncoll.deadline import OutOfTimeError, interrupted_at
    from syncoll.plugins import parse_options
    from syncoll.proofs.refute import refute_with_proof

    combining = solution.instance.combining
    try:
        until.check()
        with interrupted_at(until):
            done = refute_with_proof(
                solution.instance,
                arguments.proof,
                plugins,
                encoding=None if combining else solution.encoding,
                encoding_options={} if combining else parse_options(arguments.encoding_option),
                seconds=until.seconds,
                memory_bytes=arguments.memory_limit,
                seed=arguments.seed,
            )
    except OutOfTimeError:
        note("no proof: the time limit was reached")
        return
    if done.file is None:
        note(f"no proof: {done.reason}")
        return
    note(f"proof in {done.file}" + (f"; {done.reason}" if done.reason else ""))


def _solve(solver: Solver, instance: Instance, collective: Collective, until: Deadline) -> Solution:
    """The solver's answer; after Ctrl-C an answer that says so."""
    from syncoll.formula import FormulaSize, Outcome, StopReason, Verdict
    from syncoll.results import Solution
    from syncoll.search import solve_one

    began = time.perf_counter()
    try:
        return solve_one(
            solver,
            instance.topology,
            collective,
            chunks=instance.chunks,
            steps=instance.steps,
            rounds=instance.rounds,
            deadline=until,
        )
    except KeyboardInterrupt:
        nothing = FormulaSize(0, 0, 0, 0, 0, 0, 0, frozenset())
        return Solution(
            instance,
            Outcome(Verdict.UNKNOWN, reason=StopReason.INTERRUPTED),
            None,
            solver.encoding.name,
            solver.backend_name,
            nothing,
            nothing,
            {"solve": time.perf_counter() - began},
        )


def _show(solution: Solution) -> None:
    from syncoll.cli.output import counted, print_text
    from syncoll.cli.steps import show_algorithm
    from syncoll.formula import Verdict

    instance, outcome = solution.instance, solution.outcome
    question = (
        f"{instance.collective} on {instance.topology.name} with C = {instance.chunks}, "
        f"S = {instance.steps}, R = {instance.rounds}"
    )
    if solution.algorithm is not None:
        show_algorithm(instance, solution.algorithm)
        print_text()
        print_text(f"sat: {question}; verified.")
    elif outcome.verdict is Verdict.UNSAT:
        print_text(f"unsat: {question} has no algorithm.")
        if instance.steps < instance.least_steps:
            print_text(
                f"No algorithm with C = {instance.chunks} has fewer than "
                f"{counted(instance.least_steps, 'step')}."
            )
    else:
        print_text(f"unknown: {question} was not decided ({outcome.reason}).")
        if outcome.message:  # what a crashed solver wrote, stacks and all, is in the JSON
            print_text(outcome.message.partition("\n")[0])
    print_text(f"Encoding {solution.encoding}, backend {solution.backend}{_effort(solution)}.")


def _effort(solution: Solution) -> str:
    from syncoll.cli.output import counted

    size = ""
    if solution.size.variables or solution.size.constraints:
        size = (
            f": {counted(solution.size.variables, 'variable')}, "
            f"{counted(solution.size.constraints, 'constraint')}"
        )
    phases = [(name, f"{value:.2f}") for name, value in solution.seconds.items()]
    told = ", ".join(f"{name} {value}" for name, value in phases if float(value))
    total = sum(solution.seconds.values())
    return f"{size}; {total:.2f} seconds" + (f" ({told})" if told else "")
