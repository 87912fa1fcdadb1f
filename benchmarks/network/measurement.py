"""A collective on a machine: measured, predicted, and its lower bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf
from statistics import median
from typing import Any

import syncoll
from benchmarks.network.gloo import run_torch
from benchmarks.network.layout import layout_of
from benchmarks.network.mpich import point_to_point, run_mpich
from benchmarks.network.namespaces import Network
from syncoll.documents import StoredAlgorithm
from syncoll.model import Topology
from syncoll.planning import message_of_collective
from syncoll.routing.routed_steps import routed
from syncoll.runtime import Kind
from syncoll.simulating import Protocol, Runtime, physical_network
from syncoll.verbs.frontier import FrontierResult, algorithms_of

__all__ = ["Row", "default_rate", "measure"]

REPEATS, SECONDS, WORK = 5, 1200.0, 10.0
"""Timed calls, the limit for each program, and units of work of a search."""

_NEAR, _CANDIDATES = 1.02, 3
"""Of the algorithms whose predicted times are within this factor of the least, this number is
measured, and the fastest counts: the model does not tell them apart."""

_OFTEN, _LEAST, _BUSY = 9, 1e-3, 0.1
"""Timed calls of the point-to-point runs, the least latency in seconds, for ranks share cores, and
its part that occupies a link, the handling of a message."""

_PAIR = "line(2)"
_SMALL, _LARGE = 1 << 10, 4 << 20
"""Bytes of the two point-to-point runs."""

_DOUBLE, _DEALT = 8, (Kind.ALLTOALL, Kind.REDUCESCATTER, Kind.SCATTER)
"""Bytes of an element, and the collectives whose input has a block for each rank."""

_PERSONAL = (Kind.ALLTOALL, Kind.GATHER, Kind.SCATTER)

_TOTAL, _MOST = 1600, 100
"""Mbit/s: of all hops together, for two cores carry it, and of a link of one chunk per round."""


@dataclass(frozen=True)
class Row:
    """The times of a collective for one size, in seconds.

    Args:
        size: bytes of a rank, its largest input.
        message: bytes as nccl-tests counts them.
        rate: Mbit/s of a link of one chunk per round.
        c_file, mpich: the exported C file, and MPICH's own collective.
        module, gloo: the exported module for torch, and Gloo's own collective.
        c_file_predicted, module_predicted: by a simulation.
        floor: a lower bound on every algorithm's time.
        algorithm: S, R/C and C over MPI and with Gloo.
    """

    machine: str
    collective: str
    size: int
    message: int
    rate: int
    c_file: float
    c_file_predicted: float
    mpich: float
    module: float
    module_predicted: float
    gloo: float | None
    floor: float
    algorithm: tuple[str, str]

    @property
    def ours(self) -> float:
        """The faster one of the C file and the module."""
        return min(self.c_file, self.module)

    @property
    def library(self) -> float:
        """The faster one of MPICH and Gloo."""
        return self.mpich if self.gloo is None else min(self.mpich, self.gloo)

    @property
    def errors(self) -> tuple[float, float]:
        """|predicted / measured - 1| over MPICH and with Gloo."""
        return (
            abs(self.c_file_predicted / self.c_file - 1),
            abs(self.module_predicted / self.module - 1),
        )

    @property
    def speedup(self) -> float:
        """The time of the library over ours."""
        return self.library / self.ours

    @property
    def predicted(self) -> float:
        """The prediction for the faster one of the C file and the module."""
        return self.c_file_predicted if self.c_file <= self.module else self.module_predicted

    @classmethod
    def of(cls, document: dict[str, Any]) -> Row:
        """The row of a JSON file."""
        return cls(**{**document, "algorithm": tuple(document["algorithm"])})


def default_rate(topology: Topology) -> int:
    """Mbit/s of a link of one chunk per round, so that all links together stay within two cores."""
    network = physical_network(topology, Fraction(0), Fraction(1))
    units = sum(lane.bandwidth for lane in network.lanes)
    return max(1, min(_MOST, int(_TOTAL / units)))


@dataclass(frozen=True)
class _Costs:
    """Seconds of a message without its bytes, and bytes per second of a link of one chunk per
    round.  The latency counts for each send; a part of it occupies the link."""

    alpha: float
    bandwidth: float

    @classmethod
    def of(cls, most: float, small: float, large: float) -> _Costs:
        """The costs that the seconds of two messages show; the link has at most a bandwidth."""
        bandwidth = min(most, (_LARGE - _SMALL) / (large - small))
        return cls(max(_LEAST, small - _SMALL / bandwidth), bandwidth)

    @property
    def model(self) -> dict[str, Any]:
        """Arguments of searches and simulations."""
        protocol = Protocol("measured", message=Fraction(f"{self.alpha * _BUSY:.4g}"))
        return {
            "alpha": f"{self.alpha * 1e6:.6g}us",
            "beta": f"{self.bandwidth / 1e9:.6g}GB/s",
            "runtime": Runtime("measured", "point-to-point runs", (protocol,)),
        }


@cache
def calibrated(rate: int) -> tuple[_Costs, _Costs]:
    """Costs over MPICH and with Gloo, by two point-to-point runs of each on a link."""
    frontier = syncoll.pareto(_PAIR, "broadcast", work=1, progress="none")
    stored = algorithms_of(frontier, "benchmarks.network")[0]
    sizes = (_SMALL, _LARGE)
    with Network(layout_of(frontier.topology, _unit(rate))) as network:
        mpich = point_to_point(network, sizes, _OFTEN, SECONDS)
        torch = run_torch(network, stored, sizes, _OFTEN, SECONDS)
    most = float(_unit(rate))
    return _Costs.of(most, *mpich), _Costs.of(most, *(median(one) for one, _ in torch))


def _unit(rate: int) -> Fraction:
    return Fraction(rate * 10**6, 8)


def measure(
    machine: str, collective: str, sizes: Sequence[int], rate: int | None = None
) -> Iterator[Row]:
    """Rows for sizes, in bytes of a rank.

    Raises:
        SyncollError: as `syncoll.pareto`, `layout_of`, `run_mpich` and `run_torch`.
    """
    topology = syncoll.topology(machine)
    rate = rate or default_rate(topology)
    layout, nodes = layout_of(topology, _unit(rate)), topology.num_nodes
    over_mpich, with_gloo = calibrated(rate)
    asked = message_of_collective(syncoll.collective(collective), nodes)
    messages = [int(size * asked.per_input) for size in sizes]
    machines = [topology]
    # Data for one node may also be forwarded by the nodes between, without a stop.
    if asked.kind in _PERSONAL and len(topology.links) < nodes * (nodes - 1):
        machines.append(routed(topology))
    how: dict[str, Any] = {"optimise_for": messages, "work": WORK, "progress": "none"}
    frontiers = [syncoll.pareto(one, collective, **how, **over_mpich.model) for one in machines]
    for_mpich, for_gloo = (_choices(frontiers, messages, one) for one in (over_mpich, with_gloo))
    found = syncoll.simulate(
        frontiers[0], sizes=messages, classics=False, progress="none", **over_mpich.model
    )
    block = _DOUBLE * (nodes if asked.kind in _DEALT else 1)
    with Network(layout) as network:

        def over_mpi(stored: StoredAlgorithm, own: list[int]) -> list[tuple[float, float]]:
            counts = [sizes[number] // block for number in own]
            return run_mpich(network, stored, counts, REPEATS, SECONDS)

        def over_gloo(stored: StoredAlgorithm, own: list[int]) -> list[tuple[float, float]]:
            calls = run_torch(network, stored, [sizes[i] for i in own], REPEATS, SECONDS)
            return [(median(ours), median(gloo) if gloo else inf) for ours, gloo in calls]

        of_mpich, of_gloo = _measured(for_mpich, over_mpi), _measured(for_gloo, over_gloo)
    for number in range(len(sizes)):
        c_choice, c_file, mpich = of_mpich[number]
        module_choice, module, gloo = of_gloo[number]
        yield Row(
            machine,
            collective,
            sizes[number],
            messages[number],
            rate,
            c_file,
            c_choice.seconds,
            mpich,
            module,
            module_choice.seconds,
            gloo if gloo < inf else None,
            found.floor(number) or 0.0,
            (c_choice.words, module_choice.words),
        )


@dataclass(frozen=True)
class _Choice:
    """An algorithm with its predicted time."""

    algorithm: StoredAlgorithm
    seconds: float

    @property
    def words(self) -> str:
        """The algorithm for a table."""
        found, name = self.algorithm, self.algorithm.where.partition("[")[0]
        before = "routed, " if found.instance.topology.name.startswith("routed ") else ""
        before += "" if name in ("points", "families", "timed") else f"{name}: "
        return f"{before}S = {found.steps}, R/C = {found.bandwidth}, C = {found.chunks}"


def _choices(
    frontiers: Sequence[FrontierResult], messages: Sequence[int], costs: _Costs
) -> list[list[_Choice]]:
    """The algorithms near the least predicted time of each message.  Steps are in lockstep, as
    programs post them; forwarded connections of routed machines share links fairly."""
    found: list[list[_Choice]] = [[] for _ in messages]
    for number, one in enumerate(frontiers):
        how = {"sharing": "fair"} if number else {"timing": "lockstep", "classics": False}
        times = syncoll.simulate(one, sizes=messages, progress="none", **how, **costs.model)
        for algorithm in (*times.algorithms, *times.classics):
            for choices, seconds in zip(found, algorithm.seconds, strict=True):
                choices.append(_Choice(algorithm.algorithm, float(seconds)))
    for choices in found:
        choices.sort(key=lambda x: x.seconds)
        choices[:] = [x for x in choices[:_CANDIDATES] if x.seconds <= _NEAR * choices[0].seconds]
    return found


def _measured(
    chosen: Sequence[Sequence[_Choice]],
    run: Callable[[StoredAlgorithm, list[int]], list[tuple[float, float]]],
) -> list[tuple[_Choice, float, float]]:
    """For each size the fastest choice, its time and the library's least time.  The sizes of an
    algorithm are measured together."""
    own: dict[int, tuple[_Choice, list[int]]] = {}
    for number, choices in enumerate(chosen):
        for one in choices:
            own.setdefault(id(one.algorithm), (one, []))[1].append(number)
    found: list[list[tuple[float, float, _Choice]]] = [[] for _ in chosen]
    for one, numbers in own.values():
        for number, (seconds, library) in zip(numbers, run(one.algorithm, numbers), strict=True):
            (same,) = (x for x in chosen[number] if x.algorithm is one.algorithm)
            found[number].append((seconds, library, same))
    return [
        (fastest[2], fastest[0], min(library for _, library, _ in each))
        for each in found
        for fastest in [min(each, key=lambda x: x[0])]
    ]
