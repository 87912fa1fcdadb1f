"""The time of an algorithm on a physical network, and the movement of each send.

::

    network = physical_network(topology, alpha=Fraction(1, 10**6), bandwidth=Fraction(25 * 10**9))
    simulated = simulate_algorithm(stored, network, Semantics(), size=1 << 20)
    simulated.seconds                                       # from the call to the last arrival

    for lane, start, end in zip(simulated.passages.lane, ...):
        simulated.network.lanes[lane].name                  # 0 -> 1
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.documents import StoredAlgorithm
from syncoll.model import OrbitAlgorithm
from syncoll.progress import report
from syncoll.runtime import Kind, counts_on_switches, kind_of
from syncoll.simulating.arrivals import by_arrival
from syncoll.simulating.asynchronous import asynchronous
from syncoll.simulating.fair import fair
from syncoll.simulating.lanes import Movements, Passages
from syncoll.simulating.lockstep import lockstep, step_seconds
from syncoll.simulating.network import PhysicalNetwork
from syncoll.simulating.runtimes import WIRE, Runtime, Setting
from syncoll.simulating.semantics import Injection, Order, Semantics, Sharing, Timing
from syncoll.simulating.workload import Workload, workload_of
from syncoll.wording import counted

Sizes = Sequence[Fraction | int]

_Timed = tuple[Fraction, Setting]
"""Seconds by a protocol, and this protocol with its network."""

_CELLS_AT_ONCE = 1 << 23
"""Sends times sizes that are computed together: a few hundred megabytes."""

_MOST_KEPT = 1 << 23
"""Limit on the sends whose order is kept for further sizes: less than a gigabyte."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """The run of an algorithm on a network, at one size.

    Args:
        network: with its degraded lanes, as the protocol uses it.
        semantics: with the costs of the protocol.
        size: L, bytes of one node's data.
        seconds: from the call to the last arrival; exact in lockstep.
        sends: ``[M, 4]``: chunk, source, destination, step.
        left: ``[M]``: seconds, when each send left its source.
        arrived: ``[M]``: when the receiver has all of it.
        copies: number of images of each send: all sends of an orbit move at the same times, on
            lanes of their own, and only one of them is listed.
        protocol: of the runtime, the fastest for this size.
    """

    algorithm: StoredAlgorithm
    network: PhysicalNetwork
    semantics: Semantics
    size: Fraction | int
    seconds: Fraction
    sends: npt.NDArray[np.int64]
    left: npt.NDArray[np.float64]
    arrived: npt.NDArray[np.float64]
    passages: Passages
    copies: int = 1
    protocol: str = ""

    def __repr__(self) -> str:
        """One line, without the arrays."""
        return (
            f"<simulation of {self.algorithm.where}: {float(self.seconds) * 1e6:.6g} us, "
            f"{counted(len(self.sends), 'send')}>"
        )


class SimulatedSeconds:
    """Simulated times of algorithms on an intact network; each size is simulated once.

    A size takes the time of the fastest protocol of the runtime.  Progress is reported with the
    number of expected algorithms, if any.  The order of at most `kept` sends is kept for later
    sizes.
    """

    def __init__(
        self,
        network: PhysicalNetwork,
        semantics: Semantics,
        expected: int = 0,
        runtime: Runtime = WIRE,
        kept: int = _MOST_KEPT,
    ) -> None:
        self._intact, self._semantics, self._expected = network, semantics, expected
        self._runtime, self._kept = runtime, kept
        semantics.on(network)
        self._settings: dict[Kind | None, list[Setting]] = {}
        self._known: dict[StoredAlgorithm, dict[Fraction | int, list[_Timed]]] = {}
        self._work: dict[StoredAlgorithm, list[Workload]] = {}
        self._in_switches: dict[StoredAlgorithm, bool] = {}

    @property
    def lockstep(self) -> bool:
        """Whether all sends of a step begin together."""
        return self._semantics.timing is Timing.LOCKSTEP

    def __getstate__(self) -> dict[str, Any]:
        """Without the workloads, which are large and quick to rebuild."""
        return {**vars(self), "_work": {}}

    def __call__(self, stored: StoredAlgorithm, sizes: Sizes) -> tuple[Fraction, ...]:
        """Seconds for each size of one node's data; exact in lockstep.  Raises `UsageError` if
        there are too many sends to list."""
        return tuple(seconds for seconds, _ in self.chosen(stored, sizes))

    def chosen(self, stored: StoredAlgorithm, sizes: Sizes) -> list[_Timed]:
        """For each size the seconds by the fastest protocol, and this protocol with its network."""
        return [min(each, key=itemgetter(0)) for each in self._each(stored, sizes)]

    def longer_in(self, protocol: str, stored: StoredAlgorithm, sizes: Sizes) -> list[Any]:
        """For each size the seconds that a protocol takes longer than the fastest other one;
        infinite if only others can carry the algorithm, and negative if only this one can."""
        found = []
        for each in self._each(stored, sizes):
            own = [time for time, one in each if one.protocol.name == protocol]
            others = [time for time, one in each if one.protocol.name != protocol]
            found.append(min(own, default=inf) - min(others, default=inf))
        return found

    def _each(self, stored: StoredAlgorithm, sizes: Sizes) -> list[list[_Timed]]:
        """For each size the seconds by every protocol and order, with its network."""
        if stored not in self._known and self._expected:
            report(len(self._known), self._expected, f"simulating {stored.where}")
        known = self._known.setdefault(stored, {})
        new = [size for size in dict.fromkeys(sizes) if size not in known]
        if new:
            settings = self.settings(stored)
            if (works := self._work.get(stored)) is None:
                works = _workloads(stored, settings)
                kept = sum(len(one[0]) for one in self._work.values())
                if kept + len(works[0]) <= self._kept:
                    self._work[stored] = works
            pairs = zip(settings, works, strict=True)
            times = [self._computed(stored, work, one.semantics, new) for one, work in pairs]
            for size, each in zip(new, zip(*times, strict=True), strict=True):
                known[size] = list(zip(each, settings, strict=True))
        return [known[size] for size in sizes]

    def settings(self, stored: StoredAlgorithm) -> list[Setting]:
        """The protocols of an algorithm, with their networks and degraded lanes.

        If sends take turns, the protocols of libraries come with both orders: thread blocks are as
        fast as the better one.
        """
        several = any(one.collectives for one in self._runtime.protocols)
        kind = kind_of(stored.instance).kind if several else None
        if (found := self._settings.get(kind)) is None:
            found = [
                replace(one, network=self._semantics.on(one.network))
                for one in self._runtime.settings(self._intact, self._semantics, kind)
            ]
            if self._runtime.name != WIRE.name and self._semantics.free_in_turn:
                arriving = [replace(one.semantics, order=Order.ARRIVALS) for one in found]
                found += [replace(x, semantics=y) for x, y in zip(found, arriving, strict=True)]
            self._settings[kind] = found
        classic = stored.where.partition("[")[0]
        found = [one for one in found if one.protocol.runs(classic)] or found
        if all(one.protocol.in_switches for one in found):
            return found
        if stored not in self._in_switches:
            counts = counts_on_switches(stored.instance, stored.algorithm)
            self._in_switches[stored] = counts
        if not self._in_switches[stored]:
            return found
        return [one for one in found if one.protocol.in_switches] or found

    def _computed(
        self, stored: StoredAlgorithm, work: Workload, semantics: Semantics, sizes: Sizes
    ) -> list[Fraction]:
        chunks = [Fraction(size) / stored.chunks for size in sizes]
        if semantics.timing is Timing.LOCKSTEP:
            intact, rounds = self._intact, stored.algorithm.rounds_per_step
            steps = (step_seconds(work, rounds, intact, semantics, x) for x in chunks)
            return [sum(each, _begin(semantics)) for each in steps]
        block, run = max(1, _CELLS_AT_ONCE // max(1, len(work))), _simulator(semantics)
        parts = (chunks[i : i + block] for i in range(0, len(chunks), block))
        return [one for part in parts for one in _totals(run(work, semantics, part), semantics)]


def simulate_algorithm(
    stored: StoredAlgorithm,
    network: PhysicalNetwork,
    semantics: Semantics,
    size: Fraction | int,
    runtime: Runtime = WIRE,
) -> Simulation:
    """The run of an algorithm at one size of one node's data, in the fastest protocol."""
    times = SimulatedSeconds(network, semantics, runtime=runtime)
    settings = times.settings(stored)
    chosen = settings[0] if len(settings) == 1 else times.chosen(stored, [size])[0][1]
    semantics = chosen.semantics
    (work,) = _workloads(stored, [chosen])
    chunk = Fraction(size) / stored.chunks
    if semantics.timing is Timing.LOCKSTEP:
        rounds = stored.algorithm.rounds_per_step
        steps = step_seconds(work, rounds, network, semantics, chunk)
        begin = _begin(semantics)
        moved = lockstep(work, semantics, chunk, steps, begin)
        total = sum(steps, begin)
    else:
        moved = _simulator(semantics)(work, semantics, [chunk], in_detail=True)
        (total,) = _totals(moved, semantics)
    assert moved.passages is not None
    when = work.sends, moved.left[0], moved.arrived[0], moved.passages
    how = chosen.network, semantics, size, total
    return Simulation(stored, *how, *when, work.copies, chosen.protocol.name)


