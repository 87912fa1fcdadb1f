"""Runs a `search { … }` block of a spec file, which names the machine, the collective and the
bounds. Options given here go before what the file says.  `syncoll spec list` shows the searches
that come with syncoll.

  syncoll search dgx1_allgather
  syncoll search my-searches.syncoll:overnight -o frontier.json

Ctrl-C, --time-limit and the exit codes are those of `syncoll pareto`.
"""

from __future__ import annotations

import argparse

import syncoll
from syncoll.cli.options import add, add_solver
from syncoll.cli.search_command import add_search, run_search

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own."""
    add(parser, {"reference SEARCH": "FILE:NAME, or a shipped search"})
    add_search(parser)
    add_solver(parser, pool=True)
    parser.set_defaults(kinds={"reference": "search"})


def run(arguments: argparse.Namespace) -> int:
    """Runs the command; its exit code."""
    return run_search(
        arguments,
        lambda how: syncoll.search(arguments.reference, **how),
        lambda: arguments.session.specs.search(arguments.reference).backend,
    )
