"""The right answers for small instances by exhaustive search, without encoding or solver.

If data is only moved, a state is the set of pairs (chunk, node) where the chunk is at the node.  A
step of r rounds leads from a state to every state that sends within the bandwidth bounds can reach.
Two observations keep the search small.  A chunk need not be sent to a node that holds it, nor if it
has reached all its destinations.  With more chunks at a node, or a link less loaded, all earlier
options remain, so that the poorer of two such states can be dropped.

`summing` does the same for combining instances.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy as np

from syncoll.arrays import Bools
from syncoll.model import Counting, Instance
from syncoll.testing.summing import has_combining_algorithm

Held = frozenset[tuple[int, int]]
"""Pairs (chunk, node)."""

_MOST_WORK = 100_000


class TooLargeError(ValueError):
    """The instance is too large for an exhaustive search."""


def has_algorithm(instance: Instance, *, most_work: int = _MOST_WORK) -> bool:
    """Whether an algorithm of exactly the instance's S and R exists.

    Raises:
        TooLargeError: if there are more than `most_work` partial steps.
    """
    if instance.combining:
        return has_combining_algorithm(instance, _Work(instance, most_work).spend)
    return _Search(instance, most_work).reaches_post(instance.rounds)


def least_rounds(instance: Instance, most: int, *, most_work: int = _MOST_WORK) -> int | None:
    """The least R that suffices with the instance's S steps; None if it is above `most`."""
    search = _Search(replace(instance, rounds_per_step=None), most_work)
    return next((rounds for rounds in range(most + 1) if search.reaches_post(rounds)), None)


class _Work:
    """A budget of `left` trials."""

    def __init__(self, instance: Instance, left: int) -> None:
        self._instance, self._left = instance, left

    def spend(self) -> None:
        """Counts a trial; raises `TooLargeError` if the budget is used up."""
        self._left -= 1
        if self._left < 0:
            raise TooLargeError(f"too large to try everything: {self._instance}")


class _Search:
    """States reached from pre, for one instance but any number of rounds."""

    def __init__(self, instance: Instance, most_work: int) -> None:
        refuse_combining(instance)
        self.instance, self._work = instance, _Work(instance, most_work)
        self.start, self.goal = pairs(instance.pre), pairs(instance.post)
        self.after_step = cache(self._after_step)
        self.can_finish = cache(self._can_finish)

    def reaches_post(self, rounds: int) -> bool:
        return self.can_finish(self.start, self.instance.steps, rounds)

    def _can_finish(self, held: Held, steps: int, rounds: int) -> bool:
        """Whether post can be reached from a state in exactly this number of steps and rounds."""
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
        """The states, without poorer ones, after a step of some rounds."""
        topology = self.instance.topology
        unfinished = {chunk for chunk, node in self.goal if (chunk, node) not in held}
        # Each useful delivery, with the links over which it can come.
        ways = {
            (chunk, link[1]): [
                a for a in topology.links if a[1] == link[1] and (chunk, a[0]) in held
            ]
            for chunk in sorted(unfinished)
            for link in topology.links
            if (chunk, link[1]) not in held
        }
        possible = [link for links in ways.values() for link in links]
        # Bounds that every set of sends obeys need not be counted.
        tight = [
            (
                frozenset(bound.links),
                bound.chunks_per_round * rounds,
                bound.counts is Counting.SOURCES,
            )
            for bound in topology.bounds
            if sum(link in bound.links for link in possible) > bound.chunks_per_round * rounds
        ]
        if not tight:  # no bound prevents any delivery
            return (held | {delivery for delivery, links in ways.items() if links},)
        # The unit that a bound counts over its links: each send, or a node's sends of a chunk.
        nothing: tuple[frozenset[tuple[int, ...]], ...] = (frozenset(),) * len(tight)
        partial = {(frozenset[tuple[int, int]](), nothing)}
        for delivery, links in ways.items():
            for delivered, loads in list(partial):
                self._work.spend()
                for link in links:
                    more = tuple(
                        load | {(delivery[0], *(link[:1] if once else link))}
                        if link in members
                        else load
                        for load, (members, _, once) in zip(loads, tight, strict=True)
                    )
                    if all(
                        len(load) <= room for load, (_, room, _) in zip(more, tight, strict=True)
                    ):
                        partial.add((delivered | {delivery}, more))
        states = {delivered for delivered, _ in partial}
        richest = [one for one in states if not any(one < other for other in states)]
        return tuple(held | delivered for delivered in richest)


def refuse_combining(instance: Instance) -> None:
    """Passes an instance that only moves data; raises `ValueError` for a combining one."""
    if instance.combining:
        raise ValueError("brute force does not support partial results, so no combining instances")


def pairs(array: Bools) -> Held:
    """The positions at which a Boolean array is true."""
    return frozenset((c, n) for c, n in np.argwhere(array).tolist())
