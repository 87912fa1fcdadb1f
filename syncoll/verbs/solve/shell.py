"""The shell's part of single questions."""

import argparse

import syncoll
from syncoll.cli import Exit, command, note


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code is the verdict."""

    def then(solution: "syncoll.SolutionResult") -> int:
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

    return command.run(arguments, then)
