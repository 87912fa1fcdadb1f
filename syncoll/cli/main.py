"""The entry point: parses arguments, runs a command, turns errors into one clear message."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

import syncoll
from syncoll import memory
from syncoll.cli import (
    bounds,
    check,
    explain,
    export,
    forest,
    import_,
    pareto,
    plan,
    plugins,
    run,
    schema,
    search,
    show,
    solve,
    spec,
    store,
    verify,
)
from syncoll.cli.arguments import resolve_names
from syncoll.cli.exits import Exit
from syncoll.cli.output import flush, note
from syncoll.cli.parser import Parser
from syncoll.cli.session_options import settings_of
from syncoll.errors import OutOfTimeError, SyncollError
from syncoll.session import Session

__all__ = ["TRACEBACK_VARIABLE", "build_parser", "main"]

TRACEBACK_VARIABLE = "SYNCOLL_TRACEBACK"
"""The environment variable that shows where an error came from: for whoever writes a plugin."""

_COMMANDS = (
    pareto,
    search,
    solve,
    bounds,
    forest,
    verify,
    check,
    run,
    export,
    plan,
    import_,
    show,
    spec,
    explain,
    plugins,
    schema,
    store,
)

_DESCRIPTION = """\
Synthesises provably optimal collective communication algorithms.

  syncoll pareto dgx1 allgather                  the Pareto frontier of a collective on a machine
  syncoll solve dgx1 allgather -C 6 -S 3 -R 7    one point of it
  syncoll check frontier.json                    every claim of a saved frontier, without a solver
  syncoll spec list                              machines and collectives that come with syncoll
"""

_EPILOG = """\
A machine or collective is written as a name with arguments ("ring(8)", "broadcast(root=3)"; quote
parentheses in a shell), as FILE:NAME for a spec file of your own, or as IMPORTER:FILE for what
another tool says of a machine (nvidia-smi:topo.txt).

exit codes: 0 found or proved; 1 proved impossible (solve: unsat) or found to be wrong (verify of
an export); 2 bad input or usage; 3 stopped by a limit with nothing decided; 4 nothing wrong was
found, but not everything could be checked (check, verify); 130 interrupted (what is known is
printed and saved); 70 a bug of syncoll's own.
"""


def build_parser() -> Parser:
    """The parser with all commands."""
    parser = Parser(prog="syncoll", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"syncoll {syncoll.__version__}")
    commands = parser.add_subparsers(
        title="commands",
        dest="command",
        metavar="COMMAND",
        help="`syncoll COMMAND --help` explains it, with examples",
    )
    for command in _COMMANDS:
        command.add_parser(commands)
    _tell_names(parser)
    return parser


def _tell_names(parser: argparse.ArgumentParser) -> None:
    """Lets every command's arguments name the parser that read them, for its error messages."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                command.set_defaults(parser=command)
                _tell_names(command)


def _tell(text: str) -> None:
    note(f"syncoll: {text}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; returns its exit code."""
    began = time.perf_counter()
    try:
        parsed = build_parser().parse(arguments)
        parsed.began = began
        parsed.session = session = Session(
            settings_of(parsed), tell=_tell, plugins=getattr(parsed, "plugins", None)
        )
        with memory.command(session.settings.memory_limit, _tell):
            resolve_names(parsed)
            code = int(parsed.run(parsed))
        flush()
    except OutOfTimeError as error:
        note(f"syncoll: {error}, with nothing decided")
        return Exit.UNDECIDED
    except SyncollError as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            import traceback

            note(traceback.format_exc().rstrip())
        note(f"syncoll: {error}")
        return Exit.BAD_INPUT
    except KeyboardInterrupt:
        note("syncoll: interrupted")
        return Exit.INTERRUPTED
    except MemoryError as error:
        why = f": {error}" if str(error) else ""
        note(f"syncoll: out of memory{why}; try fewer steps, chunks or nodes")
        return Exit.UNDECIDED
    except Exception:
        import traceback

        note(f"{traceback.format_exc()}syncoll: this is a bug of syncoll's own; please report it")
        return Exit.BUG
    return code
