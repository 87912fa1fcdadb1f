"""Times, bandwidths and sizes as people write them, read exactly, and written for people."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from syncoll.errors import UsageError

_NUMBER = r"\s*([+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,2})?)\s*"

_SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),  # the Greek letter; above stands the micro sign
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
}

_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}

_BYTES = {f"{prefix}B": Fraction(1000**power) for prefix, power in _POWERS.items()} | {
    f"{prefix}iB": Fraction(1024 ** _POWERS[prefix]) for prefix in "KMGT"
}

_RATES = {
    **{f"{unit}/s": factor for unit, factor in _BYTES.items()},
    **{f"{unit[:-1]}b/s": factor / 8 for unit, factor in _BYTES.items()},
    **{f"{unit[:-1]}bit/s": factor / 8 for unit, factor in _BYTES.items()},
}
_RATES |= {f"{unit[:-2]}ps": factor for unit, factor in _RATES.items()}

_TRANSFERS = re.compile(_NUMBER + r"GT/s\s*[x*]?\s*([0-9]{1,2})(?:\s*lanes)?\s*")
_CODES = ((Fraction(8), Fraction(8, 10)), (Fraction(64), Fraction(128, 130)))
"""The part of a lane's bits that is data, below a number of GT/s: 8b/10b, then 128b/130b."""

_LIMITS = {**_SECONDS, "": Fraction(1), "min": Fraction(60), "m": Fraction(60), "h": Fraction(3600)}

_MEMORY = {unit[:-1].lower(): factor for unit, factor in _BYTES.items()} | {"i": Fraction(1)}


def parse_time(text: str) -> Fraction:
    """Seconds, at least 0, of a text such as ``0.7us``, ``700ns``, ``1ms`` or ``7e-7s``.  Raises
    `UsageError` if it is not one."""
    value = _parse(text, _SECONDS, "time", "a number with ns, us, ms or s, such as 0.7us")
    if value < 0:
        raise UsageError(f"{text!r} is a negative time; expected 0s or more, such as 0.7us")
    return value


def parse_bandwidth(text: str) -> Fraction:
    """Bytes per second, above 0, of a text such as ``25GB/s``, ``23.3GiB/s`` or ``200Gb/s``.

    ``B`` is a byte, ``b`` a bit; ``G`` is 10^9, ``Gi`` 2^30; ``Gbps`` is ``Gb/s``.  ``16GT/s x8``
    is the data of 8 lanes of PCIe.

    Raises:
        UsageError: if it is not one.
    """
    expected = "a number with GB/s, GiB/s or Gb/s (b: bits), such as 25GB/s"
    lanes = _TRANSFERS.fullmatch(text)
    if lanes is not None:
        transfers = Fraction(lanes[1])
        code = next((part for most, part in _CODES if transfers < most), Fraction(242, 256))
        value = transfers * int(lanes[2]) * code * 10**9 / 8
    else:
        value = _parse(text, _RATES, "bandwidth", expected)
    if value <= 0:
        raise UsageError(f"a bandwidth of {text!r} moves nothing; expected one above 0")
    return value


def parse_size(text: str) -> int:
    """Bytes, a whole number of at least 1, of a text such as ``64KiB``, ``1MB`` or ``512``.  ``1M``
    is 2^20, as in nccl-tests.  Raises `UsageError` if the text is not a size."""
    expected = "a number of bytes, such as 512, 64KiB or 1MB"
    bits = re.search(r"[KMGT]i?b\s*$", text)
    if bits is not None:
        raise UsageError(
            f"the size {text!r} has the unknown unit {bits[0]!r} (b: bits); expected {expected}"
        )
    value = _amount(re.sub(r"(?<=[\d\s])([kKmMgGtT])\s*$", r"\1iB", text), "size", expected, text)
    if value < 1 or value.denominator != 1:
        raise UsageError(f"the size {text!r} is not a whole number of at least 1 byte")
    return int(value)


def parse_limit(text: str) -> Fraction:
    """Seconds that something may take, of a text such as ``90``, ``1.5s``, ``2min`` or ``1h``.
    Raises `UsageError` if it is not a time."""
    expected = "a number of seconds, or one with s, min or h, such as 90, 1.5s, 2min or 1h"
    value = _parse(text, _LIMITS, "time", expected)
    if value < 0:
        raise UsageError(f"{text!r} is a negative time; expected {expected}")
    return value


def parse_memory(text: str) -> int:
    """Bytes, at least 1, of a text such as ``4GiB``, ``500MB`` or ``2g``.  Raises `UsageError` if
    it is not an amount of memory."""
    expected = "a number of bytes, or one with a unit, such as 4GiB or 500MB"
    value = int(_amount(text, "memory size", expected))
    if value < 1:
        raise UsageError(f"{text!r} is not a memory size; expected {expected}")
    return value


def _amount(text: str, noun: str, expected: str, written: str = "") -> Fraction:
    """Bytes; units may be written in small letters, and without the B."""
    plain = re.sub(r"b\s*$", "", text.lower())
    return _parse(plain, _MEMORY, noun, expected, written or text)


def _parse(
    text: str, units: Mapping[str, Fraction], noun: str, expected: str, written: str = ""
) -> Fraction:
    """A number with its unit; `written` is the text as the user wrote it, if that differs."""
    written = written or text
    match = re.fullmatch(_NUMBER + r"([A-Za-zµμ/]*)\s*", text)
    if match is None:
        raise UsageError(f"{written!r} is not a {noun}; expected {expected}")
    number, unit = match.groups()
    if unit not in units:
        what = f"has the unknown unit {unit!r}" if unit else "has no unit"
        raise UsageError(f"the {noun} {written!r} {what}; expected {expected}")
    return Fraction(number) * units[unit]


def format_size(size: Fraction | int) -> str:
    """Bytes for people: ``700 B``, ``51.27 KiB``."""
    return _shown(Fraction(size), _BYTES, ("GiB", "MiB", "KiB", "B"))


def format_time(seconds: Fraction) -> str:
    """A time for people: ``2.1 us``."""
    return _shown(seconds, _SECONDS, ("s", "ms", "us", "ns"))


def format_bandwidth(rate: Fraction) -> str:
    """Bytes per second for people, in powers of ten as bandwidths are given: ``171.4 GB/s``."""
    return _shown(rate, _RATES, ("GB/s", "MB/s", "kB/s", "B/s"))


def gigabytes(rate: Fraction | float | None) -> str:
    """A rate in GB/s with four digits; a dash for None."""
    return "-" if rate is None else f"{float(rate) / 1e9:.4g}"


def microseconds(seconds: Fraction | float) -> str:
    """Microseconds with about four digits.

    >>> [microseconds(Fraction(x, 10**9)) for x in (2750, 123456, 12345678)]
    ['2.75', '123.5', '12346']
    """
    value = float(seconds) * 1e6
    return f"{value:.{2 if value < 100 else 1 if value < 1000 else 0}f}"


def _shown(value: Fraction, factors: Mapping[str, Fraction], units: Sequence[str]) -> str:
    """In the first unit that makes it at least one, or the last unit."""
    unit = next((one for one in units if value >= factors[one]), units[-1])
    return f"{_digits(value / factors[unit])} {unit}"


def _digits(value: Fraction) -> str:
    """Four significant digits, without an exponent if that is short."""
    number = float(value)
    if number >= 1000:
        return f"{number:.0f}" if number < 1e7 else f"{number:.4g}"
    return f"{number:.4g}"
