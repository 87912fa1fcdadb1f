"""The sends of a wave, step by step, and the contributions that each carries.

In one box of P nodes a wave has a chunk for each node.  There the chunk's sum is formed (step 0),
and from there the result is copied to all (step 1).  Each cable carries P values in either
direction: P - 1 contributions and one result, or the reverse.  The cables back are idle in the
first step, so one more chunk fits, which every node copies to all others.  So m waves take

    S = m + 1,  R = P m + P - 1,  C = P m + 1

and R/C falls to 1, the own data that a node's cable must carry.  Boxes exchange their sums along
rails: two boxes in one step, more boxes in two steps, each box summing its part of the chunks.

If several groups of nodes sum chunks of their own, their waves run at the same time.
"""

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from syncoll.arrays import Bools
from syncoll.model import Algorithm
from syncoll_inswitch.boxes import Boxes

Moves = tuple[tuple[tuple[int, int, int], ...], ...]
"""For each step the sends: chunk, source, destination."""

MOST_CHUNKS = 1 << 11
"""Largest C of a wave, and of a ramp; limits memory."""


def parts_of(boxes: Boxes) -> int:
    """The number of parts of a rail's chunks, each summed by another node."""
    return len(boxes.nodes) if len(boxes.nodes) > 2 else 1


def copied_at_once(box: tuple[int, ...], times: int) -> Moves:
    """Chunks that every node sends to all others in one step, each copied by the switch."""
    return (tuple((c, a, b) for c in range(times) for a in box for b in box if a != b),)


def at_once(groups: Sequence[Moves], chunks: Sequence[int]) -> Moves:
    """Merges the moves of groups; their `chunks` are renumbered group by group."""
    firsts = [sum(chunks[:i]) for i in range(len(chunks))]
    steps = zip_longest(*groups, fillvalue=())
    return tuple(
        tuple(
            (first + c, a, b)
            for first, moves in zip(firsts, step, strict=True)
            for c, a, b in moves
        )
        for step in steps
    )


def algorithm_of(moves: Moves, pre: Bools) -> Algorithm:
    """The algorithm of these sends, each with the sender's whole partial sum; one round a step.

    A partial sum that a node receives is disjoint from its own, or complete.

    Args:
        pre: ``[G, P]``, the contributors of each chunk.
    """
    chunks, nodes = pre.shape
    held = np.zeros((chunks, nodes, nodes), dtype=bool)
    held[:, np.arange(nodes), np.arange(nodes)] = pre
    sends, carried = [], []
    for step, now in enumerate(moves):
        chunk, source, destination = np.array(now, dtype=np.int64).reshape(-1, 3).T
        what = held[chunk, source]
        sends.append(np.stack([chunk, source, destination, np.full_like(chunk, step)], axis=1))
        carried.append(what)
        np.logical_or.at(held, (chunk, destination), what)
    return Algorithm((1,) * len(moves), np.concatenate(sends), np.concatenate(carried))
