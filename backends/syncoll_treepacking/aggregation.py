"""Allreduce on spanning trees: results go down while later segments are reduced upwards.

Each tree carries its part of the data twice: contributions are reduced on the way to its root, and
the result returns the same way ("Optimal Message Scheduling for Aggregation", section 2).  The part
is cut into segments that follow one another by one step.  Once the pipeline is full, every link of
the tree carries one chunk up and one down in a step, as the packing's cost assumes.  A tree's root
is its centre; m segments on trees of height H take ``m - 1 + 2 H`` steps.

If every link has its own bandwidth, the same in both directions, reducescatter followed by
allgather is not better: in each of the two, every part of a partition receives all data that starts
outside it, and the sum over the parts is the partition's bound.  It is worse if nodes differ: on a
line of three nodes a chunk takes one round on trees, and four thirds with two phases.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from syncoll.model import Algorithm, Collective, Topology
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.plugins import Proposal, SeedLimits
from syncoll.scheduling import MOST_SENDS, StepTree
from syncoll.wording import counted

_MOST_CONTRIBUTIONS = MOST_CELLS << 7
"""Most sends times nodes of an algorithm; a larger one would take GiBs of memory."""


def aggregations(
    topology: Topology,
    collective: Collective,
    parts: int,
    trees: Sequence[StepTree],
    limits: SeedLimits,
    segments: Sequence[int],
) -> Iterator[Proposal]:
    """Algorithms for an allreduce, one for each number of segments that the limits allow.

    Args:
        collective: an allreduce: every node contributes to every chunk and needs the result.
        parts: parts of the data: the sum of the trees' weights.
        trees: spanning trees, rooted at their centres.
        segments: m, segments of each part.
    """
    nodes, height, ends = topology.num_nodes, max(t.height for t in trees), limits.deadline()
    for number in segments:
        chunks = parts * number
        sends = 2 * chunks * (nodes - 1)
        if ends.passed or sends > MOST_SENDS or sends * nodes > _MOST_CONTRIBUTIONS:
            return
        within = limits.allow(chunks=chunks, steps=number - 1 + 2 * height)
        if not within or not collective.admits(nodes, chunks):
            continue
        if len(collective.tabulate(nodes, chunks).pre) != chunks:
            continue  # this C is not admitted
        algorithm = _pipelined(trees, nodes, parts, number, height).tightened(topology)
        if limits.allow(rounds=algorithm.rounds):
            note = f"{counted(len(trees), 'tree')} up and down, {counted(number, 'segment')}"
            yield Proposal(chunks, algorithm, note)


def _pipelined(
    trees: Sequence[StepTree], nodes: int, parts: int, segments: int, height: int
) -> Algorithm:
    sends, carried = [], []
    first = 0
    for tree in trees:
        depths = tree.depths
        below = np.eye(nodes, dtype=bool)
        for parent, child in reversed(tree.edges):
            below[parent] |= below[child]
        parent, child = np.array(tree.edges, dtype=np.int64).T
        depth = np.array([depths[node] for node in child.tolist()], dtype=np.int64)
        # A chunk goes up the tree and down again.
        source, destination = np.concatenate([child, parent]), np.concatenate([parent, child])
        step = height + np.concatenate([-depth, depth - 1])
        contributions = np.concatenate([below[child], np.ones_like(below[child])])
        segment, copy = np.divmod(np.arange(segments * tree.weight), tree.weight)
        each, every = len(segment), len(step)
        sends.append(
            np.column_stack(
                [
                    np.repeat(segment * parts + first + copy, every),
                    np.tile(source, each),
                    np.tile(destination, each),
                    np.tile(step, each) + np.repeat(segment, every),
                ]
            )
        )
        carried.append(np.tile(contributions, (each, 1)))
        first += tree.weight
    # The caller sets the rounds that the sends need.
    steps = segments - 1 + 2 * height
    return Algorithm((1,) * steps, np.concatenate(sends), np.concatenate(carried))
