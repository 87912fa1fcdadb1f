"""Semantics: the assumed behaviour of a network; docs/simulation.md explains each option."""

import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from syncoll.errors import UsageError
from syncoll.simulating.network import PhysicalNetwork
from syncoll.units import format_bandwidth, format_time, parse_time
from syncoll.wording import argument, few


class Timing(StrEnum):
    """When a send leaves."""

    LOCKSTEP = "lockstep"
    """With all others of its step, when all sends of the step before have arrived."""
    ASYNCHRONOUS = "asynchronous"
    """A send leaves when its data has arrived and its lane is free, in the order of exports."""


class Switching(StrEnum):
    """The part of a send that a switch receives before it forwards."""

    CUT_THROUGH = "cut-through"
    """The first byte."""
    STORE_AND_FORWARD = "store-and-forward"
    """The whole send, or the whole packet if there are packets."""


class Sharing(StrEnum):
    """The order of sends that meet on a lane."""

    IN_TURN = "in-turn"
    """One after the other, whole."""
    FAIR = "fair"
    """All concurrently, each at its max-min fair part of the bandwidth."""


class Order(StrEnum):
    """The order in which a lane takes the sends of a node."""

    EXPORTS = "exports"
    """That of exports."""
    ARRIVALS = "arrivals"
    """That in which their data arrives, see `syncoll.simulating.arrivals`."""


class Injection(StrEnum):
    """When a node may continue with the sends of its next step."""

    FREE = "free"
    """At once."""
    LOCKSTEP = "lockstep"
    """When its sends of the step before have left; without sends, after a step's time."""


@dataclass(frozen=True)
class Slow:
    """Degraded lanes.

    Args:
        source: a vertex, such as ``3`` or ``switch 0``; ``*`` for any.
        factor: divides the bandwidth; at least 1.
    """

    source: str
    destination: str
    factor: Fraction

    def __str__(self) -> str:
        return f"{self.source}->{self.destination} by {self.factor}"


@dataclass(frozen=True)
class Late:
    """A node that begins later than others."""

    node: int
    seconds: Fraction

    def __str__(self) -> str:
        return f"rank {self.node} by {float(self.seconds * 10**6):g}us"


