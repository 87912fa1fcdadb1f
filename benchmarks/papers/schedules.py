"""The algorithms of the figures: a library's rings, schedules of trees, and their compositions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from benchmarks.classics import proposals
from syncoll.deadline import Deadline
from syncoll.documents import StoredAlgorithm
from syncoll.errors import SyncollError
from syncoll.model import Topology, compose, invert
from syncoll.model.forest import Forest
from syncoll.planning import message_of
from syncoll.plugins import SeedLimits
from syncoll.scheduling import StepTree, schedule_trees
from syncoll.session import Session
from syncoll.simulating import PhysicalNetwork, Semantics, SimulatedSeconds, physical_network
from syncoll.trust import require_valid
from syncoll_forestcoll.shortening import shortened

__all__ = ["Raced", "allreduce_of", "from_trees", "inverse", "library_ring", "step_trees"]

Floats = npt.NDArray[np.float64]
SCHEDULE_SECONDS = 60.0
"""More than a forest takes on a quiet machine, so that the result does not depend on the load."""
_QUIET = Fraction(1, 10**6)


def library_ring(session: Session, topology: Topology) -> StoredAlgorithm:
    """NCCL's allgather: each chunk once round one of the best set of rings, in P - 1 steps."""
    allgather = session.collective("allgather")
    made = [
        (instance, one.algorithm)
        for one, instance, _ in proposals("ring", topology, allgather, seconds=10.0)
        if instance.steps == topology.num_nodes - 1
    ]
    if not made:
        raise SyncollError(f"no ring on {topology.name}")
    best = min(made, key=lambda one: Fraction(one[0].rounds, one[0].chunks))
    return StoredAlgorithm(*best, "ring")


def from_trees(
    session: Session,
    topology: Topology,
    collective: str,
    forests: Iterable[Sequence[StepTree]],
    segments: Sequence[int],
    name: str,
) -> list[StoredAlgorithm]:
    """Trees as verified algorithms; no earlier one beats a later one in S and R/C.

    Args:
        forests: trees that belong together.
        segments: the number of pieces of each tree's share.
        name: of the algorithms.
    """
    what, found = session.collective(collective), list[StoredAlgorithm]()
    for trees in forests:
        limits = SeedLimits(seconds=SCHEDULE_SECONDS)
        known = [(one.steps, one.bandwidth) for one in found]
        for made in schedule_trees(topology, what, trees, limits, segments, known):
            steps, rounds = made.algorithm.steps, made.algorithm.rounds
            instance = what.instantiate(topology, chunks=made.chunks, steps=steps, rounds=rounds)
            require_valid(instance, made.algorithm)
            found.append(StoredAlgorithm(instance, made.algorithm, name))
    return found


def step_trees(forest: Forest) -> list[StepTree]:
    """A forest's trees between compute nodes, made shorter where that costs nothing."""
    return [
        StepTree(tree.root, tree.weight, tuple((a, b) for a, b, _ in tree.edges))
        for tree in shortened(forest, Deadline.after(SCHEDULE_SECONDS)).trees()
    ]


def inverse(one: StoredAlgorithm, collective: str) -> StoredAlgorithm:
    """A reducescatter of an allgather, or a reduce of a broadcast."""
    made = invert(one.instance, one.algorithm, collective)
    require_valid(*made)
    return StoredAlgorithm(*made, one.where)


def allreduce_of(one: StoredAlgorithm, collective: str = "reducescatter") -> StoredAlgorithm:
    """The inverse first, then the collective itself (SCCL paper, section 3.5)."""
    first = inverse(one, collective)
    parts = (first.instance, first.algorithm), (one.instance, one.algorithm)
    made = compose(*parts, "allreduce")
    require_valid(*made)
    return StoredAlgorithm(*made, one.where)


@dataclass(frozen=True, eq=False)
class Raced:
    """Algorithms, the fastest at each size, on the network that states bandwidths.

    Args:
        algorithms: for one collective.
    """

    algorithms: Sequence[StoredAlgorithm]

    @cached_property
    def _networks(self) -> list[PhysicalNetwork]:
        return [physical_network(one.instance.topology, _QUIET) for one in self.algorithms]

    def seconds(self, alpha: float, efficiency: float, sizes: Sequence[int]) -> Floats:
        """For each size, as the messages of nccl-tests are measured, in bytes.

        Args:
            alpha: seconds of a send.
            efficiency: the part of the stated bandwidths that there is.
        """
        times = []
        for one, network in zip(self.algorithms, self._networks, strict=True):
            everywhere = range(len(network.lanes))
            tuned = replace(
                network.slowed(everywhere, 1 / Fraction(efficiency)), alpha=Fraction(alpha)
            )
            per_node = message_of([one.instance]).per_node
            own = [round(size / per_node) for size in sizes]
            times.append([float(x) for x in SimulatedSeconds(tuned, Semantics())(one, own)])
        fastest: Floats = np.min(times, axis=0)
        return fastest

    def algbw(self, alpha: float, efficiency: float, sizes: Sequence[int]) -> Floats:
        """The same as GB/s."""
        rates: Floats = np.array(sizes) / self.seconds(alpha, efficiency, sizes) / 1e9
        return rates
