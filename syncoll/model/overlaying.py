"""Overlays: algorithms of several collectives at the same time, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from syncoll.model.algorithm import Algorithm
from syncoll.model.instance import Instance
from syncoll.model.orbit_algorithm import OrbitAlgorithm

__all__ = ["overlay"]


def overlay(parts: Sequence[tuple[Instance, Algorithm]], name: str) -> tuple[Instance, Algorithm]:
    """The algorithms of problems on one topology, with one C, as one of all their chunks in order.

    All begin with the first step.  A step has the fewest rounds for its sends together, at most the
    sum of the parts' rounds.
    """
    instances = [instance for instance, _ in parts]
    lists = [a.expanded() if isinstance(a, OrbitAlgorithm) else a for _, a in parts]
    combining = any(instance.combining for instance in instances)
    sends, carried, first = [], [], 0
    for instance, algorithm in zip(instances, lists, strict=True):
        own = algorithm.sends.copy()
        if combining:  # a chunk that is only moved is the contribution of its start
            moved = instance.pre[own[:, 0]]
            listed = algorithm.contributions
            carried.append(moved if listed is None else listed)
        own[:, 0] += first
        sends.append(own)
        first += instance.num_chunks
    topology = instances[0].topology
    together = Algorithm(
        (0,) * max(algorithm.steps for algorithm in lists),
        np.concatenate(sends),
        np.concatenate(carried) if combining else None,
    )
    tight = together.tightened(topology)
    whole = replace(
        instances[0],
        collective=name,
        steps=tight.steps,
        rounds=tight.rounds,
        pre=np.concatenate([instance.pre for instance in instances]),
        post=np.concatenate([instance.post for instance in instances]),
        combining=combining,
        rounds_per_step=None,
    )
    return whole, tight
