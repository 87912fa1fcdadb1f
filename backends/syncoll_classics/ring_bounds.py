"""An upper bound on the rings a round of any set of Hamiltonian cycles.

Two counts, both exact.  Every cycle leaves any group of nodes, so K cycles put at least K chunks on
its outgoing links, and link sets of B that cover these must have room.  A link set that contains
all links out of k groups gets at least k K chunks.  The groups are single nodes, all but one, and,
for each bandwidth, the components of links of at least that bandwidth.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from heapq import heapify, heappop, heappush

import numpy as np

from syncoll.model import Topology
from syncoll.model.width_clusters import boxes_by_width

__all__ = ["rings_bound"]

_MOST_WIDTHS = 16
"""Bandwidths at which the network is taken to pieces."""


def rings_bound(topology: Topology) -> Fraction:
    """No set of rings has more of them a round."""
    ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
    at = topology.link_bounds
    widths = [bound.chunks_per_round for bound in topology.bounds]
    best: Fraction | None = None
    for groups in (np.arange(topology.num_nodes), *boxes_by_width(topology, _MOST_WIDTHS)):
        ways = groups[ends]
        crossing = np.flatnonzero(ways[:, 0] != ways[:, 1])
        for end in (0, 1):
            order = crossing[np.argsort(ways[crossing, end], kind="stable")]
            starts = np.unique(ways[order, end], return_index=True)[1][1:]
            whole = Counter[int]()
            for links in np.split(order, starts):
                covered = _cover([at[i] for i in links.tolist()], widths)
                best = covered if best is None else min(best, covered)
                inside = Counter(number for i in links.tolist() for number in at[i])
                whole.update(number for number, count in inside.items() if count == len(links))
            for number, count in whole.items():
                best = widths[number] / count if best is None else min(best, widths[number] / count)
    assert best is not None  # every node of two or more has a link
    return best


def _cover(links: list[tuple[int, ...]], widths: list[Fraction]) -> Fraction:
    """An upper bound on the room of these links, by link sets that cover them."""
    count = Counter(number for numbers in links for number in numbers)
    members: dict[int, list[int]] = {number: [] for number in count}
    for link, numbers in enumerate(links):
        for number in numbers:
            members[number].append(link)
    # Greedily by room per link that is not covered yet, which only grows: so a set whose figure
    # is still right when it comes up is the best one.
    heap = [(float(widths[number]) / count[number], number) for number in count]
    heapify(heap)
    covered = [False] * len(links)
    total, left = Fraction(0), len(links)
    while left:
        figure, number = heappop(heap)
        if not count[number]:
            continue
        now = float(widths[number]) / count[number]
        if now > figure:
            heappush(heap, (now, number))
            continue
        total += widths[number]
        for link in members[number]:
            if not covered[link]:
                covered[link] = True
                left -= 1
                count.subtract(links[link])
    return total
