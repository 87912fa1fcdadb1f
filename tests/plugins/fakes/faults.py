"""Faults of a plugin's function, and loaders with them, in a module that worker processes find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class PanicError(BaseException):
    """As bindings of other languages raise it: no `Exception`."""


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise ValueError("its text cannot be made")


def raises() -> Any:
    raise ValueError("boom")


def exits() -> Any:
    raise SystemExit(3)


def panics() -> Any:
    raise PanicError("boom")


def unprintable() -> Any:
    raise UnprintableError


def text() -> Any:
    return "yes"


def none() -> Any:
    return None


FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "raises": (raises, "ValueError: boom"),
    "exits": (exits, "SystemExit: 3"),
    "panics": (panics, "PanicError: boom"),
    "unprintable": (unprintable, "UnprintableError"),
    "text": (text, "str"),
    "none": (none, "None"),
}
"""By name: the function, and a part of the message about it."""
