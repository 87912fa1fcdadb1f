"""``syncoll search REFERENCE``: a search as written in a spec file."""

from __future__ import annotations

import argparse

from syncoll.cli.arguments import Subparsers, add_solver
from syncoll.cli.search_command import add_search, check_output, run_search
from syncoll.cli.session_options import add_answers

__all__ = ["add_parser"]

_DESCRIPTION = """\
Runs a `search { … }` block of a spec file, which names the machine, the collective and the bounds.
Options given here go before what the file says.  `syncoll spec list` shows the searches that come
with syncoll.

  syncoll search dgx1_allgather
  syncoll search my-searches.syncoll:overnight -o frontier.json

Ctrl-C, --time-limit and the exit codes are those of `syncoll pareto`.
"""


def add_parser(commands: Subparsers[argparse.ArgumentParser]) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "search",
        help="the Pareto frontier of a search written in a spec file",
        description=_DESCRIPTION,
    )
    parser.add_argument("reference", metavar="SEARCH", help="FILE:NAME, or a shipped search")
    add_search(parser)
    add_solver(parser)
    add_answers(parser)
    parser.set_defaults(run=_run, kinds={"reference": "search"})


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.searching import Strategy
    from syncoll.session.reference import written_search

    check_output(arguments)
    limits = ("k", "max_steps", "max_rounds", "max_chunks", "time_limit", "point_limit")
    request, spec = written_search(
        arguments.session.specs,
        arguments.reference,
        Strategy(arguments.strategy),
        {name: getattr(arguments, name) for name in limits},
    )
    return run_search(arguments, request, encoding=spec.encoding, backend=spec.backend)
