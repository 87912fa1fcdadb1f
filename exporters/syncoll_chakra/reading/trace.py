"""A rank's trace: nodes with their dependencies, as ASTRA-sim takes them."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.errors import VerificationError
from syncoll_chakra.reading.messages import Attributes, read_message, split
from syncoll_messages import MessageNode, NodeKind, RankGraph

__all__ = ["Trace", "read_trace"]

_MOST_BYTES = (1 << 63) - 1
_LARGEST_TAG = (1 << 31) - 1

_KINDS = {4: NodeKind.COMPUTE, 5: NodeKind.SEND, 6: NodeKind.RECEIVE}
"""The types of nodes that a custom collective of ASTRA-sim executes."""

_OTHER_KINDS = {
    0: "INVALID_NODE",
    1: "METADATA_NODE",
    2: "MEM_LOAD_NODE",
    3: "MEM_STORE_NODE",
    7: "COMM_COLL_NODE",
    8: "STORAGE_NODE",
    9: "BATCH_NODE",
    10: "CHECKPOINT_NODE",
}


@dataclass(frozen=True)
class Trace(RankGraph):
    """A rank's trace, with the metadata of its first message."""

    metadata: Attributes


def read_trace(content: bytes, where: str, rank: int, num_ranks: int) -> Trace:
    """A trace, node by node.

    Raises:
        VerificationError: if ASTRA-sim could not load it, or would play something else.
    """
    parts = split(content, where)
    first = next(parts, None)
    if first is None:
        raise VerificationError(f"{where}: the file is empty; expected metadata and nodes")
    try:
        message = read_message("GlobalMetadata", first, f"{where}: its metadata")
    except VerificationError as error:
        raise VerificationError(
            f"{where}: its first message is not metadata, and would be lost; expected a "
            f"GlobalMetadata before the nodes ({error})"
        ) from None
    metadata = Attributes(message, f"{where}: its metadata")
    nodes: dict[int, MessageNode] = {}
    for i, part in enumerate(parts):
        node = _node(part, f"{where}: node number {i} in it", where, rank, num_ranks)
        if node.number in nodes:
            raise VerificationError(
                f"{where}: two nodes have the id {node.number}; only the last would be played"
            )
        nodes[node.number] = node
    trace = Trace(rank, where, nodes, metadata)
    if not nodes:
        raise VerificationError(
            f"{where}: rank {rank} has no nodes, which ASTRA-sim takes for a deadlock; expected at "
            "least a COMP_NODE that does nothing"
        )
    for number, node in nodes.items():
        for other in (*node.waits, *node.reads):
            if other not in nodes:
                raise trace.wrong(number, f"it depends on node {other}, which is not there")
            if other == number:
                raise trace.wrong(number, "it depends on itself")
    return trace


def _node(content: bytes, place: str, where: str, rank: int, num_ranks: int) -> MessageNode:
    message = read_message("Node", content, place)
    number, kind = message.id, message.type
    place = f"{where}: rank {rank}, node {number}"
    if kind not in _KINDS:
        name = _OTHER_KINDS.get(kind, "unknown")
        raise VerificationError(
            f"{place}: its type is {kind} ({name}), which a custom collective does not execute, so "
            "that the rank would never end; expected COMP_NODE, COMM_SEND_NODE or COMM_RECV_NODE"
        )
    attributes = Attributes(message, place)
    data = tuple(dict.fromkeys(message.data_deps))
    peer, tag, size = -1, -1, 0
    if _KINDS[kind] is not NodeKind.COMPUTE:
        peer, tag, size = _message(attributes, _KINDS[kind], place, rank, num_ranks)
    most = 1 << 63
    return MessageNode(
        number,
        message.name,
        _KINDS[kind],
        tuple(dict.fromkeys((*data, *message.ctrl_deps))),
        data,
        peer,
        tag,
        size,
        tuple(attributes.integers("syncoll_reads", below=most)),
        tuple(attributes.integers("syncoll_inputs", below=most)),
    )


def _message(
    attributes: Attributes, kind: NodeKind, place: str, rank: int, num_ranks: int
) -> tuple[int, int, int]:
    """Peer, tag and size of a send or receive."""
    last = num_ranks - 1
    mine, other = ("comm_src", "comm_dst") if kind is NodeKind.SEND else ("comm_dst", "comm_src")
    if attributes.integer(mine, low=0, high=last, default=rank) != rank:
        raise VerificationError(f"{place}: its {mine} is another rank than its own")
    peer = attributes.integer(other, low=0, high=last)
    if peer == rank:
        raise VerificationError(f"{place}: rank {rank} exchanges a message with itself")
    tag = attributes.integer("comm_tag", low=0, high=_LARGEST_TAG)
    size = attributes.integer("comm_size", low=1, high=_MOST_BYTES)
    return peer, tag, size
