"""Algorithm 1 of the MultiTree paper: grow all trees at once, a time step at a time.

In a time step every link is free.  Trees take turns to add one node each, over a free link from a
node that the tree had before this step, nodes in order of arrival and their neighbours in a given
order; the link is then taken.  When no tree can add a node the next step begins.

Each tree keeps its candidates as one list in order.  Within a step links only become taken and
trees only grow, so a failed candidate fails until the end of the step: every tree walks its list
once a step, at the cost of the lists' lengths, not the paper's O(V^2 E).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from syncoll.arrays import IntArray
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError
from syncoll_multitree.turns import Turns
from syncoll_multitree.unit_network import UnitNetwork

__all__ = ["Additions", "grow"]

Additions = list[tuple[int, int, int]]
"""(tree, link, time step from 0), in the order of allocation."""


def grow(
    network: UnitNetwork,
    roots: Sequence[int],
    turns: str,
    distances: Callable[[], IntArray],
    until: Deadline = NEVER,
) -> Additions:
    """Spanning trees from these roots.

    Args:
        roots: of each tree; the order of turns where nothing else decides.
        turns: one of `TURNS`.
        distances: gives ``[P, P]``, links between nodes; called for ``height`` only.
        until: no time step begins after it.

    Raises:
        ModelError: on unknown turns, or if a tree cannot reach a node over links with a unit.
        OutOfTimeError: past `until`.
    """
    lost = network.lost(frozenset(roots))
    if lost is not None:
        raise ModelError(
            f"no tree from node {lost[0]} reaches node {lost[1]}",
            None,
            "a network in which links lead from every root to every node, each with room for a "
            "chunk in a time step",
        )
    heads, out, pools_of, members = network.heads, network.out, network.pools_of, network.members
    usable = network.usable
    inside = [bytearray(network.num_nodes) for _ in roots]
    waiting: list[list[int]] = [list(out[root]) for root in roots]
    for tree, root in enumerate(roots):
        inside[tree][root] = 1
    order = Turns(turns, roots, network.num_nodes, distances, until)
    missing = order.missing
    growing = [tree for tree in range(len(roots)) if missing[tree]]
    added: Additions = []
    step = 0
    while growing:
        order.sort(growing)
        free, left = bytearray(usable), list(network.limits)
        open_pools = sum(map(bool, left))
        walks: dict[int, Iterator[int]] = {}
        for tree in growing:
            has = inside[tree]
            waiting[tree] = [link for link in waiting[tree] if not has[heads[link]]]
            walks[tree] = iter(waiting[tree])
        fresh: dict[int, list[int]] = {}
        taking = growing
        while taking:
            again = []
            for tree in taking:
                has = inside[tree]
                for link in walks[tree]:
                    if free[link] and not has[heads[link]]:
                        break
                else:  # it stays out until the next time step
                    continue
                node = heads[link]
                has[node] = 1
                fresh.setdefault(tree, []).append(node)
                added.append((tree, link, step))
                for pool in pools_of[link]:
                    left[pool] -= 1
                    if not left[pool]:
                        open_pools -= 1
                        for member in members[pool]:
                            free[member] = 0
                missing[tree] -= 1
                if missing[tree]:
                    again.append(tree)
            taking = again if open_pools else []
        for tree, nodes in fresh.items():
            for node in nodes:
                waiting[tree] += out[node]
        order.end_step(fresh)
        growing = [tree for tree in growing if missing[tree]]
        step += 1
    return added
