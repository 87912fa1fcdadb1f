"""Trees of least height: shortest paths that balance the load.

The linear program only sees loads, so its trees may be high.  Few steps need trees of least height.
A node with several possible parents takes the least loaded link, or a random one for trees that
differ.
"""

from random import Random

import networkx as nx

from syncoll.packing.arrivals import MOST_CELLS
from syncoll_treepacking.links import LinkSystem
from syncoll_treepacking.oracle import Oracle, TreeColumn

__all__ = ["low_trees"]

_MOST_EDGES = MOST_CELLS >> 7
"""Most edges of all trees; limits work."""

_MOST_ROOTS = 64
"""Most nodes that are tried as centres; limits work."""


def low_trees(oracle: Oracle, count: int, chance: Random | None = None) -> list[list[TreeColumn]]:
    """A tree for each group in every turn; the first W turns are a packing of W parts.

    Args:
        oracle: the oracle of a system without switches.
        count: number of trees; fewer in large networks, but at least eight for each group.
        chance: chooses parents at random; None: by load.
    """
    system = oracle.system
    onward = [
        [(v, int(edge["link"])) for v, edge in system.graph.adj[u].items()]
        for u in range(system.num_nodes)
    ]
    roots = [_centres(system) if root is None else [root] for root in oracle.roots]
    capacities = [float(c) for c in system.capacities]
    load = [0.0] * len(capacities)

    def rank(link: int, share: float) -> float:
        if chance is not None:
            return chance.random()
        uses = system.uses[link]
        return max((load[row] + times * share) / capacities[row] for row, times in uses)

    turns: list[list[TreeColumn]] = []
    count = min(count, _MOST_EDGES // system.num_nodes)
    for turn in range(max(8, count // len(roots))):
        trees = []
        for group, (choice, exact) in enumerate(zip(roots, oracle.shares, strict=True)):
            share = float(exact)
            level = [choice[turn % len(choice)]]
            seen = set(level)
            links: list[int] = []
            routes: list[tuple[int, int]] = []
            while level:
                choices: dict[int, list[tuple[int, int]]] = {}
                for u in level:
                    for v, link in onward[u]:
                        if v not in seen:
                            choices.setdefault(v, []).append((u, link))
                # Nodes with few choices come first.
                for v, ways in sorted(choices.items(), key=lambda item: (len(item[1]), item[0])):
                    u, link = min(ways, key=lambda way: rank(way[1], share))
                    for row, times in system.uses[link]:
                        load[row] += times * share
                    links.append(link)
                    routes.append((u, v))
                seen |= choices.keys()
                level = sorted(choices)
            if not system.directed:
                routes = sorted((min(u, v), max(u, v)) for u, v in routes)
            trees.append(TreeColumn(group, tuple(sorted(links)), tuple(routes)))
        turns.append(trees)
    return turns


def _centres(system: LinkSystem) -> list[int]:
    """The nodes with the lowest trees, among a sample in large networks."""
    tried = range(0, system.num_nodes, 1 + (system.num_nodes - 1) // _MOST_ROOTS)
    heights = {
        root: max(nx.single_source_shortest_path_length(system.graph, root).values())
        for root in tried
    }
    return [root for root, height in heights.items() if height == min(heights.values())]
