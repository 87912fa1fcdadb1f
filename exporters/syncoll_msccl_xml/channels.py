"""The channel of every message, and the connections that share a thread block.

A connection is (source, destination, channel), and belongs to one thread block at each end.  If it
had more messages than a block may have steps, chunks are spread over several channels; a chunk
keeps its channel all the way, so that blocks can pass it on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import networkx as nx

from syncoll.runtime import Message

__all__ = ["Connection", "channels_of", "pairs_of"]

Connection = tuple[int, int, int]
"""Source, destination and channel."""


def channels_of(
    messages: Sequence[Message], num_nodes: int, spread: int, most_per_channel: int
) -> list[int]:
    """The channel of every message.

    Args:
        spread: the number of channels over which the messages of a link are spread.
        most_per_channel: connections of one rank that may send, or receive, on one channel.
    """
    loads: Counter[tuple[int, int, int]] = Counter()
    of_chunk: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for message in messages:
        of_chunk[message.chunk].append((message.source, message.destination))
    chosen: dict[int, int] = {}
    for chunk, links in of_chunk.items():
        costs = [sum(loads[a, b, channel] for a, b in links) for channel in range(spread)]
        chosen[chunk] = costs.index(min(costs))
        for a, b in links:
            loads[a, b, chosen[chunk]] += 1
    result = []
    for message in messages:
        # Ranks at similar distances share a group: no rank exceeds the limit on either side.
        distance = (message.destination - message.source) % num_nodes - 1
        result.append(distance // most_per_channel * spread + chosen[message.chunk])
    return result


def pairs_of(
    gains: Counter[tuple[Connection, Connection]],
    ends: Iterable[tuple[Connection, Connection]] = (),
) -> dict[Connection, Connection]:
    """The incoming connections of a rank that share a block with an outgoing one.

    Args:
        gains: the number of messages of a pair that could be passed on as they come.
        ends: pairs that may share a block without any gain; if there are any, as many pairs as
            possible are made.
    """
    graph: nx.Graph[tuple[str, Connection]] = nx.Graph()
    sharing = False
    for incoming, outgoing in ends:
        if incoming[2] == outgoing[2]:
            sharing = True
            graph.add_edge(("in", incoming), ("out", outgoing), weight=0)
    for (incoming, outgoing), gain in sorted(gains.items()):
        if incoming[2] == outgoing[2]:
            graph.add_edge(("in", incoming), ("out", outgoing), weight=gain)
    result = {}
    for one, other in nx.max_weight_matching(graph, maxcardinality=sharing):
        first, second = (one, other) if one[0] == "in" else (other, one)
        result[first[1]] = second[1]
    return result