@dataclass(frozen=True)
class Semantics:
    """The assumed behaviour of a network.

    Args:
        packet: bytes of payload of a packet; None if a send is one packet.
        header: bytes before each packet, or before each send without packets.
        depth: number of sends on a connection before the first has arrived; None for no limit.
        reduction: seconds for each byte that a node reduces.
        overhead: seconds of each call.
        message: seconds for which a message occupies its first lane, in addition to its bytes.
        summing: seconds of each arrival that the receiver reduces.
        rank_rate: bytes per second that all thread blocks of a node send; None for no limit.

    Raises:
        UsageError: if a number is out of its range, or options exclude each other.
    """

    timing: Timing = Timing.ASYNCHRONOUS
    switching: Switching = Switching.CUT_THROUGH
    sharing: Sharing = Sharing.IN_TURN
    injection: Injection = Injection.FREE
    packet: int | None = None
    header: int = 0
    depth: int | None = None
    reduction: Fraction = Fraction(0)
    overhead: Fraction = Fraction(0)
    slow: tuple[Slow, ...] = ()
    late: tuple[Late, ...] = ()
    message: Fraction = Fraction(0)
    summing: Fraction = Fraction(0)
    rank_rate: Fraction | None = None
    order: Order = Order.EXPORTS

    @property
    def free_in_turn(self) -> bool:
        """Whether sends take turns on lanes, and leave when their data has arrived."""
        usual = (Timing.ASYNCHRONOUS, Sharing.IN_TURN, Injection.FREE, None)
        return (self.timing, self.sharing, self.injection, self.depth) == usual

    @property
    def words(self) -> str:
        """How the network is taken to behave, in a line."""
        words = [str(self.timing)]
        if self.timing is Timing.ASYNCHRONOUS:
            fair = self.sharing is Sharing.FAIR
            words.append("fair sharing" if fair else f"in turn, {self.switching}")
        if self.packet is not None:
            words.append(f"packets of {self.packet} + {self.header} bytes")
        elif self.header:
            words.append(f"{self.header} bytes of header for each send")
        if self.injection != "free":
            words.append("lockstep injection")
        if self.depth is not None:
            words.append(f"connections of depth {self.depth}")
        if self.reduction:
            words.append(f"reductions at {format_bandwidth(1 / self.reduction)}")
        costs = ("call", self.overhead), ("message", self.message), ("sum", self.summing)
        words += [f"{format_time(cost)} a {name}" for name, cost in costs if cost]
        if self.rank_rate is not None:
            words.append(f"{format_bandwidth(self.rank_rate)} from a node")
        words += [f"slow {one}" for one in self.slow]
        words += [f"late {one}" for one in self.late]
        return ", ".join(words)

    def __post_init__(self) -> None:
        for name, value, least in (
            ("packet", self.packet, 1),
            ("header", self.header, 0),
            ("depth", self.depth, 1),
            ("reduction", self.reduction, 0),
            ("overhead", self.overhead, 0),
        ):
            if value is not None and value < least:
                raise UsageError(f"{argument(name)}: {value}; expected at least {least}")
        named = {
            "switching": self.switching is not Switching.CUT_THROUGH,
            "sharing": self.sharing is not Sharing.IN_TURN,
            "injection": self.injection is not Injection.FREE,
            "depth": self.depth is not None,
        }
        for name in (key for key, given in named.items() if given):
            if self.timing is Timing.LOCKSTEP:
                raise UsageError(
                    f"{argument(name)} decides when sends leave, as does lockstep; leave it out, "
                    f"or set {argument('timing', 'asynchronous')}"
                )
            if self.sharing is Sharing.FAIR and name in ("switching", "injection", "depth"):
                raise UsageError(
                    f"{argument(name)} is for sends that take turns; leave it out, or set "
                    f"{argument('sharing', 'in-turn')}"
                )

    def wire_bytes(self, size: Fraction) -> Fraction:
        """The bytes of a send on a lane, headers included."""
        if self.packet is None:
            return size + self.header
        return size + -(-size // self.packet) * self.header

    def packet_bytes(self, size: Fraction) -> tuple[Fraction, Fraction]:
        """The bytes of a send's first and last packet on a lane; without packets of all of it."""
        if self.packet is None or size <= self.packet:
            return (self.wire_bytes(size),) * 2
        last = size - (-(-size // self.packet) - 1) * self.packet
        return Fraction(self.packet + self.header), last + self.header

    def on(self, network: PhysicalNetwork) -> PhysicalNetwork:
        """The network with its degraded lanes.  Raises `UsageError` if a lane or node does not
        exist."""
        for one in self.slow:
            network = network.slowed(_lanes_of(one, network), one.factor)
        nodes = network.topology.num_nodes
        for late in self.late:
            if late.node >= nodes:
                raise UsageError(
                    f"{argument('late')}: rank {late.node} does not exist; "
                    f"{network.topology.name} has ranks 0 to {nodes - 1}"
                )
        return network

    def starts(self, nodes: int) -> list[Fraction]:
        """When each node begins, in seconds."""
        found = [Fraction(0)] * nodes
        for one in self.late:
            found[one.node] = max(found[one.node], one.seconds)
        return found


_SLOW = re.compile(r"\s*(.+?)\s*->\s*(.+?)\s+by\s+([0-9]+(?:\.[0-9]+|/0*[1-9][0-9]*)?)\s*")
_LATE = re.compile(r"\s*(?:rank|node)?\s*([0-9]+)\s+by\s+(.+?)\s*")


def parse_slow(text: str) -> Slow:
    """A degraded lane such as ``0->5 by 3``, ``switch 0->3 by 1.5`` or ``2->* by 2``.  Raises
    `UsageError` if the text is malformed."""
    match = _SLOW.fullmatch(text)
    if match is None or (factor := Fraction(match[3])) < 1:
        raise UsageError(
            f"{argument('slow')}: {text!r} is not FROM->TO by FACTOR, with a factor of at least 1, "
            "such as '0->5 by 3', 'switch 0->3 by 1.5' or '2->* by 2'"
        )
    return Slow(match[1], match[2], factor)


def parse_late(text: str) -> Late:
    """A straggler such as ``rank 3 by 50us``; raises `UsageError` if the text is malformed."""
    match = _LATE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{argument('late')}: {text!r} is not 'rank N by TIME', such as 'rank 3 by 50us'"
        )
    try:
        return Late(int(match[1]), parse_time(match[2]))
    except UsageError as error:
        raise UsageError(f"{argument('late')}: {error}") from None


def _lanes_of(slow: Slow, network: PhysicalNetwork) -> list[int]:
    """The named lanes; raises `UsageError` if none exist."""
    nodes = network.topology.num_nodes

    def vertex(text: str) -> int | None:
        if text == "*":
            return None
        match = re.fullmatch(r"(?:(node|rank|switch)\s*)?([0-9]+)", text)
        if match is None:
            raise UsageError(
                f"{argument('slow')}: {text!r} is neither a node such as 3, nor a switch such as "
                "'switch 0', nor * for any"
            )
        return int(match[2]) + (nodes if match[1] == "switch" else 0)

    wanted = (vertex(slow.source), vertex(slow.destination))
    found = [
        i
        for i, lane in enumerate(network.lanes)
        if lane.ends is not None
        and all(want in (None, end) for want, end in zip(wanted, lane.ends, strict=True))
    ]
    if not found:
        some = few([lane.name for lane in network.lanes], 6)
        raise UsageError(
            f"{argument('slow')}: {network.topology.name} has no lane "
            f"{slow.source}->{slow.destination}; its lanes are {some}"
        )
    return found
