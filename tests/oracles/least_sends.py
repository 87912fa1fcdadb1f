"""The cheapest sends of a chunk, by trying everything."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from syncoll.model import Topology


def least_sends(
    topology: Topology,
    pre: int,
    post: int,
    steps: int,
    prices: Callable[[int, int, int], int] = lambda *_: 1,
) -> int | None:
    """The least cost of sends in a number of steps after which all of post know all of pre.

    The state of a node is a set of contributors; whole sets are sent, since parts of them do no
    better.  `prices` has the cost of a send by its two nodes and its step; without it they count.
    """
    nodes, links = topology.num_nodes, topology.links
    order = count()
    start = tuple((1 << n) & pre for n in range(nodes))
    queue = [(0, next(order), 0, start)]
    seen = set()
    while queue:
        cost, _, step, state = heapq.heappop(queue)
        if (step, state) in seen:
            continue
        seen.add((step, state))
        if all(state[n] == pre for n in range(nodes) if post >> n & 1):
            return cost
        if step == steps:
            continue
        useful = [(a, b) for a, b in links if state[a] & ~state[b]]
        for chosen in range(1 << len(useful)):
            after, paid = list(state), cost
            for i, (a, b) in enumerate(useful):
                if chosen >> i & 1:
                    after[b] |= state[a]
                    paid += prices(a, b, step)
            item = (paid, next(order), step + 1, tuple(after))
            if item[2:] not in seen:
                heapq.heappush(queue, item)
    return None
