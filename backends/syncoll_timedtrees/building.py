"""From chunks dealt to timed trees on orbits to an algorithm for every node."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from syncoll.model import Algorithm
from syncoll_timedtrees.problem import Problem
from syncoll_timedtrees.rounding import Dealt

__all__ = ["algorithm_of"]

IntArray = npt.NDArray[np.int64]


def algorithm_of(problem: Problem, dealt: Dealt) -> Algorithm:
    """The algorithm in which every image of a demand does what the demand does."""
    elements = problem.group.elements
    members = _members(problem, dealt.chunks)
    parts = []
    steps = 0
    for demand, trees in zip(problem.demands, dealt.trees, strict=True):
        rows = []
        first = 0
        for tree, number in trees:
            links, step = tree.links, tree.steps
            steps = max(steps, int(step.max(initial=-1)) + 1)
            which = np.repeat(np.arange(first, first + number), len(links))
            sends = np.stack([problem.source[links], problem.target[links], step], axis=1)
            rows.append(np.concatenate([which[:, None], np.tile(sends, (number, 1))], axis=1))
            first += number
        local = np.concatenate(rows)
        ends = np.zeros((len(elements), 2, problem.num_nodes), dtype=bool)
        for side, nodes in enumerate((demand.sources, demand.destinations)):
            np.put_along_axis(ends[:, side], elements[:, list(nodes)], True, axis=1)
        keys = np.packbits(ends, axis=2).reshape(len(elements), -1)
        chunks = np.stack([members[key.tobytes()] for key in keys])
        sends = np.empty((len(elements), len(local), 4), dtype=np.int64)
        sends[:, :, 0] = chunks[:, local[:, 0]]
        sends[:, :, 1] = elements[:, local[:, 1]]
        sends[:, :, 2] = elements[:, local[:, 2]]
        sends[:, :, 3] = local[:, 3]
        parts.append(sends.reshape(-1, 4))
    return Algorithm((0,) * steps, np.concatenate(parts)).tightened(problem.topology)


def _members(problem: Problem, chunks: int) -> dict[bytes, IntArray]:
    """The chunks of each kind: where they start, and which other nodes need them."""
    table = problem.collective.tabulate(problem.num_nodes, chunks)
    packed = np.concatenate(
        [np.packbits(table.pre, axis=1), np.packbits(table.post & ~table.pre, axis=1)], axis=1
    )
    rows = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
    kinds, kind = np.unique(rows, return_inverse=True)
    order = np.argsort(kind, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(kind))[:-1])
    return {one.tobytes(): group for one, group in zip(kinds, groups, strict=True)}
