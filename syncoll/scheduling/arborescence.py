"""Cheapest trees that lead away from a root, by the method of Chu & Liu and Edmonds."""

from collections.abc import Sequence
from typing import Any


def cheapest_arborescence(
    nodes: int, root: int, edges: Sequence[tuple[int, int, Any, int]]
) -> list[int]:
    """The edges of a cheapest tree from the root to every node (Chu & Liu 1965, Edmonds 1967).

    Each node takes its cheapest incoming edge.  Cycles are contracted, and the cost of an edge into
    a cycle is its excess over the edge that it would replace.

    Args:
        root: one of them, from which all others can be reached.
        edges: (source, destination, cost, name).
    """
    best: list[tuple[int, int, Any, int] | None] = [None] * nodes
    for edge in edges:
        u, v, cost, _ = edge
        if v == root or u == v:
            continue
        known = best[v]
        if known is None or cost < known[2]:
            best[v] = edge
    cycle = [-1] * nodes  # the contracted node of each
    state = [0] * nodes
    state[root] = 2
    count = 0
    on_cycle = [False] * nodes
    for start in range(nodes):
        walk, v = [], start
        while state[v] == 0:
            state[v] = 1
            walk.append(v)
            edge_in = best[v]
            assert edge_in is not None, "the root reaches every node"
            v = edge_in[0]
        if state[v] == 1:
            for w in walk[walk.index(v) :]:
                cycle[w], on_cycle[w] = count, True
            count += 1
        for w in walk:
            state[w] = 2
    if count == 0:
        return [edge[3] for edge in best if edge is not None]
    total = count
    for v in range(nodes):
        if cycle[v] < 0:
            cycle[v] = total
            total += 1
    shorter, back = [], []
    for position, (u, v, cost, _) in enumerate(edges):
        a, b = cycle[u], cycle[v]
        if a == b or v == root:
            continue
        replaced = best[v]
        if on_cycle[v] and replaced is not None:
            cost = cost - replaced[2]
        shorter.append((a, b, cost, position))
        back.append(position)
    chosen = cheapest_arborescence(total, cycle[root], shorter)
    entered = {edges[position][1] for position in chosen}
    kept = [
        edge[3]
        for v, edge in enumerate(best)
        if edge is not None and on_cycle[v] and v not in entered
    ]
    return kept + [edges[position][3] for position in chosen]
