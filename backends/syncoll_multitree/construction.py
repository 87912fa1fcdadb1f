"""Algorithm 1 of the MultiTree paper: grow all trees at once, a time step at a time.

When a time step begins, every link is free.  Trees take turns to add one node each, over a free
link from a node that the tree had before this step.  Nodes are tried in order of arrival, their
neighbours in a given order; the link is then taken.  If no tree can add a node the next step
begins.

Each tree keeps its candidates as one list in order.  Within a step links only become taken and
trees only grow, so a failed candidate fails until the end of the step: every tree walks its list
once a step, at the cost of the lists' lengths, not the paper's O(V^2 E).

Turns by root serve symmetric networks; on others trees with larger remaining height go first
(section III.C.1).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Ints
from syncoll.clock import remembering
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError
from syncoll.model import Algorithm, Link, Topology
from syncoll.model.fabric import unreached
from syncoll.scheduling import StepTree
from syncoll.symmetry.products import find_products

Additions = list[tuple[int, int, int]]
"""(tree, link, time step from 0), in the order of allocation."""

TURNS = ("root", "height", "missing")
"""``root``: in the order of the roots.  ``height``: trees whose missing nodes are farthest first.
``missing``: trees with the most missing nodes first."""

_MOST_HEIGHTS = 1 << 17
"""Most trees x nodes for which ``height`` is the default."""


@dataclass(frozen=True, eq=False)
class TimedTrees:
    """The result of Algorithm 1: the paper's allgather schedule of every tree.

    Args:
        roots: ``[N]``, the root of each tree.
        edges: ``[M, 4]``: tree, parent, child, time step (from 0), in the order of allocation, the
            sequence numbers of the paper's Figure 3.
    """

    roots: Ints
    edges: Ints

    @property
    def num_steps(self) -> int:
        """The time steps until every tree is complete."""
        return int(self.edges[:, 3].max(initial=-1)) + 1

    def trees(self) -> tuple[StepTree, ...]:
        """The trees without their time steps."""
        of: list[list[tuple[int, int]]] = [[] for _ in self.roots]
        for tree, parent, child, _ in self.edges.tolist():
            of[tree].append((parent, child))
        return tuple(
            StepTree(root, 1, tuple(edges))
            for root, edges in zip(self.roots.tolist(), of, strict=True)
        )

    def to_algorithm(self, chunk_of: Ints, rounds_per_step: tuple[int, ...]) -> Algorithm:
        """Sends chunk ``chunk_of[tree]`` over every edge of a tree in the edge's time step."""
        sends = self.edges.copy()
        sends[:, 0] = chunk_of[sends[:, 0]]
        return Algorithm(rounds_per_step, sends)


class Turns:
    """The missing nodes of trees, and the order of turns from them; arguments as in `grow`."""

    def __init__(
        self,
        kind: str,
        roots: Sequence[int],
        num_nodes: int,
        distances: Callable[[], Ints],
        until: Deadline = NEVER,
    ) -> None:
        self._until = until
        self._kind = kind
        self.missing = [num_nodes - 1] * len(roots)
        if kind == "height":
            self._distances = distances()
            self._to_node = [self._distances[root].copy() for root in roots]
            self._heights = [int(row.max()) for row in self._to_node]

    def sort(self, trees: list[int]) -> None:
        """Sorts trees for the next time step; raises OutOfTimeError past the deadline."""
        self._until.check()
        missing = self.missing
        if self._kind == "height":
            heights = self._heights
            trees.sort(key=lambda tree: (-heights[tree], -missing[tree], tree))
        elif self._kind == "missing":
            trees.sort(key=lambda tree: (-missing[tree], tree))

    def end_step(self, fresh: Mapping[int, Sequence[int]]) -> None:
        """Records the nodes that each tree added in a time step."""
        if self._kind != "height":
            return
        for tree, nodes in fresh.items():
            row = self._to_node[tree]
            np.minimum(row, self._distances[list(nodes)].min(axis=0), out=row)
            self._heights[tree] = int(row.max())


