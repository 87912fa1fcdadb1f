"""Ceilings: rates that no algorithm exceeds on a machine, next to the rates of a measurement."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from syncoll.errors import UsageError
from syncoll.measuring.fit import Sample
from syncoll.measuring.logs import Run
from syncoll.measuring.ways import Way
from syncoll.model import Collective, Fabric
from syncoll.model.width_clusters import shared_memory_boxes
from syncoll.planning import message_of_collective
from syncoll.results import LowerBounds
from syncoll.runtime import Kind
from syncoll.simulating import PhysicalNetwork, bus_factor
from syncoll.simulating.floors import floors

_LARGE = 1 << 50
"""A message for which latencies do not matter."""

ABOVE = 1.02
"""A rate above a limit is at least this multiple of it, beyond the rounding."""

_SETTLED = 0.9
"""Latency matters little from the size on at which all rates are this part of the last."""

_NVLS_LINKS = 18
"""NVLinks of a GPU from H100 on; the switches of GPUs with fewer do not add up."""


@dataclass(frozen=True, eq=False)
class Ceiling:
    """A proved limit on the rate of a collective.

    Args:
        machine: the name, or that of its variant whose switches add up.
        bandwidth: the proved bound on R/C.
        algbw: bytes of the message per second, at most, without latencies.
        seconds: for each size at least.
        binding: the bandwidth in bytes per second of the lanes with prices, by their kind.
        more: why a better bound may be provable; empty if none is.
    """

    machine: str
    bandwidth: Fraction
    algbw: float
    seconds: tuple[float, ...]
    binding: Mapping[str, float]
    more: str = ""

    def document(self, factor: float) -> dict[str, Any]:
        """The limit as JSON; `factor`: busbw over algbw."""
        rates = {"algbw": self.algbw, "busbw": self.algbw * factor, "binding": dict(self.binding)}
        return {"machine": self.machine, "bandwidth": str(self.bandwidth), **rates}


@dataclass(frozen=True, eq=False)
class Measurement:
    """A run of a log on its machine.

    Args:
        log: its name.
        machine: in a command.
        networks: of the machine, and of its variant whose switches add up, if any.
        library: the ways of algorithms that libraries run.
        times: sizes in bytes with their seconds, ascending.
    """

    run: Run
    log: str
    collective: Collective
    machine: str
    networks: tuple[PhysicalNetwork, ...]
    library: tuple[Way, ...]
    times: tuple[tuple[int, float], ...]

    @cached_property
    def kind(self) -> Kind:
        """The collective, as runtimes name it."""
        return message_of_collective(self.collective, self.networks[0].topology.num_nodes).kind

    @cached_property
    def boxes(self) -> list[int]:
        """The number of GPUs in each box."""
        return [*Counter(shared_memory_boxes(self.networks[0].topology).tolist()).values()]

    @property
    def factor(self) -> float:
        """busbw over algbw; 1 for a collective that nccl-tests does not know."""
        return float(bus_factor(self.kind, sum(self.boxes)) or 1)

    @property
    def algbw(self) -> float:
        """The measured rate at the largest size."""
        size, seconds = self.times[-1]
        return size / seconds

    @property
    def settled(self) -> int:
        """The size from which on latency matters little."""
        slow = [i for i, (x, y) in enumerate(self.times) if x / y < _SETTLED * self.algbw]
        return self.times[max(slow, default=-1) + 1][0]

    @property
    def without_sums(self) -> tuple[Way, ...]:
        """The ways of algorithms that need no sums in switches."""
        return tuple(way for way in self.library if not way.in_switches)

    @property
    def samples(self) -> list[Sample]:
        """The rows for a fit.  The switches add up if the run is too fast for other ways."""
        best = max((way.algbw for way in self.without_sums), default=0.0)
        fast = max(x / y for x, y in self.times) > ABOVE * best
        if not (used := self.library if fast else self.without_sums):
            raise UsageError(f"{self.log}: libraries run no known algorithm for {self.kind} here")
        return [Sample(*one, used, self.kind, self.run.per_process, self.log) for one in self.times]


@dataclass(frozen=True, eq=False)
class RunCeilings(Measurement):
    """A run of a log with its ceilings.

    Args:
        plain: the ceiling without sums in switches.
        summed: the ceiling with them, if the machine or a variant has them, and if it is higher.
    """

    plain: Ceiling
    summed: Ceiling | None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """For each size seconds, and in bytes per second algbw, busbw and the ceilings of busbw."""
        names, found = ("size", "seconds", "algbw", "busbw", "ceiling", "with_sums"), []
        for number, (size, seconds) in enumerate(self.times):
            limits = [one and size / one.seconds[number] for one in (self.plain, self.summed)]
            busbw = [one and self.factor * one for one in (size / seconds, *limits)]
            found.append(dict(zip(names, (size, seconds, size / seconds, *busbw), strict=True)))
        return found

    @property
    def best(self) -> Way | None:
        """The library's algorithm without sums in switches whose limit is the next above the
        measured rate."""
        above = [way for way in self.without_sums if self.algbw <= way.algbw * ABOVE]
        return min(above, key=lambda way: way.algbw, default=None)


def ceiling_of(
    collective: Collective, network: PhysicalNetwork, bounds: LowerBounds, sizes: Sequence[int]
) -> Ceiling:
    """The ceiling by a proved bound on R for any number of steps and the collective's least C.

    Args:
        network: of the machine, intact.
        sizes: of messages.
    """
    topology, nodes = network.topology, network.topology.num_nodes
    message, chunks = message_of_collective(collective, nodes), bounds.chunks
    instance = collective.instantiate(topology, chunks=chunks, steps=nodes, rounds=nodes)
    asked = [message.node_bytes(size) for size in (*sizes, _LARGE)]
    *seconds, last = floors(instance, network, asked, least_cost=bounds.bandwidth)
    binding = dict[str, float]()
    priced = [topology.bounds[i] for i, _, _ in bounds.any_steps.link_prices(topology)]
    for one in sorted(priced, key=lambda one: -one.chunks_per_round):
        # A label without the number of its node: "NVLinks of GPU 3" are NVLinks.
        label = re.sub(r" (?:of|to|from) (?:GPU|node|box) ?\d+|\d+ (?=NVL)", "", one.label)
        label = re.sub(r" to NVSwitches|^(?:to|from) an? |\s*\d+$", "", label)
        binding.setdefault(label or "links", float(one.chunks_per_round * network.unit))
    rates = bounds.bandwidth, _LARGE / last, tuple(seconds)
    return Ceiling(topology.name, *rates, binding, bounds.more)


def with_sums(fabric: Fabric) -> Fabric | None:
    """The network if its NVSwitches add up and copy, as from H100 on; None without such switches.
    A switch is an NVSwitch if all its links are labelled as NVLinks, of as many as H100 has."""
    labels: dict[int, list[int]] = {}
    for link in fabric.links:
        count = re.search(r"(\d+) NVLinks", link.label)
        for end in {link.source, link.destination} - set(range(fabric.num_nodes)):
            labels.setdefault(end, []).append(int(count[1]) if count else 0)
    found = tuple(sorted(one for one, own in labels.items() if min(own) >= _NVLS_LINKS))
    if not found:
        return None
    name = f"{fabric.name} with sums in switches"
    return replace(fabric, name=name, multicast=found, reduce=found, grains=None)
