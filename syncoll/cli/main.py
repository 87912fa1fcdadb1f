"""The entry point: parses arguments, runs a command, turns errors into one clear message."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import syncoll
from syncoll.cli import (
    bounds,
    explain,
    pareto,
    plugins,
    schema,
    search,
    show,
    solve,
    spec,
    verify,
)
from syncoll.cli.exits import Exit
from syncoll.cli.output import note
from syncoll.errors import SyncollError

__all__ = ["build_parser", "main"]

_COMMANDS = (pareto, search, solve, bounds, verify, show, spec, explain, plugins, schema)

_DESCRIPTION = """\
Synthesises provably optimal collective communication algorithms.

  syncoll pareto dgx1 allgather             the Pareto frontier of a collective on a machine
  syncoll solve dgx1 allgather -C 6 -S 3 -R 7   one point of it
  syncoll spec list                         the machines and collectives that come with syncoll
"""

_EPILOG = """\
A machine or collective is written as a name with arguments (ring(8), "broadcast(root=3)"; quote
parentheses in a shell) or as FILE:NAME for a spec file of your own.

exit codes: 0 found or proved; 1 proved impossible (solve: unsat); 2 bad input or usage;
3 stopped by a limit with nothing decided; 130 interrupted.
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="syncoll",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"syncoll {syncoll.__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", required=True)
    for command in _COMMANDS:
        command.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; returns its exit code."""
    parsed = build_parser().parse_args(arguments)
    try:
        code = int(parsed.run(parsed))
        sys.stdout.flush()
    except SyncollError as error:
        note(f"syncoll: {error}")
        return Exit.BAD_INPUT
    except KeyboardInterrupt:
        note("syncoll: interrupted")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (`syncoll show … | head`); that is no error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    return code
