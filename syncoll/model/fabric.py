"""Fabric: a physical network of compute nodes and switches with exact link bandwidths.

A `Topology` has no switches and counts chunks per round; a fabric has both and counts GB/s on each
directed link (ForestColl paper, section 3.1).  `syncoll.routing` turns one into the other.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from operator import lt
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from syncoll.errors import ModelError, Origin
from syncoll.model.bandwidth import Counting
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.model.topology import Topology

Measure = Literal["GB/s", "chunks per round"]
"""The unit of a fabric's bandwidths."""


@dataclass(frozen=True)
class FabricLink:
    """A directed link.

    Args:
        source: a compute node or a switch, as is the destination.
        bandwidth: a number above 0, in the fabric's measure.
        label: a name for people; may be empty.
        latency: seconds from the first bit's departure to its arrival, at least 0; None if unknown.
        protocols: the latency in some protocols of a runtime, by name.
    """

    source: int
    destination: int
    bandwidth: Fraction
    label: str = field(default="", compare=False)
    latency: Fraction | None = field(default=None, compare=False)
    protocols: tuple[tuple[str, Fraction], ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Fabric:
    """Compute nodes ``0 … P-1``, switches ``P … P+W-1``, and directed links between them.

    Switches forward, and hold no data.  The switches of `multicast` and `reduce` also copy and add
    up, see `syncoll.model.counting`.

    Args:
        name: its name as people write it, arguments included: ``a100(boxes=2)``.
        num_nodes: P.
        num_switches: W.
        links: sorted by (source, destination), each pair once; see `from_links` for any order.
        origin: where a spec file defines it.
        measure: the unit of bandwidths.
        unit: the bandwidth that carries one chunk per round; None for the least of all links.
        multicast: the switches that copy an input to several of their links, ascending.
        reduce: the switches that add up their inputs for one destination, ascending.
        grains: in a round of its topology, see `grains`; None for as many as bandwidths in GB/s
            need.

    Raises:
        ModelError: if there is no compute node, an invalid, repeated or unsorted link, a bandwidth
            or a unit that is not above 0, a unit without GB/s, or an unknown switch.
    """

    name: str
    num_nodes: int
    num_switches: int
    links: tuple[FabricLink, ...]
    origin: Origin | None = field(default=None, compare=False)
    measure: Measure = field(default="GB/s", kw_only=True)
    unit: Fraction | None = field(default=None, kw_only=True)
    multicast: tuple[int, ...] = field(default=(), kw_only=True)
    reduce: tuple[int, ...] = field(default=(), kw_only=True)
    grains: int | None = field(default=None, compare=False, kw_only=True)

    def __repr__(self) -> str:
        return (
            f"<network {self.name}: {counted(self.num_nodes, 'node')}, "
            f"{counted(self.num_switches, 'switch')}, {counted(len(self.links), 'link')}>"
        )

    def __post_init__(self) -> None:
        if self.unit is not None and (self.unit <= 0 or self.measure != "GB/s"):
            raise ModelError(
                f"fabric {self.name}: a unit of {self.unit} with bandwidths in {self.measure}",
                self.origin,
                "a unit above 0 GB/s, and bandwidths in GB/s",
            )
        kinds = f"compute nodes 0 to {self.num_nodes - 1}"
        if self.num_switches:
            kinds += f" or switches {self.num_nodes} to {self.num_vertices - 1}"
        require_network(
            f"fabric {self.name}",
            self.origin,
            self.num_nodes,
            [(link.source, link.destination) for link in self.links],
            (self.num_vertices, "vertex", kinds),
        )
        if self.num_switches < 0:
            raise ModelError(
                f"fabric {self.name} has {self.num_switches} switches", self.origin, "0 or more"
            )
        switches = range(self.num_nodes, self.num_vertices)
        for named in (self.multicast, self.reduce):
            if list(named) != sorted(set(named)) or not all(one in switches for one in named):
                raise ModelError(
                    f"fabric {self.name}: {named} are not switches that copy or add up",
                    self.origin,
                    f"some of the {counted(self.num_switches, 'switch')}, each once, in order",
                )
        for link in self.links:
            if link.bandwidth <= 0:
                raise ModelError(
                    f"fabric {self.name}: bandwidth {link.bandwidth} on link "
                    f"{(link.source, link.destination)}",
                    self.origin,
                    "a bandwidth above 0; leave out links that carry nothing",
                )
            if link.latency is not None and link.latency < 0:
                raise ModelError(
                    f"fabric {self.name}: latency {link.latency} s on link "
                    f"{(link.source, link.destination)}",
                    self.origin,
                    "a latency of at least 0",
                )

    @classmethod
    def from_links(
        cls,
        name: str,
        num_nodes: int,
        num_switches: int,
        links: Iterable[tuple[int, int, int | float | Fraction]],
        *,
        both_ways: bool = False,
        measure: Measure = "GB/s",
        unit: Fraction | None = None,
    ) -> Fabric:
        """Builds a fabric from (source, destination, bandwidth); parallel links add up.

        Args:
            links: links in any order.
            both_ways: whether each link stands for one in either direction.
            unit: the bandwidth in GB/s that carries one chunk per round; None for the least.

        Raises:
            ModelError: see the class; a bandwidth below 0 is refused before links are added up.
        """
        total: dict[tuple[int, int], Fraction] = {}
        for link in links:
            if not isinstance(link, tuple | list) or len(link) != 3:
                raise ModelError(
                    f"fabric {name}: link {link!r}", None, "(source, destination, bandwidth)"
                )
            source, destination, bandwidth = *link[:2], rational_bandwidth(name, link[2])
            if bandwidth <= 0:
                raise ModelError(
                    f"fabric {name}: bandwidth {bandwidth} on link ({source}, {destination})",
                    None,
                    "a bandwidth above 0; leave out links that carry nothing",
                )
            for ends in ((source, destination), (destination, source))[: 1 + both_ways]:
                total[ends] = total.get(ends, Fraction(0)) + bandwidth
        return cls.from_bandwidths(name, num_nodes, num_switches, total, measure=measure, unit=unit)

    @classmethod
    def from_bandwidths(
        cls,
        name: str,
        num_nodes: int,
        num_switches: int,
        bandwidths: Mapping[tuple[int, int], int | float | Fraction],
        *,
        measure: Measure = "GB/s",
        unit: Fraction | None = None,
    ) -> Fabric:
        """Builds a fabric from the bandwidth of each directed link; see `from_links`."""
        links = [
            FabricLink(u, v, rational_bandwidth(name, b))
            for (u, v), b in sorted(bandwidths.items())
        ]
        return cls(name, num_nodes, num_switches, tuple(links), measure=measure, unit=unit)

    @classmethod
    def of(cls, topology: Topology | Fabric) -> Fabric:
        """The fabric of a topology, or of itself.

        A topology without one, in which no links share bandwidth, becomes a fabric without
        switches in chunks per round.

        Raises:
            ModelError: if links share bandwidth and no switches are known.
        """
        if isinstance(topology, Fabric):
            return topology
        if topology.fabric is not None:
            return topology.fabric
        bandwidths: dict[tuple[int, int], Fraction] = {}
        for bound in topology.bounds:
            if len(bound.links) > 1:
                what = bound.label or " ".join(f"{a}->{b}" for a, b in bound.links[:4])
                raise ModelError(
                    f"topology {topology.name}: {len(bound.links)} links share bandwidth ({what})",
                    topology.origin,
                    "links with a bandwidth of their own, or a network described with its switches",
                )
            (link,) = bound.links
            least = min(bandwidths.get(link, bound.chunks_per_round), bound.chunks_per_round)
            bandwidths[link] = least
        links = tuple(FabricLink(u, v, b) for (u, v), b in sorted(bandwidths.items()))
        nodes = topology.num_nodes
        return cls(
            topology.name,
            nodes,
            0,
            links,
            topology.origin,
            measure="chunks per round",
            grains=topology.grains,
        )

    @cached_property
    def chunk_bandwidth(self) -> Fraction:
        """The bandwidth that carries one chunk per round."""
        if self.measure == "chunks per round":
            return Fraction(1)
        if self.unit is not None:
            return self.unit
        return min((link.bandwidth for link in self.links), default=Fraction(1))

    def vertex_name(self, vertex: int) -> str:
        """``node 3`` or ``switch 0``, with switches counted from 0."""
        if vertex < self.num_nodes:
            return f"node {vertex}"
        return f"switch {vertex - self.num_nodes}"

    @property
    def num_vertices(self) -> int:
        """P + W."""
        return self.num_nodes + self.num_switches

    @cached_property
    def bandwidths(self) -> dict[tuple[int, int], Fraction]:
        """The bandwidth of each directed link."""
        return {(link.source, link.destination): link.bandwidth for link in self.links}

    @property
    def states_latencies(self) -> bool:
        """Whether the latency of every link is known."""
        return bool(self.links) and all(link.latency is not None for link in self.links)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether every link has a partner of the same bandwidth in the other direction."""
        b = self.bandwidths
        return all(b.get((v, u)) == bandwidth for (u, v), bandwidth in b.items())

    def ingress(self) -> tuple[Fraction, ...]:
        """For each vertex the bandwidth that enters it."""
        return self._totals(1)

    def egress(self) -> tuple[Fraction, ...]:
        """For each vertex the bandwidth that leaves it."""
        return self._totals(0)

    def _totals(self, end: int) -> tuple[Fraction, ...]:
        total = [Fraction(0)] * self.num_vertices
        for ends, bandwidth in self.bandwidths.items():
            total[ends[end]] += bandwidth
        return tuple(total)

    def reached_from(self, vertex: int, *, against: bool = False) -> frozenset[int]:
        """The vertices on paths from `vertex`, itself included; with `against` on paths to it."""
        pairs: Iterable[tuple[int, int]] = self.bandwidths
        return reached(((b, a) for a, b in pairs) if against else pairs, vertex)

    def require_reachable(self, roots: Sequence[int]) -> None:
        """Raises ModelError unless paths lead from each root to every compute node."""
        if lost := unreached(self.bandwidths, self.num_nodes, roots):
            raise ModelError(
                f"fabric {self.name}: no path leads from node {lost[0]} to node {lost[1]}",
                self.origin,
                "a network in which the data of every root can reach every node",
            )

    @property
    def copies(self) -> bool:
        """Whether a switch does more than forward."""
        return bool(self.multicast or self.reduce)

    def counting(self, ends: tuple[int, int]) -> Counting:
        """The counting of a link: a switch copies its inputs and adds up its outputs.  Between a
        switch that adds up and one that copies the copies count."""
        if ends[1] in self.multicast:
            return Counting.SOURCES
        return Counting.DESTINATIONS if ends[0] in self.reduce else Counting.SENDS

    def slower(self, factor: int | Fraction, grains: int) -> Fabric:
        """The same network with `factor` times the rounds for each chunk, and other grains."""
        if self.measure == "GB/s":
            return replace(self, unit=self.chunk_bandwidth * factor, grains=grains)
        links = (replace(link, bandwidth=link.bandwidth / factor) for link in self.links)
        return replace(self, links=tuple(links), grains=grains)

    def without_copies(self) -> Fabric:
        """The same network with switches that only forward."""
        return replace(self, multicast=(), reduce=())

    def reversed(self) -> Fabric:
        """The same network with every link reversed; copying and adding up change places."""
        links = (replace(x, source=x.destination, destination=x.source) for x in self.links)
        order = sorted(links, key=lambda x: (x.source, x.destination))
        return replace(
            self,
            name=reversed_name(self.name),
            links=tuple(order),
            multicast=self.reduce,
            reduce=self.multicast,
        )


def require_network(
    owner: str,
    origin: Origin | None,
    num_nodes: int,
    links: Sequence[tuple[int, int]],
    vertices: tuple[int, str, str],
) -> None:
    """Checks the nodes and links of a topology or fabric; `vertices` has their number, the noun for
    one, and a description of all.  Raises `ModelError` for no node, an unknown vertex, a self-loop,
    unsorted or repeated links."""
    count, noun, known = vertices
    if num_nodes < 1:
        raise ModelError(f"{owner} has {num_nodes} nodes", origin, "at least 1 node")
    if not all(map(lt, links, links[1:])):
        raise ModelError(
            f"{owner}: its links are not sorted and distinct",
            origin,
            "each directed link once, in order",
        )
    for a, b in links:
        if not (0 <= a < count and 0 <= b < count):
            wrong = b if 0 <= a < count else a
            raise ModelError(f"{owner}: link {(a, b)} names {noun} {wrong}", origin, known)
        if a == b:
            raise ModelError(
                f"{owner}: link {(a, b)} joins a {noun} to itself", origin, f"two different {noun}s"
            )


def reversed_name(name: str) -> str:
    """The name of a network with every link reversed."""
    return name.removesuffix("^-1") if name.endswith("^-1") else f"{name}^-1"


_Vertex = TypeVar("_Vertex", bound=Hashable)


def reached(links: Iterable[tuple[_Vertex, _Vertex]], start: _Vertex) -> frozenset[_Vertex]:
    """The vertices that paths from `start` reach, itself included."""
    onward: dict[_Vertex, list[_Vertex]] = {}
    for a, b in links:
        onward.setdefault(a, []).append(b)
    seen, stack = {start}, [start]
    while stack:
        for neighbour in onward.get(stack.pop(), ()):
            if neighbour not in seen:
                seen.add(neighbour)
                stack.append(neighbour)
    return frozenset(seen)


def unreached(
    links: Collection[tuple[int, int]], num_nodes: int, roots: Sequence[int]
) -> tuple[int, int] | None:
    """A root and a node to which no path leads from it; None if all nodes are reached."""
    first = roots[0]
    if lost := set(range(num_nodes)) - reached(links, first):
        return first, min(lost)
    # If all roots reach `first`, they reach everything.
    if lost := set(roots) - reached(((b, a) for a, b in links), first):
        return min(lost), first
    return None


def rational_bandwidth(owner: str, value: Any) -> Fraction:
    """A bandwidth as written: the float 0.1 is 1/10; raises ModelError unless rational."""
    try:
        if isinstance(value, np.integer):  # a Fraction would keep it, and overflow
            value = int(value)
        return Fraction(str(value) if isinstance(value, float | np.floating) else value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise ModelError(
            f"topology {owner}: bandwidth {value!r}", None, "a rational number above 0"
        ) from None