def _workloads(stored: StoredAlgorithm, settings: Sequence[Setting]) -> list[Workload]:
    """The sends on the network of each protocol."""
    found: list[Workload] = []
    messages = any(one.semantics.message for one in settings)
    for one in settings:
        if found and not isinstance(stored.algorithm, OrbitAlgorithm):
            work = replace(found[0], network=one.network)
        else:
            free = not one.semantics.late and one.semantics.injection is Injection.FREE
            alike = free and one.semantics.rank_rate is None  # on some networks only
            how = {"symmetric": alike, "messages": messages}
            work = workload_of(stored.instance, stored.algorithm, one.network, **how)
        arriving = one.semantics.order is Order.ARRIVALS
        found.append(by_arrival(work, one.semantics) if arriving else work)
    return found


def _begin(semantics: Semantics) -> Fraction:
    """The time at which the first step begins in lockstep: when the last node has begun."""
    return semantics.overhead + max((one.seconds for one in semantics.late), default=Fraction(0))


def _simulator(semantics: Semantics) -> Callable[..., Movements]:
    return fair if semantics.sharing is Sharing.FAIR else asynchronous


def _totals(moved: Movements, semantics: Semantics) -> list[Fraction]:
    late = max((float(one.seconds) for one in semantics.late), default=0.0)
    # One size after the other is faster than all along the axis of short rows.
    ends = (max(float(one.max(initial=0.0)), late) for one in moved.arrived)
    return [Fraction(end) + semantics.overhead for end in ends]
