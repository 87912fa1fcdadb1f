"""The least asynchronous time over all schedules of a few chunks, in whole units of time."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from syncoll.model import Instance

__all__ = ["least_time"]

_Held = tuple[frozenset[int], ...]
"""For each node and chunk the contributions that the node holds; of copied data one."""

_Flying = frozenset[tuple[int, int, int, frozenset[int]]]
"""Arrival, node, chunk and contributions of sends on their way."""


def least_time(
    instance: Instance,
    latency: Mapping[tuple[int, int], int],
    takes: Mapping[tuple[int, int], int],
    most: int = 200,
) -> int:
    """Tries every choice of sends.  A send begins when its chunk arrives, or when its link is free
    again, since any other could begin earlier.

    Args:
        latency: of each link, at least 1 unless its chunks take time.
        takes: time for which a chunk occupies a link.
    """
    nodes, chunks, sums = instance.topology.num_nodes, len(instance.pre), instance.combining
    links = sorted(latency)
    goal: dict[tuple[int, int], frozenset[int]] = {}
    begin: list[frozenset[int]] = []
    for node, chunk in product(range(nodes), range(chunks)):
        starts = instance.pre[chunk]
        begin.append(frozenset([node] if sums else [0]) if starts[node] else frozenset())
        if instance.post[chunk, node]:
            every = [n for n in range(nodes) if starts[n]] if sums else [0]
            goal[node, chunk] = frozenset(every)
    states: set[tuple[_Held, tuple[int, ...], _Flying]]
    states = {(tuple(begin), (0,) * len(links), frozenset())}
    for time in range(most):
        arrived: set[tuple[_Held, tuple[int, ...], _Flying, frozenset[int]]] = set()
        for held, free, flying in states:
            now = list(held)
            for arrival, node, chunk, carried in sorted(flying, key=lambda one: one[:3]):
                if arrival == time:
                    at = node * chunks + chunk
                    if not now[at] & carried:
                        now[at] |= carried
                    elif now[at] < carried:
                        now[at] = carried
            rest = frozenset(one for one in flying if one[0] > time)
            if all(now[n * chunks + c] >= need for (n, c), need in goal.items()):
                return time
            new = frozenset(i for i in range(len(now)) if now[i] != held[i])
            arrived.add((tuple(now), free, rest, new))
        states = set()
        for held, free, flying, new in arrived:
            choices = []
            for i, (source, target) in enumerate(links):
                options: list[int | None] = [None]
                for chunk in range(chunks) if free[i] <= time else ():
                    have = held[source * chunks + chunk]
                    coming = {x for _, n, c, x in flying if (n, c) == (target, chunk)}
                    event = free[i] == time or source * chunks + chunk in new
                    is_new = have and not have <= held[target * chunks + chunk]
                    if event and is_new and have not in coming:
                        options.append(chunk)
                choices.append(options)
            for chosen in product(*choices):
                later, sent = list(free), set(flying)
                for i, chunk in enumerate(chosen):
                    if chunk is not None:
                        source, target = links[i]
                        later[i] = time + takes[links[i]]
                        arrival = later[i] + latency[links[i]]
                        sent.add((arrival, target, chunk, held[source * chunks + chunk]))
                states.add((held, tuple(later), frozenset(sent)))
    raise AssertionError("no schedule")
