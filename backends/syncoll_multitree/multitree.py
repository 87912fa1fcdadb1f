"""multitree: the timed trees of a topology, in whichever way is fastest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from syncoll.errors import ModelError
from syncoll.model import Topology
from syncoll_multitree.construction import grow
from syncoll_multitree.timed_trees import TimedTrees
from syncoll_multitree.translations import Translations, find_translations
from syncoll_multitree.turns import TURNS
from syncoll_multitree.unit_network import ORDERS, UnitNetwork

__all__ = ["multitree", "symmetry_of", "usual_turns"]

_MOST_HEIGHTS = 1 << 17
"""Trees x nodes up to which the remaining heights of trees are followed unless asked for."""


def multitree(
    topology: Topology,
    roots: Sequence[int] | None = None,
    *,
    rounds: int = 1,
    order: str = "far",
    turns: str = "any",
    translations: Translations | None = None,
    until: float | None = None,
) -> TimedTrees:
    """Spanning trees that share the links of each time step (MultiTree paper, Algorithm 1).

    Args:
        topology: P and B.
        roots: of each tree; one tree at every node when missing.  Trees take turns in this order.
        rounds: q, the rounds of a time step: a link of bandwidth b is used ``floor(b q)`` times.
        order: of a node's neighbours, a name of `ORDERS`.
        turns: one of `TURNS`, or ``any`` for those of `usual_turns`.
        translations: of the topology, when known: then one tree for each copy of the roots is
            grown and moved to the others, in the order of differences; `order` and `turns` do not
            matter.  The roots must be ``0 … P-1``, once or several times over.
        until: a time of `time.perf_counter` after which no time step begins; None for no limit.

    Raises:
        ModelError: on an unknown name, or when a tree cannot reach a node over links that have
            room for a chunk in a time step.
        OutOfTimeError: past `until`.
    """
    nodes = topology.num_nodes
    if order not in ORDERS:
        raise ModelError(f"order {order!r}", None, "one of " + ", ".join(ORDERS))
    if turns not in (*TURNS, "any"):
        raise ModelError(f"turns {turns!r}", None, "any or one of " + ", ".join(TURNS))
    roots = range(nodes) if roots is None else roots
    if translations is not None:
        if list(roots) != list(range(nodes)) * (len(roots) // nodes):
            raise ModelError("translations move the tree of node 0 to every node, in order")
        return _translated(topology, len(roots) // nodes, rounds, translations)
    if turns == "any":
        turns = usual_turns(topology, roots)
    network = UnitNetwork.of(topology, rounds, order)
    added = np.array(
        grow(network, roots, turns, lambda: topology.distances, until), dtype=np.int64
    ).reshape(-1, 3)
    links = np.array(topology.links, dtype=np.int64).reshape(-1, 2)[added[:, 1]]
    edges = np.concatenate([added[:, :1], links, added[:, 2:]], axis=1)
    return TimedTrees(np.array(roots, dtype=np.int64), edges)


def symmetry_of(topology: Topology, roots: Sequence[int]) -> Translations | None:
    """Translations of the topology when they map the roots onto themselves."""
    nodes = topology.num_nodes
    if len(roots) % nodes or list(roots) != list(range(nodes)) * (len(roots) // nodes):
        return None
    return find_translations(topology)


def usual_turns(topology: Topology, roots: Sequence[int]) -> str:
    """``root`` where all nodes have as many links and the same eccentricity, else ``height``.

    But where to follow heights would take longer than all the rest, ``missing``.
    """
    kinds = Counter(
        (len(out), len(into))
        for out, into in zip(topology.out_links, topology.in_links, strict=True)
    )
    if len(roots) * topology.num_nodes > _MOST_HEIGHTS:
        return "root" if len(kinds) == 1 else "missing"
    regular = len(kinds) == 1 and len(set(topology.distances.max(axis=1).tolist())) == 1
    return "root" if regular else "height"


def _translated(
    topology: Topology, copies: int, rounds: int, translations: Translations
) -> TimedTrees:
    """The trees of node 0 in the quotient, moved to every node."""
    nodes = topology.num_nodes
    network = translations.quotient(topology, rounds)
    added = np.array(
        grow(network, [0] * copies, "root", lambda: topology.distances), dtype=np.int64
    ).reshape(-1, 3)
    links = np.array(topology.links, dtype=np.int64)[added[:, 1]]
    by = np.arange(nodes, dtype=np.int64)[None, :]
    columns = (
        added[:, :1] * nodes + by,
        translations.move(links[:, :1], by),
        translations.move(links[:, 1:], by),
        np.repeat(added[:, 2:], nodes, axis=1),
    )
    return TimedTrees(
        np.tile(np.arange(nodes, dtype=np.int64), copies),
        np.stack([column.reshape(-1) for column in columns], axis=1),
    )
