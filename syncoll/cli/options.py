"""Options of commands, declared as the help shows them, and parameters of verbs as options.

::

    add(
        parser,
        {
            "file FILE": "a positional argument",
            "collective [COLLECTIVE]": "an optional argument",
            "-o, --output FILE": "an option with a value",
            "--prices": "a flag",
            "--sharing in-turn|fair": "a choice; the first value is the default",
            "--factor N = 4": "a value with a default",
            "--where CONDITION ...": "an option that can be given several times",
        },
    )

An option of one name takes the same values in every command, see `_VALUES`.  The help ends with the
default, unless the text mentions it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from syncoll.errors import UsageError
from syncoll.units import parse_limit, parse_memory, parse_size
from syncoll.verbs.declaration import Parameter

__all__ = ["Usage", "add", "add_parameter", "name_in"]

_T = TypeVar("_T")


# Values -------------------------------------------------------------------------------------------


def _parsed(parse: Callable[[str], _T], text: str) -> _T:
    """The value of a text; an error is an error of the parser of arguments."""
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


def _count(text: str) -> int:
    """A whole number of at least 1."""
    if _amount(text) == 0:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return int(text)


def _output_file(text: str) -> Path:
    """The name of a file to write."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty")
    return Path(text)


def _output_folder(text: str) -> Path:
    """The name of a folder to write into."""
    if text == "-":
        raise argparse.ArgumentTypeError(
            "a folder cannot be written to standard output; give its name"
        )
    return _output_file(text)


