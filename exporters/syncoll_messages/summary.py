"""The facts about ranks that passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from syncoll.plugins import CheckedExport
from syncoll_messages.expected import Expected
from syncoll_messages.graph import NodeKind, RankGraph

__all__ = ["summary"]


def summary(
    kind: str,
    graphs: Sequence[RankGraph],
    expected: Expected | None,
    more: Mapping[str, int | str] | None = None,
) -> CheckedExport:
    """The facts about ranks that were played, and followed if the files state their demands."""
    nodes = [node for graph in graphs for node in graph.nodes.values()]
    sends = [
        (graph.rank, node)
        for graph in graphs
        for node in graph.nodes.values()
        if node.kind is NodeKind.SEND
    ]
    followed = expected is not None
    facts: dict[str, int | str] = {
        "messages": len(sends),
        "bytes": sum(node.size for _, node in sends),
        "computations": sum(len(node.reads) + len(node.inputs) > 1 for node in nodes)
        if followed
        else sum(node.kind is NodeKind.COMPUTE for node in nodes),
        "data": "followed"
        if followed
        else "not followed, as the files do not say what their messages carry; only that all of "
        "them arrive",
        **(more or {}),
    }
    return CheckedExport(
        kind,
        "not stated" if expected is None else expected.name(),
        len(graphs),
        None,
        facts,
        followed,
        links=frozenset((rank, node.peer) for rank, node in sends),
        num_chunks=None if expected is None else expected.num_chunks,
    )
