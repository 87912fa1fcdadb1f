"""Inversion: a broadcast run backwards is a reduction (SCCL paper, section 3.5).

Where an algorithm sends chunk c from n to n' in step s, its inverse sends the partial result of c
from n' to n in step S-1-s, on the topology with every link turned round. Each chunk's sends form a
tree out of the one node where it starts; backwards the tree leads everybody's contribution there.
What a send of the inverse carries is the reduction over the subtree behind it. The other way round,
an algorithm that reduces along trees to one root per chunk inverts to one that distributes.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from syncoll.errors import ModelError
from syncoll.model.algorithm import Algorithm
from syncoll.model.instance import Instance

__all__ = ["invert"]


def invert(instance: Instance, algorithm: Algorithm, collective: str) -> tuple[Instance, Algorithm]:
    """The inverse problem and the algorithm that solves it.

    Args:
        instance: non-combining with one node of pre per chunk, or combining with one node of post.
        algorithm: a valid algorithm without useless sends; a combining one must be the inverse of
            such an algorithm, that is, every node sends each chunk at most once.

    Returns:
        Pre and post exchanged, links reversed, steps mirrored; C is the largest number of chunks
        of pre at one node, the chunks into which that node's input is cut.

    Raises:
        ModelError: when a chunk has no single root, or the sends of a chunk are no tree.
    """
    roots = instance.post if instance.combining else instance.pre
    if (roots.sum(axis=1) != 1).any():
        chunk = int(np.flatnonzero(roots.sum(axis=1) != 1)[0])
        raise ModelError(
            f"collective {instance.collective} has no inverse: chunk {chunk} has "
            f"{int(roots[chunk].sum())} roots",
            instance.origin,
            "exactly one node where each chunk starts",
        )
    combining = not instance.combining
    inverse = Instance(
        instance.topology.reversed(),
        collective,
        max(1, int(instance.post.sum(axis=0).max())),
        instance.steps,
        instance.rounds,
        instance.post,
        instance.pre,
        combining=combining,
    )
    sends = algorithm.sends[:, [0, 2, 1, 3]].copy()
    sends[:, 3] = instance.steps - 1 - sends[:, 3]
    backwards = sends[np.argsort(sends[:, 3], kind="stable")]
    _require_trees(instance, algorithm)
    carried = _subtrees(inverse, backwards) if combining else None
    return inverse, Algorithm(algorithm.rounds_per_step[::-1], backwards, carried)


def _require_trees(instance: Instance, algorithm: Algorithm) -> None:
    """Every node gets (or, combining, gives) each chunk at most once."""
    end = 1 if instance.combining else 2
    pairs, counts = np.unique(algorithm.sends[:, [0, end]], axis=0, return_counts=True)
    for chunk, node in pairs[counts > 1][:1].tolist():
        raise ModelError(
            f"the algorithm has no inverse: node {node} "
            f"{'sends' if instance.combining else 'receives'} chunk {chunk} more than once"
        )


def _subtrees(
    inverse: Instance, sends: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whose contributions each send carries: the sender's own and all that it received before."""
    nodes = inverse.topology.num_nodes
    gathered: dict[tuple[int, int], np.ndarray[tuple[int, ...], np.dtype[np.bool_]]] = defaultdict(
        lambda: np.zeros(nodes, dtype=bool)
    )
    for c, n in np.argwhere(inverse.pre).tolist():
        gathered[c, n][n] = True
    carried = np.zeros((len(sends), nodes), dtype=bool)
    for i, (chunk, source, destination, _) in enumerate(sends.tolist()):  # in order of steps
        carried[i] = gathered[chunk, source]
        gathered[chunk, destination] |= carried[i]
    return carried
