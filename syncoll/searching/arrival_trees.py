"""Trees by arrival time: every send in turn, the earliest arrival first, with backtracking.

Schedules are listed with their sends in order of departure, each as early as its data and lanes
allow.  The first is list scheduling by arrival time; a limit on the work ends the list, which on
tiny networks has every schedule.
"""

from fractions import Fraction

import numpy as np

from syncoll.deadline import NEVER, Deadline
from syncoll.documents import StoredAlgorithm
from syncoll.model import Instance
from syncoll.simulating import Setting, TimedLanes, stepped, with_sends

MOST_OPTIONS = 20_000
"""Sends that are considered; limits work."""

_MOST_ARRIVALS = 32
"""Most arrivals in a schedule; limits work."""

_EQUAL = 1 - 1e-9

Sent = tuple[int, int, float]
"""Link, chunk and departure."""


class _Search:
    """Lists schedules up to the limits; `sends` are the fastest one's, if any."""

    def __init__(self, instance: Instance, lanes: TimedLanes, until: Deadline) -> None:
        self.links, self.until, self.options_left = instance.topology.links, until, MOST_OPTIONS
        nodes = instance.topology.num_nodes
        self.out = instance.topology.out_links
        self.way = np.full((nodes, nodes), np.inf)
        np.fill_diagonal(self.way, 0)
        for i, (a, b) in enumerate(self.links):
            self.way[a, b] = min(self.way[a, b], lanes.pass_over(i, 0.0, take=False)[1])
        for middle in range(nodes):
            onward = self.way[:, middle, None] + self.way[None, middle]
            self.way = np.minimum(self.way, onward)
        pre, post = (
            {(c, n) for c, n in np.argwhere(x).tolist()} for x in (instance.pre, instance.post)
        )
        self.wanted, self.least, self.sends = post - pre, float("inf"), list[Sent]()
        self.extend(dict.fromkeys(sorted(pre), 0.0), lanes, [])

    def extend(
        self, has: dict[tuple[int, int], float], lanes: TimedLanes, sends: list[Sent]
    ) -> None:
        """Lists the schedules that begin with some sends; `has`: when a node has a chunk."""
        bound = max((has[c, self.links[i][1]] for i, c, _ in sends), default=0.0)
        missing = [one for one in self.wanted if one not in has]
        for chunk, node in missing:
            came = (t + self.way[n, node] for (c, n), t in has.items() if c == chunk)
            bound = max(bound, float(min(came)))
        if bound >= self.least * _EQUAL:
            return
        if not missing:
            self.least, self.sends = bound, sends
            return
        last = (sends[-1][2] * _EQUAL, sends[-1][0]) if sends else (0.0, -1)
        options = []
        for (chunk, node), ready in has.items():
            for link in self.out[node]:
                to = chunk, self.links[link][1]
                if to not in has:
                    left, arrived = lanes.pass_over(link, ready, take=False)
                    if left * _EQUAL > last[0] or (left >= last[0] and link > last[1]):
                        options.append((arrived, to not in self.wanted, link, chunk, left))
        self.options_left -= len(options)
        for arrived, _, link, chunk, left in sorted(options):
            source, head = self.links[link]
            after = lanes.copied()
            after.pass_over(link, has[chunk, source])
            self.extend({**has, (chunk, head): arrived}, after, [*sends, (link, chunk, left)])
            if self.options_left < 0 or self.until.left() <= 0:
                return


def by_arrival(
    instance: Instance, setting: Setting, size: Fraction, until: Deadline = NEVER
) -> StoredAlgorithm | None:
    """The fastest schedule that was found for L bytes of a node's data; None for a collective with
    sums, lanes that copy, a large instance, or without time."""
    network, count = setting.network, int((instance.post & ~instance.pre).sum())
    if instance.combining or count > _MOST_ARRIVALS or network.topology.counts_copies:
        return None
    lanes = TimedLanes(network, setting.semantics, Fraction(size) / instance.chunks)
    found = _Search(instance, lanes, until).sends
    if not found:
        return None
    rows = [(c, *network.topology.links[link], 0) for link, c, _ in found]
    place = {(c, b): i for i, (c, _, b, _) in enumerate(rows)}
    needs = [[place[c, a]] if (c, a) in place else [] for c, a, _, _ in rows]
    sends, used = np.array(rows, dtype=np.int64), np.array([link for link, _, _ in found])
    sends[:, 3] = stepped(network, sends, used, needs, range(len(rows)))
    return with_sends(instance, sends, None, "arrivals")
