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

import argparse
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from syncoll.errors import UsageError
from syncoll.units import parse_limit, parse_memory, parse_size
from syncoll.values import rounds_of
from syncoll.verbs.declaration import Parameter

# Values -------------------------------------------------------------------------------------------


def _parts(text: str, pattern: str, expected: str) -> list[str]:
    """The groups of a pattern in a text; `expected`: of the error if it does not match."""
    match = re.fullmatch(pattern, text)
    if match is None:
        raise UsageError(f"{text!r} is not {expected}")
    return [part for part in match.groups() if part is not None]


def _work(text: str) -> float:
    """Units of work."""
    return float(_parts(text, r"([0-9]{1,9}(?:\.[0-9]{1,9})?)", "a number of units, such as 30")[0])


def _amount(text: str, least: int = 0) -> int:
    """A whole number of at least 0."""
    number = int(_parts(text, "([0-9]{1,9})", "a whole number from 0 to 999999999")[0])
    if number < least:
        raise UsageError(f"it must be at least {least}")
    return number


def _rounds(text: str) -> int | Fraction:
    """Rounds, also as a fraction."""
    return rounds_of("R", text) if "/" in text else _amount(text)


def _point(text: str) -> tuple[int | Fraction, ...]:
    """A number, or S, R and C."""
    rounds = "([0-9]{1,9}(?:/[1-9][0-9]{0,8})?)"
    pattern = rf"\s*([0-9]{{1,9}})(?:\s*,\s*{rounds}\s*,\s*([0-9]{{1,9}}))?\s*"
    expected = "a point; write its number from 0, or S,R,C such as 3,7,6"
    return tuple(rounds_of("R", part) for part in _parts(text, pattern, expected))


def _size_or_none(text: str) -> int:
    """Bytes, or 0."""
    return 0 if re.fullmatch(r"0+", text) else parse_size(text)


def _named(text: str, hint: str = "") -> str:
    """The name of a file, or of a folder with the slash at its end."""
    if not text:
        raise UsageError(f"the name of the file is empty{hint}")
    return text


def _written(text: str) -> Path:
    """The name of a file to write."""
    return Path(_named(text))


def _output_folder(text: str) -> Path:
    """The name of a folder to write into."""
    if text == "-":
        raise UsageError("a folder cannot be written to standard output; give its name")
    return _written(text)


def _classics(text: str) -> bool | list[str]:
    """The value of `classics`: all, none, or the names that commas separate."""
    return text == "all" or ([] if text == "none" else text.split(","))


_Reader = Callable[[str], object] | None

_count = partial(_amount, least=1)

_VALUES: dict[str, tuple[str, _Reader]] = {
    name: (metavar, read)
    for metavar, read, names in (
        ("C", _count, "chunks max-chunks"),
        ("S", _amount, "steps max-steps"),
        ("R", _rounds, "rounds max-rounds"),
        ("K", _amount, "k"),
        ("K", _count, "fixed-k"),
        ("N", _amount, "root seed"),
        ("SHARE", None, "tolerance"),
        ("N", _count, "depth factor stepfactor jobs max-messages most ranks repeats threads"),
        ("N", _work, "work"),
        ("P", _count, "nodes"),
        ("SIZE", parse_size, "packet size trace-size minbytes maxbytes"),
        ("SIZE", _size_or_none, "header max-bytes min-bytes"),
        ("SIZE", parse_memory, "memory-limit"),
        ("TIME", lambda text: float(parse_limit(text)), "point-limit search-limit time-limit"),
        ("TIME", None, "alpha overhead"),
        ("BANDWIDTH", None, "beta reduction"),
        ("FILE", Path, "file path source"),
        ("FILE", partial(_named, hint="; write none for no store"), "store"),
        ("FILE", _written, "output table trace floors"),
        ("PICTURE", _written, "plot"),
        ("PAGE", _written, "report"),
        ("DIR", _output_folder, "proof proofs"),
        ("NAME", None, "backend encoding name"),
        ("RUNTIME", None, "runtime"),
        ("NAMES", None, "seeds"),
        ("POINT", _point, "point"),
        ("NAMES", _classics, "classics"),
        ("CONDITION", None, "where"),
        ("FORMAT", None, "to"),
        ("NAME=VALUE", None, "backend-option encoding-option option"),
        ("FROM:TO", None, "sizes optimise-for"),
    )
    for name in names.split()
}
"""By name of an option the metavariable of its value, and its reader; without one it is a text."""

_READERS = {"DIR": _output_folder, "FOLDER": _output_folder, "OUT": _named, "MACHINE": str}
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


def _safe(read: _Reader) -> _Reader:
    """A reader that raises errors of the parser of arguments."""

    def safe(text: str) -> object:
        try:
            return read(text) if read else text
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read and safe


_LONGEST_CHOICES = 70
"""Characters of choices that stand in a line of usage."""


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
        read: Any = _READERS.get(value) or _VALUES.get(name.lstrip("-"), ("", None))[1]
        own: dict[str, Any] = {"action": "store_true"} if value is None else {"type": _safe(read)}
        if value is not None and "|" in value and not value.isupper():
            own["choices"] = value.split("|")
            if name.startswith("-"):
                default = default or own["choices"][0]
            elif len(value) > _LONGEST_CHOICES:
                own["metavar"] = name.upper()  # the help lists the choices
        elif value is not None:
            own["metavar"] = value.strip("[]")
            if value.startswith("["):
                own["nargs"] = "?"
        if several:
            plural = {"action": "append", "default": []}
            own |= plural if name.startswith("-") else {"nargs": "+"}
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
