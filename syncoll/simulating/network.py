"""The lanes that sends travel on, each with a latency and a bandwidth, see docs/simulation.md.

A lane that is wider than all sends that pass through it is a bundle of cables, each as wide as the
widest send.  Four nodes on a switch with an uplink of four times their bandwidth send concurrently.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from syncoll import values
from syncoll.arrays import Floats, Ints
from syncoll.errors import UsageError
from syncoll.model import Counting, Topology, ranges
from syncoll.planning import unit_bandwidth
from syncoll.wording import argument


@dataclass(frozen=True)
class Lane:
    """One direction of a link, or a port that links share.

    Args:
        name: ``0 -> 1``, ``node 3 -> switch 0`` or ``egress of node 3``.
        bandwidth: bytes per second, of all cables together.
        latency: seconds from the first byte's departure to its arrival.
        cables: number of concurrent sends, each at its part of the bandwidth.
        ends: the vertices of a link, switches counted on from the nodes; None for a port.
        counts: units that it carries once: sends, values that a switch after it copies, or sums
            that a switch before it has formed.
        protocols: seconds in some protocols of a runtime, by name, instead of the latency.
    """

    name: str
    bandwidth: Fraction
    latency: Fraction = Fraction(0)
    cables: int = 1
    ends: tuple[int, int] | None = None
    counts: Counting = Counting.SENDS
    protocols: tuple[tuple[str, Fraction], ...] = ()

    @property
    def cable_bandwidth(self) -> Fraction:
        """Bytes per second of one cable."""
        return self.bandwidth / self.cables


@dataclass(frozen=True)
class Strand:
    """The way of a part of each send over a link: its share of the send's bytes (the shares of a
    link sum to 1), and its lanes by number, in order."""

    share: Fraction
    lanes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PhysicalNetwork:
    """Lanes, and the way of each link's sends.

    Args:
        routes: for each link of the topology its strands.
        alpha: seconds of each send in addition to its lanes' latencies.
        unit: bytes per second of a chunk per round.
        states_latency: whether the topology states the lanes' latencies.
        states_bandwidth: whether it states the bandwidths.
        extra: for each link seconds of its sends in addition to alpha; empty for none.
    """

    topology: Topology
    lanes: tuple[Lane, ...]
    routes: tuple[tuple[Strand, ...], ...]
    alpha: Fraction
    unit: Fraction
    states_latency: bool = False
    states_bandwidth: bool = False
    extra: tuple[Fraction, ...] = ()

    @cached_property
    def first_strand(self) -> Ints:
        """``[L + 1]``: the first strand of each link."""
        return np.cumsum([0, *(len(strands) for strands in self.routes)], dtype=np.int64)

    @cached_property
    def strand_lanes(self) -> Ints:
        """``[strands, hops]``: the lanes of each, padded with -1."""
        strands = [strand.lanes for strands in self.routes for strand in strands]
        found = np.full((len(strands), max(map(len, strands), default=1)), -1, dtype=np.int64)
        for row, lanes in zip(found, strands, strict=True):
            row[: len(lanes)] = lanes
        return found

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The distinct shares of strands."""
        return tuple(dict.fromkeys(x.share for strands in self.routes for x in strands))

    @cached_property
    def strand_share(self) -> Ints:
        """``[strands]``: the index of each strand's share."""
        number = {share: i for i, share in enumerate(self.shares)}
        found = [number[strand.share] for strands in self.routes for strand in strands]
        return np.array(found, dtype=np.int64)

    def strands_of(self, links: Ints) -> tuple[Ints, Ints]:
        """The strands of sends over some links, send by send: the position of each one's send, and
        its number."""
        counts = np.diff(self.first_strand)[links]
        return np.repeat(np.arange(len(links)), counts), ranges(self.first_strand[links], counts)

    @cached_property
    def latencies(self) -> Floats:
        """``[lanes]``: seconds."""
        return np.array([float(lane.latency) for lane in self.lanes])

    @cached_property
    def cable_bandwidths(self) -> Floats:
        """``[lanes]``: bytes per second of one cable."""
        return np.array([float(lane.cable_bandwidth) for lane in self.lanes])

    @cached_property
    def cables(self) -> Ints:
        """``[lanes]``: number of cables."""
        return np.array([lane.cables for lane in self.lanes], dtype=np.int64)

    @cached_property
    def link_latencies(self) -> tuple[Fraction, ...]:
        """``[L]``: seconds from a send's last byte leaving to its arrival, by the longest way."""
        return tuple(
            added + max(sum((self.lanes[i].latency for i in x.lanes), Fraction(0)) for x in strands)
            for added, strands in zip(self.added, self.routes, strict=True)
        )

    @cached_property
    def added(self) -> tuple[Fraction, ...]:
        """``[L]``: seconds of the sends of each link in addition to its lanes' latencies."""
        return tuple(self.alpha + one for one in self.extra) or (self.alpha,) * len(self.routes)

    @property
    def least_latency(self) -> Fraction:
        """Seconds of the fastest link without its bytes."""
        return min(self.link_latencies, default=self.alpha)

    @cached_property
    def greatest_latency(self) -> Fraction:
        """Seconds of the slowest link without its bytes; alpha if it is given."""
        return max(self.link_latencies, default=self.alpha)

    @cached_property
    def widest_rank(self) -> Fraction:
        """Bytes per second that all first lanes of a node carry together, at most."""
        first: dict[int, set[int]] = {}
        for (source, _), strands in zip(self.topology.links, self.routes, strict=True):
            first.setdefault(source, set()).update(strand.lanes[0] for strand in strands)
        sums = (sum(self.lanes[i].bandwidth for i in lanes) for lanes in first.values())
        return max(map(Fraction, sums), default=Fraction(0))

    def reversed(self) -> "PhysicalNetwork":
        """The network with every link and its lanes in the opposite direction."""
        turned = [
            ((b, a), tuple(replace(strand, lanes=strand.lanes[::-1]) for strand in strands), added)
            for (a, b), strands, added in zip(
                self.topology.links, self.routes, self.added, strict=True
            )
        ]
        _, routes, added = zip(*sorted(turned, key=lambda one: one[0]), strict=True)
        extra = tuple(one - self.alpha for one in added)
        return replace(self, topology=self.topology.reversed(), routes=routes, extra=extra)

    def slowed(self, lanes: Sequence[int], factor: Fraction) -> "PhysicalNetwork":
        """A copy in which the bandwidth of some lanes is divided by a factor."""
        chosen = set(lanes)
        return replace(
            self,
            lanes=tuple(
                replace(lane, bandwidth=lane.bandwidth / factor) if i in chosen else lane
                for i, lane in enumerate(self.lanes)
            ),
        )


