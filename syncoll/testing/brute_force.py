"""The truth about small instances, by trying everything: no encoding, no solver, no pruning tricks.

A state is the set of pairs (chunk, node) where the chunk is at the node.  A step of r rounds leads
from a state to every state that sends within the bandwidth bounds can make of it.  Two remarks keep
the search small, and both are plain: a chunk that a node holds already need not be sent there, nor
a chunk that is wherever it must be; and with more chunks at a node, or a link less loaded, whatever
could be done can still be done, so of two such states the poorer can be dropped.

Only for collectives that move data, not for combining ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from syncoll.model import Algorithm, BoolArray, Instance

__all__ = ["TooLargeError", "all_algorithms", "compositions", "has_algorithm", "least_rounds"]

Held = frozenset[tuple[int, int]]
"""Pairs (chunk, node)."""

Sends = tuple[tuple[int, int, int, int], ...]
"""Rows (chunk, source, destination, step)."""

_MOST_WORK = 100_000


class TooLargeError(ValueError):
    """Trying everything would take too long here."""


def has_algorithm(instance: Instance, *, most_work: int = _MOST_WORK) -> bool:
    """Whether an algorithm of exactly the instance's S and R exists.

    Args:
        instance: the problem.
        most_work: how many partial steps may be looked at.

    Raises:
        TooLargeError: when that is not enough.
    """
    return _Search(instance, most_work).reaches_post(instance.rounds)


def least_rounds(instance: Instance, most: int, *, most_work: int = _MOST_WORK) -> int | None:
    """The least R with which the instance's S steps are enough; None when it is above `most`.

    Raises:
        TooLargeError: as `has_algorithm`.
    """
    search = _Search(replace(instance, rounds_per_step=None), most_work)
    return next((rounds for rounds in range(most + 1) if search.reaches_post(rounds)), None)


class _Search:
    """States reached from pre, for one instance but any number of rounds."""

    def __init__(self, instance: Instance, most_work: int) -> None:
        _refuse_combining(instance)
        self.instance, self.work_left = instance, most_work
        self.start, self.goal = _pairs(instance.pre), _pairs(instance.post)
        self.after_step = cache(self._after_step)
        self.can_finish = cache(self._can_finish)

    def reaches_post(self, rounds: int) -> bool:
        return self.can_finish(self.start, self.instance.steps, rounds)

    def _can_finish(self, held: Held, steps: int, rounds: int) -> bool:
        """Whether post can be reached from a state in exactly so many steps and rounds."""
        if steps == 0:
            return rounds == 0 and self.goal <= held
        shares: Iterable[int] = (rounds,) if steps == 1 else range(rounds + 1)
        if self.instance.rounds_per_step is not None:
            shares = {self.instance.rounds_per_step[-steps]} & {*range(rounds + 1)}
        return any(
            self.can_finish(after, steps - 1, rounds - share)
            for share in shares
            for after in self.after_step(held, share)
        )

    def _after_step(self, held: Held, rounds: int) -> tuple[Held, ...]:
        """The states, apart from poorer ones, that a step of so many rounds leads to."""
        topology = self.instance.topology
        unfinished = {chunk for chunk, node in self.goal if (chunk, node) not in held}
        # Each delivery that would be of use, with the links over which it can come.
        ways = {
            (chunk, link[1]): [
                a for a in topology.links if a[1] == link[1] and (chunk, a[0]) in held
            ]
            for chunk in sorted(unfinished)
            for link in topology.links
            if (chunk, link[1]) not in held
        }
        possible = [link for links in ways.values() for link in links]
        # Bounds that hold whatever is sent need not be counted.
        tight = [
            (frozenset(bound.links), bound.chunks_per_round * rounds)
            for bound in topology.bounds
            if sum(link in bound.links for link in possible) > bound.chunks_per_round * rounds
        ]
        if not tight:  # nothing is in the way of any delivery
            return (held | {delivery for delivery, links in ways.items() if links},)
        partial: set[tuple[Held, tuple[int, ...]]] = {(frozenset(), (0,) * len(tight))}
        for delivery, links in ways.items():
            for delivered, loads in list(partial):
                self.work_left -= 1
                if self.work_left < 0:
                    raise TooLargeError(f"too large to try everything: {self.instance}")
                for link in links:
                    more = tuple(
                        load + (link in members)
                        for load, (members, _) in zip(loads, tight, strict=True)
                    )
                    if all(load <= room for load, (_, room) in zip(more, tight, strict=True)):
                        partial.add((delivered | {delivery}, more))
        states = {delivered for delivered, _ in partial}
        richest = [one for one in states if not any(one < other for other in states)]
        return tuple(held | delivered for delivered in richest)


def all_algorithms(instance: Instance, *, most_work: int = _MOST_WORK) -> Iterator[Algorithm]:
    """Every algorithm of the instance that never sends a chunk to a node twice or to one of pre.

    Args:
        instance: the problem.
        most_work: how many partial steps may be looked at.

    Raises:
        TooLargeError: when that is not enough.
    """
    _refuse_combining(instance)
    goal = _pairs(instance.post)
    work_left = most_work
    for rounds in compositions(instance.rounds, instance.steps):
        if instance.rounds_per_step not in (None, rounds):
            continue
        begun: list[tuple[Held, Sends]] = [(_pairs(instance.pre), ())]
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
    """Every way to write a number as a sum of so many numbers from 0, in order."""
    if parts == 0:
        if total == 0:
            yield ()
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield first, *rest


def _refuse_combining(instance: Instance) -> None:
    if instance.combining:
        raise ValueError("brute force knows no partial results, so no combining instances")


def _pairs(array: BoolArray) -> Held:
    """Where a Boolean array is true."""
    return frozenset((c, n) for c, n in np.argwhere(array).tolist())
