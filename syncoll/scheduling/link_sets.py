"""LinkSets: the bandwidth relation B as arrays, for counting the sends of a step."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.model import BandwidthBound, Topology
from syncoll.model.bandwidth import Counting

_LARGEST = 1 << 62


class LinkSets:
    """Every (L, b) of B that can be the tightest one for some load.

    Args:
        most_sends: the most in a step; larger loads may overflow.
        copies: numbers above the numbers of links, for a node's sends of a chunk over several links
            in one step.  Sets that count copies count them once, other sets each of them.  A single
            link counts once everywhere, so that loads are never too low.
    """

    def __init__(
        self,
        topology: Topology,
        most_sends: int,
        copies: Mapping[int, tuple[int, ...]] | None = None,
    ) -> None:
        bounds: dict[tuple[tuple[tuple[int, int], ...], Counting], BandwidthBound] = {}
        for bound in topology.bounds:
            known = bounds.get((bound.links, bound.counts), bound)
            if known.chunks_per_round >= bound.chunks_per_round:
                bounds[bound.links, bound.counts] = bound
        index = topology.link_index
        members: list[list[int]] = [[] for _ in topology.links]
        once = []
        for i, (links, counts) in enumerate(bounds):
            once.append(counts is Counting.SOURCES)
            for link in links:
                members[index[link]].append(i)
        for links_at_once in (copies or {}).values():
            all_sets = [i for link in links_at_once for i in members[link]]
            members.append(
                [
                    i
                    for i in sorted(set(all_sets))
                    for _ in range(1 if once[i] else all_sets.count(i))
                ]
            )
        ups = [bound.chunks_per_round.numerator for bound in bounds.values()]
        downs = [bound.chunks_per_round.denominator for bound in bounds.values()]
        # Exact rationals of measured bandwidths may have long terms: then Python's integers count.
        largest = max(*ups, *downs, 1) * max(most_sends, 1)
        kind: Any = np.int64 if largest < _LARGEST else object
        self._up, self._down = np.array(ups, dtype=kind), np.array(downs, dtype=kind)
        self.size = len(bounds)
        """The number of sets."""
        self.bandwidth = np.array([a / b for a, b in zip(ups, downs, strict=True)])
        """``[sets]``: b, rounded."""
        self.rounds_per_send = np.array([*(b / a for a, b in zip(ups, downs, strict=True)), 0.0])
        """``[sets + 1]``: 1 / b, rounded; 0 for the set without a limit."""
        width = max((len(row) for row in members), default=1)
        padded = [row + [self.size] * (width - len(row)) for row in members]
        self.of_link: Ints = np.array(padded, dtype=np.int64).reshape(-1, width)
        """``[links, …]``: the sets of each link, and of copies.  A set that counts several of them
        occurs as often; `size` is a set without a limit."""
        self.several = np.array([len({*row}) < len(row) for row in members], dtype=bool)
        """``[links]``: whether some set occurs more than once."""

    def room(self, rounds: int) -> Ints:
        """``[sets + 1]``: the sends for which a step of some rounds has room; the last has no
        limit."""
        room = np.full(self.size + 1, _LARGEST, dtype=np.int64)
        room[:-1] = np.minimum(self._up * rounds // self._down, _LARGEST).astype(np.int64)
        return room

    def load(self, link: Ints, sends: Ints) -> Ints:
        """``[sets + 1]``: the number of `sends` over these links that use each set."""
        width = self.of_link.shape[1]
        load = np.zeros(self.size + 1, dtype=np.int64)
        for column in range(width):
            sets = self.of_link[link, column]
            load += np.bincount(sets, sends, minlength=self.size + 1).astype(np.int64)
        load[-1] = 0
        return load

    def loads(self, link: Ints, sends: Floats) -> Floats:
        """``[sets + 1, S]``: the same for parts of chunks sent in each step, ``[n, S]``; the last
        row is of links without a limit."""
        steps = sends.shape[1]
        load = np.zeros((self.size + 1) * steps)
        for of_link in self.of_link[link].T:
            place = of_link[:, None] * steps + np.arange(steps)
            load += np.bincount(place.ravel(), sends.ravel(), len(load))
        return load.reshape(-1, steps)

    def rounds(self, load: Ints) -> int:
        """The fewest rounds of a step with loads ``[sets + 1]``."""
        return int((-(-load[:-1] * self._down // self._up)).max(initial=0))

    def busiest(self, link: Ints, sends: Ints) -> float:
        """The rounds of the fullest set for some sends over links, not rounded up."""
        return float((self.load(link, sends) * self.rounds_per_send).max(initial=0.0))

    def rounds_of(self, sets: Ints, load: Ints) -> Ints:
        """The fewest rounds for loads ``[sets, …]`` of some sets, each by itself."""
        shape = (-1, *(1,) * (load.ndim - 1))
        up, down = self._up[sets].reshape(shape), self._down[sets].reshape(shape)
        return np.asarray(-(-load * down // up)).astype(np.int64)

    def alone(self, link: Ints, sends: Ints) -> Ints:
        """For each link the fewest rounds for its sends, if there are no others."""
        sets = self.of_link[link]
        inside = sets < self.size
        known = np.where(inside, sets, 0)
        rounds = -(-sends[:, None] * self._down[known] // self._up[known])
        return np.asarray(np.where(inside, rounds, 0).max(axis=1, initial=0)).astype(np.int64)
