"""Every algorithm of a small instance that moves data, by trying everything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from syncoll.model import Algorithm, Instance
from syncoll.testing.brute_force import Held, TooLargeError, pairs, refuse_combining

Sends = tuple[tuple[int, int, int, int], ...]
"""Rows (chunk, source, destination, step)."""


def all_algorithms(instance: Instance, *, most_work: int = 100_000) -> Iterator[Algorithm]:
    """Every algorithm of the instance that never sends a chunk to a node twice or to one of pre.

    Args:
        instance: the problem.
        most_work: limit on the partial steps.

    Raises:
        TooLargeError: when that is not enough.
    """
    refuse_combining(instance)
    goal = pairs(instance.post)
    work_left = most_work
    for rounds in compositions(instance.rounds, instance.steps):
        if instance.rounds_per_step not in (None, rounds):
            continue
        begun: list[tuple[Held, Sends]] = [(pairs(instance.pre), ())]
        for step, share in enumerate(rounds):
            longer: list[tuple[Held, Sends]] = []
            for held, before in begun:
                for sends in _step_sends(instance, held, step, share, work_left):
                    longer.append((held | {(c, b) for c, _, b, _ in sends}, before + sends))
                    work_left -= 1
            begun = longer
        for held, sends in begun:
            if goal <= held:
                yield Algorithm(rounds, np.array(sends, dtype=np.int64))


def _step_sends(
    instance: Instance, held: Held, step: int, rounds: int, most_sets: int
) -> list[Sends]:
    """Every set of sends that one step may have, each delivering something new."""
    topology = instance.topology

    def fits(sends: Sends) -> bool:
        return all(
            sum((a, b) in bound.links for _, a, b, _ in sends) <= bound.chunks_per_round * rounds
            for bound in topology.bounds
        )

    sets: list[Sends] = [()]
    for chunk in range(instance.num_chunks):
        for node in range(topology.num_nodes):
            if (chunk, node) in held:
                continue
            if len(sets) > most_sets:
                raise TooLargeError(f"too large to try everything: {instance}")
            links = [(a, b) for a, b in topology.links if b == node and (chunk, a) in held]
            more = [(*sends, (chunk, a, b, step)) for sends in sets for a, b in links]
            sets += [sends for sends in more if fits(sends)]
    return sets


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a number as an ordered sum of `parts` numbers from 0, in order."""
    if parts == 0:
        if total == 0:
            yield ()
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield first, *rest
