"""Attributes: named values of Chakra's nodes and metadata."""

from __future__ import annotations

from typing import Any, TypeVar

from syncoll.errors import VerificationError

__all__ = ["Attributes"]

_Typed = TypeVar("_Typed", str, bool)
Value = bool | int | float | str | bytes | list[Any] | None


class Attributes:
    """The attributes of one message; a read of another type than expected is an error.

    Raises:
        VerificationError: if a name occurs twice: some readers take the first value, some the last.
    """

    def __init__(self, message: Any, where: str) -> None:
        self._where = where
        self._values: dict[str, Value] = {}
        for attribute in message.attr:
            if attribute.name in self._values:
                raise VerificationError(f"{where}: attribute {attribute.name!r} is there twice")
            kind = attribute.WhichOneof("value") or ""
            value: Any = getattr(attribute, kind) if kind else None
            self._values[attribute.name] = list(value.values) if kind.endswith("_list") else value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def integer(self, name: str, *, low: int, high: int, default: int | None = None) -> int:
        """An integer within bounds; an error if it is missing without a default."""
        if name not in self._values:
            if default is not None:
                return default
            raise self._wrong(f"attribute {name} is missing")
        value = self._values[name]
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(f"attribute {name} is not an integer")
        if not low <= value <= high:
            raise self._wrong(f"attribute {name} is {value}; expected {low} to {high}")
        return value

    def integers(self, name: str, *, below: int) -> list[int]:
        """A list of different integers from 0 on; empty if missing."""
        value = self._values.get(name, [])
        if not isinstance(value, list) or any(type(one) is not int for one in value):
            raise self._wrong(f"attribute {name} is not a list of integers")
        for one in value:
            if not 0 <= one < below:
                raise self._wrong(f"attribute {name} has {one}; expected 0 to {below - 1}")
        if len(set(value)) < len(value):
            raise self._wrong(f"attribute {name} has a number twice")
        return value

    def typed(self, name: str, kind: type[_Typed], word: str) -> _Typed:
        """A text or boolean; `word` names its type in the error."""
        value = self._values.get(name)
        if not isinstance(value, kind):
            raise self._wrong(f"there is no {word} as attribute {name}")
        return value

    def _wrong(self, message: str) -> VerificationError:
        return VerificationError(f"{self._where}: {message}")
