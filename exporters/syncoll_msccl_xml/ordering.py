"""An order of all instructions of all ranks in which none waits for a later one.

Connections hold few messages and hand them over in the order of their sends.  The schedule is
played step by step under that rule; the resulting order becomes the order of every thread block, so
that for any timing, no ring of blocks waits for one another: all dependencies come earlier in one
common order.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from syncoll_msccl_xml.channels import Connection
from syncoll_msccl_xml.instructions import XmlInstruction

__all__ = ["DEPTH", "Order", "Place", "order_of"]

DEPTH = 2
"""Pending sends on one connection; the protocol Simple holds the fewest."""

Place = tuple[int, int]
"""Rank, and index in the rank's list."""


@dataclass(frozen=True)
class Order:
    """The executable instructions in order, and the rest without a message or room for one."""

    places: tuple[Place, ...]
    blocked: tuple[Place, ...]


def order_of(
    ranks: Sequence[Sequence[XmlInstruction]],
    waits: Sequence[Sequence[tuple[int, ...]]],
    connections: Sequence[Connection],
) -> Order:
    """The order of all instructions, up to a deadlock; `waits` are earlier ones of the rank."""
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
    return Order(tuple(result), tuple(sorted(blocked)))
