"""The shell's part of repairs and surveys."""

import argparse

import syncoll
from syncoll.cli import Exit, command, json_for_dash, print_value
from syncoll.errors import UsageError
from syncoll.values import picked
from syncoll.verbs.pareto.shell import ended


def more(parser: argparse.ArgumentParser) -> None:
    """Adds --survey."""
    parser.add_argument(
        "--survey",
        choices=("links", "cables", "nodes", "switches"),
        help="in place of --without: each one in turn; links are directions, cables both of them",
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    if arguments.survey is not None:
        return _survey(arguments)
    for name in ("search_limit", "table"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} is for --survey")
    to_stdout = arguments.output is not None and str(arguments.output) == "-"
    json_for_dash(arguments)
    found = command.ask(arguments)
    shown = found.frontier if to_stdout else found
    code = ended(arguments, found.frontier, lambda: print_value(arguments, shown))
    return Exit.UNDECIDED if code is None else code


def _survey(arguments: argparse.Namespace) -> int:
    for name in ("without", "slow", "k", "max_steps", "max_rounds", "max_chunks", "point_limit"):
        if getattr(arguments, name) not in (None, []):
            raise UsageError(f"--{name.replace('_', '-')} and --survey: give one of them")
    how = picked(arguments, "topology collective search_limit time_limit work output progress")
    return command.run(
        arguments,
        lambda found: Exit.OK if found.found else Exit.UNDECIDED,
        lambda asked: syncoll.survey(asked.source, asked.survey, **how),
    )
