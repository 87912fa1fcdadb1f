"""Refinement and renumbering: the same algorithm with finer chunks, or with chunks renamed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from syncoll.model.algorithm import Algorithm
from syncoll.model.instance import Instance

__all__ = ["refine", "renumber"]

IntArray = npt.NDArray[np.int64]


def refine(instance: Instance, algorithm: Algorithm, parts: int) -> tuple[Instance, Algorithm]:
    """Cuts each chunk into so many parts: C, R and the rounds of each step grow by that factor.

    Part j of chunk c is chunk ``c + G * j``, so that numbers keep their remainder modulo P.  The
    costs S and R/C stay.
    """
    if parts == 1:
        return instance, algorithm
    finer = replace(
        instance,
        chunks=instance.chunks * parts,
        rounds=instance.rounds * parts,
        pre=np.tile(instance.pre, (parts, 1)),
        post=np.tile(instance.post, (parts, 1)),
    )
    count = len(algorithm.sends)
    sends = np.tile(algorithm.sends, (parts, 1)).copy()
    sends[:, 0] += np.repeat(np.arange(parts) * instance.num_chunks, count)
    carried = algorithm.contributions
    return finer, Algorithm(
        tuple(r * parts for r in algorithm.rounds_per_step),
        sends,
        None if carried is None else np.tile(carried, (parts, 1)),
    )


def renumber(
    instance: Instance, algorithm: Algorithm, number: IntArray
) -> tuple[Instance, Algorithm]:
    """Chunk c becomes chunk ``number[c]``; `number` is a permutation."""
    pre, post = np.empty_like(instance.pre), np.empty_like(instance.post)
    pre[number], post[number] = instance.pre, instance.post
    sends = algorithm.sends.copy()
    sends[:, 0] = number[sends[:, 0]]
    return (
        replace(instance, pre=pre, post=post),
        Algorithm(algorithm.rounds_per_step, sends, algorithm.contributions),
    )