def physical_network(
    topology: Topology, alpha: Fraction | None = None, bandwidth: Fraction | None = None
) -> PhysicalNetwork:
    """The lanes of a topology.

    Args:
        alpha: seconds for each send, instead of the latencies of the topology.
        bandwidth: bytes per second of a lane that carries one chunk per round, instead of the
            topology's; other lanes in proportion.

    Raises:
        UsageError: if neither arguments nor the topology define the bandwidth and the latency.
    """
    states = topology.fabric is not None and topology.fabric.states_latencies and alpha is None
    if alpha is None and not states:
        raise UsageError(
            f"{argument('alpha')} is missing: {topology.name} is described without latencies; "
            f"give the time of a send without its bytes, such as {argument('alpha', '0.7us')}"
        )
    unit = unit_bandwidth(topology) if bandwidth is None else bandwidth
    if unit is None:
        raise UsageError(
            f"{argument('beta')} is missing: {topology.name} is described in chunks per round, "
            "without units; give the bandwidth of a link of one chunk per round, such as "
            f"{argument('beta', '25GB/s')}"
        )
    if topology.fabric is not None and topology.fabric.num_switches:
        lanes, routes = _of_fabric(topology, unit)
    else:
        lanes, routes = _of_bounds(topology, unit)
    if states and topology.fabric is not None:
        known = {(x.source, x.destination): x for x in topology.fabric.links}
        if any(lane.ends is None for lane in lanes):
            raise UsageError(
                f"{argument('alpha')} is missing: {topology.name} states the latencies of some of "
                "its links only; give the time of a send without its bytes, such as 0.7us"
            )
        pairs = [(lane, known[lane.ends]) for lane in lanes if lane.ends]
        lanes = [
            replace(lane, latency=link.latency or Fraction(0), protocols=link.protocols)
            for lane, link in pairs
        ]
    bundled = _bundled(lanes, routes)
    return PhysicalNetwork(
        topology, bundled, routes, alpha or Fraction(0), unit, states, bandwidth is None
    )


def given_network(
    topology: Topology, alpha: float | str | None, beta: float | str | None
) -> PhysicalNetwork:
    """The lanes of a topology; the arguments alpha and beta take precedence over its own.  Raises
    `UsageError` if one of them is invalid or missing."""
    return physical_network(
        topology,
        None if alpha is None else values.time_of("alpha", alpha),
        None if beta is None else values.bandwidth_of("beta", beta),
    )


Routes = tuple[tuple[Strand, ...], ...]


