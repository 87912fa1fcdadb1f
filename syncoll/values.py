"""Values of arguments: numbers, also as texts with units, choices and paths."""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from fractions import Fraction
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from syncoll import units
from syncoll.errors import UsageError
from syncoll.wording import argument

_SWEPT, _SWEEP_STEP, _MOST_SWEPT = 32 << 20, 1 << 20, 256
"""Defaults of nccl-tests, in bytes, and a limit on the sizes."""

_Choice = TypeVar("_Choice", bound=StrEnum)


def bytes_of(size: int | str) -> int:
    """A number of bytes, or a text such as ``1MiB``.  Raises `UsageError` on other values."""
    if isinstance(size, str):
        return units.parse_size(size)
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise UsageError(f"{size!r} is not a number of bytes such as 65536 or '64KiB'")
    return index(size)  # of numpy too


def seconds_of(limit: float | str | None) -> float | None:
    """A number of seconds, or a text such as ``2min``, or None.  Raises `UsageError` on others."""
    if limit is None:
        return None
    if isinstance(limit, str):
        return float(units.parse_limit(limit))
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 0:
        raise UsageError(f"{limit!r} is not a time; expected seconds, or a text such as '2min'")
    return float(limit)


def time_of(name: str, value: float | str) -> Fraction:
    """Exact seconds of an argument such as ``0.7us``.  Raises `UsageError` on other values."""
    return _exact(name, value, units.parse_time, 0, "a time; expected seconds, such as '0.7us'")


def bandwidth_of(name: str, value: float | str) -> Fraction:
    """Exact bytes per second of an argument such as ``25GB/s``.  Raises `UsageError` on others."""
    expected = "a bandwidth; expected bytes per second, such as '25GB/s'"
    return _exact(name, value, units.parse_bandwidth, 5e-324, expected)


def _exact(
    name: str, value: float | str, parse: Callable[[str], Fraction], least: float, expected: str
) -> Fraction:
    if isinstance(value, str):
        try:
            return parse(value)
        except UsageError as error:
            raise UsageError(f"{argument(name)}: {error}") from None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value < float("inf"):
        raise UsageError(f"{argument(name)}: {value!r} is not {expected}")
    return Fraction(str(value))


