"""Simulation: what an algorithm takes on a physical network, and what happens when.

::

    network = physical_network(topology, alpha=Fraction(1, 10**6), bandwidth=Fraction(25 * 10**9))
    simulated = simulate_algorithm(stored, network, Semantics(), size=1 << 20)
    simulated.seconds                                       # from the call to the last arrival
    for lane, start, end in zip(simulated.passages.lane, ...):
        simulated.network.lanes[lane].name                  # 0 -> 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.documents import StoredAlgorithm
from syncoll.simulating.asynchronous import asynchronous
from syncoll.simulating.fair import fair
from syncoll.simulating.lockstep import lockstep, step_seconds
from syncoll.simulating.movements import Movements, Passages
from syncoll.simulating.network import PhysicalNetwork
from syncoll.simulating.semantics import Injection, Semantics, Sharing, Timing
from syncoll.simulating.workload import Workload, workload_of
from syncoll.wording import counted

__all__ = ["Simulation", "simulate_algorithm", "simulated_seconds"]

_CELLS_AT_ONCE = 1 << 23
"""Sends times sizes that are computed together: some hundred megabytes."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """What happens when an algorithm runs on a network, at one size.

    Args:
        algorithm: with its problem.
        network: with its degraded lanes.
        semantics: how it was taken to behave.
        size: L, bytes of one node's data.
        seconds: from the call to the last arrival; exact in lockstep.
        sends: ``[M, 4]``: chunk, source, destination, step.
        left: ``[M]``: seconds, when each send left its source.
        arrived: ``[M]``: when the receiver has all of it.
        passages: what each lane carried when.
        copies: how many images each send has: those of an orbit all happen at the same times, on
            lanes of their own, and only one of them is listed.
    """

    algorithm: StoredAlgorithm
    network: PhysicalNetwork
    semantics: Semantics
    size: int
    seconds: Fraction
    sends: npt.NDArray[np.int64]
    left: npt.NDArray[np.float64]
    arrived: npt.NDArray[np.float64]
    passages: Passages
    copies: int = 1

    def __repr__(self) -> str:
        """In a line: the arrays fill pages."""
        return (
            f"<simulation of {self.algorithm.where}: {float(self.seconds) * 1e6:.6g} us, "
            f"{counted(len(self.sends), 'send')}>"
        )


def simulated_seconds(
    stored: StoredAlgorithm,
    network: PhysicalNetwork,
    semantics: Semantics,
    sizes: Sequence[int],
) -> tuple[Fraction, ...]:
    """What an algorithm takes, for each size of one node's data; exact in lockstep.

    Raises:
        UsageError: when a lane or a node that the semantics name is not there, or too many sends
            have to be listed.
    """
    degraded = semantics.on(network)
    work = _workload(stored, degraded, semantics)
    chunks = [Fraction(size, stored.chunks) for size in sizes]
    if semantics.timing is Timing.LOCKSTEP:
        return tuple(
            sum(_steps(stored, work, degraded, network, semantics, chunk), _begin(semantics))
            for chunk in chunks
        )
    block = max(1, _CELLS_AT_ONCE // max(1, len(work)))
    found: list[Fraction] = []
    for i in range(0, len(chunks), block):
        found += _totals(_moved(work, degraded, semantics, chunks[i : i + block]), semantics)
    return tuple(found)


def simulate_algorithm(
    stored: StoredAlgorithm, network: PhysicalNetwork, semantics: Semantics, size: int
) -> Simulation:
    """What happens when, at one size of one node's data.

    Raises:
        UsageError: see `simulated_seconds`.
    """
    degraded = semantics.on(network)
    work = _workload(stored, degraded, semantics)
    chunk = Fraction(size, stored.chunks)
    if semantics.timing is Timing.LOCKSTEP:
        steps = _steps(stored, work, degraded, network, semantics, chunk)
        begin = _begin(semantics)
        moved = lockstep(work, degraded, semantics, chunk, steps, begin)
        total = sum(steps, begin)
    else:
        moved = _moved(work, degraded, semantics, [chunk], in_detail=True)
        (total,) = _totals(moved, semantics)
    assert moved.passages is not None
    return Simulation(
        stored,
        degraded,
        semantics,
        size,
        total,
        work.sends,
        moved.left[0],
        moved.arrived[0],
        moved.passages,
        work.copies,
    )


def _workload(stored: StoredAlgorithm, network: PhysicalNetwork, semantics: Semantics) -> Workload:
    symmetric = not semantics.late and semantics.injection is Injection.FREE
    return workload_of(stored.instance, stored.algorithm, network, symmetric=symmetric)


def _steps(
    stored: StoredAlgorithm,
    work: Workload,
    network: PhysicalNetwork,
    intact: PhysicalNetwork,
    semantics: Semantics,
    chunk: Fraction,
) -> list[Fraction]:
    rounds = stored.algorithm.rounds_per_step
    return step_seconds(work, rounds, network, intact, semantics, chunk)


def _begin(semantics: Semantics) -> Fraction:
    """When a lockstep's first step begins: when the last node is there."""
    return semantics.overhead + max((one.seconds for one in semantics.late), default=Fraction(0))


def _moved(
    work: Workload,
    network: PhysicalNetwork,
    semantics: Semantics,
    chunks: Sequence[Fraction],
    *,
    in_detail: bool = False,
) -> Movements:
    simulate = fair if semantics.sharing is Sharing.FAIR else asynchronous
    return simulate(work, network, semantics, chunks, in_detail=in_detail)


def _totals(moved: Movements, semantics: Semantics) -> list[Fraction]:
    late = max((float(one.seconds) for one in semantics.late), default=0.0)
    ends = np.maximum(moved.arrived.max(axis=1, initial=0.0), late)
    return [Fraction(end) + semantics.overhead for end in ends.tolist()]
