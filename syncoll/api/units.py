"""Numbers that may also be written as people write them."""

from __future__ import annotations

from fractions import Fraction

from syncoll.deadline import Deadline
from syncoll.errors import UsageError
from syncoll.units import parse_bandwidth, parse_limit, parse_memory, parse_time

__all__ = ["bandwidth_of", "bytes_of", "deadline_of", "seconds_of", "time_of"]


def bytes_of(size: int | str) -> int:
    """A number of bytes; ``1MiB`` is one too.

    Raises:
        UsageError: when it is not an amount.
    """
    if isinstance(size, str):
        return parse_memory(size)
    if isinstance(size, bool) or not isinstance(size, int):
        raise UsageError(f"{size!r} is not a number of bytes such as 65536 or '64KiB'")
    return size


def seconds_of(limit: float | str | None) -> float | None:
    """A number of seconds; ``2min`` is one too, and None stays None.

    Raises:
        UsageError: when it is not a time.
    """
    if limit is None:
        return None
    if isinstance(limit, str):
        return float(parse_limit(limit))
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 0:
        raise UsageError(f"{limit!r} is not a time; expected seconds, or a text such as '2min'")
    return float(limit)


def deadline_of(time_limit: float | str | None) -> Deadline:
    """The end of a limit that begins now.

    Raises:
        UsageError: when it is not a time.
    """
    return Deadline.after(seconds_of(time_limit))


def time_of(time: float | str) -> Fraction:
    """Seconds, exact; ``0.7us`` is one too.

    Raises:
        UsageError: when it is not a time.
    """
    if isinstance(time, str):
        return parse_time(time)
    if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time < float("inf"):
        raise UsageError(f"{time!r} is not a time; expected seconds, or a text such as '0.7us'")
    return Fraction(str(time))


def bandwidth_of(rate: float | str) -> Fraction:
    """Bytes per second, exact; ``25GB/s`` is one too.

    Raises:
        UsageError: when it is not a bandwidth.
    """
    if isinstance(rate, str):
        return parse_bandwidth(rate)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < float("inf"):
        raise UsageError(
            f"{rate!r} is not a bandwidth; expected bytes per second, or a text such as '25GB/s'"
        )
    return Fraction(str(rate))
