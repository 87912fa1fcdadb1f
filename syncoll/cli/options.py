"""Options of commands, declared as the help shows them, and those that several commands share.

::

    add(
        parser,
        {
            "file FILE": "an argument by its place",
            "collective [COLLECTIVE]": "one that can be left out",
            "-o, --output FILE": "an option with a value",
            "--prices": "a flag",
            "--sharing in-turn|fair": "a choice, of which the first is the default",
            "--factor N = 4": "a value with a default",
            "--where CONDITION ...": "one that can be given several times",
            "--steps N": (count, "one whose values are read differently than elsewhere"),
        },
    )

An option of one name takes the same values in every command, see `_TYPES`.  A default is part of
its help, unless the text says more about it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from syncoll.errors import UsageError
from syncoll.session.settings import STORE_VARIABLE
from syncoll.units import parse_limit, parse_memory, parse_size

__all__ = [
    "BETA_IN_FILE",
    "COLLECTIVE_MEANT",
    "FILE",
    "FORMAT",
    "MEMORY_LIMIT",
    "TIMING",
    "WORK",
    "add",
    "add_in_place",
    "add_instance",
    "add_meant",
    "add_problem",
    "add_solver",
    "count",
    "output_file",
    "output_folder",
    "progress",
    "time_limit",
]

_T = TypeVar("_T")


# Values -------------------------------------------------------------------------------------------


def _parsed(parse: Callable[[str], _T], text: str) -> _T:
    """The value of a text; errors are those that the parser of arguments wants."""
    try:
        return parse(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _duration(text: str) -> float:
    """Seconds from texts such as ``90``, ``1.5s``, ``2min``, ``1h``."""
    return float(_parsed(parse_limit, text))


def _size(text: str) -> int:
    """Bytes from texts such as ``512``, ``64KiB`` or ``1MB``."""
    return _parsed(parse_size, text)


def _size_or_none(text: str) -> int:
    """The same, or 0."""
    return 0 if re.fullmatch(r"0+", text) else _size(text)


def _memory(text: str) -> int:
    """Bytes from texts such as ``4GiB`` or ``500MB``."""
    return _parsed(parse_memory, text)


def _work(text: str) -> float:
    """Units of work, a number."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of units, such as 30")
    return float(text)


def _amount(text: str) -> int:
    """A whole number of at least 0."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 999999999")
    return int(text)


def count(text: str) -> int:
    """A whole number of at least 1."""
    if _amount(text) == 0:
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


def _store_name(text: str) -> str:
    """The name of a store, or ``none``."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty; write none for no store")
    return text


_TYPES: dict[str, Callable[[str], object]] = {
    name: read
    for read, names in (
        (_amount, "k max-rounds max-steps root rounds seed steps"),
        (count, "chunks depth factor fixed-k jobs max-chunks most nodes ranks repeats threads"),
        (_size, "packet size trace-size"),
        (_size_or_none, "header max-bytes min-bytes"),
        (_duration, "point-limit search-limit time-limit"),
        (_work, "work"),
        (_memory, "memory-limit"),
        (_store_name, "store"),
        (output_file, "output plot report table trace"),
        (Path, "file"),
    )
    for name in names.split()
}
"""By name of the option how its value is read; texts by default."""


# Declarations -------------------------------------------------------------------------------------

Declared = Mapping[str, str | tuple[Callable[[str], object], str]]
"""By its usage the help of an argument, or how its value is read and its help."""

_USAGE = re.compile(r"(?:(-\w), )?([\w-]+)(?: (.+?))?( \.\.\.)?(?: = (.+))?")


def add(parser: argparse._ActionsContainer, declared: Declared, *, required: bool = False) -> None:
    """Adds arguments to a parser or a group, see the module; `required`: whether all must be."""
    for usage, told in declared.items():
        match = _USAGE.fullmatch(usage)
        assert match is not None, usage
        short, name, value, several, default = match.groups()
        read, text = told if isinstance(told, tuple) else (_TYPES.get(name.lstrip("-")), told)
        how: dict[str, Any] = {"action": "store_true"} if value is None else {"type": read}
        if value is not None and "|" in value:
            how["choices"] = value.split("|")
            default = how["choices"][0]
        elif value is not None:
            how["metavar"] = value.strip("[]")
            if value.startswith("["):
                how["nargs"] = "?"
        if several:
            how |= {"action": "append", "default": []}
        if default is not None:
            how["default"] = default
            text += "" if "default" in text else f" (default: {default})"
        if required:
            how["required"] = True
        parser.add_argument(*([short] if short else []), name, **how, help=text)


# Arguments that several commands share ------------------------------------------------------------

FILE = {"file FILE": "saved with -o"}

