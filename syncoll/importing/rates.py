"""Link speeds as people write them: ``25``, ``25GB/s``, ``200 Gb/s``, ``16GT/s x16``."""

import re
from fractions import Fraction

from syncoll.errors import OptionError, UsageError
from syncoll.plugins import Options
from syncoll.units import parse_bandwidth

_PLAIN = re.compile(r"\s*[0-9]{1,9}(?:\.[0-9]{1,9})?\s*")


def parse_rate(text: str) -> Fraction | None:
    """GB/s above 0 of a number or one with a unit, see `parse_bandwidth`; else None."""
    try:
        rate = parse_bandwidth(f"{text.strip()}GB/s" if has_no_unit(text) else text) / 10**9
    except UsageError:
        return None
    return rate if Fraction(1, 10**12) < rate < 10**9 else None


def has_no_unit(text: str) -> bool:
    """Whether a text is only a number."""
    return _PLAIN.fullmatch(text) is not None


def format_rate(value: Fraction) -> str:
    """As a decimal if nine digits are exact, else as a fraction."""
    billionths = value * 10**9
    if billionths.denominator != 1:
        return str(value)
    whole, part = divmod(billionths.numerator, 10**9)
    return f"{whole}.{part:09}".rstrip("0").rstrip(".")


def rate_option(options: Options, name: str, owner: str) -> Fraction:
    """The value of an option that is a bandwidth, in GB/s; `owner` is the importer in words.
    Raises OptionError if it is not a bandwidth above 0."""
    rate = parse_rate(str(options[name]))
    if rate is None:
        raise OptionError(
            f"option {name} of {owner} is {options[name]!r}; it must be a bandwidth above 0 such "
            "as 25, 25GB/s or 200Gb/s"
        )
    return rate
