"""Trees by arrival time: every send in turn, the earliest arrival first, with backtracking.

Schedules are listed with their sends in order of departure, each as early as its data and lanes
allow.  The first is list scheduling by arrival time; a limit on the work ends the list, which on
tiny networks has every schedule.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from syncoll.deadline import NEVER, Deadline
from syncoll.documents import StoredAlgorithm
from syncoll.model import Counting, Instance
from syncoll.simulating import Setting, TimedLanes, stepped, with_sends

__all__ = ["MOST_OPTIONS", "by_arrival"]

MOST_OPTIONS = 20_000
"""Sends that are considered; limits work."""

_MOST_ARRIVALS = 32
"""Most arrivals in a schedule; limits work."""

_EQUAL = 1 - 1e-9


@dataclass
class _Search:
    """The best schedule so far: its sends (link, chunk, departure), and when the last arrives."""

    instance: Instance
    lanes: TimedLanes
    until: Deadline
    options_left: int
    least: float = float("inf")
    sends: list[tuple[int, int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        links = self.instance.topology.links
        self.out = [[i for i, link in enumerate(links) if link[0] == n] for n in range(self.nodes)]
        self.heads = [link[1] for link in links]
        self.way = np.full((self.nodes, self.nodes), np.inf)
        np.fill_diagonal(self.way, 0)
        for i, (a, b) in enumerate(links):
            self.way[a, b] = min(self.way[a, b], self.lanes.pass_over(i, 0.0, take=False)[1])
        for middle in range(self.nodes):
            onward = self.way[:, middle, None] + self.way[None, middle]
            self.way = np.minimum(self.way, onward)

    @property
    def nodes(self) -> int:
        """P."""
        return self.instance.topology.num_nodes

    def extend(
        self,
        has: dict[tuple[int, int], float],
        lanes: TimedLanes,
        sends: list[tuple[int, int, float]],
    ) -> None:
        """Lists the schedules that begin with some sends; `has`: when a node has a chunk."""
        latest = max((has[c, self.heads[i]] for i, c, _ in sends), default=0.0)
        bound, is_done = latest, True
        for chunk, node in self.wanted:
            if (chunk, node) not in has:
                is_done = False
                came = (t + self.way[n, node] for (c, n), t in has.items() if c == chunk)
                bound = max(bound, float(min(came)))
        if bound >= self.least * _EQUAL:
            return
        if is_done:
            self.least, self.sends = bound, sends
            return
        last = (sends[-1][2] * _EQUAL, sends[-1][0]) if sends else (0.0, -1)
        options = []
        for (chunk, node), ready in has.items():
            for link in self.out[node]:
                if (chunk, self.heads[link]) not in has:
                    left, arrived = lanes.pass_over(link, ready, take=False)
                    if left * _EQUAL > last[0] or (left >= last[0] and link > last[1]):
                        is_wanted = (chunk, self.heads[link]) in self.wanted
                        options.append((arrived, not is_wanted, link, chunk, left))
        self.options_left -= len(options)
        for arrived, _, link, chunk, left in sorted(options):
            after = lanes.copied()
            after.pass_over(link, has[chunk, self.instance.topology.links[link][0]])
            then = {**has, (chunk, self.heads[link]): arrived}
            self.extend(then, after, [*sends, (link, chunk, left)])
            if self.options_left < 0 or self.until.left() <= 0:
                return

    def run(self) -> None:
        """Lists schedules until the limits."""
        pre, post = (
            {(chunk, node) for chunk, node in np.argwhere(x).tolist()}
            for x in (self.instance.pre, self.instance.post)
        )
        self.wanted = post - pre
        has = dict.fromkeys(sorted(pre), 0.0)
        self.extend(has, self.lanes, [])


def by_arrival(
    instance: Instance, setting: Setting, size: Fraction, until: Deadline = NEVER
) -> StoredAlgorithm | None:
    """The fastest schedule that was found for L bytes of a node's data; None for a collective with
    sums, lanes that copy, a large instance, or without time."""
    network, count = setting.network, int((instance.post & ~instance.pre).sum())
    if (
        instance.combining
        or count > _MOST_ARRIVALS
        or any(lane.counts is not Counting.SENDS for lane in network.lanes)
    ):
        return None
    lanes = TimedLanes(network, setting.semantics, Fraction(size) / instance.chunks)
    search = _Search(instance, lanes, until, MOST_OPTIONS)
    search.run()
    if not search.sends:
        return None
    links = [network.topology.links[link] for link, _, _ in search.sends]
    rows = [(c, *ends, 0) for (_, c, _), ends in zip(search.sends, links, strict=True)]
    place = {(c, b): i for i, (c, _, b, _) in enumerate(rows)}
    needs = [[place[c, a]] if (c, a) in place else [] for c, a, _, _ in rows]
    sends = np.array(rows, dtype=np.int64)
    used = np.array([link for link, _, _ in search.sends])
    sends[:, 3] = stepped(network, sends, used, needs, range(len(rows)))
    return with_sends(instance, sends, None, "arrivals")
