"""The wire format of protocol buffers, read strictly.

A library would take a file that ends in the middle, keep what it does not know, and read a message
of one type as one of another; a checker must see all of that.
"""

from __future__ import annotations

from collections.abc import Iterator

from syncoll.errors import VerificationError

__all__ = [
    "BYTES",
    "FIXED32",
    "FIXED64",
    "VARINT",
    "Fields",
    "integers",
    "messages",
    "read_fields",
    "signed",
    "text",
]

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

Fields = dict[int, list[tuple[int, int | bytes]]]
"""By number, the wire type and value of each occurrence; integers are not signed."""

_MOST_VARINT_BYTES = 10
_MOST_LENGTH_BYTES = 5


def messages(content: bytes, where: str) -> Iterator[bytes]:
    """The messages of a file, each of which has its length before it.

    Raises:
        VerificationError: when one is cut off.
    """
    position, number = 0, 0
    while position < len(content):
        place = f"{where}: message {number} at byte {position}"
        length, start = _varint(content, position, place)
        if start - position > _MOST_LENGTH_BYTES:
            raise VerificationError(f"{place}: a length of more than {_MOST_LENGTH_BYTES} bytes")
        if start + length > len(content):
            raise VerificationError(
                f"{place}: it should have {length} bytes, but the file ends after "
                f"{len(content) - start}"
            )
        yield content[start : start + length]
        position, number = start + length, number + 1


def read_fields(content: bytes, where: str) -> Fields:
    """The fields of a message.

    Raises:
        VerificationError: when it is cut off, or no message.
    """
    fields: Fields = {}
    position = 0
    while position < len(content):
        key, position = _varint(content, position, where)
        number, kind = key >> 3, key & 7
        if not number:
            raise VerificationError(f"{where}: a field with the number 0; these are other data")
        value: int | bytes
        if kind == VARINT:
            value, position = _varint(content, position, where)
        else:
            if kind == BYTES:
                length, position = _varint(content, position, where)
            elif kind in (FIXED64, FIXED32):
                length = 8 if kind == FIXED64 else 4
            else:
                raise VerificationError(f"{where}: field {number} has wire type {kind}")
            if position + length > len(content):
                raise VerificationError(f"{where}: field {number} ends after the message does")
            value = content[position : position + length]
            position += length
            if kind != BYTES:
                value = int.from_bytes(value, "little")
        fields.setdefault(number, []).append((kind, value))
    return fields


def integers(fields: Fields, number: int, where: str) -> list[int]:
    """The values of a repeated field of integers, packed or not.

    Raises:
        VerificationError: when it is of another type.
    """
    found: list[int] = []
    for kind, value in fields.get(number, ()):
        if isinstance(value, int):
            if kind != VARINT:
                raise VerificationError(f"{where}: field {number} should be integers")
            found.append(value)
            continue
        position = 0
        while position < len(value):
            one, position = _varint(value, position, where)
            found.append(one)
    return found


def text(fields: Fields, number: int, where: str) -> str:
    """The value of a field of text; empty where it is missing.

    Raises:
        VerificationError: when it is of another type, or no UTF-8.
    """
    if number not in fields:
        return ""
    value = fields[number][-1][1]
    if isinstance(value, int):
        raise VerificationError(f"{where}: field {number} should be text and is a number")
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise VerificationError(
            f"{where}: field {number} should be text, but is no UTF-8"
        ) from None


def signed(value: int, bits: int) -> int:
    """The integer whose complement of two, cut to so many bits, is on the wire."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _varint(content: bytes, position: int, where: str) -> tuple[int, int]:
    """An integer of seven bits a byte, and where it ends."""
    value = 0
    for shift in range(_MOST_VARINT_BYTES):
        if position >= len(content):
            raise VerificationError(f"{where}: it ends in the middle of a number")
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value & (1 << 64) - 1, position
    raise VerificationError(f"{where}: a number of more than {_MOST_VARINT_BYTES} bytes")
