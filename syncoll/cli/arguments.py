"""Arguments that several commands share, and how they become objects."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from syncoll.errors import SpecError, UsageError
from syncoll.session import Settings
from syncoll.session.settings import STORE_VARIABLE
from syncoll.units import parse_limit, parse_memory, parse_size

if TYPE_CHECKING:
    from syncoll.spec import Kind, SpecLibrary

__all__ = [
    "STANDARD_OUTPUT",
    "add_format",
    "add_in_place",
    "add_instance",
    "add_meant",
    "add_memory_limit",
    "add_problem",
    "add_progress",
    "add_solver",
    "add_time_limit",
    "add_timing",
    "add_work",
    "amount",
    "count",
    "duration",
    "json_for_dash",
    "memory",
    "output_file",
    "output_folder",
    "resolve_names",
    "settings_of",
    "size",
    "store_name",
    "work",
]

STANDARD_OUTPUT = Path("-")
"""What ``-o -`` names."""


def duration(text: str) -> float:
    """Seconds from texts such as ``90``, ``1.5s``, ``2min``, ``1h``."""
    return float(_parsed(parse_limit, text))


def size(text: str) -> int:
    """Bytes from texts such as ``512``, ``64KiB`` or ``1MB``."""
    return _parsed(parse_size, text)


def work(text: str) -> float:
    """Units of work, a number."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of units, such as 30")
    return float(text)


def memory(text: str) -> int:
    """Bytes from texts such as ``4GiB`` or ``500MB``."""
    return _parsed(parse_memory, text)


_T = TypeVar("_T")


def _parsed(parse: Callable[[str], _T], text: str) -> _T:
    """What a text means, or the complaint as the parser of arguments wants it."""
    try:
        return parse(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def amount(text: str) -> int:
    """A whole number of at least 0."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 999999999")
    return int(text)


def count(text: str) -> int:
    """A whole number of at least 1."""
    if amount(text) == 0:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return int(text)


def output_file(text: str) -> Path:
    """The name of a file to write."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty")
    return Path(text)


def output_folder(text: str) -> Path:
    """The name of a folder to write into."""
    if text == "-":
        raise argparse.ArgumentTypeError(
            "a folder cannot be written to standard output; give its name"
        )
    return output_file(text)


def json_for_dash(arguments: argparse.Namespace) -> None:
    """``-o -`` of a command that saves JSON: that is what ``--format json`` prints, and all."""
    if arguments.output == STANDARD_OUTPUT:
        arguments.output, arguments.format = None, "json"


def add_problem(parser: argparse.ArgumentParser) -> None:
    """TOPOLOGY and COLLECTIVE."""
    parser.add_argument(
        "topology",
        metavar="TOPOLOGY",
        help='such as dgx1, "ring(8)", FILE:NAME, or IMPORTER:FILE such as nvidia-smi:topo.txt',
    )
    parser.add_argument(
        "collective", metavar="COLLECTIVE", help='such as allgather, "broadcast(root=3)", FILE:NAME'
    )
    parser.set_defaults(kinds={"topology": "topology", "collective": "collective"})


def add_instance(parser: argparse.ArgumentParser) -> None:
    """-C, -S and -R."""
    parser.add_argument(
        "-C",
        "--chunks",
        type=count,
        required=True,
        metavar="C",
        help="chunks into which one node's data is cut",
    )
    parser.add_argument(
        "-S", "--steps", type=amount, required=True, metavar="S", help="steps, at most"
    )
    parser.add_argument(
        "-R", "--rounds", type=amount, required=True, metavar="R", help="rounds, all steps together"
    )


def add_meant(parser: argparse.ArgumentParser) -> None:
    """--topology and --collective of commands that check files."""
    for name, noun in (("topology", "machine"), ("collective", "collective")):
        parser.add_argument(
            f"--{name}", metavar=name.upper(), help=f"the {noun} that the file must be about"
        )
    parser.set_defaults(kinds={"topology": "topology", "collective": "collective"})


def add_time_limit(parser: argparse._ActionsContainer, more: str) -> None:
    """--time-limit of the whole command, and what more its help says."""
    parser.add_argument(
        "--time-limit",
        type=duration,
        metavar="TIME",
        help=f"for the whole command, from its start, such as 30s, 2min{more}",
    )


def add_work(parser: argparse._ActionsContainer) -> None:
    """--work of a command that can count work."""
    parser.add_argument(
        "--work",
        type=work,
        metavar="N",
        help="in place of --time-limit: N units of work, each about one second of one core, "
        "counted by solvers, bounds and seeds; they run in one thread and without the store, so "
        "that every run finds the same under any load",
    )


def add_memory_limit(parser: argparse._ActionsContainer) -> None:
    """--memory-limit of the whole command."""
    parser.add_argument(
        "--memory-limit",
        type=memory,
        metavar="SIZE",
        help="of the whole command, its process and its solvers' together, such as 4GiB; what "
        "would not fit is left out; on a cluster, of each process there (default: half of what is "
        "free)",
    )


