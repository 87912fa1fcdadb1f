"""TimedTrees: spanning trees whose edges each have the time step in which they are used."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.arrays import IntArray
from syncoll.model import Algorithm
from syncoll.scheduling import StepTree

__all__ = ["TimedTrees"]


@dataclass(frozen=True, eq=False)
class TimedTrees:
    """The result of Algorithm 1: the paper's allgather schedule of every tree.

    Args:
        roots: ``[N]``, the root of each tree.
        edges: ``[M, 4]``: tree, parent, child, time step (from 0), in the order of allocation, the
            sequence numbers of the paper's Figure 3.
    """

    roots: IntArray
    edges: IntArray

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

    def to_algorithm(self, chunk_of: IntArray, rounds_per_step: tuple[int, ...]) -> Algorithm:
        """Sends chunk ``chunk_of[tree]`` over every edge of a tree in the edge's time step."""
        sends = self.edges.copy()
        sends[:, 0] = chunk_of[sends[:, 0]]
        return Algorithm(rounds_per_step, sends)