FORMAT = {"--format table|json": "json prints one object on standard output and nothing else"}

TIMING = {
    "--timing asynchronous|lockstep": "a send leaves when its data is there and its lane is free, "
    "or with all of its step",
}

WORK = {
    "--work N": "in place of --time-limit: N units of work, each about one second of one core, "
    "counted by solvers, bounds and seeds; they run in one thread and without the store, so that "
    "every run finds the same under any load",
}

MEMORY_LIMIT = {
    "--memory-limit SIZE": "of the whole command, its process and its solvers' together, such as "
    "4GiB; what would not fit is left out; on a cluster, of each process there (default: half of "
    "what is free)",
}

COLLECTIVE_MEANT = {"--collective COLLECTIVE": "that it is (default: by the name in the file)"}

BETA_IN_FILE = {
    "--beta BANDWIDTH": "of a link of one chunk per round, such as 25GB/s (default: what the file "
    "says, if its machine has units)",
}

_SOLVER = {
    "--encoding NAME": "how an instance becomes a formula; auto for the usual one (default: auto)",
    "--backend NAME": "the solver; several at once as cpsat+pysat, of which the first to decide "
    "counts; auto for the best installed ones (default: auto)",
    "--encoding-option NAME=VALUE ...": "an option of the encoding; `syncoll plugins --options` "
    "lists them; repeatable",
    "--backend-option NAME=VALUE ...": "an option of the backend, as NAME or cpsat.NAME; `syncoll "
    "plugins --options` lists them; repeatable",
    "--threads N": "of the solver, or of all at once together (default: the cores, from 2 to 8)",
    "--seed N = 0": "of the solver's choices",
    **MEMORY_LIMIT,
}

_POOL = {
    "--store FILE": "where answers are kept as they come, so that a search that was stopped, or "
    "asked again, also under other node numbers, does not start anew; none: nowhere (default: "
    f"${STORE_VARIABLE}, else a file in your cache folder, see `syncoll store`)",
    "--seeds NAMES": "heuristics that the search starts from: auto, none, or names with commas "
    "between them, see `syncoll plugins`; as --backend NAME one is asked alone (default: auto)",
    "--jobs N": "so many (S, R, C) at once, each with a solver of its own (default: 1)",
    "--executor WHERE": "where the solvers run: local, processes, or a Dask cluster as "
    "dask://HOST:PORT (default: local)",
}


def time_limit(more: str) -> dict[str, str]:
    """--time-limit of the whole command, and what more its help says."""
    text = "for the whole command, from its start, such as 30s, 2min"
    return {"--time-limit TIME": f"{text}{more}"}


def progress(more: str = "") -> dict[str, str]:
    """--progress, with more styles than the usual ones, such as ``log|``."""
    text = "on standard error (default: auto, which is live on a terminal, else none)"
    return {f"--progress auto|live|plain|{more}none": text}


def add_problem(parser: argparse.ArgumentParser) -> None:
    """TOPOLOGY and COLLECTIVE."""
    named = {
        "topology TOPOLOGY": 'such as dgx1, "ring(8)", FILE:NAME, or IMPORTER:FILE such as '
        "nvidia-smi:topo.txt",
        "collective COLLECTIVE": 'such as allgather, "broadcast(root=3)", FILE:NAME',
    }
    add(parser, named)
    parser.set_defaults(kinds={"topology": "topology", "collective": "collective"})


def add_instance(parser: argparse.ArgumentParser) -> None:
    """-C, -S and -R, all required."""
    declared = {
        "-C, --chunks C": "chunks into which one node's data is cut",
        "-S, --steps S": "steps, at most",
        "-R, --rounds R": "rounds, all steps together",
    }
    add(parser, declared, required=True)


def add_meant(parser: argparse.ArgumentParser) -> None:
    """--topology and --collective of commands that check files."""
    nouns = {"topology": "machine", "collective": "collective"}
    for name, noun in nouns.items():
        add(parser, {f"--{name} {name.upper()}": f"the {noun} that the file must be about"})
    parser.set_defaults(kinds={name: name for name in nouns})


def add_in_place(parser: argparse._ActionsContainer) -> None:
    """--in-place."""
    parser.add_argument(
        "--in-place",
        "--inplace",
        dest="in_place",
        action="store_true",
        help="for calls whose input and output are one buffer (default: two)",
    )


def add_solver(parser: argparse.ArgumentParser, *, pool: bool = False) -> None:
    """Encoding, backend, their options and limits; with `pool` also store, seeds and jobs."""
    add(parser.add_argument_group("solver"), _SOLVER)
    if pool:
        add(parser.add_argument_group("answers"), _POOL)
