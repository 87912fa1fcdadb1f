"""Microseconds of a frontier's algorithms for three sizes of the message.

The machine has to state latencies and bandwidths.  Times are simulated as `syncoll simulate` does;
of many sends, and of pipelines, they are S alpha + (R/C) L beta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from syncoll.documents import StoredAlgorithm
from syncoll.errors import SyncollError
from syncoll.planning import CostModel, fastest_member, message_of, unit_bandwidth
from syncoll.results import Family, Frontier, Point
from syncoll.simulating import PhysicalNetwork, Semantics, SimulatedSeconds, physical_network
from syncoll.units import format_size

__all__ = ["SHOWN_SIZES", "MessageTimes", "gigabytes", "microseconds", "times_of"]

SHOWN_SIZES = (4 << 10, 1 << 20, 256 << 20)
"""Sizes of messages with a time in tables and reports."""
_NAMES = [f">{format_size(size)} us" for size in SHOWN_SIZES]
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

    def simulates(self, points: Sequence[Point]) -> bool:
        """Whether the points have few sends together, and are simulated."""
        return sum(point.algorithm.num_sends for point in points) <= _MOST_SENDS

    def of_points(self, points: Sequence[Point]) -> list[dict[str, str]]:
        """The cells of each point, by the names of their columns."""
        if self.simulates(points):
            simulated = SimulatedSeconds(self.network, Semantics())
            each = (StoredAlgorithm(point.instance, point.algorithm, "") for point in points)
            found = [[*map(microseconds, simulated(one, self.sizes))] for one in each]
        else:
            found = [[self._formula(x.steps, x.bandwidth, L) for L in self.sizes] for x in points]
        return [dict(zip(_NAMES, cells, strict=True)) for cells in found]

    def of_family(self, family: Family) -> dict[str, str]:
        """The cells of a family: at each size the time of its fastest member."""
        alpha, unit = self.network.greatest_latency, self.network.unit
        fastest = [(fastest_member(family, alpha, size / unit), size) for size in self.sizes]
        cells = [self._formula(family.steps.at(m), family.bandwidth(m), L) for m, L in fastest]
        return dict(zip(_NAMES, cells, strict=True))

    def _formula(self, steps: int, cost: Fraction, size: Fraction) -> str:
        model = CostModel(self.network.greatest_latency, self.network.unit)
        return microseconds(model.seconds(steps, cost, size))


def times_of(frontier: Frontier) -> MessageTimes | None:
    """The times on a frontier's machine; None if it states no latencies or bandwidths."""
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
    return MessageTimes(network, message.words, tuple(map(message.node_bytes, SHOWN_SIZES)))


def gigabytes(rate: Fraction | float | None) -> str:
    """A rate in GB/s with four digits; a dash for None."""
    return "-" if rate is None else f"{float(rate) / 1e9:.4g}"


def microseconds(seconds: Fraction | float) -> str:
    """Microseconds with about four digits.

    >>> [microseconds(Fraction(x, 10**9)) for x in (2750, 123456, 12345678)]
    ['2.75', '123.5', '12346']
    """
    value = float(seconds) * 1e6
    return f"{value:.{2 if value < 100 else 1 if value < 1000 else 0}f}"
