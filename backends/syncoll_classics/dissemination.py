"""Disseminations: for each source a timed tree, along which its chunks reach all nodes.

An allgather without redundant sends gives every node each chunk once, so it is a tree of timed
sends for each source.  Pruned to the nodes that need a chunk, the same trees are the classic
algorithms for other collectives: recursive doubling pruned to one destination a chunk is the
alltoall of the hypercube, and for one source a binomial tree.

A dissemination backwards is a reduction: a send carries the contributions of the sender and of all
nodes below it.  Halving-doubling is recursive doubling backwards, each chunk towards its owner, and
then forwards; a pipelined double binary tree sends each piece up and down its tree.  Exchanges of
partial sums and all-to-all sends of contributions are no disseminations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll_classics.demand import ClassicDemand

Carrying = tuple[Ints, Bools]
"""Logical sends (chunk, source, destination, step), and the contributions in each."""


@dataclass(frozen=True, eq=False)
class Dissemination:
    """A tree with times for each source.

    Args:
        parents: ``[source, node]``, the sender; -1 at the source and at nodes outside the tree.
        steps: ``[source, node]``, the step of the send; -1 without a parent.
    """

    parents: Ints
    steps: Ints
    _below: dict[int, Bools] = field(default_factory=dict, init=False, repr=False)

    @property
    def num_steps(self) -> int:
        """The steps of the slowest tree."""
        return int(self.steps.max(initial=-1)) + 1

    def below(self, source: int) -> Bools:
        """``[node, node]``: whether the second is in the source's tree at or below the first."""
        if source not in self._below:
            below = self._below[source] = np.eye(len(self.parents), dtype=bool)
            for node in np.argsort(-self.steps[source], kind="stable").tolist():
                parent = int(self.parents[source, node])
                if parent >= 0:
                    below[parent] |= below[node]
        return self._below[source]


def logical_sends(
    demand: ClassicDemand,
    ways: Sequence[Dissemination],
    *,
    interval: int = 0,
    late: bool = False,
    check: Callable[[], None] = lambda: None,
) -> Ints:
    """The sends of a collective without sums, as rows (chunk, source, destination, step).

    Chunks of the same pre and post are assigned to the ways in turn.

    Args:
        interval: steps between the starts of successive rounds of chunks; 1 is a pipeline.
        late: delay chunks with short ways so that all arrive in the last step, as in a scatter.
        check: called regularly; may raise when time is up.
    """
    parents, times = (
        np.stack([getattr(way, name) for way in ways]) for name in ("parents", "steps")
    )
    number, sources = demand.places % len(ways), demand.sources
    inside = parents >= 0
    marked = demand.destinations & inside[number, sources]
    chunk, node = np.nonzero(marked)
    while len(chunk):  # climbing to the sources
        check()
        node = parents[number[chunk], sources[chunk], node]
        new = inside[number[chunk], sources[chunk], node] & ~marked[chunk, node]
        chunk, node = chunk[new], node[new]
        marked[chunk, node] = True
    chunk, node = np.nonzero(marked)
    place = number[chunk], sources[chunk], node
    step = times[place] + (demand.places // len(ways) * interval)[chunk]
    if late:
        last = np.zeros(demand.num_chunks, dtype=np.int64)
        np.maximum.at(last, chunk, times[place])
        step += np.array([way.num_steps - 1 for way in ways])[number[chunk]] - last[chunk]
    return np.column_stack([chunk, parents[place], node, step])


def joined(parts: Sequence[Carrying]) -> Carrying:
    """Concatenates sends and contributions."""
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def up_and_down(
    chunk: int, tree: Dissemination, root: int, height: int, start: int = 0
) -> Carrying:
    """Reduces a chunk to a root along its tree and spreads it from there.

    Args:
        height: steps of the longest way to a root, over all trees in use.
        start: the step in which it begins.
    """
    nodes = np.flatnonzero(tree.parents[root] >= 0)
    parents, steps = tree.parents[root, nodes], tree.steps[root, nodes]
    chunks = np.full_like(nodes, chunk)
    up = np.stack([chunks, nodes, parents, start + height - 1 - steps], axis=1)
    down = np.stack([chunks, parents, nodes, start + height + steps], axis=1)
    everybody = np.ones((len(nodes), len(tree.parents)), dtype=bool)
    return np.concatenate([up, down]), np.concatenate([tree.below(root)[nodes], everybody])


def exchanged(chunk: int, peers: Ints) -> Carrying:
    """Pairs of `peers` ``[step, node]``, with no contribution in common, exchange their sums."""
    ranks = np.arange(peers.shape[1])
    parts: list[Carrying] = []
    has = np.eye(len(ranks), dtype=bool)  # [node, contribution]
    for step, peer in enumerate(peers):
        columns = [np.full_like(ranks, chunk), ranks, peer, np.full_like(ranks, step)]
        parts.append((np.stack(columns, axis=1), has))
        has = has | has[peer]
    return joined(parts)


def one_shot(chunk: int, nodes: int) -> Carrying:
    """Every node sends its contribution to every other node, in one step."""
    sources, destinations = np.nonzero(~np.eye(nodes, dtype=bool))
    columns = [np.full_like(sources, chunk), sources, destinations, np.zeros_like(sources)]
    return np.stack(columns, axis=1), np.eye(nodes, dtype=bool)[sources]
