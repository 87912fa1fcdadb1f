"""The sends, receives and computations of a rank, with their dependencies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from syncoll.errors import VerificationError

__all__ = ["MessageNode", "NodeKind", "RankGraph"]


class NodeKind(StrEnum):
    """The kind of a node."""

    COMPUTE = "compute"
    SEND = "send"
    RECEIVE = "receive"


@dataclass(frozen=True)
class MessageNode:
    """A send, receive or computation of a rank.

    Args:
        number: by which other nodes of the rank name it.
        name: for people; may be empty.
        waits: the nodes that must be done before it starts.
        data_waits: the nodes among them that are sure to be done before it reads data.
        peer: the other rank of a send or receive; else -1.
        tag: of a message; else -1.
        size: of a message, in bytes; else 0.
        reads: nodes whose results it reads, if the file says so.
        inputs: chunks of the rank's own data that it reads, if the file says so.
        starts_after: the nodes that must have started before it starts.
    """

    number: int
    name: str
    kind: NodeKind
    waits: tuple[int, ...]
    data_waits: tuple[int, ...]
    peer: int
    tag: int
    size: int
    reads: tuple[int, ...]
    inputs: tuple[int, ...]
    starts_after: tuple[int, ...] = ()


@dataclass(frozen=True)
class RankGraph:
    """The nodes of one rank by number, in the order of the file `where`."""

    rank: int
    where: str
    nodes: dict[int, MessageNode]

    def place(self, number: int) -> str:
        """A node in words."""
        node = self.nodes[number]
        label = f" ({node.name})" if node.name else ""
        return f"{self.where}: rank {self.rank}, node {number}{label}"

    def wrong(self, number: int, message: str) -> VerificationError:
        """The error that a node causes."""
        return VerificationError(f"{self.place(number)}: {message}")
