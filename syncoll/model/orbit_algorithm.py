"""OrbitAlgorithm: an algorithm given by the sends of some chunks and their permutations."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from syncoll.arrays import Bools, Ints, NarrowArray
from syncoll.errors import UsageError
from syncoll.model.algorithm import Algorithm
from syncoll.model.grains import Rounds
from syncoll.model.orbit_carriers import Carriers

if TYPE_CHECKING:
    from syncoll.model.instance import Instance
    from syncoll.model.topology import Topology

MOST_PLAIN = 1 << 15
"""Algorithms of at most this number of sends are listed: half a megabyte in a file."""

MOST_LISTED = 1 << 24
"""Sends that may be listed one by one: some gigabytes in Python."""

_MOST_CONTRIBUTIONS = 1 << 30
"""Sends times nodes of listed contributions: a byte each."""


class OrbitAlgorithm(Algorithm):
    """An algorithm whose sends are the images of a representative's sends under all carriers.

    A send of chunk c from node u to node v in step s has an image for each element (p, q) of the
    carriers: chunk q(c) from p(u) to p(v) in step s plus the element's delay, with its
    contributions carried along.  Rounds are the rounds of the whole algorithm.  Like any algorithm
    it is only a candidate: the verifier checks the carriers.

    Args:
        representative: the rounds, and the sends from which all others follow.
        carriers: carriers of the same P, and of G chunks.

    Examples:
        >>> from syncoll.model import Algorithm, Carriers, OrbitAlgorithm
        >>> shift = Carriers([[1, 2, 0]], [[1, 2, 0]], [[0, 0], [0, 1]])
        >>> algorithm = OrbitAlgorithm(Algorithm((1,), [[0, 0, 1, 0]]), shift)
        >>> algorithm.num_sends, algorithm.sends.tolist()
        (3, [[0, 0, 1, 0], [1, 1, 2, 0], [2, 2, 0, 0]])
    """

    representative: Algorithm
    carriers: Carriers

    def __init__(self, representative: Algorithm, carriers: Carriers) -> None:
        for name, value in (
            ("rounds_per_step", representative.rounds_per_step),
            ("representative", representative),
            ("carriers", carriers),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def plain_if_small(cls, representative: Algorithm, carriers: Carriers) -> Algorithm:
        """The algorithm; with all sends listed if there are at most `MOST_PLAIN`."""
        orbit = cls(representative, carriers)
        if carriers.order == 1:
            return representative
        return orbit.expanded() if orbit.num_sends <= MOST_PLAIN else orbit

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Algorithm):
            return NotImplemented
        if (self.rounds_per_step, self.num_sends) != (other.rounds_per_step, other.num_sends):
            return False
        if not isinstance(other, OrbitAlgorithm):
            return self.expanded() == other
        if self.representative == other.representative and self.carriers.same_as(other.carriers):
            return True
        return self.expanded() == other.expanded()

    __hash__ = Algorithm.__hash__

    @property
    def num_sends(self) -> int:
        """M, without listing the sends."""
        return self.representative.num_sends * self.carriers.order

    @property
    def num_listed(self) -> int:
        """The sends of the representative."""
        return self.representative.num_sends

    @property
    def sends(self) -> Ints:
        """All sends ``[M, 4]``, in order; see `expanded`."""
        return self.expanded().sends

    @property
    def contributions(self) -> Bools | None:
        """``[M, P]`` for a combining algorithm; see `expanded`."""
        if self.representative.contributions is None:
            return None
        return self.expanded().contributions

    def expanded(self) -> Algorithm:
        """The same algorithm with every send listed; raises UsageError if it has too many."""
        carried = self.representative.contributions
        cells = 0 if carried is None else self.num_sends * carried.shape[1]
        if self.num_sends > MOST_LISTED or cells > _MOST_CONTRIBUTIONS:
            raise UsageError(
                f"the algorithm has {self.num_sends:,} sends, kept as {self.carriers.order:,} "
                f"images of {self.representative.num_sends:,}; at most {MOST_LISTED:,}"
                + (f" ({_MOST_CONTRIBUTIONS:,} contributions)" if cells else "")
                + " can be listed one by one, which this needs"
            )
        return self._expanded

    @cached_property
    def _expanded(self) -> Algorithm:
        own, carriers = self.representative.sends, self.carriers
        carried = self.representative.contributions
        chunks, place = np.unique(own[:, 0], return_inverse=True)
        images = carriers.images(chunks)
        sends = np.empty((carriers.order, len(own), 4), dtype=np.int64)
        sends[..., 3] = own[:, 3] + carriers.later[:, None]
        for part, ends in carriers.carried(own[:, 1:3]):
            sends[part, :, 0] = images[part][:, place]
            sends[part, :, 1:3] = ends
        whose = None
        if carried is not None:
            whose = np.empty((carriers.order, *carried.shape), dtype=bool)
            for element, nodes in enumerate(carriers.elements):
                whose[element][:, nodes] = carried
            whose = whose.reshape(-1, carried.shape[1])
        return Algorithm(self.rounds_per_step, sends.reshape(-1, 4), whose)

    def link_loads(self, topology: "Topology") -> Ints:
        """``[L, S]``: the number of chunks on each link in each step, images included."""
        nodes, steps = topology.num_nodes, self.steps
        count = len(topology.links)
        number = np.full(nodes * nodes, -1, dtype=np.int64)
        number[[a * nodes + b for a, b in topology.links]] = np.arange(count)
        own = self.representative.sends
        total = np.zeros((count, steps), dtype=np.int64)
        for elements, times, first in self._shifted():
            cells = np.zeros(count * steps, dtype=np.int64)
            for _, ends in self.carriers.carried(own[:, 1:3], elements):
                links = number[ends[..., 0].astype(np.int64) * nodes + ends[..., 1]]
                if (links < 0).any():
                    raise KeyError(tuple(ends[links < 0][0].tolist()))
                cells += np.bincount((links * steps + own[:, 3]).ravel(), minlength=len(cells))
            loads = cells.reshape(count, steps)
            # Usually a wave starts in every step of a range: the counts change rarely.
            changes = np.diff(times, prepend=0, append=0)
            changed = np.zeros((count, steps + 1), dtype=np.int64)
            last = int(own[:, 3].max(initial=-1)) + 1
            for i in np.flatnonzero(changes).tolist():
                begin = first + i
                low = max(0, -begin)
                changed[:, begin + low : begin + last] += loads[:, low:last] * changes[i]
            total += changed[:, :-1].cumsum(axis=1)
        return total

    def _shifted(self) -> Iterator[tuple[NarrowArray, Ints, int]]:
        """Permutations of nodes, their multiplicity by step from a first one, and that step."""
        carriers = self.carriers
        if not carriers.delays.any():
            yield carriers.elements, np.ones(1, dtype=np.int64), 0
            return
            # Waves repeat one another: there are few distinct permutations.
        known: dict[bytes, int] = {}
        numbers = [known.setdefault(row.tobytes(), len(known)) for row in carriers.elements]
        which = np.array(numbers)
        _, example = np.unique(which, return_index=True)
        first = int(carriers.later.min())
        often = np.zeros((len(known), int(carriers.later.max()) - first + 1), dtype=np.int64)
        np.add.at(often, (which, carriers.later - first), 1)
        kinds, kind = np.unique(often, axis=0, return_inverse=True)
        for i, times in enumerate(kinds):
            yield carriers.elements[example[kind.ravel() == i]], times, first

    def without_useless_sends(self, instance: "Instance") -> Algorithm:
        """See `Algorithm.without_useless_sends`."""
        return self.expanded().without_useless_sends(instance)

    def tightened(self, topology: "Topology") -> Algorithm:
        """See `Algorithm.tightened`; with delays, an orbit with idle steps must be listed."""
        if not self.carriers.delays.any():
            return super().tightened(topology)
        rounds = tuple(self.least_rounds(topology))
        return self._with(rounds) if all(rounds) else self.expanded().tightened(topology)

    def _with(self, rounds: tuple[Rounds, ...], steps: Ints | None = None) -> Algorithm:
        return OrbitAlgorithm(self.representative._with(rounds, steps), self.carriers)
