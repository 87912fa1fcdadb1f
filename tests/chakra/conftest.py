from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from syncoll_chakra.writer import delimited, new_metadata, new_node


class Traces:
    """The files of all ranks, parsed with the protobuf library, for changes."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.names = list(files)
        self.metadata, self.nodes = [], []
        for content in files.values():
            parts = self._parts(content)
            metadata = new_metadata()
            metadata.ParseFromString(parts[0])
            self.metadata.append(metadata)
            nodes: list[Any] = []
            for part in parts[1:]:
                nodes.append(new_node())
                nodes[-1].ParseFromString(part)
            self.nodes.append(nodes)

    @staticmethod
    def _parts(content: bytes) -> list[bytes]:
        parts, position = [], 0
        while position < len(content):
            length = shift = 0
            while True:
                byte = content[position]
                position += 1
                length |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
            parts.append(content[position : position + length])
            position += length
        return parts

    def files(self) -> dict[str, bytes]:
        return {
            name: delimited(metadata) + b"".join(delimited(node) for node in nodes)
            for name, metadata, nodes in zip(self.names, self.metadata, self.nodes, strict=True)
        }

    def replaced(self, rank: int, i: int, instead: list[Any]) -> dict[str, bytes]:
        """One rank's file with one node replaced by others."""
        nodes = [*self.nodes[rank][:i], *instead, *self.nodes[rank][i + 1 :]]
        content = b"".join(delimited(part) for part in (self.metadata[rank], *nodes))
        return {self.names[rank]: content}


def attribute(message: Any, name: str) -> Any:
    """The attribute of that name, or None."""
    return next((one for one in message.attr if one.name == name), None)


@pytest.fixture
def take_apart() -> Callable[[Mapping[str, bytes]], Any]:
    return Traces


@pytest.fixture
def attribute_of() -> Callable[[Any, str], Any]:
    return attribute
