"""Times of several algorithms for several sizes, in the terms of nccl-tests.

Nccl-tests measures a collective by the size of a buffer (see `syncoll.planning.message_of`).  Its
algbw is that size over the time; busbw is algbw times a factor that makes collectives and numbers
of ranks comparable with a link's bandwidth (see its doc/PERFORMANCE.md).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from syncoll.certificates import ChunkClasses
from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError
from syncoll.planning import MessageMeasure, fastest, message_of
from syncoll.progress import tracked
from syncoll.runtime import Kind
from syncoll.simulating.network import PhysicalNetwork
from syncoll.simulating.runtimes import WIRE, Runtime, Setting
from syncoll.simulating.semantics import Semantics
from syncoll.simulating.simulation import SimulatedSeconds, Simulation, simulate_algorithm

_COUNTED_BY_RANK = (Kind.ALLGATHER, Kind.REDUCESCATTER, Kind.ALLTOALL, Kind.GATHER, Kind.SCATTER)
"""For these collectives nccl-tests counts the elements of one rank's part of the buffer."""

_FLOAT_BYTES = 4

_EXACT = 1 + 1e-8
"""The factor for the rounding of times and of lower bounds."""


@dataclass(frozen=True)
class Measurement:
    """A row of nccl-tests.

    Args:
        size: bytes of the message.
        per_node: L, bytes of one node's data.
        count: elements of four bytes, of the message or one rank's part of it, as nccl-tests does.
        seconds: exact in lockstep.
        algbw: bytes per second; None if it takes no time.
        busbw: likewise; None also if nccl-tests does not know the collective.
    """

    size: int
    per_node: Fraction
    count: int
    seconds: Fraction
    algbw: Fraction | None
    busbw: Fraction | None


@dataclass(frozen=True, eq=False)
class Timed:
    """An algorithm with its times.

    Args:
        algorithm: with its place: ``points[1]``, ``families[0].member(16)``, ``ring[0]``.
        seconds: for each size.
        classic: the name of the classic algorithm; empty for an algorithm of the frontier.
        protocols: of the runtime, the fastest for each size.
    """

    algorithm: StoredAlgorithm
    seconds: tuple[Fraction, ...]
    classic: str = ""
    protocols: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The place of the algorithm."""
        return self.algorithm.where


@dataclass(frozen=True, eq=False)
class Comparison:
    """Times of algorithms for several sizes.

    Args:
        network: the lanes, intact.
        sizes: bytes of the message, as nccl-tests counts them.
        message: of the collective.
        algorithms: of the frontier, in its order.
        classics: classic algorithms for comparison.
        left_out: classics without an algorithm here, each with the reason.
        floors: lower bounds on the seconds, for each size; empty if unknown.
        runtime: that runs the algorithms.
    """

    network: PhysicalNetwork
    semantics: Semantics
    sizes: tuple[int, ...]
    message: MessageMeasure
    algorithms: tuple[Timed, ...]
    classics: tuple[Timed, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    floors: tuple[float, ...] = ()
    runtime: Runtime = WIRE

    @property
    def settings(self) -> list[Setting]:
        """The protocols of the runtime for this collective, with their intact networks."""
        return self.runtime.settings(self.network, self.semantics, self.message.kind)

    @property
    def shape(self) -> ChunkClasses:
        """The chunks of the collective."""
        one = self.algorithms[0].algorithm.instance
        return ChunkClasses.of(one, one.chunks, combining=one.combining)

    @property
    def redop(self) -> Literal["sum", "none"]:
        """The reduction, as nccl-tests names it."""
        combining = self.algorithms[0].algorithm.instance.combining
        return "sum" if combining else "none"

    def measured(self, timed: Timed) -> Iterator[Measurement]:
        """The rows of an algorithm, one for each size."""
        nodes = self.network.topology.num_nodes
        by_rank = nodes if self.message.kind in _COUNTED_BY_RANK else 1
        factor = bus_factor(self.message.kind, nodes)
        for size, seconds in zip(self.sizes, timed.seconds, strict=True):
            algbw = size / seconds if seconds else None
            busbw = None if algbw is None or factor is None else algbw * factor
            count = size // by_rank // _FLOAT_BYTES
            per_node = self.message.node_bytes(size)
            yield Measurement(size, per_node, count, seconds, algbw, busbw)

    def best(self, number: int) -> Timed:
        """The fastest algorithm of the frontier for a size, by its index."""
        return _fastest(self.algorithms, lambda one: one.seconds[number])

    def best_classic(self, number: int) -> Timed | None:
        """The fastest classic for a size; None without classics."""
        return _fastest(self.classics, lambda one: one.seconds[number]) if self.classics else None

    def speedup(self, number: int) -> Fraction | None:
        """The best classic's time over the best time; None without classics or time."""
        classic, seconds = self.best_classic(number), self.best(number).seconds[number]
        return classic.seconds[number] / seconds if classic is not None and seconds else None

    def fastest(self, group: Sequence[Timed], size: int) -> Timed | None:
        """The fastest of a group for any message; None if it is empty."""
        node = [self.message.node_bytes(size)]
        times = SimulatedSeconds(self.network, self.semantics, runtime=self.runtime)
        return _fastest(group, lambda one: times(one.algorithm, node)[0]) if group else None

    def floor(self, number: int) -> float | None:
        """A lower bound on the seconds for a size, by its index; None if unknown."""
        return self.floors[number] if self.floors else None

    def fits(self, size: int, chunks: int) -> bool:
        """Whether a message is cut into equal chunks of whole elements; runtimes refuse others."""
        return not self.message.node_bytes(size) / chunks % _FLOAT_BYTES

    @property
    def optimal_classic(self) -> str | None:
        """A classic that meets the lower bounds on the times of all algorithms."""
        for one in self.classics if self.floors else ():
            pairs = zip(map(float, one.seconds), self.floors, strict=True)
            if all(seconds <= floor * _EXACT for seconds, floor in pairs):
                return one.classic
        return None

    def timed(self, name: str) -> Timed:
        """The algorithm at a place; raises `UsageError` if the place does not exist."""
        for one in (*self.algorithms, *self.classics):
            if one.name == name:
                return one
        known = ", ".join(one.name for one in (*self.algorithms, *self.classics))
        raise UsageError(f"there is no algorithm {name!r} among {known}")

    def simulation(self, name: str, size: int) -> Simulation:
        """The simulation of an algorithm, by its place, for a message."""
        one, node = self.timed(name).algorithm, self.message.node_bytes(size)
        return simulate_algorithm(one, self.network, self.semantics, node, self.runtime)


