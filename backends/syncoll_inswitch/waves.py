"""What is done with the chunks of a wave, step by step, and what each send then carries.

In one box of P nodes a wave has a chunk for each node, where its sum is formed (step 0) and from
where the result is copied to all (step 1): each cable carries P values in either direction, P - 1
of them on the way to sums and one as a result, or the other way round.  The cables back are idle in
the first step; there one chunk more fits that every node copies to all others.  So m waves take

    S = m + 1,  R = P m + P - 1,  C = P m + 1

and R/C falls to 1, which is what a cable must carry of one's own data.  Between boxes the sums of
each are exchanged along rails: by two boxes at once, by more in two steps, each summing for its
part of the chunks.

Groups of nodes, each of which sums up chunks of its own, have their waves at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from syncoll.arrays import BoolArray
from syncoll.model import Algorithm
from syncoll_inswitch.boxes import Boxes

__all__ = ["MOST_CHUNKS", "Moves", "algorithm_of", "at_once", "copied_at_once", "parts_of", "wave"]

Moves = tuple[tuple[tuple[int, int, int], ...], ...]
"""For each step the sends: chunk, source, destination."""

MOST_CHUNKS = 1 << 11
"""C of a wave, and of a ramp; limits memory."""


@dataclass
class _Steps:
    """Sends of a wave, written down chunk by chunk."""

    moves: list[list[tuple[int, int, int]]]

    def gather(self, step: int, chunk: int, nodes: tuple[int, ...], root: int) -> None:
        self.moves[step] += [(chunk, node, root) for node in nodes if node != root]

    def spread(self, step: int, chunk: int, nodes: tuple[int, ...], root: int) -> None:
        self.moves[step] += [(chunk, root, node) for node in nodes if node != root]


def parts_of(boxes: Boxes) -> int:
    """In how many parts the chunks of a rail are summed, each by another of its nodes."""
    return len(boxes.nodes) if len(boxes.nodes) > 2 else 1


def wave(boxes: Boxes, times: int) -> Moves:
    """Sums in boxes, then between them, then copies of the results.

    Args:
        times: how many chunks stand for one.
    """
    between, parts = min(len(boxes.nodes) - 1, 2), parts_of(boxes)
    steps = _Steps([[] for _ in range(between + 2)])
    for chunk, rail in enumerate(boxes.roots * times):
        part = chunk // boxes.chunks % parts
        for box, root in zip(boxes.nodes, rail, strict=True):
            steps.gather(0, chunk, box, root)
            steps.spread(between + 1, chunk, box, root)
        if between == 1:
            steps.spread(1, chunk, rail, rail[0])
            steps.spread(1, chunk, rail, rail[1])
        elif between == 2:
            steps.gather(1, chunk, rail, rail[part])
            steps.spread(2, chunk, rail, rail[part])
    return tuple(map(tuple, steps.moves))


def copied_at_once(box: tuple[int, ...], times: int) -> Moves:
    """Chunks that every node sends to all in one step, each copied by the switch."""
    return (tuple((c, a, b) for c in range(times) for a in box for b in box if a != b),)


def at_once(groups: Sequence[Moves], chunks: Sequence[int]) -> Moves:
    """The moves of several groups as one, the chunks of each after those of the ones before it.

    Args:
        chunks: of each.
    """
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


def algorithm_of(moves: Moves, pre: BoolArray) -> Algorithm:
    """The sends, each with the sum of all that its node has; a round for each step.

    What comes to a node in one step has no contribution that it has already, or all of them.

    Args:
        pre: ``[G, P]``, who contributes.
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
