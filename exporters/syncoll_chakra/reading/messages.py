"""Messages of Chakra as the protobuf library reads them, with the checks that it omits.

The schema is that of ``schema/protobuf/et_def.proto`` of mlcommons/chakra.  The library drops all
but the last of a repeated field, and keeps fields of another type or of an unknown schema; a
checker must see that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from syncoll.errors import VerificationError
from syncoll.protobuf import Fields, message_classes

__all__ = ["read_message", "split"]

_SCALARS = "double float int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64"
_SCALARS += " bool string bytes"
_ATTRIBUTE = {"name": (1, "string", False), "doc_string": (2, "string", False)}
_MESSAGES: dict[str, Fields] = {
    "GlobalMetadata": {"version": (1, "string", False), "attr": (2, "Attribute", True)},
    "Node": {
        "id": (1, "uint64", False),
        "name": (2, "string", False),
        "type": (3, "int32", False),  # an enumeration, which is the same on the wire
        "ctrl_deps": (4, "uint64", True),
        "data_deps": (5, "uint64", True),
        "start_time_micros": (6, "uint64", False),
        "duration_micros": (7, "uint64", False),
        "inputs": (8, "bytes", False),  # messages that nothing here asks for
        "outputs": (9, "bytes", False),
        "attr": (10, "Attribute", True),
    },
    "Attribute": _ATTRIBUTE,
}
for _i, _kind in enumerate(_SCALARS.split()):
    _MESSAGES[f"List_{_kind}"] = {"values": (1, _kind, True)}
    _ATTRIBUTE[f"{_kind}_val"] = (3 + 2 * _i, _kind, False)
    _ATTRIBUTE[f"{_kind}_list"] = (4 + 2 * _i, f"List_{_kind}", False)


_CLASSES = message_classes("read", _MESSAGES, union="Attribute", last_common=2)


def split(content: bytes, where: str) -> Iterator[bytes]:
    """The messages of a file, each of which has its length before it.

    Raises:
        VerificationError: if one is cut off.
    """
    position, number = 0, 0
    while position < len(content):
        place = f"{where}: message {number} at byte {position}"
        size = next(
            (i for i, byte in enumerate(content[position : position + 5], 1) if byte < 0x80), 0
        )
        if not size:
            raise VerificationError(f"{place}: its length is cut off, or has more than five bytes")
        length = sum(
            (byte & 0x7F) << 7 * i for i, byte in enumerate(content[position : position + size])
        )
        start = position + size
        if start + length > len(content):
            raise VerificationError(
                f"{place}: it should have {length} bytes, but the file ends after "
                f"{len(content) - start}"
            )
        yield content[start : start + length]
        position, number = start + length, number + 1


def read_message(name: str, content: bytes, where: str) -> Any:
    """A ``GlobalMetadata`` or a ``Node``.

    Raises:
        VerificationError: if it is something else, cut off, or has a field twice.
    """
    message = _CLASSES[name]()
    try:
        message.ParseFromString(content)
    except DecodeError as error:
        raise VerificationError(f"{where}: it is not a {name} of Chakra: {error}") from None
    if message.ByteSize() != len(content):
        raise VerificationError(
            f"{where}: it has {len(content)} bytes, and what it says takes {message.ByteSize()}; "
            "expected each field once, as the protobuf library writes it"
        )
    for one in (message, *message.attr):
        known = one.DESCRIPTOR.fields_by_number
        unknown = UnknownFieldSet(one)
        for number in (unknown[i].field_number for i in range(len(unknown))):
            if number in known or name == "GlobalMetadata":
                raise VerificationError(f"{where}: field {number} of a {name} is not of this type")
    return message
