"""Relays: copies inside a box that other nodes make in place of a busy one.

A node that brings a chunk to several nodes of its box sends it to one of them, which sends it on to
the others.  So a node that starts many chunks is not busier than the cards.
"""

from math import ceil

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import ranges
from syncoll.scheduling.link_sets import LinkSets
from syncoll_routes.tiers import Tiers

_BATCHES = 32
"""Groups of copies at a node for which relays are chosen at once, by the loads before."""


def relieved(
    tiers: Tiers, sets: LinkSets, chunk: Ints, link: Ints, above: Ints
) -> tuple[Ints, Ints]:
    """The links of sends ``[E]``, and the send above each, with relays.

    Only sends without sends below them move, and none of a tree of three steps, so that no tree
    becomes deeper than the deepest one in use.
    """
    out = _out_sets(tiers, sets)
    time = sets.load(link, np.ones(len(link), dtype=np.int64)) * sets.rounds_per_send
    others = np.ones(len(time), dtype=bool)
    others[out] = False
    most, pace = time[others].max(initial=0.0), sets.rounds_per_send[out]
    busy = np.where(pace > 0, time[out], np.inf)
    late = np.flatnonzero((pace > 0) & (busy > most + pace))
    if not len(late):
        return link, above
    link, above = link.copy(), above.copy()
    start, end = tiers.topology.ends[link].T
    is_last, is_first = np.ones(len(link), dtype=bool), above < 0
    is_last[above[~is_first]] = False
    movable = tiers.near[link] & is_last & (is_first | is_first[above])
    group = np.where(is_first, len(link) + chunk, above)
    for node in late.tolist():
        own = np.flatnonzero(movable & (start == node))
        own = own[np.argsort(group[own], kind="stable")]
        begin = np.flatnonzero(np.diff(group[own], prepend=-1))
        size = np.diff(begin, append=len(own))
        several = np.flatnonzero(size > 1)
        for some in np.array_split(several, min(_BATCHES, max(1, len(several)))):
            needed = ceil((busy[node] - most) / pace[node])
            sends, number = own[ranges(begin[some], size[some])], np.repeat(some, size[some])
            # The least busy node of each group is its relay.
            sends = sends[np.lexsort((busy[end[sends]], number))]
            first = np.cumsum(size[some]) - size[some]
            relay, moved = sends[first], size[some] - 1
            moved[busy[end[relay]] >= most] = 0
            moved[np.cumsum(moved) - moved >= needed] = 0
            via = np.repeat(relay, size[some])
            changed = (np.repeat(moved, size[some]) > 0) & (sends != via)
            via, later = via[changed], sends[changed]
            link[later], above[later] = tiers.direct[end[via], end[later]], via
            np.add.at(busy, end[relay], pace[end[relay]] * moved)
            busy[node] -= pace[node] * moved.sum()
    return link, above


def _out_sets(tiers: Tiers, sets: LinkSets) -> Ints:
    """``[P]``: the tightest set that all links out of a node inside its box share, else the set
    without a limit."""
    found = np.full(tiers.topology.num_nodes, sets.size, dtype=np.int64)
    for node, direct in enumerate(tiers.direct):
        links = direct[direct >= 0]
        if len(links):
            shared, count = np.unique(sets.of_link[links], return_counts=True)
            shared = shared[(count == len(links)) & (shared < sets.size)]
            if len(shared):
                found[node] = shared[sets.rounds_per_send[shared].argmax()]
    return found
