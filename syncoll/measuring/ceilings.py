"""Ceilings: rates that no algorithm exceeds on a machine, next to the rates of a measurement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from syncoll.certificates import RoundsBound
from syncoll.errors import UsageError
from syncoll.measuring.fit import Sample
from syncoll.measuring.logs import Run
from syncoll.measuring.ways import Way
from syncoll.model import Collective, Fabric, Topology
from syncoll.model.width_clusters import shared_memory_boxes
from syncoll.planning import message_of_collective
from syncoll.runtime import Kind
from syncoll.simulating import PhysicalNetwork, bus_factor, floors

__all__ = ["ABOVE", "Ceiling", "Measurement", "RunCeilings", "ceiling_of", "with_sums"]

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
        topology: the machine, or its variant whose switches add up.
        bandwidth: the proved bound on R/C.
        algbw: bytes of the message per second, at most, without latencies.
        seconds: for each size at least.
        binding: the bandwidth in bytes per second of the lanes with prices, by their kind.
        more: why a better bound may be provable; empty if none is.
    """

    topology: Topology
    bandwidth: Fraction
    algbw: float
    seconds: tuple[float, ...]
    binding: Mapping[str, float]
    more: str = ""

    def document(self, factor: float) -> dict[str, Any]:
        """The limit as JSON; `factor`: busbw over algbw."""
        rates = {"algbw": self.algbw, "busbw": self.algbw * factor, "binding": dict(self.binding)}
        return {"machine": self.topology.name, "bandwidth": str(self.bandwidth), **rates}


@dataclass(frozen=True, eq=False)
class Measurement:
    """A run of a log on its machine.

    Args:
        machine: in a command.
        times: sizes in bytes with their seconds, ascending.
    """

    run: Run
    collective: Collective
    topology: Topology
    machine: str
    times: tuple[tuple[int, float], ...]

    @cached_property
    def kind(self) -> Kind:
        """The collective, as runtimes name it."""
        return message_of_collective(self.collective, self.topology.num_nodes).kind

    @cached_property
    def boxes(self) -> list[int]:
        """The number of GPUs in each box."""
        label = shared_memory_boxes(self.topology).tolist()
        return [label.count(one) for one in sorted(set(label))]

    @property
    def factor(self) -> float:
        """busbw over algbw; 1 for a collective that nccl-tests does not know."""
        return float(bus_factor(self.kind, self.topology.num_nodes) or 1)

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

    def samples(self, ways: Sequence[Way], name: str) -> list[Sample]:
        """The rows for a fit.  The switches add up if the run is too fast for other ways."""
        plain = tuple(way for way in ways if way.name != "nvls")
        best = max((way.algbw for way in plain), default=0.0)
        used = tuple(ways) if max(x / y for x, y in self.times) > ABOVE * best else plain
        if not used:
            raise UsageError(f"{name}: libraries run no known algorithm for {self.kind} here")
        return [Sample(*one, used, self.kind, self.run.per_process, name) for one in self.times]


@dataclass(frozen=True, eq=False)
class RunCeilings(Measurement):
    """A run of a log with its ceilings.

    Args:
        plain: the ceiling without sums in switches.
        summed: the ceiling with them, if the machine or a variant has them, and if it is higher.
        library: the ways of algorithms that libraries run.
    """

    plain: Ceiling
    summed: Ceiling | None
    library: tuple[Way, ...]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """For each size seconds, and in bytes per second algbw, busbw and the ceilings of busbw."""

        names, found = ("size", "seconds", "algbw", "busbw", "ceiling", "with_sums"), []
        for number, (size, seconds) in enumerate(self.times):
            algbw, limits = size / seconds, (self.plain, self.summed)
            most = [one and self.factor * size / one.seconds[number] for one in limits]
            row = (size, seconds, algbw, self.factor * algbw, *most)
            found.append(dict(zip(names, row, strict=True)))
        return found

    @property
    def best(self) -> Way | None:
        """The library's algorithm whose limit is the next above the measured rate.

        Algorithms that need sums in switches do not count.
        """
        own = [way for way in self.library if way.name != "nvls"]
        above = [way for way in own if self.algbw <= way.algbw * ABOVE]
        return min(above, key=lambda way: way.algbw, default=None)


def ceiling_of(
    collective: Collective, network: PhysicalNetwork, bound: RoundsBound, sizes: Sequence[int]
) -> Ceiling:
    """The ceiling by a proved bound on R for any number of steps and the collective's least C.

    Args:
        network: of the machine, intact.
        sizes: of messages.
    """
    topology, nodes = network.topology, network.topology.num_nodes
    message, chunks = message_of_collective(collective, nodes), collective.least_chunks(nodes) or 1
    instance = collective.instantiate(topology, chunks=chunks, steps=nodes, rounds=nodes)
    least, binding = Fraction(bound.rounds) / chunks, dict[str, float]()
    asked = [message.node_bytes(size) for size in (*sizes, _LARGE)]
    *seconds, last = floors(instance, network, asked, least_cost=least)
    priced = [topology.bounds[number] for number, _, _ in bound.link_prices(topology)]
    for one in sorted(priced, key=lambda one: -one.chunks_per_round):
        # A label without the number of its node: "NVLinks of GPU 3" are NVLinks.
        label = re.sub(r" (?:of|to|from) (?:GPU|node|box) ?\d+|\d+ (?=NVL)", "", one.label)
        label = re.sub(r" to NVSwitches|^(?:to|from) an? |\s*\d+$", "", label)
        binding.setdefault(label or "links", float(one.chunks_per_round * network.unit))
    return Ceiling(topology, least, _LARGE / last, tuple(seconds), binding)


def with_sums(fabric: Fabric) -> Fabric | None:
    """The network if its NVSwitches add up and copy, as from H100 on; None without such switches.

    A switch is an NVSwitch if all its links are labelled as NVLinks, of as many as H100 has.
    """
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
