"""A simulation, as it is printed; it is never read."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from syncoll.documents.plan import ChosenRecord, MessageRecord, RuntimeRecord
from syncoll.documents.record import ClosedRecord, Count, Exact, Node, Nodes, PositiveCount, Seconds


class SlowRecord(ClosedRecord, frozen=True):
    """Degraded lanes.

    Args:
        source: a vertex in words; * for any.
        destination: a vertex in words; * for any.
        factor: divides the bandwidth.
    """

    source: str
    destination: str
    factor: Exact


class LateRecord(ClosedRecord, frozen=True):
    """A node that begins later."""

    node: Node
    seconds: Exact


class SemanticsRecord(ClosedRecord, frozen=True):
    """The assumed behaviour of the network.

    Args:
        timing: the time at which a send leaves.
        switching: the unit that a switch receives before it forwards.
        sharing: the order of sends that meet on a lane.
        injection: the time at which a node begins its next step.
        packet: bytes of payload of a packet; null for sends that go as one.
        header: bytes before each packet, or each send.
        depth: sends that a connection has room for; null for no limit.
        reduction: seconds for each byte that is added.
        overhead: seconds a call.
    """

    timing: Literal["lockstep", "asynchronous"]
    switching: Literal["cut-through", "store-and-forward"]
    sharing: Literal["in-turn", "fair"]
    injection: Literal["free", "lockstep"]
    packet: PositiveCount | None
    header: Count
    depth: PositiveCount | None
    reduction: Exact
    overhead: Exact
    slow: tuple[SlowRecord, ...]
    late: tuple[LateRecord, ...]


class NetworkRecord(ClosedRecord, frozen=True):
    """The lanes.

    Args:
        lanes: how many.
        alpha: seconds that each send takes in addition to its lanes' latencies.
        latency: seconds, of the link with the slowest send, alpha included.
        latency_from: file: of the topology's latencies.
        bandwidth: bytes per second of a lane that carries one chunk per round.
        bandwidth_from: file: of the topology's units.
    """

    lanes: Count
    alpha: Exact
    latency: Exact
    latency_from: Literal["command", "file"]
    bandwidth: Exact
    bandwidth_from: Literal["command", "file"]


class MeasurementRecord(ClosedRecord, frozen=True):
    """The time of an algorithm for a message.

    Args:
        size: bytes of the message.
        per_node: L, bytes of one node's data; a rational as text.
        count: elements of four bytes as nccl-tests counts them.
        seconds: the simulated time.
        algbw: bytes per second of the message; null for no time.
        busbw: algbw times the factor of nccl-tests; null where it has none.
        protocol: of the runtime, the fastest for this size; left out without a runtime.
    """

    size: Annotated[int, Meta(ge=1)]
    per_node: Exact
    count: Annotated[int, Meta(ge=0)]
    seconds: Seconds
    algbw: Seconds | None
    busbw: Seconds | None
    protocol: str | UnsetType = UNSET


class TimedRecord(ChosenRecord, frozen=True):
    """An algorithm.

    Args:
        where: its place in the frontier's file; of a classic its name and number.
        classic: the name of the classic that it is; null for one of the frontier.
        sends: their number.
        measurements: ordered by size.
    """

    classic: str | None
    sends: Count
    measurements: tuple[MeasurementRecord, ...]


class BestRecord(ClosedRecord, frozen=True):
    """The fastest for a message.

    Args:
        message_bytes: the size of the message.
        best: the place of the fastest algorithm of the frontier.
        floor: a lower bound in seconds on the time of every algorithm; null if unknown.
        classic: the fastest classic; null if none exists here.
        speedup: the classic's time over the best's.
    """

    message_bytes: Annotated[int, Meta(ge=1)]
    best: str
    floor: Seconds | None
    classic: str | None
    speedup: Seconds | None


class LeftOutClassicRecord(ClosedRecord, frozen=True):
    """A classic without an algorithm here."""

    classic: str
    reason: str


class SimulationRecord(ClosedRecord, frozen=True):
    """Times of algorithms for messages on a physical network.

    Args:
        type: type of an element.
        redop: the reduction; none for collectives that only move data.
        algorithms: algorithms of the frontier, then classics.
        best: ordered by size.
        left_out: classics without an algorithm here.
        runtime: whose costs count; left out for none.
    """

    schema: Literal["syncoll/simulation/2"]
    version: str
    topology: str
    collective: str
    nodes: Nodes
    network: NetworkRecord
    semantics: SemanticsRecord
    message: MessageRecord
    element: Literal["float"] = msgspec.field(name="type")
    redop: Literal["sum", "none"]
    algorithms: tuple[TimedRecord, ...]
    best: tuple[BestRecord, ...]
    left_out: tuple[LeftOutClassicRecord, ...]
    runtime: RuntimeRecord | UnsetType = UNSET
