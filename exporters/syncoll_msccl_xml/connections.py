"""Connections: channels of messages, connections that share a thread block, and an order.

A connection is (source, destination, channel), and belongs to one thread block at each end.  If it
had more messages than a block may have steps, chunks are spread over several channels; a chunk
keeps its channel on its whole path, so that blocks can pass it on.

Connections hold few messages and deliver them in the order of their sends.  The schedule is played
step by step under that rule; the resulting order of all instructions of all ranks becomes the order
of every thread block.  So for any timing no ring of blocks waits for one another: all dependencies
come earlier in one common order.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Sequence

import networkx as nx

from syncoll.runtime import Message
from syncoll_msccl_xml.instructions import XmlInstruction

Connection = tuple[int, int, int]
"""Source, destination and channel."""


def channels_of(
    messages: Sequence[Message], num_nodes: int, spread: int, most_per_channel: int
) -> list[int]:
    """The channel of every message; a link's messages are spread over `spread` channels.  At most
    `most_per_channel` connections of a rank may send, or receive, on one channel."""
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
    ends: Collection[tuple[Connection, Connection]] = (),
) -> dict[Connection, Connection]:
    """The incoming connections of a rank that share a block with an outgoing one.

    A pair gains the messages that could be passed on as they arrive.  Pairs of `ends` may share a
    block without a gain, as many as possible.
    """
    graph: nx.Graph[tuple[str, Connection]] = nx.Graph()
    weights = dict.fromkeys(ends, 0) | dict(sorted(gains.items()))
    for (incoming, outgoing), gain in weights.items():
        if incoming[2] == outgoing[2]:
            graph.add_edge(("in", incoming), ("out", outgoing), weight=gain)
    result = {}
    for one, other in nx.max_weight_matching(graph, maxcardinality=bool(ends)):
        first, second = (one, other) if one[0] == "in" else (other, one)
        result[first[1]] = second[1]
    return result


DEPTH = 2
"""Pending sends on one connection; the protocol Simple holds the fewest."""

Place = tuple[int, int]
"""Rank, and index in the rank's list."""


def order_of(
    ranks: Sequence[Sequence[XmlInstruction]],
    waits: Sequence[Sequence[tuple[int, ...]]],
    connections: Sequence[Connection],
) -> tuple[list[Place], list[Place]]:
    """The executable instructions in order, and the ones that lack a message or space for one.  The
    `waits` of an instruction are earlier ones of its rank."""
    followers: dict[Place, list[Place]] = defaultdict(list)
    missing: dict[Place, int] = {}
    ready: list[tuple[tuple[int, int, int, int], Place]] = []
    for rank, instructions in enumerate(ranks):
        for i in range(len(instructions)):
            missing[rank, i] = len(waits[rank][i])
            for j in waits[rank][i]:
                followers[rank, j].append((rank, i))
            if not waits[rank][i]:
                ready.append((instructions[i].key, (rank, i)))
    heapq.heapify(ready)
    queues: dict[Connection, deque[int]] = defaultdict(deque)
    for_space: dict[Connection, list[Place]] = defaultdict(list)
    for_message: dict[int, Place] = {}
    result: list[Place] = []

    def wake(place: Place) -> None:
        heapq.heappush(ready, (ranks[place[0]][place[1]].key, place))

    def hand_over(connection: Connection) -> None:
        """Wakes the receiver of the first message, if it waits already."""
        queue = queues[connection]
        if queue and queue[0] in for_message:
            wake(for_message.pop(queue[0]))

    while ready:
        _, place = heapq.heappop(ready)
        instruction = ranks[place[0]][place[1]]
        incoming, outgoing = instruction.incoming, instruction.outgoing
        if incoming is not None:
            queue = queues[connections[incoming]]
            if not queue or queue[0] != incoming:
                for_message[incoming] = place
                continue
        if outgoing is not None and len(queues[connections[outgoing]]) >= DEPTH:
            for_space[connections[outgoing]].append(place)
            continue
        if incoming is not None:
            queues[connections[incoming]].popleft()
            hand_over(connections[incoming])
            for other in for_space.pop(connections[incoming], []):
                wake(other)
        if outgoing is not None:
            queues[connections[outgoing]].append(outgoing)
            hand_over(connections[outgoing])
        result.append(place)
        for follower in followers[place]:
            missing[follower] -= 1
            if not missing[follower]:
                wake(follower)
    blocked = [*for_message.values(), *(place for places in for_space.values() for place in places)]
    return result, sorted(blocked)
