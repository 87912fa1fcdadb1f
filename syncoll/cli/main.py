"""The entry point: parses arguments, runs a command, turns errors into one clear message."""

import os
import sys
import time
import traceback
from collections.abc import Sequence

from syncoll import memory
from syncoll.cli.arguments import resolve_names, settings_of, take_sweep
from syncoll.cli.command import add_verb
from syncoll.cli.exits import Exit
from syncoll.cli.output import flush, note
from syncoll.cli.parser import Parser
from syncoll.errors import OutOfTimeError, SyncollError
from syncoll.interrupts import ctrl_c
from syncoll.session import Session
from syncoll.verbs.asking import command
from syncoll.verbs.declaration import Verb, verbs
from syncoll.version import __version__
from syncoll.wording import arguments_as_options

TRACEBACK_VARIABLE = "SYNCOLL_TRACEBACK"
"""The environment variable that adds tracebacks to errors, for authors of plugins."""

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
parentheses in a shell), as FILE:NAME for a spec file of your own, or as IMPORTER:FILE for the
output of another tool (nvidia-smi:topo.txt).

exit codes: 0 found or proved; 1 proved impossible (solve: unsat) or found to be wrong (verify of
an export); 2 bad input or usage; 3 stopped by a limit with nothing decided; 4 nothing wrong was
found, but not everything could be checked (check, verify); 130 interrupted (all results so far
are printed and saved); 70 a bug in syncoll.
"""


def build_parser(words: Sequence[str] | None = None) -> Parser:
    """The parser of a command line, with the arguments of the command that its words begin with.
    Without words all commands have their arguments."""
    parser = Parser(prog="syncoll", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"syncoll {__version__}")
    parser.set_defaults(parser=parser)
    names = None if words is None else [word for word in words if not word.startswith("-")]
    _add_commands(parser, verbs(), names)
    return parser


def _add_commands(parser: Parser, found: Sequence[Verb], words: Sequence[str] | None) -> None:
    """Adds commands; only the first of the words has its arguments, or all without words."""
    of = parser.prog
    commands = parser.add_subparsers(
        title="commands",
        dest="command" if parser.prog == "syncoll" else "part",
        metavar="COMMAND",
        help=f"`{of} COMMAND --help` explains it, with examples",
    )
    for verb in found:
        # Summaries are shown only if no command is named; the others need not be loaded then.
        one = commands.add_parser(verb.name, help="" if words else verb.summary)
        one.set_defaults(parser=one)
        if words is not None and words[:1] != [verb.name]:
            continue
        one.description = verb.module.__doc__
        if verb.parts:
            _add_commands(one, verb.parts, words and words[1:])
        else:
            add_verb(one, verb)


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
            smaller = getattr(parsed, "smaller", smaller)
            parsed.session = session = Session(
                settings_of(parsed), tell=_tell, plugins=getattr(parsed, "plugins", None)
            )
            limited = memory.command(session.settings.memory_limit, _tell)
            with ctrl_c(), limited, command(session, began):
                take_sweep(parsed)
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
