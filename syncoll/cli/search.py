"""``syncoll search REFERENCE``: a search as written in a spec file."""

from __future__ import annotations

import argparse
from typing import TypeVar

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


_T = TypeVar("_T")


def _first(given: _T | None, written: _T | None) -> _T | None:
    return written if given is None else given


def _run(arguments: argparse.Namespace) -> int:
    from syncoll.searching import SearchRequest, Strategy

    check_output(arguments)
    spec = arguments.session.specs.search(arguments.reference)
    request = SearchRequest(
        spec.topology,
        spec.collective,
        Strategy(arguments.strategy),
        _first(arguments.k, spec.k),
        _first(arguments.max_steps, spec.steps),
        _first(arguments.max_rounds, spec.rounds),
        _first(arguments.max_chunks, spec.chunks),
        _first(arguments.time_limit, spec.seconds),
        arguments.point_limit,
    )
    return run_search(arguments, request, encoding=spec.encoding, backend=spec.backend)