def _of_bounds(topology: Topology, unit: Fraction) -> tuple[list[Lane], Routes]:
    """A lane for each bound; a send occupies its source's ports first, its destination's last.  If
    sends take several cables in a step (`syncoll.routing.routed_steps`) each bound is a cable, and
    cables come in the order of the way."""
    cables = _cables(topology)
    lanes, places = [], []
    for number, bound in enumerate(topology.bounds):
        sources = {a for a, _ in bound.links}
        destinations = {b for _, b in bound.links}
        ends = bound.links[0] if len(bound.links) == 1 else cables.get(number)
        name = f"{ends[0]} -> {ends[1]}" if ends else bound.label or f"port {number}"
        rate = bound.chunks_per_round * unit
        lanes.append(Lane(name, rate, ends=ends, counts=bound.counts))
        places.append(1 if ends else 0 if len(sources) == 1 else 3 if len(destinations) == 1 else 2)

    def way(source: int, members: tuple[int, ...]) -> tuple[int, ...]:
        onward = {ends[0]: i for i in members if (ends := lanes[i].ends) is not None}
        if len(onward) < len(members) or len(members) == 1:
            return tuple(sorted(members, key=lambda i: (places[i], i)))
        found = []
        while source in onward:
            found.append(onward.pop(source))
            source = (lanes[found[-1]].ends or (0, 0))[1]
        return tuple(found)

    routes = tuple(
        (Strand(Fraction(1), way(link[0], members)),)
        for link, members in zip(topology.links, topology.link_bounds, strict=True)
    )
    return lanes, routes


def _cables(topology: Topology) -> dict[int, tuple[int, int]]:
    """For each bound over several links the cable that it represents, if any.  Nodes with a cable
    between them use only this cable."""
    fabric = topology.fabric
    if fabric is None:
        return {}
    members = zip(topology.links, topology.link_bounds, strict=True)
    known = fabric.bandwidths
    found = {bounds[0]: link for link, bounds in members if link in known and len(bounds) == 1}
    return found if len(found) == len(topology.bounds) else {}


def _of_fabric(topology: Topology, unit: Fraction) -> tuple[list[Lane], Routes]:
    """A lane for each physical link that a route uses.  Raises `UsageError` if the topology differs
    from the one that its network's routes give."""
    from syncoll.routing import route

    fabric = topology.fabric
    assert fabric is not None
    routing = route(fabric)
    if routing.topology.links != topology.links:
        raise UsageError(
            f"the links of {topology.name} differ from the routes through its switches: another "
            "version made it; search it again"
        )
    scale = unit / fabric.chunk_bandwidth
    # If bandwidth was divided among direct links, bounds count every send, and so do lanes.
    dealt = {*routing.removed, *routing.bypassed}
    for first, members in routing.merged.members.items():
        if first in dealt:
            dealt.update(member for member, _ in members)
    lanes = [
        Lane(
            f"{fabric.vertex_name(x.source)} -> {fabric.vertex_name(x.destination)}",
            x.bandwidth * scale,
            ends=(x.source, x.destination),
            counts=Counting.SENDS
            if not dealt.isdisjoint((x.source, x.destination))
            else fabric.counting((x.source, x.destination)),
        )
        for x in fabric.links
    ]
    number = {(x.source, x.destination): i for i, x in enumerate(fabric.links)}
    routes = []
    for link in topology.links:
        strands: list[tuple[Fraction, tuple[int, ...]]] = [(Fraction(1), ())]
        for parts in routing.pieces_of(link):
            ways = [
                (share, tuple(number[ends] for ends in pairwise(path))) for path, share in parts
            ]
            strands = list(_coupled(strands, ways))
        routes.append(tuple(Strand(share, lanes) for share, lanes in strands))
    return lanes, tuple(routes)


Ways = Sequence[tuple[Fraction, tuple[int, ...]]]


def _coupled(begun: Ways, onward: Ways) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """Joins strands with onward strands, in as few pieces as the shares allow."""
    first = second = 0
    left, wanted = begun[0][0], onward[0][0]
    while True:
        share = min(left, wanted)
        yield share, (*begun[first][1], *onward[second][1])
        left, wanted = left - share, wanted - share
        if not left:
            first += 1
            if first == len(begun):
                return
            left = begun[first][0]
        if not wanted:
            second += 1
            wanted = onward[second][0]


def _bundled(lanes: list[Lane], routes: Routes) -> tuple[Lane, ...]:
    """The lanes with the number of cables that the ways through them can use concurrently."""
    widest = [Fraction(0)] * len(lanes)
    for strands in routes:
        for strand in strands:
            for i in strand.lanes:
                rate = min(lanes[j].bandwidth for j in strand.lanes)
                widest[i] = max(widest[i], rate)
    return tuple(
        replace(lane, cables=max(1, int(lane.bandwidth / rate))) if rate else lane
        for lane, rate in zip(lanes, widest, strict=True)
    )
