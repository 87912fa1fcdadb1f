"""multitree: the timed trees of a topology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from syncoll.arrays import IntArray
from syncoll.clock import remembering
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Topology
from syncoll.symmetry.products import find_products
from syncoll_multitree.construction import TimedTrees, UnitNetwork, grow

__all__ = ["copies_of", "multitree", "places_of", "usual_turns"]

_MOST_HEIGHTS = 1 << 17
"""Trees x nodes up to which the remaining heights of trees are followed unless asked for."""


def multitree(
    topology: Topology,
    roots: Sequence[int] | None = None,
    *,
    rounds: int = 1,
    order: str = "far",
    turns: str = "any",
    places: IntArray | None = None,
    until: Deadline = NEVER,
) -> TimedTrees:
    """Spanning trees that share the links of each time step (MultiTree paper, Algorithm 1).

    Args:
        roots: of each tree, in the order of turns; by default one tree at every node.
        rounds: q, of a time step: a link of bandwidth b is used ``floor(b q)`` times.
        order: of a node's neighbours, a name of `ORDERS`.
        turns: one of `TURNS`, or ``any`` for those of `usual_turns`.
        places: ``[P]``, the numbers of nodes in the order of neighbours; by default their own.
        until: no time step begins after it.

    Raises:
        ModelError: if a tree cannot reach a node over links with room for a chunk in a time step.
        OutOfTimeError: past `until`.
    """
    nodes = topology.num_nodes
    roots = range(nodes) if roots is None else roots
    if turns == "any":
        turns = usual_turns(topology, roots)
    counted = None if places is None else places.tolist()
    network = UnitNetwork.of(topology, rounds, order, counted)
    added = np.array(
        grow(network, roots, turns, lambda: topology.distances, until), dtype=np.int64
    ).reshape(-1, 3)
    links = np.array(topology.links, dtype=np.int64).reshape(-1, 2)[added[:, 1]]
    edges = np.concatenate([added[:, :1], links, added[:, 2:]], axis=1)
    return TimedTrees(np.array(roots, dtype=np.int64), edges)


def copies_of(topology: Topology, roots: Sequence[int]) -> int | None:
    """How many times over the roots are ``0 … P-1``; None if they are not."""
    copies, rest = divmod(len(roots), topology.num_nodes)
    return copies if not rest and list(roots) == list(range(topology.num_nodes)) * copies else None


@remembering
def places_of(topology: Topology) -> IntArray:
    """``[P]``: numbers of nodes for orders: row by row on even grids, else their own.

    On a grid with lines, the slowest dimension is the longest, which the order ``far`` has first.
    """
    products = find_products(topology)
    return products[0].places if products and products[0].even else np.arange(topology.num_nodes)


def usual_turns(topology: Topology, roots: Sequence[int]) -> str:
    """``root`` on regular networks, else ``height``, or ``missing`` where heights take too long."""
    kinds = Counter(
        (len(out), len(into))
        for out, into in zip(topology.out_links, topology.in_links, strict=True)
    )
    if len(roots) * topology.num_nodes > _MOST_HEIGHTS:
        return "root" if len(kinds) == 1 else "missing"
    regular = len(kinds) == 1 and len(set(topology.distances.max(axis=1).tolist())) == 1
    return "root" if regular else "height"
