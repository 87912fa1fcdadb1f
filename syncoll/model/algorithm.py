"""Algorithm: a candidate solution (Q, T) (SCCL paper, section 3.3)."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Bools, Ints, frozen, is_frozen
from syncoll.errors import ModelError
from syncoll.model.grains import Rounds, exact, in_rounds
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.model.instance import Instance
    from syncoll.model.topology import Topology

_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Algorithm:
    """The sends of every step and its number of rounds: a candidate, which a verifier checks.

    Args:
        rounds_per_step: Q, the rounds of steps ``0 … S-1``: ints, or a `Fraction` where a topology
            has several grains in a round.
        sends: T as an integer array ``[M, 4]`` with columns chunk, source, destination, step.
            Kept in order of step, chunk, source, destination.
        contributions: for a combining algorithm ``[M, P]``: send m carries the reduction of the
            contributions of these nodes.  None for a non-combining one, whose sends carry copies.

    Examples:
        >>> from syncoll.api import Algorithm
        >>> algorithm = Algorithm((1, 2), [[0, 1, 2, 1], [0, 0, 1, 0]])
        >>> algorithm.steps, algorithm.rounds
        (2, 3)
        >>> algorithm.sends.tolist()
        [[0, 0, 1, 0], [0, 1, 2, 1]]
    """

    rounds_per_step: tuple[Rounds, ...]
    sends: Ints
    contributions: Bools | None = None

    def __repr__(self) -> str:
        return (
            f"<algorithm: {counted(self.steps, 'step')}, {counted(self.rounds, 'round')}, "
            f"{counted(self.num_sends, 'send')}>"
        )

    def __post_init__(self) -> None:
        sends = np.asarray(self.sends, dtype=np.int64)
        if sends.size == 0:
            sends = sends.reshape(0, 4)
        if sends.ndim != 2 or sends.shape[1] != 4:
            raise ModelError(f"sends of shape {sends.shape}", None, "an array of shape [M, 4]")
        order, carried = _order(sends), None
        sends = _in_order(sends, order)
        if self.contributions is not None:
            carried = np.asarray(self.contributions, dtype=bool)
            if carried.ndim != 2 or len(carried) != len(sends):
                raise ModelError(
                    f"contributions of shape {carried.shape} to {counted(len(sends), 'send')}",
                    None,
                    "an array of shape [M, P]",
                )
            carried = _sort_equal(sends, _in_order(carried, order))
        object.__setattr__(self, "sends", sends)
        object.__setattr__(self, "contributions", carried)
        object.__setattr__(self, "rounds_per_step", tuple(map(exact, self.rounds_per_step)))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Algorithm:
            return NotImplemented  # an orbit compares itself with a list
        one, two = self.contributions, other.contributions
        return (
            self.rounds_per_step == other.rounds_per_step
            and np.array_equal(self.sends, other.sends)
            and (one is None) == (two is None)
            and (one is None or two is None or np.array_equal(one, two))
        )

    def __hash__(self) -> int:
        return hash((self.rounds_per_step, self.num_sends))

    @property
    def steps(self) -> int:
        """S."""
        return len(self.rounds_per_step)

    @property
    def rounds(self) -> Rounds:
        """R, the sum over all steps."""
        return exact(sum(self.rounds_per_step))

    @property
    def num_sends(self) -> int:
        """M, without listing the sends."""
        return len(self.sends)

    @property
    def num_listed(self) -> int:
        """Number of sends listed in memory and in a file: of an orbit, the representative's."""
        return len(self.sends)

    def link_loads(self, topology: Topology) -> Ints:
        """``[L, S]``: the number of chunks on each link in each step.

        Raises:
            KeyError: if a send uses no link of the topology.
        """
        steps, count = self.steps, len(topology.links)
        links = topology.links_of(self.sends[:, 1], self.sends[:, 2])
        for i in np.flatnonzero(links < 0)[:1].tolist():
            raise KeyError(tuple(self.sends[i, 1:3].tolist()))
        cells = np.bincount(links * steps + self.sends[:, 3], minlength=count * steps)
        return cells.reshape(count, steps)

    def least_rounds(self, topology: Topology) -> list[Rounds]:
        """For each step the fewest rounds, in whole grains, whose capacity holds its sends."""
        from syncoll.model.counting import bound_loads

        least = np.zeros(self.steps, dtype=np.int64)
        for bound, load in zip(topology.bounds, bound_loads(topology, self), strict=True):
            b = bound.chunks_per_round / topology.grains
            np.maximum(least, -(-load * b.denominator // b.numerator), out=least)
        return [in_rounds(grains, topology.grains) for grains in least.tolist()]

    def without_useless_sends(self, instance: Instance) -> Algorithm:
        """Drops the sends of a non-combining algorithm that no chunk needs to reach its post.

        A send is useful if it brings a chunk to a node that lacks it, and that node is in the
        chunk's post or sends the chunk on.  Of several deliveries of a chunk to a node the earliest
        stays.
        """
        chunks, sources, destinations = self.sends[:, :3].T
        kept = np.zeros(len(self.sends), dtype=bool)
        kept[np.unique(chunks * instance.pre.shape[1] + destinations, return_index=True)[1]] = True
        kept &= ~instance.pre[chunks, destinations]
        needed = instance.post.copy()
        cuts = np.flatnonzero(np.diff(self.sends[:, 3])) + 1
        for one_step in reversed(np.split(np.arange(len(kept)), cuts)):
            some = one_step[kept[one_step]]
            kept[some] = needed[chunks[some], destinations[some]]
            some = some[kept[some]]
            needed[chunks[some], sources[some]] = True
        return replace(self, sends=self.sends[kept])

    def scaled(self, factor: int | Fraction) -> Algorithm:
        """The same sends with `factor` times the rounds in each step."""
        return self._with(tuple(exact(rounds * factor) for rounds in self.rounds_per_step))

    def with_rounds(self, topology: Topology, total: Rounds) -> Algorithm:
        """The same sends with `total` rounds: spare ones go to idle steps, then to the last step.

        Raises:
            ModelError: if the sends need more than `total` rounds, or there is no step.
        """
        rounds = self.least_rounds(topology)
        spare = total - sum(rounds)
        if spare < 0:
            raise ModelError(f"the sends need {counted(sum(rounds), 'round')}, more than {total}")
        for step in range(self.steps):
            if spare and rounds[step] == 0:
                rounds[step] = min(1, spare)
                spare -= rounds[step]
        if spare:
            if not self.steps:
                raise ModelError(f"{total} rounds, but no step for them", None, "0 rounds")
            rounds[-1] += spare
        return self._with(tuple(rounds))

    def tightened(self, topology: Topology) -> Algorithm:
        """The same sends with the fewest rounds, and without steps in which nothing is sent."""
        rounds = self.least_rounds(topology)
        busy = [step for step in range(self.steps) if rounds[step]]
        renumber = np.zeros(self.steps, dtype=np.int64)
        renumber[busy] = np.arange(len(busy))
        return self._with(tuple(rounds[step] for step in busy), renumber)

    def with_least_rounds(self, topology: Topology) -> Algorithm:
        """The same sends in the same steps, each with the fewest rounds, at least a grain."""
        grain = in_rounds(1, topology.grains)
        return self._with(tuple(max(grain, rounds) for rounds in self.least_rounds(topology)))

    def _with(self, rounds: tuple[Rounds, ...], steps: Ints | None = None) -> Algorithm:
        """The same sends with other rounds, and step s renamed ``steps[s]``."""
        if steps is None or np.array_equal(steps, np.arange(len(steps))):
            same = copy(self)  # millions of sends are not sorted again
            object.__setattr__(same, "rounds_per_step", tuple(map(exact, rounds)))
            return same
        sends = self.sends.copy()
        sends[:, 3] = steps[sends[:, 3]] if len(sends) else sends[:, 3]
        return replace(self, rounds_per_step=rounds, sends=sends)


def _order(sends: Ints) -> Ints | None:
    """The order of step, chunk, source, destination; None if the sends have it already."""
    most = sends.max(axis=0, initial=0) + 1
    if sends.min(initial=0) < 0 or math.prod(most.tolist()) >= 1 << 62:
        return np.lexsort([sends[:, 2], sends[:, 1], sends[:, 0], sends[:, 3]])
    # One number for each send: there may be millions, and most often they are in order already.
    key = ((sends[:, 3] * most[0] + sends[:, 0]) * most[1] + sends[:, 1]) * most[2] + sends[:, 2]
    if (key[1:] >= key[:-1]).all():
        return None
    return np.argsort(key)  # equal numbers are equal sends


def _in_order(rows: npt.NDArray[_Scalar], order: Ints | None) -> npt.NDArray[_Scalar]:
    """Read-only rows in an order; None for theirs."""
    if order is None:
        return rows if is_frozen(rows) else frozen(rows.copy())
    return frozen(rows[order])


def _sort_equal(sends: Ints, carried: Bools) -> Bools:
    """Contributions with the ones of equal sends in order, the last node first; `sends` are in
    order."""
    same = (sends[1:] == sends[:-1]).all(axis=1)
    if not same.any():
        return carried
    several = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    own, among = sends[several], carried[several]
    place = np.lexsort([*among.T, own[:, 2], own[:, 1], own[:, 0], own[:, 3]])
    carried = carried.copy()
    carried[several] = among[place]
    return frozen(carried)