def _store_name(text: str) -> str:
    """The name of a store, or ``none``."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the file is empty; write none for no store")
    return text


def _point(text: str) -> tuple[int, ...]:
    """A number, or S, R and C."""
    match = re.fullmatch(r"\s*([0-9]{1,9})(?:\s*,\s*([0-9]{1,9})\s*,\s*([0-9]{1,9}))?\s*", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a point; write its number from 0, or S,R,C such as 3,7,6"
        )
    return tuple(int(part) for part in match.groups() if part is not None)


def _output_name(text: str) -> str:
    """The name of a file or a folder, with the slash at its end."""
    return str(_output_file(text)) and text


def _classics(text: str) -> bool | list[str]:
    """The value of `classics`: all, none, or the names that commas separate."""
    return text == "all" or ([] if text == "none" else text.split(","))


_VALUES: dict[str, tuple[str, Callable[[str], object] | None]] = {
    name: (metavar, read)
    for metavar, read, names in (
        ("C", _count, "chunks max-chunks"),
        ("S", _amount, "steps max-steps"),
        ("R", _amount, "rounds max-rounds"),
        ("K", _amount, "k"),
        ("K", _count, "fixed-k"),
        ("N", _amount, "root seed"),
        ("N", _count, "depth factor jobs most ranks repeats threads"),
        ("N", _work, "work"),
        ("P", _count, "nodes"),
        ("SIZE", _size, "packet size trace-size"),
        ("SIZE", _size_or_none, "header max-bytes min-bytes"),
        ("SIZE", _memory, "memory-limit"),
        ("TIME", _duration, "point-limit search-limit time-limit"),
        ("TIME", None, "alpha overhead"),
        ("BANDWIDTH", None, "beta reduction"),
        ("FILE", Path, "file path source"),
        ("FILE", _store_name, "store"),
        ("FILE", _output_file, "output table trace"),
        ("PICTURE", _output_file, "plot"),
        ("PAGE", _output_file, "report"),
        ("DIR", _output_folder, "proof proofs"),
        ("NAME", None, "backend encoding name"),
        ("NAMES", None, "seeds"),
        ("POINT", _point, "point"),
        ("NAMES", _classics, "classics"),
        ("WHERE", None, "executor"),
        ("CONDITION", None, "where"),
        ("FORMAT", None, "to"),
        ("NAME=VALUE", None, "backend-option encoding-option option"),
        ("FROM:TO", None, "sizes optimise-for"),
    )
    for name in names.split()
}
"""By name of an option the metavariable of its value, and its reader; without one it is a text."""

_READERS = {"DIR": _output_folder, "FOLDER": _output_folder, "OUT": _output_name, "MACHINE": str}
"""By metavariable the reader of values, for an option of any name."""

_SHORT = {"chunks": "-C", "steps": "-S", "rounds": "-R", "output": "-o", "ranks": "-n"}


# Declarations -------------------------------------------------------------------------------------

Usage = str | tuple[str, str]
"""A usage, or a usage and its help."""

_USAGE = re.compile(r"(?:(-[\w-]+), )?([\w-]+)(?: (.+?))?( \.\.\.)?(?: = (.+))?")


def name_in(usage: str) -> str:
    """The name of an argument in its usage, without dashes."""
    match = _USAGE.fullmatch(usage)
    assert match is not None, usage
    return str(match[2]).lstrip("-")


def add(parser: argparse._ActionsContainer, declared: Mapping[str, str], **how: Any) -> None:
    """Adds arguments to a parser or a group, see the module.

    Args:
        declared: by its usage the help of an argument.
        how: further arguments of `add_argument`, for each of them.
    """
    for usage, text in declared.items():
        match = _USAGE.fullmatch(usage)
        assert match is not None, usage
        short, name, value, several, default = match.groups()
        read = _READERS.get(value) or _VALUES.get(name.lstrip("-"), ("", None))[1]
        own: dict[str, Any] = {"action": "store_true"} if value is None else {"type": read}
        if value is not None and "|" in value and not value.isupper():
            own["choices"] = value.split("|")
            if name.startswith("-"):
                default = default or own["choices"][0]
        elif value is not None:
            own["metavar"] = value.strip("[]")
            if value.startswith("["):
                own["nargs"] = "?"
        if several:
            own |= {"action": "append", "default": []}
        if default is not None:
            own["default"] = default
        own |= how
        shown = own.get("default")
        if isinstance(shown, str | int) and not isinstance(shown, bool) and "default" not in text:
            text += f" (default: {shown})"
        if not name.startswith("-"):
            own.pop("dest", None)
        parser.add_argument(*([short] if short else []), name, **own, help=text)


def add_parameter(
    parser: argparse._ActionsContainer, one: Parameter, usage: Usage | None = None
) -> None:
    """Adds a parameter of a verb.

    Args:
        usage: in place of the usual one; an empty one leaves it out.
    """
    text = _help(one.text)
    if isinstance(usage, tuple):
        usage, text = usage
    if usage == "":
        return
    usage = usage or _usage(one)
    how: dict[str, Any] = {"dest": one.name}
    if one.default is True and one.type == "bool":
        how["action"] = "store_false"
    elif one.is_required and usage.startswith("-"):
        how["required"] = True
    elif not one.is_required and one.default != () and " = " not in usage:
        how["default"] = one.default
    add(parser, {usage: text}, **how)


def _usage(one: Parameter) -> str:
    """The usage of a parameter by its name, type and default."""
    name = one.name.replace("_", "-")
    if one.type == "bool":
        return f"--no-{name}" if one.default is True else f"--{name}"
    metavar, _ = _VALUES.get(name, (name.upper(), None))
    value = "|".join(one.choices) or metavar
    if one.is_required and not one.is_keyword:
        return f"{one.name} {value}"
    short = f"{_SHORT[name]}, " if name in _SHORT else ""
    return f"{short}--{name} {value}{' ...' if one.default == () else ''}"


def _help(text: str) -> str:
    """The sentence of a docstring as help: parameters are options, and None is a default."""
    text = re.sub(r", or an (?:object|`Observer`)", "", text.rstrip("."))
    text = re.sub(r"[;.,] None for (.+)$", r" (default: \1)", text)
    text = re.sub(r"(?<!`)`([a-z_]+)`(?!`)", lambda m: f"--{m[1].replace('_', '-')}", text)
    text = re.sub(r"``(syncoll [^`]+)``", r"`\1`", text)
    return text.replace("``", "").replace("%", "%%")
