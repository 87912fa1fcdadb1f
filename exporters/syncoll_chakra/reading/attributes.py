"""Attributes: named values of Chakra's nodes and metadata."""

from __future__ import annotations

import struct

from syncoll.errors import VerificationError
from syncoll_chakra.reading.wire import (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    Fields,
    integers,
    read_fields,
    signed,
    text,
)

__all__ = ["Attributes", "Value", "read_attributes"]

Value = bool | int | float | str | bytes | list[int] | None
"""None where there is none, and for lists that nobody here asks for."""

_DOUBLE, _FLOAT, _BOOL, _STRING, _BYTES = 3, 5, 27, 29, 31
_SIGNED = {7: 32, 9: 64, 23: 32, 25: 64}
_UNSIGNED = {11: 32, 13: 64, 19: 32, 21: 64}
_ZIGZAG = {15: 32, 17: 64}
"""Fields of one integer, with its bits."""

_SIGNED_LISTS = {8: 32, 10: 64}
_UNSIGNED_LISTS = {12: 32, 14: 64}

_WIRE_TYPES = {_DOUBLE: FIXED64, _FLOAT: FIXED32, 19: FIXED32, 21: FIXED64, 23: FIXED32}
_WIRE_TYPES |= {25: FIXED64, _BOOL: VARINT, _STRING: BYTES, _BYTES: BYTES}
_WIRE_TYPES |= dict.fromkeys((7, 9, 11, 13, 15, 17), VARINT)
_WIRE_TYPES |= dict.fromkeys(range(4, 33, 2), BYTES)  # lists


class Attributes:
    """The attributes of one message.

    Args:
        values: by name.
        where: of the message, for errors.
    """

    def __init__(self, values: dict[str, Value], where: str) -> None:
        self._values = values
        self._where = where

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def integer(self, name: str, *, low: int, high: int, default: int | None = None) -> int:
        """An integer within bounds.

        Raises:
            VerificationError: when it is missing without a default, no integer, or out of bounds.
        """
        if name not in self._values:
            if default is not None:
                return default
            raise VerificationError(f"{self._where}: attribute {name} is missing")
        value = self._values[name]
        if isinstance(value, bool) or not isinstance(value, int):
            raise VerificationError(f"{self._where}: attribute {name} is no integer")
        if not low <= value <= high:
            raise VerificationError(
                f"{self._where}: attribute {name} is {value}; expected {low} to {high}"
            )
        return value

    def integers(self, name: str, *, below: int) -> list[int]:
        """A list of integers from 0 on; empty where it is missing.

        Raises:
            VerificationError: when it is something else, out of bounds, or has one twice.
        """
        value = self._values.get(name, [])
        if not isinstance(value, list):
            raise VerificationError(f"{self._where}: attribute {name} is no list of integers")
        for one in value:
            if not 0 <= one < below:
                raise VerificationError(
                    f"{self._where}: attribute {name} has {one}; expected 0 to {below - 1}"
                )
        if len(set(value)) < len(value):
            raise VerificationError(f"{self._where}: attribute {name} has a number twice")
        return value

    def text(self, name: str) -> str:
        """A text.

        Raises:
            VerificationError: when it is missing, or none.
        """
        value = self._values.get(name)
        if not isinstance(value, str):
            raise VerificationError(f"{self._where}: there is no text as attribute {name}")
        return value

    def boolean(self, name: str) -> bool:
        """Yes or no.

        Raises:
            VerificationError: when it is missing, or neither.
        """
        value = self._values.get(name)
        if not isinstance(value, bool):
            raise VerificationError(f"{self._where}: there is no boolean as attribute {name}")
        return value


def read_attributes(fields: Fields, number: int, where: str) -> Attributes:
    """The attributes in a message's field of that number.

    Raises:
        VerificationError: when something there is no attribute, or a name is there twice: of two
            readers one takes the first and one the last.
    """
    values: dict[str, Value] = {}
    for i, (_, content) in enumerate(fields.get(number, ())):
        if isinstance(content, int):
            raise VerificationError(f"{where}: attribute {i} is a number, not a message")
        inner = read_fields(content, f"{where}, attribute {i}")
        name = text(inner, 1, f"{where}, attribute {i}")
        if name in values:
            raise VerificationError(f"{where}: attribute {name!r} is there twice")
        values[name] = _value(inner, f"{where}, attribute {name!r}")
    return Attributes(values, where)


def _value(fields: Fields, where: str) -> Value:
    given = [number for number in fields if number in _WIRE_TYPES]
    if not given:
        return None
    number = given[0]
    if len(given) > 1 or len(fields[number]) > 1:
        raise VerificationError(f"{where}: it has several values; expected one")
    ((kind, value),) = fields[number]
    if kind != _WIRE_TYPES[number]:
        raise VerificationError(f"{where}: field {number} is of the wrong wire type")
    if isinstance(value, bytes):
        if number == _STRING:
            return text(fields, number, where)
        if number == _BYTES:
            return value
        if number not in _SIGNED_LISTS and number not in _UNSIGNED_LISTS:
            return None
        found = integers(read_fields(value, where), 1, where)
        if number in _SIGNED_LISTS:
            return [signed(one, _SIGNED_LISTS[number]) for one in found]
        return [one & (1 << _UNSIGNED_LISTS[number]) - 1 for one in found]
    if number == _DOUBLE:
        return float(struct.unpack("<d", value.to_bytes(8, "little"))[0])
    if number == _FLOAT:
        return float(struct.unpack("<f", value.to_bytes(4, "little"))[0])
    if number == _BOOL:
        return bool(value)
    if number in _SIGNED:
        return signed(value, _SIGNED[number])
    if number in _ZIGZAG:
        value &= (1 << _ZIGZAG[number]) - 1
        return (value >> 1) ^ -(value & 1)
    return value & (1 << _UNSIGNED[number]) - 1
