"""Words that messages share: the one place where a number gets its noun."""

from __future__ import annotations

from typing import SupportsInt

__all__ = ["counted"]


def counted(number: SupportsInt, noun: str, plural: str = "") -> str:
    """A number with its noun: ``1 step``, ``2 steps``.

    Args:
        number: how many; fractions other than 1 are plural.
        noun: for one of them.
        plural: for several, where it is not the noun with an s.

    >>> counted(1, "step"), counted(0, "step"), counted(2, "NVLink"), counted(3, "topology")
    ('1 step', '0 steps', '2 NVLinks', '3 topologies')
    """
    return f"{number} {noun if number == 1 else plural or _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith(("ch", "sh", "ss", "x")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"
