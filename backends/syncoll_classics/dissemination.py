"""Disseminations: for each source a tree with times, along which its chunks reach all nodes.

An allgather without useless sends gives every node each chunk once, so it is a tree of timed sends
for each source.  Cut back to the nodes that need a chunk, the same trees are the classic algorithms
for other collectives: recursive doubling cut back to one destination a chunk is the alltoall of the
hypercube, and for one source a binomial tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from syncoll.arrays import BoolArray, IntArray
from syncoll.model import ranges
from syncoll_classics.demand import ClassicDemand

__all__ = ["Dissemination", "logical_sends"]

_CHUNKS_A_CHECK = 256
"""How many chunks are looked up between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class Dissemination:
    """A tree with times for each source.

    Args:
        parents: ``[source, node]``, the sender; -1 at the source and at nodes outside the tree.
        steps: ``[source, node]``, in which step; -1 without a parent.
    """

    parents: IntArray
    steps: IntArray
    _below: dict[int, BoolArray] = field(default_factory=dict, init=False, repr=False)

    @property
    def num_steps(self) -> int:
        """The steps of the slowest tree."""
        return int(self.steps.max(initial=-1)) + 1

    def needed(self, source: int, destinations: BoolArray) -> IntArray:
        """The nodes that get the source's chunks when only these nodes need them."""
        parents = self.parents[source]
        marked = destinations & (parents >= 0)
        if not marked[parents >= 0].all():
            climbing = np.flatnonzero(marked)
            while len(climbing):
                above = np.unique(parents[climbing])
                climbing = above[(parents[above] >= 0) & ~marked[above]]
                marked[climbing] = True
        return np.flatnonzero(marked)

    def below(self, source: int) -> BoolArray:
        """``[node, node]``: whether the second is in the source's tree at or below the first."""
        if source not in self._below:
            self._below[source] = self._found_below(source)
        return self._below[source]

    def _found_below(self, source: int) -> BoolArray:
        below = np.eye(len(self.parents), dtype=bool)
        for node in np.argsort(-self.steps[source], kind="stable").tolist():
            parent = int(self.parents[source, node])
            if parent >= 0:
                below[parent] |= below[node]
        return below


def logical_sends(
    demand: ClassicDemand,
    ways: Sequence[Dissemination],
    *,
    interval: int = 0,
    late: bool = False,
    check: Callable[[], None] = lambda: None,
) -> IntArray:
    """The sends of a collective that moves data, as rows (chunk, source, destination, step).

    Chunks of the same pre and post take the ways in turn.

    Args:
        interval: steps between the starts of successive rounds of chunks; 1 is a pipeline.
        late: delay chunks with short ways so that all arrive in the last step, as in a scatter.
        check: called now and then; may raise when time is up.
    """
    blocks: list[IntArray] = []
    known: dict[tuple[int, int, bytes], int] = {}
    alike: list[int] = []
    places, sources = demand.places.tolist(), demand.sources.tolist()
    for chunk, (place, source) in enumerate(zip(places, sources, strict=True)):
        if chunk % _CHUNKS_A_CHECK == 0:
            check()
        number = place % len(ways)
        post = demand.destinations[chunk]
        key = (number, source, post.tobytes())
        if key not in known:
            nodes = ways[number].needed(source, post)
            parents, steps = ways[number].parents[source, nodes], ways[number].steps[source, nodes]
            if late:
                steps = steps + ways[number].num_steps - 1 - steps.max(initial=-1)
            known[key] = len(blocks)
            blocks.append(np.stack([np.zeros_like(nodes), parents, nodes, steps], axis=1))
        alike.append(known[key])
    sizes = np.array([len(block) for block in blocks], dtype=np.int64)
    firsts, lengths = np.cumsum(sizes) - sizes, sizes[alike]
    found = np.concatenate(blocks)[ranges(firsts[alike], lengths)]
    found[:, 0] = np.repeat(np.arange(demand.num_chunks), lengths)
    found[:, 3] += np.repeat(demand.places // len(ways) * interval, lengths)
    return found
