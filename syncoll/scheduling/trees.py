"""Tree: the ways that a part of one node's data takes to everybody who needs it."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.errors import ModelError

__all__ = ["StepTree"]


@dataclass(frozen=True)
class StepTree:
    """A directed tree of sends.

    Args:
        root: the node where the data starts.
        weight: how many equal parts of the root's data go down this tree; the weights of all trees
            of a root say into how many parts its data is cut.
        edges: (parent, child) pairs of nodes, every parent before its children; each node but the
            root is a child once.

    Raises:
        ModelError: when the edges are no such tree.
    """

    root: int
    weight: int
    edges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if self.weight < 1:
            raise ModelError(f"a tree of weight {self.weight}", None, "a weight of at least 1")
        reached = {self.root}
        for parent, child in self.edges:
            if parent not in reached:
                raise ModelError(f"a tree in which {parent} sends before it is reached")
            if child in reached:
                raise ModelError(f"a tree in which {child} is reached twice")
            reached.add(child)

    @property
    def nodes(self) -> frozenset[int]:
        """The root and everything that it reaches."""
        return frozenset((self.root, *(child for _, child in self.edges)))

    @property
    def depths(self) -> dict[int, int]:
        """For each node how many sends it is away from the root."""
        depths = {self.root: 0}
        for parent, child in self.edges:
            depths[child] = depths[parent] + 1
        return depths

    @property
    def height(self) -> int:
        """The largest depth."""
        return max(self.depths.values())