def share_of(name: str, value: float | str) -> Fraction:
    """An exact share such as ``2%`` or ``0.02``, at least 0.  Raises `UsageError` on others."""
    text = str(value).strip()
    number = text.removesuffix("%").rstrip()
    try:
        share = Fraction(number) / (100 if number != text else 1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if isinstance(value, bool) or share < 0:
        raise UsageError(f"{argument(name)}: {value!r} is not a share, such as 2% or 0.02")
    return share


def size_range(name: str, sizes: int | str | None) -> tuple[int, int] | None:
    """The ends of ``1KiB..1GiB`` or ``1KiB:1GiB``, or of one size; None for None.  Raises
    `UsageError` on other values, and on an empty range."""
    if sizes is None:
        return None
    try:
        if isinstance(sizes, str):
            low, dots, high = sizes.partition(".." if ".." in sizes else ":")
            if not low.strip() or (dots and not high.strip()):
                raise UsageError(f"{sizes!r} has an empty size")
            found = units.parse_size(low), units.parse_size(high if dots else low)
        else:
            found = (bytes_of(sizes),) * 2
    except UsageError as error:
        raise UsageError(
            f"{argument(name)}: {error}; ranges are FROM..TO, such as 1KiB..1GiB"
        ) from None
    if not 1 <= found[0] <= found[1]:
        wrong = "is empty" if found[0] > found[1] else "is no size"
        raise UsageError(
            f"{argument(name)}: {sizes!r} {wrong}; expected FROM..TO with FROM at most TO, such as "
            "1KiB..1GiB, or one size of at least 1 byte"
        )
    return found


def sizes_of(name: str, sizes: int | str | Iterable[int | str], factor: int = 4) -> list[int]:
    """Sizes in the order given: one, a range such as ``1KiB..1GiB``, or several of both.

    Args:
        name: the name of the argument.
        sizes: also as a text with commas.
        factor: the ratio of neighbouring sizes in a range.

    Raises:
        UsageError: on an invalid size, or without any.
    """
    if isinstance(sizes, str):
        given, sizes = sizes, sizes.split(",")
        if not all(map(str.strip, sizes)):
            raise UsageError(f"{argument(name)}: {given!r} has an empty size; leave out a comma")
    found: list[int] = []
    for one in sizes if isinstance(sizes, Iterable) else [sizes]:
        low, high = size_range(name, one) or (1, 1)
        while low <= high:
            found.append(low)
            low *= factor
    if not found:
        raise UsageError(f"{argument(name)}: expected at least one size, of at least 1 byte")
    return list(dict.fromkeys(found))


def doubled_sizes(name: str, sizes: int | str | Iterable[int | str]) -> list[int]:
    """As `sizes_of` in ascending order, a range by powers of two with both of its ends."""
    found = sizes_of(name, sizes, 2)
    if isinstance(sizes, str) and "," not in sizes:
        found += size_range(name, sizes) or ()
    return sorted(set(found))


def swept_sizes(begin: int | None, end: int | None, factor: int | None) -> list[int]:
    """The sizes of the options -b, -e and -f of nccl-tests; an empty list without options.  Raises
    `UsageError` if the range is empty, or has too many sizes."""
    if begin is end is factor is None:
        return []
    low, high = (_SWEPT if x is None else x for x in (begin, end))
    ratio = 1 if factor is None else factor
    found = [low]
    while found[-1] <= high and len(found) <= _MOST_SWEPT:
        found.append(found[-1] * ratio if ratio > 1 else found[-1] + _SWEEP_STEP)
    if len(found) == 1 or len(found) > _MOST_SWEPT:
        raise UsageError(
            f"-b {low} -e {high} -f {ratio}: expected 1 to {_MOST_SWEPT} sizes, such as -b 8 -e "
            "128M -f 2"
        )
    return found[:-1]


def listed(given: Any) -> list[Any]:
    """One value, or several; a text and a graph are one."""
    alone = isinstance(given, str) or not isinstance(given, Iterable) or hasattr(given, "edges")
    return [given] if alone else list(given)


def choice_of(name: str, value: str, kind: type[_Choice]) -> _Choice:
    """The member of an enumeration with this value.  Raises `UsageError` on others."""
    try:
        return kind(value)
    except ValueError:
        known = " or ".join(map(str, kind))
        raise UsageError(f"{argument(name)}: {value!r}; expected {known}") from None


def path_of(name: str, value: object, expected: str = "a path") -> Path:
    """A path, also from a text.  Raises `UsageError` on other values."""
    if not isinstance(value, str | PathLike):
        kind = type(value).__name__
        raise UsageError(f"{argument(name)} is of type {kind}; expected {expected}")
    return Path(value)


def require_whole(name: str, value: object, least: int = 0) -> None:
    """Refuses everything but a whole number of at least `least`.  Raises `UsageError`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name} is {value!r}; expected a whole number of at least {least}")


def rounds_of(name: str, value: object) -> int | Fraction:
    """A number of rounds of at least 0, also from a text such as ``23/9``.  Raises `UsageError` on
    other values."""
    found = value
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}(/0*[1-9][0-9]{0,8})?", value.strip()):
        found = Fraction(value)
    if isinstance(found, bool) or not isinstance(found, int | Fraction) or found < 0:
        raise UsageError(f"{name} is {value!r}; expected a number of rounds such as 7 or 23/9")
    return found.numerator if found.denominator == 1 else found


def picked(value: object, names: str) -> dict[str, Any]:
    """Attributes of a value by their names, separated by spaces, for a document."""
    return {name: getattr(value, name) for name in names.split()}
