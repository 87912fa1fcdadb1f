"""Distances between all nodes: two breadth-first searches from all nodes at once.

On networks of small diameter each node has a bit set of the sources that reached it: a level costs
a bit operation for each link and node.  On long networks, where a level reaches few new nodes, only
the frontier is expanded: the work is one of each link and node in all.
"""

import numpy as np

from syncoll.arrays import Ints, KeyArray
from syncoll.model.rows import ranges

UNREACHABLE = 1 << 30
"""The distance between nodes that no path connects; larger than any number of steps."""

_BLOCK = 1 << 22
"""Links times sources handled together, a byte each in an array."""

_MOST_LEVELS = 128
"""Beyond this distance from the first node the frontier is expanded instead of bit sets."""


def distances(nodes: int, links: Ints) -> Ints:
    """Links on a shortest path ``[source, destination]``, or `UNREACHABLE`; `links` are sorted."""
    found = np.full((nodes, nodes), UNREACHABLE, dtype=np.int64)
    np.fill_diagonal(found, 0)
    if _levels(nodes, links) <= _MOST_LEVELS:
        _by_sets(nodes, links, found)
    else:
        _by_frontier(nodes, links, found)
    return found


def _levels(nodes: int, links: Ints) -> int:
    """The eccentricity of node 0 among the nodes that it reaches, up to just over the limit."""
    reached = np.zeros(nodes, dtype=bool)
    reached[:1] = True
    for level in range(_MOST_LEVELS + 1):
        further = reached.copy()
        further[links[reached[links[:, 0]], 1]] = True
        if np.array_equal(further, reached):
            return level
        reached = further
    return _MOST_LEVELS + 1


def _by_sets(nodes: int, links: Ints, found: Ints) -> None:
    order = np.argsort(links[:, 1], kind="stable")
    tails = links[order, 0]
    heads, first = np.unique(links[order, 1], return_index=True)
    words = -(-nodes // 64)
    reached: KeyArray = np.zeros((nodes, words), dtype=np.uint64)
    every = np.arange(nodes)
    reached[every, every // 64] = np.uint64(1) << (every % 64).astype(np.uint64)
    new, level = reached.copy(), 0
    parts = _parts(first, len(tails), max(1, _BLOCK // (8 * words)))
    while new.any():
        level += 1
        arrived = np.zeros_like(new)
        for low, high, start, stop in parts:
            arrived[heads[low:high]] = np.bitwise_or.reduceat(
                new[tails[start:stop]], first[low:high] - start, axis=0
            )
        new = arrived & ~reached
        reached |= new
        flat = new.ravel()
        places = np.flatnonzero(flat)
        for part in np.array_split(places, -(-len(places) * 64 // _BLOCK)) if len(places) else ():
            octets = flat[part].astype("<u8").view(np.uint8).reshape(-1, 8)
            which, bit = np.nonzero(np.unpackbits(octets, axis=1, bitorder="little"))
            node, word = np.divmod(part[which], words)
            found[word * 64 + bit, node] = level


def _parts(first: Ints, links: int, at_once: int) -> list[tuple[int, int, int, int]]:
    """Ranges of heads (low, high) and of their links (start, stop), at most `at_once` links."""
    ends = np.append(first[1:], links)
    found, low = [], 0
    while low < len(first):
        start = int(first[low])
        high = max(low + 1, int(np.searchsorted(ends, start + at_once, side="right")))
        found.append((low, high, start, int(ends[high - 1])))
        low = high
    return found


def _by_frontier(nodes: int, links: Ints, found: Ints) -> None:
    heads = links[:, 1]
    counts = np.bincount(links[:, 0], minlength=nodes)
    first = np.cumsum(counts) - counts
    block = max(1, _BLOCK // max(1, len(heads)))
    for low in range(0, nodes, block):
        sources = np.arange(low, min(low + block, nodes))
        last = np.zeros((len(sources), nodes), dtype=np.int64)
        nodes_now, level = sources, 0
        while len(sources):
            level += 1
            each = counts[nodes_now]
            there = heads[ranges(first[nodes_now], each)]
            came_from = np.repeat(sources, each)
            new = found[came_from, there] == UNREACHABLE
            came_from, there = came_from[new], there[new]
            found[came_from, there] = level
            # A pair found several times counts once: where it was found last.
            places = np.arange(len(there))
            last[came_from - low, there] = places
            once = last[came_from - low, there] == places
            sources, nodes_now = came_from[once], there[once]