def add_progress(parser: argparse._ActionsContainer, *more: str) -> None:
    """--progress, with more styles than the usual ones."""
    parser.add_argument(
        "--progress",
        choices=("auto", "live", "plain", *more, "none"),
        default="auto",
        help="on standard error (default: auto, which is live on a terminal, else none)",
    )


def add_timing(parser: argparse._ActionsContainer) -> None:
    """--timing."""
    parser.add_argument(
        "--timing",
        choices=("asynchronous", "lockstep"),
        default="asynchronous",
        help="a send leaves when its data is there and its lane is free, or with all of its step "
        "(default: asynchronous)",
    )


def add_in_place(parser: argparse._ActionsContainer) -> None:
    """--in-place."""
    parser.add_argument(
        "--in-place",
        "--inplace",
        dest="in_place",
        action="store_true",
        help="for calls whose input and output are one buffer (default: two)",
    )


def add_format(parser: argparse._ActionsContainer) -> None:
    """--format."""
    parser.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help="json prints one object on standard output and nothing else (default: table)",
    )


def add_solver(parser: argparse.ArgumentParser, *, pool: bool = False) -> None:
    """Encoding, backend, their options and limits; with `pool` also store, seeds and jobs."""
    group = parser.add_argument_group("solver")
    group.add_argument(
        "--encoding",
        metavar="NAME",
        help="how an instance becomes a formula; auto for the usual one (default: auto)",
    )
    group.add_argument(
        "--backend",
        metavar="NAME",
        help="the solver; several at once as cpsat+pysat, of which the first to decide counts; "
        "auto for the best installed ones (default: auto)",
    )
    for what, more in (("encoding", ""), ("backend", ", as NAME or cpsat.NAME")):
        group.add_argument(
            f"--{what}-option",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help=f"an option of the {what}{more}; `syncoll plugins --options` lists them; "
            "repeatable",
        )
    group.add_argument(
        "--threads",
        type=count,
        metavar="N",
        help="of the solver, or of all at once together (default: the cores, from 2 to 8)",
    )
    group.add_argument(
        "--seed", type=amount, default=0, metavar="N", help="of the solver's choices (default: 0)"
    )
    add_memory_limit(group)
    if not pool:
        return
    group = parser.add_argument_group("answers")
    group.add_argument(
        "--store",
        type=store_name,
        metavar="FILE",
        help="where answers are kept as they come, so that a search that was stopped, or asked "
        "again, also under other node numbers, does not start anew; none: nowhere (default: "
        f"${STORE_VARIABLE}, else a file in your cache folder, see `syncoll store`)",
    )
    group.add_argument(
        "--seeds",
        metavar="NAMES",
        help="heuristics that the search starts from: auto, none, or names with commas between "
        "them, see `syncoll plugins`; as --backend NAME one is asked alone (default: auto)",
    )
    group.add_argument(
        "--jobs",
        type=count,
        metavar="N",
        help="so many (S, R, C) at once, each with a solver of its own (default: 1)",
    )
    group.add_argument(
        "--executor",
        metavar="WHERE",
        help="where the solvers run: local, processes, or a Dask cluster as dask://HOST:PORT "
        "(default: local)",
    )


def store_name(text: str) -> str:
    """The name of a store, or ``none``."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty; write none for no store")
    return text


def settings_of(arguments: argparse.Namespace) -> Settings:
    """What the options of `add_solver` say, where the command has them.

    Raises:
        OptionError: on an option of a plugin that is not written as NAME=VALUE.
    """
    named = {field.name for field in fields(Settings)}
    given = {
        name: value
        for name, value in vars(arguments).items()
        if name in named and value is not None
    }
    for name in ("encoding_option", "backend_option"):
        settings = getattr(arguments, name, None)
        if settings:
            from syncoll.plugins import parse_options  # which loads their host

            given[f"{name}s"] = parse_options(settings)
    return Settings(**given)


def resolve_names(arguments: argparse.Namespace) -> None:
    """Makes sure that what the arguments name is there, before a command loads what it needs.

    Raises:
        SpecError: when nothing has such a name.
        UsageError: when a topology stands where a collective should, and the other way round.
    """
    wanted: dict[str, Kind] = {
        argument: kind
        for argument, kind in getattr(arguments, "kinds", {}).items()
        if getattr(arguments, argument) is not None
    }
    if not wanted:
        return
    specs = arguments.session.specs
    for argument, kind in wanted.items():
        try:
            specs.expect(kind, getattr(arguments, argument))
        except SpecError:
            _refuse_swapped(arguments, specs)
            raise


def _refuse_swapped(arguments: argparse.Namespace, specs: SpecLibrary) -> None:
    """Suggests the command line with the topology and the collective in their places."""
    first, second = (getattr(arguments, name, None) for name in ("topology", "collective"))
    if first is None or second is None:
        return
    try:
        specs.expect("collective", first)
        specs.expect("topology", second)
    except SpecError:
        return
    turned = {first: second, second: first}
    line = shlex.join(turned.get(word, word) for word in arguments.words)
    raise UsageError(
        f"{first} is a collective and {second} is a topology; exchange them:\n  syncoll {line}"
    )