def grow(
    network: "UnitNetwork",
    roots: Sequence[int],
    turns: str,
    distances: Callable[[], Ints],
    until: Deadline = NEVER,
) -> Additions:
    """Spanning trees from these roots.
    Raises `ModelError` if a tree cannot reach a node over links with a unit, and `OutOfTimeError`
    past `until`.

    Args:
        roots: the root of each tree; ties in turns go to the first.
        turns: one of `TURNS`.
        distances: returns ``[P, P]``, links between nodes; called for ``height`` only.
        until: no time step begins after it.
    """
    lost = network.lost(frozenset(roots))
    if lost is not None:
        raise ModelError(
            f"no tree from node {lost[0]} reaches node {lost[1]}",
            None,
            "a network in which links lead from every root to every node, each wide enough for a "
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
                else:  # no more turns in this time step
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


@dataclass(frozen=True, eq=False)
class UnitNetwork:
    """The number of times that each link can be used in one time step.

    A link of bandwidth b is ``floor(b q)`` parallel unit links in a time step of q rounds (section
    VII.B), so that rational bandwidths need no common unit.  A bound shared by several links is a
    pool of unit links.

    Args:
        heads: the head of each link.
        out: links of each node in the order in which they are tried.
        limits: unit links of each pool in a time step.
        members: links that draw from each pool.
        pools_of: pools from which each link draws.
    """

    num_nodes: int
    heads: tuple[int, ...]
    out: tuple[tuple[int, ...], ...]
    limits: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    pools_of: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls, topology: Topology, rounds: int, order: str, places: Sequence[int] | None = None
    ) -> "UnitNetwork":
        """The unit links of a topology in a time step of `rounds` rounds.

        Args:
            order: a name of `ORDERS`.
            places: numbers of the nodes in the order; by default their own.
        """
        links: Sequence[Link] = topology.links
        if places is not None:
            links = [(places[a], places[b]) for a, b in links]
        key = ORDERS[order](links)
        out = tuple(tuple(sorted(at, key=lambda i: key(links[i]))) for at in topology.out_links)
        return cls(
            topology.num_nodes,
            tuple(b for _, b in topology.links),
            out,
            tuple(bound.capacity(rounds) for bound in topology.bounds),
            tuple(tuple(m.tolist()) for m in topology.bound_links),
            topology.link_bounds,
        )

    @property
    def usable(self) -> bytearray:
        """For each link whether it has a unit link in a time step."""
        return bytearray(all(self.limits[pool] for pool in pools) for pools in self.pools_of)

    def lost(self, roots: frozenset[int]) -> tuple[int, int] | None:
        """A root and a node that it cannot reach over usable links; otherwise None."""
        usable = self.usable
        links = [
            (node, self.heads[link])
            for node, leaving in enumerate(self.out)
            for link in leaving
            if usable[link]
        ]
        return unreached(links, self.num_nodes, sorted(roots))


Key = Callable[[Link], tuple[int, ...]]
"""Sorts the links that leave a vertex."""


def _scarce(links: Sequence[Link]) -> Key:
    arriving = Counter(end for _, end in links)
    return lambda link: (arriving[link[1]], link[1])


ORDERS: dict[str, Callable[[Sequence[Link]], Key]] = {
    "far": lambda _: lambda link: (-abs(link[1] - link[0]), link[1]),
    "index": lambda _: lambda link: (link[1],),
    "scarce": _scarce,
}
"""Orders of a node's neighbours, given all links.

``far``: by decreasing distance of numbers; on grids numbered row by row that is the paper's
"Y dimension, then X dimension".  ``index``: by number.  ``scarce``: nodes with the fewest incoming
links first, as they can be reached least often.
"""


def multitree(
    topology: Topology,
    roots: Sequence[int] | None = None,
    *,
    rounds: int = 1,
    order: str = "far",
    turns: str = "any",
    places: Ints | None = None,
    until: Deadline = NEVER,
) -> TimedTrees:
    """Spanning trees that share the links of each time step (MultiTree paper, Algorithm 1).
    Raises `ModelError` if a tree cannot reach a node over links that carry a chunk in a time
    step, and `OutOfTimeError` past `until`.

    Args:
        roots: the root of each tree, in the order of turns; by default one tree at every node.
        rounds: q, the rounds of a time step: a link of bandwidth b is used ``floor(b q)`` times.
        order: order of a node's neighbours, a name of `ORDERS`.
        turns: one of `TURNS`, or ``any`` for `usual_turns`.
        places: ``[P]``, the numbers of nodes in the order of neighbours; by default their own.
        until: no time step begins after it.
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
    links = topology.ends[added[:, 1]]
    edges = np.concatenate([added[:, :1], links, added[:, 2:]], axis=1)
    return TimedTrees(np.array(roots, dtype=np.int64), edges)


def copies_of(topology: Topology, roots: Sequence[int]) -> int | None:
    """The number of trees of each node if all have equally many; otherwise None."""
    copies, rest = divmod(len(roots), topology.num_nodes)
    return copies if not rest and list(roots) == list(range(topology.num_nodes)) * copies else None


@remembering
def places_of(topology: Topology) -> Ints:
    """``[P]``: numbers of nodes for orders: row by row on even grids, otherwise their own.  On a
    grid with lines, the slowest dimension is the longest, which the order ``far`` has first."""
    products = find_products(topology)
    return products[0].places if products and products[0].even else np.arange(topology.num_nodes)


def usual_turns(topology: Topology, roots: Sequence[int]) -> str:
    """``root`` on regular networks, else ``height``, or ``missing`` if heights take too long."""
    kinds = Counter(
        (len(out), len(into))
        for out, into in zip(topology.out_links, topology.in_links, strict=True)
    )
    if len(roots) * topology.num_nodes > _MOST_HEIGHTS:
        return "root" if len(kinds) == 1 else "missing"
    regular = len(kinds) == 1 and len(set(topology.distances.max(axis=1).tolist())) == 1
    return "root" if regular else "height"
