"""Option tables: the settings of a plugin, checked and documented in one place."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from syncoll.errors import OptionError, PluginError
from syncoll.plugins import fields

_FLAG = re.compile(r"[a-z][a-z0-9-]*[a-z0-9]")

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

OptionValue = bool | int | float | str

Options = Mapping[str, OptionValue]
"""Values by the names of options."""


@dataclass(frozen=True)
class Option:
    """One option of a plugin.

    Args:
        name: as written on the command line: ``--backend-option NAME=VALUE``.
        default: its value when not set; its type is the option's type.
        summary: one line of help.
        low: least value of a number; None for no limit.
        high: greatest value of a number; None for no limit.
        choices: the values that a text may have; empty for any.
        flag: of exporters: whether commands also have it as ``--NAME VALUE``, unless they have an
            argument of that name.  Options of one name of several exporters share the flag.
        writing: of exporters: whether it only affects how files are written, so that a check must
            not set it.
    """

    name: str
    default: OptionValue
    summary: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    flag: bool = False
    writing: bool = False

    def __post_init__(self) -> None:
        fields.check_fields(self)

    @property
    def kind(self) -> str:
        """The type and range in words, for help and errors."""
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return "one of " + ", ".join(self.choices) if self.choices else "text"
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        if self.low is not None and self.high is not None:
            return f"{kind} from {self.low:g} to {self.high:g}"
        if self.low is not None:
            return f"{kind} of at least {self.low:g}"
        return f"{kind} of at most {self.high:g}" if self.high is not None else kind

    def check(self, value: object, owner: str) -> OptionValue:
        """The value, converted from text if needed.  Raises `OptionError` if it has the wrong type
        or is out of its range."""
        text = str(value)
        try:
            if isinstance(self.default, bool):
                return _TRUTH[text.lower()]
            if isinstance(self.default, str):
                if self.choices and text not in self.choices:
                    raise ValueError
                return text
            if isinstance(value, bool):
                raise ValueError
            number = int(text) if isinstance(self.default, int) else float(text)
            low, high = (-math.inf if self.low is None else self.low), self.high
            if low <= number <= (math.inf if high is None else high):  # NaN is outside, too
                return number
            raise ValueError
        except (KeyError, ValueError):
            raise OptionError(
                f"option {self.name} of {owner} is {value!r}; it must be {self.kind}"
            ) from None


ORDERED_CHUNKS = Option(
    "symmetry",
    "none",
    "arrival: interchangeable chunks arrive at one node in order",
    choices=("none", "arrival"),
)
"""For encodings that can order chunks."""


def check_table(table: Sequence[Option], owner: str, *, flags: bool = False) -> None:
    """Raises `PluginError` unless every name of an option table occurs once and every default is
    allowed; `flags` says whether commands show flags of such a plugin."""
    names = [option.name for option in table]
    for option in table:
        if names.count(option.name) > 1:
            raise PluginError(f"{owner} has two options named {option.name!r}")
        if (option.flag or option.writing) and not flags:
            raise PluginError(f"option {option.name!r} of {owner}: only exporters can have flags")
        if option.flag and not _FLAG.fullmatch(option.name):
            raise PluginError(
                f"option {option.name!r} of {owner} cannot be a flag; such a name has two or more "
                "lower-case letters, digits and hyphens"
            )
        try:
            option.check(option.default, owner)
        except OptionError as error:
            raise PluginError(f"a default is not allowed: {error}") from error


def resolve_options(
    table: Sequence[Option], given: Mapping[str, object], owner: str
) -> dict[str, OptionValue]:
    """Every option of the table with its value: the given one, or the default.

    Raises:
        OptionError: for an unknown name or a bad value.
    """
    names = {option.name for option in table}
    for name in given:
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise OptionError(f"{owner} has no option {name!r}; it has: {known}")
    return {o.name: o.check(given[o.name], owner) if o.name in given else o.default for o in table}


def parse_options(settings: Sequence[str]) -> dict[str, str]:
    """Splits ``NAME=VALUE`` texts.  Raises `OptionError` for a text without ``=``, or a repeated
    name."""
    result: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise OptionError(f"{setting!r} is not a setting; write NAME=VALUE")
        if name in result:
            raise OptionError(f"option {name} is set twice")
        result[name] = value
    return result
