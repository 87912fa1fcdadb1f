"""The entry point: parses arguments, runs a command, turns errors into one clear message."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import traceback
from collections.abc import Sequence

from syncoll import memory
from syncoll.api.base import command
from syncoll.cli.arguments import resolve_names, settings_of
from syncoll.cli.exits import Exit
from syncoll.cli.output import flush, note
from syncoll.cli.parser import Parser
from syncoll.errors import OutOfTimeError, SyncollError
from syncoll.interrupts import ctrl_c
from syncoll.session import Session
from syncoll.version import __version__
from syncoll.wording import arguments_as_options

__all__ = ["TRACEBACK_VARIABLE", "build_parser", "main"]

TRACEBACK_VARIABLE = "SYNCOLL_TRACEBACK"
"""The environment variable that shows where an error came from: for authors of plugins."""

_COMMANDS = {
    "recommend": "the fastest algorithm for each message size, in one command, with its files",
    "pareto": "the Pareto frontier of a collective on a machine",
    "search": "the Pareto frontier of a search written in a spec file",
    "solve": "one (S, R, C): is there an algorithm?",
    "bounds": "proved lower bounds on steps and bandwidth cost",
    "design": "which network to build: bounds and costs of many machines at once",
    "repair": "the best algorithms of a machine on which something broke",
    "forest": "the optimal throughput of a network, its bottleneck, and trees that reach it",
    "verify": "replay every algorithm of a file",
    "check": "check every claim of a frontier's file",
    "run": "run every algorithm of a file on data, and compare with the definition",
    "export": "write algorithms as files that a runtime loads",
    "plan": "which algorithm of a frontier for which message size; plots and exports them",
    "report": "one page about a frontier: points, bounds, times, the network and the proofs",
    "simulate": "what algorithms take on their physical network, with the classics beside them",
    "import": "a machine's description from another tool as a spec",
    "show": "a machine, a collective, or a stored algorithm step by step",
    "spec": "check a spec file; list what comes with syncoll",
    "explain": "the formula of an instance and its lowerings, without solving",
    "plugins": "what is installed, licensed and able to run here",
    "schema": "the JSON Schema of syncoll's files",
    "store": "what searches have found out so far",
}

_DESCRIPTION = """\
Synthesises provably optimal collective communication algorithms.

  syncoll recommend "dgx_h100(boxes=2)" allreduce  the fastest algorithms, in microseconds
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


def build_parser(words: Sequence[str] | None = None) -> Parser:
    """The parser of a command line, with the arguments of the command that its words begin with.

    Without words all commands have their arguments.
    """
    parser = Parser(prog="syncoll", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"syncoll {__version__}")
    commands = parser.add_subparsers(
        title="commands",
        dest="command",
        metavar="COMMAND",
        help="`syncoll COMMAND --help` explains it, with examples",
    )
    chosen = next((word for word in words or () if not word.startswith("-")), None)
    for name, summary in _COMMANDS.items():
        one = commands.add_parser(name, help=summary)
        if words is None or name == chosen:
            module = importlib.import_module(f"syncoll.cli.{name.replace('import', 'import_')}")
            one.description = module.__doc__
            one.set_defaults(run=getattr(module, "run", None))
            module.add_arguments(one)
    _tell_names(parser)
    return parser


def _tell_names(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                one.set_defaults(parser=one)
                _tell_names(one)


def _tell(text: str) -> None:
    note(f"syncoll: {text}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; returns its exit code."""
    began = time.perf_counter()
    words = list(sys.argv[1:] if arguments is None else arguments)
    smaller = "fewer steps, chunks or nodes"
    try:
        with arguments_as_options():
            parsed = build_parser(words).parse(words)
            smaller = getattr(parsed, "smaller", smaller)  # what helps with this command
            parsed.session = session = Session(
                settings_of(parsed), tell=_tell, plugins=getattr(parsed, "plugins", None)
            )
            limited = memory.command(session.settings.memory_limit, _tell)
            with ctrl_c(), limited, command(session, began):
                resolve_names(parsed)
                code = int(parsed.run(parsed))
        flush()
    except OutOfTimeError as error:
        note(f"syncoll: {error}, with nothing decided")
        return Exit.UNDECIDED
    except SyncollError as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            note(traceback.format_exc().rstrip())
        note(f"syncoll: {error}")
        return Exit.BAD_INPUT
    except KeyboardInterrupt:
        note("syncoll: interrupted")
        return Exit.INTERRUPTED
    except MemoryError as error:
        why = f": {error}" if str(error) else ""
        note(f"syncoll: out of memory{why}; try {smaller}")
        return Exit.UNDECIDED
    except Exception:
        note(f"{traceback.format_exc()}syncoll: this is a bug of syncoll's own; please report it")
        return Exit.BUG
    return code
