"""Bounds on times as a file: the lanes, the collective, and flows over time for each size."""

from collections.abc import Iterable
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from syncoll.certificates import ChunkClasses, DemandView
from syncoll.certificates.flows_over_time import FlowsOverTime, Passage, TimedNetwork
from syncoll.documents.document import parse_entries, read_text
from syncoll.documents.evidence import ShapeRecord, shape_of, shape_record
from syncoll.documents.record import (
    ClosedRecord,
    Count,
    Node,
    Nodes,
    PositiveCount,
    read_record,
    written,
)
from syncoll.errors import FileFormatError, VerificationError
from syncoll.results.evidence import ScaledShape
from syncoll.version import __version__


class LanesRecord(ClosedRecord, frozen=True):
    """The lanes of a protocol of the runtime.

    Args:
        places: number of nodes and of places between two lanes.
        rates: bytes per second of each lane.
        passages: rows of place, next place, lane, seconds.
    """

    places: PositiveCount
    rates: tuple[Fraction, ...]
    passages: tuple[tuple[Count, Count, Count, Fraction], ...]


class FloorRecord(ClosedRecord, frozen=True):
    """A bound on the time of all algorithms: longer than the last of the times.

    Args:
        lanes: position in lanes.
        bytes: of one node's data.
        times: seconds at which intervals begin, and the deadline.
        prices: rows of lane, interval, price.
        payments: rows of destination, positions of demands.
        shares: rows of payment, passage, interval, price; none if payments are of whole prices.
    """

    protocol: str
    lanes: Count
    bytes: Fraction
    times: tuple[Fraction, ...]
    prices: tuple[tuple[Count, Count, PositiveCount], ...]
    payments: tuple[tuple[Node, tuple[Count, ...]], ...]
    reading: DemandView
    node: Node | None
    shares: tuple[tuple[Count, Count, Count, PositiveCount], ...] = ()


class FloorsRecord(ClosedRecord, frozen=True):
    """Bounds on times, with proofs."""

    schema: Literal["syncoll/floors/1", "syncoll/floors/2"]
    version: str
    topology: str
    collective: str
    nodes: Nodes
    shape: ShapeRecord
    lanes: tuple[LanesRecord, ...]
    floors: tuple[FloorRecord, ...]


def floors_document(
    topology: str,
    collective: str,
    shape: ChunkClasses,
    proofs: Iterable[tuple[str, TimedNetwork, Fraction, FlowsOverTime]],
) -> dict[str, Any]:
    """A file of proofs, each with its protocol, its network and its size."""
    networks: dict[TimedNetwork, int] = {}
    floors = []
    for protocol, network, size, proof in proofs:
        at = networks.setdefault(network, len(networks))
        rows = tuple((*place, price) for place, price in sorted(proof.prices.items()))
        parts = tuple(
            (number, *place, price)
            for number, share in enumerate(proof.shares)
            for place, price in sorted(share.items())
        )
        own = {"protocol": protocol, "lanes": at, "bytes": size, "prices": rows, "shares": parts}
        floors.append(FloorRecord.of(proof, **own))
    nodes = next(iter(networks)).nodes
    lanes = (
        LanesRecord.of(one, passages=tuple(tuple(asdict(x).values()) for x in one.passages))
        for one in networks
    )
    record = shape_record(ScaledShape(shape, (shape.chunks,), None), nodes)
    entries = topology, collective, nodes, record, tuple(lanes), tuple(floors)
    return written(FloorsRecord("syncoll/floors/2", __version__, *entries))


def read_floors(path: Path) -> FloorsRecord:
    """The bounds of a file, checked.  Raises `FileFormatError` if it is no such file, and
    `VerificationError` if a proof is wrong."""
    record: FloorsRecord = read_record(
        parse_entries(read_text(path), name := str(path)), FloorsRecord, name
    )
    shape, networks = shape_of(record.shape, record.nodes).shape, []
    if not shape.combining and any(one.post and not one.pre for one in shape.classes):
        raise VerificationError(f"{name}: a chunk is needed, but starts nowhere")
    for lanes in record.lanes:
        known = lanes.places, lanes.places, len(lanes.rates)
        if record.nodes > lanes.places or any(
            x >= most for row in lanes.passages for x, most in zip(row[:3], known, strict=True)
        ):
            raise FileFormatError(f"{name}: a place or a lane does not exist")
        passages = tuple(Passage(*row) for row in lanes.passages)
        networks.append(TimedNetwork(record.nodes, lanes.places, passages, lanes.rates))
    for i, one in enumerate(record.floors):
        prices = {(lane, at): price for lane, at, price in one.prices}
        shares = [dict[tuple[int, int], int]() for _ in one.payments if one.shares]
        if any(row[0] >= len(shares) for row in one.shares):
            raise FileFormatError(f"{name}: floors[{i}]: a share of a payment that does not exist")
        for number, passage, at, price in one.shares:
            shares[number][passage, at] = price
        twice = len(prices) + sum(map(len, shares)) < len(one.prices) + len(one.shares)
        if one.lanes >= len(networks) or twice:
            raise FileFormatError(f"{name}: floors[{i}]: no such lanes, or a price twice")
        about = one.payments, one.reading, one.node, tuple(shares)
        proof = FlowsOverTime(one.times, prices, *about)
        try:
            if one.bytes <= (most := proof.most_bytes(networks[one.lanes], shape)):
                raise VerificationError(
                    f"the deadline is proved for more than {most} bytes of a node, not {one.bytes}"
                )
        except VerificationError as error:
            raise VerificationError(f"{name}: floors[{i}]: {error}") from error
    return record
