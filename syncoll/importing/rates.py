"""Link speeds as people write them: ``25``, ``25GB/s``, ``200 Gb/s``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from syncoll.errors import OptionError
from syncoll.plugins import OptionValue

__all__ = ["format_rate", "parse_rate", "rate_option"]

_RATE = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?:([MGT])(B|b)(?:/s|ps))?\s*")
_POWERS = {"M": Fraction(1, 1000), "G": Fraction(1), "T": Fraction(1000)}


def parse_rate(text: str) -> Fraction | None:
    """GB/s above 0 of a number or one with a unit such as MB/s, TB/s, Gb/s; else None."""
    match = _RATE.fullmatch(text)
    if match is None:
        return None
    number, power, size = match.groups()
    rate = Fraction(number) * _POWERS[power or "G"] / (8 if size == "b" else 1)
    return rate if rate > 0 else None


def format_rate(value: Fraction) -> str:
    """As a decimal if nine digits are exact, else as a fraction."""
    billionths = value * 10**9
    if billionths.denominator != 1:
        return str(value)
    whole, part = divmod(billionths.numerator, 10**9)
    return f"{whole}.{part:09}".rstrip("0").rstrip(".")


def rate_option(options: Mapping[str, OptionValue], name: str, owner: str) -> Fraction:
    """The value of an option that is a bandwidth, in GB/s; `owner` is the importer in words.

    Raises OptionError if it is not a bandwidth above 0.
    """
    rate = parse_rate(str(options[name]))
    if rate is None:
        raise OptionError(
            f"option {name} of {owner} is {options[name]!r}; it must be a bandwidth above 0 such "
            "as 25, 25GB/s or 200Gb/s"
        )
    return rate
