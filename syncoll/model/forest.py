"""Forest: spanning trees with weights whose edges are physical paths.

One unit of weight is one tree.  In a forest of ``k`` trees for a root of weight 1 every tree
carries 1/k of that root's data, and a link of bandwidth b carries at most ``scale * b`` trees.

Trees may branch at switches that copy (or, in a reduction, add up).  Such a *junction* has one path
in and any number of paths out, so that each link carries a tree once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll.model.fabric import Fabric


@dataclass(frozen=True)
class Tree:
    """A spanning tree.

    Args:
        weight: the number of equal trees.
        edges: an edge for each compute node but the root, and each junction in use, nearest to the
            root first: (tail, head, path) with the path's vertices from tail to head.
    """

    root: int
    weight: int
    edges: tuple[tuple[int, int, tuple[int, ...]], ...]

    def sends(self, num_nodes: int) -> tuple[tuple[int, int], ...]:
        """(parent, child) for compute nodes but the root, parents first; junctions hold nothing."""
        holder: dict[int, int] = {}
        pairs = []
        for tail, head, _ in self.edges:
            near, far = (tail, head) if tail == self.root or tail in holder else (head, tail)
            parent = holder[near] if near >= num_nodes else near
            holder[far] = parent
            if far < num_nodes:
                pairs.append((parent, far))
        return tuple(pairs)


@dataclass(frozen=True, eq=False)
class Forest:
    """Spanning trees of a fabric, as arrays.

    Args:
        weights: the share of the data that starts (or ends) at each compute node.
        k: trees rooted at a node of weight 1.
        scale: U, the trees that a unit of bandwidth may carry.
        roots: ``[tree]``.
        multiplicity: ``[tree]``: the number of equal trees.
        routes: physical paths between compute nodes and junctions.
        entering: ``[tree, P + J]``: the route by which a tree enters each node, -1 at its root,
            and each junction, -1 where it is not used.
        inward: whether data flows from leaves to roots (reduction), along reversed edges: routes
            then lead from a child to its parent, and `entering` names the route that leaves.
        junctions: J switches at which trees may branch, ascending.
    """

    fabric: Fabric
    weights: tuple[int, ...]
    k: int
    scale: Fraction
    roots: npt.NDArray[np.int32]
    multiplicity: npt.NDArray[np.int64]
    routes: tuple[tuple[int, ...], ...]
    entering: npt.NDArray[np.int32]
    inward: bool = False
    junctions: tuple[int, ...] = ()

    @property
    def num_trees(self) -> int:
        """The number of distinct trees."""
        return len(self.roots)

    @property
    def algbw(self) -> Fraction:
        """All data over the time that the trees need: W k / U."""
        return sum(self.weights) * self.k / self.scale

    @cached_property
    def columns(self) -> dict[int, int]:
        """The column of `entering` of each compute node and junction."""
        nodes = self.fabric.num_nodes
        found = {node: node for node in range(nodes)}
        return found | {switch: nodes + i for i, switch in enumerate(self.junctions)}

    @cached_property
    def above(self) -> npt.NDArray[np.int32]:
        """``[tree, P + J]``: the column one route nearer to the root, -1 at the root."""
        end = -1 if self.inward else 0
        nearer = np.array([self.columns[path[end]] for path in self.routes], dtype=np.int32)
        found: npt.NDArray[np.int32] = np.where(self.entering < 0, -1, nearer[self.entering])
        return found

    @cached_property
    def parents(self) -> npt.NDArray[np.int32]:
        """``[tree, node]``: the next node towards the root, -1 at the root."""
        nodes = self.fabric.num_nodes
        found = self.above[:, :nodes]
        if not self.junctions:
            return found
        found = found.copy()
        while (inner := found >= nodes).any():
            found[inner] = self.above[np.nonzero(inner)[0], found[inner]]
        return found

    @cached_property
    def heights(self) -> npt.NDArray[np.int32]:
        """``[tree]``: sends on the longest path from the root; junctions do not count."""
        heights = np.zeros(self.num_trees, dtype=np.int32)
        rows = max(1, 4_000_000 // self.fabric.num_nodes)
        for begin in range(0, self.num_trees, rows):
            parents = self.parents[begin : begin + rows]
            root = np.arange(len(parents)), self.roots[begin : begin + rows]
            above = parents.copy()
            above[root] = root[1]
            depth = (parents >= 0).astype(np.int16)
            # Doubling: after i turns `above` is the ancestor 2**i edges up, or the root.
            while (above != root[1][:, None]).any():
                depth = depth + np.take_along_axis(depth, above, axis=1)
                above = np.take_along_axis(above, above, axis=1)
            heights[begin : begin + rows] = depth.max(axis=1)
        return heights

    @property
    def height(self) -> int:
        """The height of the highest tree."""
        return int(self.heights.max())

    def tree(self, number: int) -> Tree:
        """One tree."""
        root = int(self.roots[number])
        children: dict[int, list[int]] = {}
        for column, parent in enumerate(self.above[number].tolist()):
            children.setdefault(parent, []).append(column)
        edges = []
        front = [root]
        while front:
            onward = []
            for parent in front:
                for column in children.get(parent, ()):
                    path = self.routes[self.entering[number, column]]
                    edges.append((path[0], path[-1], path))
                    onward.append(column)
            front = onward
        return Tree(root, int(self.multiplicity[number]), tuple(edges))

    def trees(self) -> Iterator[Tree]:
        """All trees, by root."""
        return (self.tree(i) for i in range(self.num_trees))

    def reversed(self) -> "Forest":
        """The same trees with every edge reversed, on the reversed fabric."""
        return replace(
            self,
            fabric=self.fabric.reversed(),
            routes=tuple(path[::-1] for path in self.routes),
            inward=not self.inward,
        )
