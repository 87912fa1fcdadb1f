"""The traffic of each algorithm as arrays for the page: loads, sends, and arrivals."""

from typing import Any

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import Algorithm, Instance, OrbitAlgorithm
from syncoll.model.counting import bound_loads
from syncoll.reporting.packing import ByteRoom, pack

MOST_MOVES = 60_000
"""Sends of an algorithm that a page shows one by one; of larger ones it shows the loads of links.
"""

_MOST_ARRIVALS = 1 << 24
"""Largest table of the data held by each node that is computed for a page."""


def traffic(instance: Instance, algorithm: Algorithm, room: ByteRoom) -> dict[str, Any]:
    """The traffic of an algorithm, as far as there is room for it.

    Returns:
        ``loads`` ``[L, S]``: chunks on each link in each step; ``counted`` ``[B, S]``: the chunks
        that each bound counts, where it does not count every one; ``moves``: the link and the chunk
        of each send, by step, link and chunk, ``moves_per_step``, and the ``kinds`` of chunks for
        colours; ``arrived`` ``[S + 1, P]``: per cent of the needed data that each node has before
        each step and in the end, 255 where it needs nothing.  None stands for an omission.
    """
    topology = instance.topology
    found: dict[str, Any] = dict.fromkeys(("counted", "loads", "moves", "kinds", "arrived"))
    found["loads"] = room.take(pack(algorithm.link_loads(topology)))
    if topology.counts_copies:
        found["counted"] = room.take(pack(bound_loads(topology, algorithm)))
        if found["counted"] is None:
            found["loads"] = None  # they alone would say that limits are exceeded
    if found["loads"] is None or algorithm.num_sends > MOST_MOVES:
        return found
    listed = algorithm.expanded() if isinstance(algorithm, OrbitAlgorithm) else algorithm
    sends = listed.sends
    links = topology.links_of(sends[:, 1], sends[:, 2])
    order = np.lexsort([sends[:, 0], links, sends[:, 3]])
    moves = room.take(pack(np.stack([links[order], sends[order, 0]])))
    if moves is None:
        return found
    kinds, words = _kinds(instance)
    counts = np.bincount(sends[:, 3], minlength=listed.steps)
    share = arrived(instance, listed)
    found |= {
        "moves": moves,
        "moves_per_step": counts.tolist(),
        "kinds": pack(kinds),
        "kinds_are": words,
        "chunks_in_all": instance.num_chunks,
        "arrived": None if share is None else room.take(pack(share)),
    }
    return found


def _kinds(instance: Instance) -> tuple[Ints, str]:
    """A number for each chunk, equal for chunks of one colour, and its meaning: the node where
    chunks start, or end, if that is a single node and differs among chunks."""
    for table, words in ((instance.pre, "start"), (instance.post, "end")):
        if (table.sum(axis=1) == 1).all():
            nodes = table.argmax(axis=1)
            if len(np.unique(nodes)) > 1:
                return nodes, words
    return np.arange(instance.num_chunks), "chunk"


def arrived(instance: Instance, algorithm: Algorithm) -> Ints | None:
    """``[S + 1, P]``: per cent of its data that a node has before each step, and in the end; 255
    for nodes that need nothing, None if the table would be too large.  A node that needs a
    reduction has the share of the contributions that have reached it."""
    chunks, nodes = instance.pre.shape
    combining = instance.combining
    if chunks * nodes * (nodes if combining else 1) > _MOST_ARRIVALS:
        return None
    needed = instance.post[..., None] & instance.pre[:, None] if combining else instance.post
    has = np.zeros(needed.shape, dtype=bool)
    if combining:
        every = np.arange(nodes)
        has[:, every, every] = instance.pre
    else:
        has |= instance.pre
    axes = (0, 2) if combining else (0,)
    wanted = needed.sum(axis=axes)
    rows, carried = [], algorithm.contributions
    sends = algorithm.sends
    ends = np.searchsorted(sends[:, 3], np.arange(algorithm.steps + 1))
    for step in range(algorithm.steps + 1):
        rows.append((has & needed).sum(axis=axes))
        if step == algorithm.steps:
            break
        part = slice(ends[step], ends[step + 1])
        chunk, to = sends[part, 0], sends[part, 2]
        if carried is None:
            has[chunk, to] = True
        else:
            np.logical_or.at(has, (chunk, to), carried[part])
    shares = 100 * np.array(rows) // np.maximum(wanted, 1)
    return np.where(wanted == 0, 255, shares)
