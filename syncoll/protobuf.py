"""Classes of protobuf messages from a table of their fields, without a compiler of schemas.

Each set of classes has a pool of its own, so that it does not collide with another module of the
same schema in one process.
"""

from collections.abc import Mapping
from typing import Any, Literal


def message_classes(
    package: str,
    messages: Mapping[str, str],
    *,
    syntax: Literal["proto2", "proto3"] = "proto3",
    union: str = "",
    last_common: int = 0,
) -> dict[str, Any]:
    """The classes of some messages by their names.

    Args:
        messages: fields such as ``1 name string, 2 attr Attribute*``, with a star if repeated.
            Types are scalars, or names of other messages; an enumeration is written as its
            ``int32``.
        syntax: the schema's own; by proto2 a 0 that was set is written, too.
        union: the message with only one field set, except the common ones; empty for none.
        last_common: the largest number of a common field.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name=package, package=package, syntax=syntax)
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        if name == union:
            message.oneof_decl.add(name="value")
        for entry in fields.split(","):
            number, field, kind = entry.split()
            added = message.field.add(name=field, number=int(number))
            added.label = kinds.LABEL_REPEATED if kind[-1] == "*" else kinds.LABEL_OPTIONAL
            kind = kind.removesuffix("*")
            if kind in messages:
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".{package}.{kind}"
            else:
                added.type = kinds.Type.Value(f"TYPE_{kind.upper()}")
            if name == union and int(number) > last_common:
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = {name: pool.FindMessageTypeByName(f"{package}.{name}") for name in messages}
    return {name: message_factory.GetMessageClass(type_) for name, type_ in found.items()}
