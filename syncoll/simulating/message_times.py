"""Seconds of a frontier's algorithms for three sizes of the message.

The machine has to state latencies and bandwidths.  Times are simulated as `syncoll simulate` does;
of many sends, and of pipelines, they are S alpha + (R/C) L beta with alpha and beta of the fastest
protocol of a runtime.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from syncoll.documents import StoredAlgorithm
from syncoll.errors import SyncollError
from syncoll.planning import CostModel, fastest_member, message_of, unit_bandwidth
from syncoll.results import Family, Frontier, Point
from syncoll.simulating.network import PhysicalNetwork, physical_network
from syncoll.simulating.runtimes import WIRE, Runtime
from syncoll.simulating.semantics import Semantics
from syncoll.simulating.simulation import SimulatedSeconds

SHOWN_SIZES = (4 << 10, 1 << 20, 256 << 20)
"""Sizes of messages with a time in tables and reports."""
_MOST_SENDS = 150_000
"""Sends that are simulated within about half a second."""
_MOST_LINKS = 20_000
"""Links of a network whose routes are looked up."""


@dataclass(frozen=True, eq=False)
class MessageTimes:
    """Times on a network; `message`: the buffer in words, `sizes`: L, bytes of one node's data."""

    network: PhysicalNetwork
    message: str
    sizes: tuple[Fraction, ...]
    runtime: Runtime = WIRE

    @cached_property
    def models(self) -> list[CostModel]:
        """Times of steps and rounds, in each protocol of the runtime."""
        return self.runtime.models(self.network, Semantics())

    def simulates(self, points: Sequence[Point]) -> bool:
        """Whether the points have few sends together, and are simulated."""
        return sum(point.algorithm.num_sends for point in points) <= _MOST_SENDS

    def of_points(self, points: Sequence[Point]) -> list[Sequence[Fraction]]:
        """The seconds of each point, for each size."""
        if self.simulates(points):
            simulated = SimulatedSeconds(self.network, Semantics(), runtime=self.runtime)
            each = (StoredAlgorithm(point.instance, point.algorithm, "") for point in points)
            return [simulated(one, self.sizes) for one in each]
        return [[self._formula(x.steps, x.bandwidth, size) for size in self.sizes] for x in points]

    def of_family(self, family: Family) -> list[Fraction]:
        """The seconds of the fastest member of a family, for each size."""

        def seconds(model: CostModel, size: Fraction) -> Fraction:
            m = fastest_member(family, model.alpha, size / model.bandwidth)
            return model.seconds(family.steps.at(m), family.bandwidth(m), size)

        return [min(seconds(model, size) for model in self.models) for size in self.sizes]

    def _formula(self, steps: int, cost: Fraction, size: Fraction) -> Fraction:
        return min(model.seconds(steps, cost, size) for model in self.models)


def times_of(frontier: Frontier, runtime: Runtime = WIRE) -> MessageTimes | None:
    """The times on a frontier's machine under a runtime; None if the machine states no latencies or
    bandwidths."""
    topology, fabric = frontier.topology, frontier.topology.fabric
    if fabric is None or not fabric.states_latencies or unit_bandwidth(topology) is None:
        return None
    if not frontier.points or len(topology.links) > _MOST_LINKS:
        return None
    try:
        network = physical_network(topology)
    except SyncollError:  # some ports have no latency, or the file is of another version
        return None
    message = message_of(point.instance for point in frontier.points)
    if not message.per_node or not network.greatest_latency:
        return None
    sizes = tuple(map(message.node_bytes, SHOWN_SIZES))
    return MessageTimes(network, message.words, sizes, runtime)
