"""The rounds of each step, and the price of one more send over each link in it.

Every send counts, even if a switch copies or reduces: then fewer rounds may suffice in the end.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.model import Topology

ADDED_ROUND = 1e4
"""Price of one more round; a send costs 1 over a full link, and less over other links."""

_HOP = 0.2
_UNLIMITED = 1 << 40


class Budget:
    """Loads of all bounds in all steps.  The steps have ``[S]`` rounds, which never grow if
    `fixed`, and ``[L, S]`` prices of one more send."""

    fixed = False

    def __init__(self, topology: Topology, rounds: Sequence[int]) -> None:
        self.topology = topology
        self.steps = len(rounds)
        self.rounds: Ints = np.array(rounds, dtype=np.int64)
        self.ends: Ints = topology.ends
        rates = [bound.chunks_per_round for bound in topology.bounds]
        self._top = np.array([*(rate.numerator for rate in rates), _UNLIMITED], dtype=np.int64)
        self._bottom = np.array([*(rate.denominator for rate in rates), 1], dtype=np.int64)
        width = max((len(own) for own in topology.link_bounds), default=1)
        self._bounds = np.full((len(topology.links), width), len(rates), dtype=np.int64)
        for link, own in enumerate(topology.link_bounds):
            self._bounds[link, : len(own)] = own
        self.loads: Ints = np.zeros((len(rates) + 1, self.steps), dtype=np.int64)
        self.price: Floats = np.zeros((len(topology.links), self.steps))
        for step in range(self.steps):
            self._price(step)

    def add(self, links: Ints, step: int) -> None:
        """Adds sends in a step; its rounds grow if necessary."""
        for column in self._bounds[links].T:
            np.add.at(self.loads[:, step], column, 1)
        self.loads[-1, step] = 0
        self.rounds[step] = max(int(self.rounds[step]), int(self.needed()[step]))
        self._price(step)

    def change(self, link: int, step: int, by: int) -> None:
        """Adds or removes one send; the rounds of the step grow if necessary."""
        own = self.topology.link_bounds[link]
        before = int(self.rounds[step])
        for bound in own:
            self.loads[bound, step] += by
            if by > 0 and not self.fixed:
                load = int(self.loads[bound, step])
                least = -(-load * int(self._bottom[bound]) // int(self._top[bound]))
                self.rounds[step] = max(int(self.rounds[step]), least)
        if int(self.rounds[step]) > before:
            self._price(step)
        else:
            self._price(step, self._beside[link])

    def needed(self) -> Ints:
        """``[S]``: the fewest rounds that hold the loads."""
        least = -(-self.loads * self._bottom[:, None] // self._top[:, None])
        return np.asarray(least.max(axis=0, initial=0))

    def excess(self, step: int) -> dict[int, int]:
        """The loads of bounds in a step that exceed one round less."""
        room = (self.rounds[step] - 1) * self._top // self._bottom
        over = self.loads[:, step] - room
        return {bound: int(over[bound]) for bound in np.flatnonzero(over > 0).tolist()}

    def over(self, bound: int, step: int) -> int:
        """The load of a bound in a step that exceeds its rounds."""
        room = self.rounds[step] * self._top[bound] // self._bottom[bound]
        return max(0, int(self.loads[bound, step] - room))

    def shrink(self, step: int) -> None:
        """Takes a round from a step, even if its sends need it."""
        self.rounds[step] -= 1
        self._price(step)

    def snapshot(self) -> tuple[Ints, Ints, Floats]:
        """A copy of the state, for `restore`."""
        return self.loads.copy(), self.rounds.copy(), self.price.copy()

    def restore(self, known: tuple[Ints, Ints, Floats]) -> None:
        """Restores a snapshot."""
        self.loads, self.rounds, self.price = known[0].copy(), known[1].copy(), known[2].copy()

    @cached_property
    def _beside(self) -> list[Ints]:
        """For each link the links that share a bound with it, itself included."""
        members = self.topology.bound_links
        return [
            np.unique(np.concatenate([members[bound] for bound in own]))
            for own in self.topology.link_bounds
        ]

    def _price(self, step: int, links: Ints | None = None) -> None:
        """Updates the prices of all links in a step, or of some."""
        bounds = self._bounds if links is None else self._bounds[links]
        load = self.loads[:, step][bounds] + 1
        top, bottom, rounds = self._top[bounds], self._bottom[bounds], int(self.rounds[step])
        more = np.maximum(-(-load * bottom // top) - rounds, 0)
        # Without sends, a share of the first round.
        room = np.maximum(max(rounds, 1) * top // bottom, 1)
        cost = (ADDED_ROUND * more + np.minimum(load / room, 1.0)).max(axis=1) + _HOP
        if links is None:
            self.price[:, step] = cost
        else:
            self.price[links, step] = cost
