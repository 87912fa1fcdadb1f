"""The part of Chakra's schema that is written, as classes of the protobuf library.

The numbers of fields are those of ``schema/protobuf/et_def.proto`` of mlcommons/chakra.
"""

from __future__ import annotations

from enum import IntEnum
from io import BytesIO
from typing import Any

from google.protobuf.proto import serialize_length_prefixed

from syncoll.protobuf import Fields, message_classes

__all__ = ["NodeType", "delimited", "new_metadata", "new_node", "set_attribute"]


class NodeType(IntEnum):
    """The types of nodes in custom collectives."""

    COMPUTE = 4
    SEND = 5
    RECEIVE = 6


_MESSAGES: dict[str, Fields] = {
    "Uint64List": {"values": (1, "uint64", True)},
    "AttributeProto": {
        "name": (1, "string", False),
        "int32_val": (7, "int32", False),
        "int64_val": (9, "int64", False),
        "uint64_list": (14, "Uint64List", False),
        "bool_val": (27, "bool", False),
        "string_val": (29, "string", False),
    },
    "GlobalMetadata": {"version": (1, "string", False), "attr": (2, "AttributeProto", True)},
    "Node": {
        "id": (1, "uint64", False),
        "name": (2, "string", False),
        "type": (3, "int32", False),  # an enumeration, which is the same on the wire
        "data_deps": (5, "uint64", True),
        "attr": (10, "AttributeProto", True),
    },
}
_CLASSES = message_classes("ChakraProtoMsg", _MESSAGES, union="AttributeProto", last_common=1)


def new_metadata() -> Any:
    """An empty ``GlobalMetadata``."""
    return _CLASSES["GlobalMetadata"]()


def new_node() -> Any:
    """An empty ``Node``."""
    return _CLASSES["Node"]()


def set_attribute(message: Any, name: str, kind: str, value: object) -> None:
    """Appends an attribute; `kind` is the field of its value, ``uint64_list`` takes a sequence."""
    attribute = message.attr.add(name=name)
    if kind == "uint64_list":
        attribute.uint64_list.SetInParent()
        attribute.uint64_list.values.extend(value)
    else:
        setattr(attribute, kind, value)


def delimited(message: Any) -> bytes:
    """A message with its length before it, as a varint."""
    stream = BytesIO()
    serialize_length_prefixed(message, stream)
    return stream.getvalue()