def compare(
    algorithms: Sequence[StoredAlgorithm],
    classics: Mapping[str, Sequence[StoredAlgorithm]],
    network: PhysicalNetwork,
    semantics: Semantics,
    sizes: Sequence[int],
    left_out: Mapping[str, str] | None = None,
    runtime: Runtime = WIRE,
) -> Comparison:
    """Times algorithms and classics for each size of a message.  Raises `UsageError` if there is no
    algorithm, and see `SimulatedSeconds`."""
    if not algorithms:
        raise UsageError("there is no algorithm to simulate")

    message = message_of(one.instance for one in algorithms)
    node = [message.node_bytes(size) for size in sizes]
    named = [("", one) for one in algorithms]
    named += [(name, one) for name, found in classics.items() for one in found]
    times, timed = SimulatedSeconds(network, semantics, runtime=runtime, kept=0), []
    for classic, one in tracked(named, lambda pair: f"simulating {pair[1].where}"):
        chosen = times.chosen(one, node)
        protocols = tuple(setting.protocol.name for _, setting in chosen)
        timed.append(Timed(one, tuple(seconds for seconds, _ in chosen), classic, protocols))
    own, rivals = tuple(timed[: len(algorithms)]), tuple(timed[len(algorithms) :])
    how = network, semantics, tuple(sizes), message
    return Comparison(*how, own, rivals, dict(left_out or {}), runtime=runtime)


def _fastest(group: Sequence[Timed], seconds: Callable[[Timed], Fraction]) -> Timed:
    """The fastest of a group; ties go to fewer steps, as in a plan."""
    ordered = sorted(group, key=lambda one: (one.algorithm.steps, one.algorithm.bandwidth))
    return ordered[fastest([seconds(one) for one in ordered])]


def bus_factor(kind: Kind, nodes: int) -> Fraction | None:
    """The factor of nccl-tests from algbw to busbw; None if it does not know the collective."""
    if kind is Kind.CUSTOM:
        return None
    if kind is Kind.ALLREDUCE:
        return Fraction(2 * (nodes - 1), nodes)
    return Fraction(1) if kind in (Kind.BROADCAST, Kind.REDUCE) else Fraction(nodes - 1, nodes)
