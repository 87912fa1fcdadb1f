"""How topologies, chunks and algorithms lie in JSON, shared by all of syncoll's files.

Everything that the verifier needs is in the file: a reader needs neither the spec nor the library.
"""

from __future__ import annotations

from dataclasses import astuple
from fractions import Fraction
from itertools import chain
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict

import syncoll
from syncoll.documents.record import Count, Node, Nodes, PositiveCount, Record
from syncoll.errors import FileFormatError
from syncoll.model import (
    Algorithm,
    BandwidthBound,
    Fabric,
    FabricLink,
    Instance,
    Topology,
)

__all__ = [
    "VERSION",
    "AlgorithmRecord",
    "ChunkClassRecord",
    "FileRecord",
    "InterconnectRecord",
    "ProblemFileRecord",
    "ProblemRecord",
    "algorithm_of",
    "algorithm_record",
    "file_entries",
    "instance_of",
    "interconnect_record",
    "problem_entries",
    "topology_of",
]

VERSION = 1
"""The version of all kinds of files that this syncoll writes."""

_MOST_CELLS = 100_000_000
"""G * P, and P * P, of the largest problem that a file may ask for: a gigabyte to verify it."""

LinkRow = tuple[Node, Node]
SendRow = tuple[Count, Count, Count, Count]


class BoundRecord(Record, frozen=True):
    """So many chunks per round over some links together.

    Args:
        links: source and destination node of each.
        chunks_per_round: an exact rational as text, such as 7/6 or 2.
        label: for people.
    """

    links: Annotated[tuple[LinkRow, ...], Meta(min_length=1)]
    chunks_per_round: Fraction
    label: str


class FabricRecord(Record, frozen=True):
    """The physical network with switches that links and bounds were made from, for people: nothing
    is verified with it.

    Args:
        switches: they are numbered from P on.
        measure: what its bandwidths count.
        chunk_per_round: the bandwidth that carries one chunk per round: a round lasts as long as
            one chunk takes at it.
        links: rows of source, destination, bandwidth, label.
    """

    switches: Annotated[int, Meta(ge=0, le=65_536)]
    measure: Literal["GB/s", "chunks per round"]
    chunk_per_round: Fraction
    links: tuple[tuple[Count, Count, Fraction, str], ...]


class InterconnectRecord(Record, frozen=True):
    """Directed links, sorted, and the bandwidth relation B.

    Args:
        links: source and destination node of each.
    """

    links: tuple[LinkRow, ...]
    bounds: tuple[BoundRecord, ...]
    fabric: FabricRecord | UnsetType = UNSET


class ChunkClassRecord(Record, frozen=True):
    """Chunks with equal pre and post.

    Args:
        pre: nodes where the chunks start.
        post: nodes where the chunks must end.
    """

    pre: tuple[Node, ...]
    post: tuple[Node, ...]
    chunks: tuple[Count, ...]


class AlgorithmRecord(Record, frozen=True):
    """Q and T.

    Args:
        rounds_per_step: Q.
        sends: T: rows of chunk, source, destination, step; steps count from 0.
        contributions: for a combining algorithm, send by send the nodes whose contributions it
            carries, reduced.
    """

    rounds_per_step: tuple[Count, ...]
    sends: list[SendRow]
    contributions: list[list[Node]] | UnsetType = UNSET


class ProblemRecord(Record, frozen=True, kw_only=True):
    """What an algorithm is for.

    Args:
        chunks: C.
        steps: S.
        rounds: R.
        bandwidth: R/C.
        combining: whether the nodes of pre contribute to the chunk, and post needs the reduction of
            all contributions.
        chunk_classes: the G chunks, grouped by equal pre and post; every chunk is in exactly one
            class.
    """

    chunks: PositiveCount
    steps: Count
    rounds: Count
    bandwidth: Fraction
    combining: bool = False
    chunk_classes: tuple[ChunkClassRecord, ...]


class FileRecord(Record, frozen=True, kw_only=True):
    """What every file begins with.

    Args:
        version: of the syncoll that wrote the file.
        nodes: P.
        interconnect: the topology.
    """

    schema: str
    version: str | UnsetType = UNSET
    topology: str
    collective: str
    nodes: Nodes
    interconnect: InterconnectRecord


class ProblemFileRecord(ProblemRecord, frozen=True, kw_only=True):
    """A file about one problem.

    Args:
        version: of the syncoll that wrote the file.
        nodes: P.
        interconnect: the topology.
    """

    schema: str
    version: str | UnsetType = UNSET
    topology: str
    collective: str
    nodes: Nodes
    interconnect: InterconnectRecord


def file_entries(kind: str, topology: Topology, collective: str) -> dict[str, Any]:
    """What every file begins with."""
    return {
        "schema": f"syncoll/{kind}/{VERSION}",
        "version": syncoll.__version__,
        "topology": topology.name,
        "collective": collective,
        "nodes": topology.num_nodes,
        "interconnect": interconnect_record(topology),
    }


def interconnect_record(topology: Topology) -> InterconnectRecord:
    """Links and the bandwidth relation, and the physical network behind them if it is known."""
    physical: FabricRecord | UnsetType = UNSET
    if (fabric := topology.fabric) is not None:
        physical = FabricRecord.of(
            fabric,
            switches=fabric.num_switches,
            chunk_per_round=fabric.chunk_bandwidth,
            links=tuple(map(astuple, fabric.links)),
        )
    bounds = tuple(map(BoundRecord.of, topology.bounds))
    return InterconnectRecord(topology.links, bounds, physical)


def topology_of(record: FileRecord | ProblemFileRecord) -> Topology:
    """The topology of a file.

    Raises:
        FileFormatError: when it is too large to be verified.
        ModelError: when it makes no sense.
    """
    nodes, written = record.nodes, record.interconnect
    if nodes * nodes > _MOST_CELLS:
        raise FileFormatError(f"{nodes} nodes are more than syncoll can verify")
    fabric = None
    if written.fabric:
        physical = written.fabric
        fabric = Fabric(
            record.topology,
            nodes,
            physical.switches,
            tuple(FabricLink(*row) for row in physical.links),
            measure=physical.measure,
            unit=physical.chunk_per_round if physical.measure == "GB/s" else None,
        )
    bounds = tuple(BandwidthBound(**asdict(one)) for one in written.bounds)
    return Topology(record.topology, nodes, written.links, bounds, fabric=fabric)


def problem_entries(instance: Instance) -> dict[str, Any]:
    """C, S, R, whether it combines, and the chunks in classes of equal pre and post."""
    classes = tuple(
        ChunkClassRecord(
            pre=tuple(np.flatnonzero(instance.pre[members[0]]).tolist()),
            post=tuple(np.flatnonzero(instance.post[members[0]]).tolist()),
            chunks=members.tolist(),
        )
        for members in instance.chunk_classes
    )
    bandwidth = Fraction(instance.rounds, instance.chunks)
    return asdict(ProblemRecord.of(instance, bandwidth=bandwidth, chunk_classes=classes))


def instance_of(record: ProblemRecord, topology: Topology, collective: str) -> Instance:
    """The instance of a record.

    Raises:
        FileFormatError: when the chunk classes overlap, have gaps or name unknown nodes, or the
            bandwidth is not R/C.
        ModelError: when the instance makes no sense.
    """
    nodes, numbers = topology.num_nodes, [c for one in record.chunk_classes for c in one.chunks]
    if len(numbers) * nodes > _MOST_CELLS:
        raise FileFormatError(f"{len(numbers)} chunks on {nodes} nodes are more than fit in memory")
    if sorted(numbers) != list(range(len(numbers))):
        raise FileFormatError("the chunk classes do not name each chunk from 0 up exactly once")
    pre = np.zeros((len(numbers), nodes), dtype=bool)
    post = np.zeros_like(pre)
    for one in record.chunk_classes:
        for array, name, places in ((pre, "pre", one.pre), (post, "post", one.post)):
            if any(n >= nodes for n in places):
                raise FileFormatError(
                    f"the {name} of a chunk class names node {max(places)}; "
                    f"the nodes are 0 to {nodes - 1}"
                )
            if places and one.chunks:
                array[np.ix_(one.chunks, places)] = True
    chunks, steps, rounds = record.chunks, record.steps, record.rounds
    cost, combining = Fraction(rounds, chunks), record.combining
    if record.bandwidth != cost:
        raise FileFormatError(f"bandwidth {record.bandwidth} is not rounds/chunks = {cost}")
    return Instance(topology, collective, chunks, steps, rounds, pre, post, combining=combining)


def algorithm_record(algorithm: Algorithm) -> AlgorithmRecord:
    """Q and T, and for a combining algorithm whose contributions each send carries."""
    carried = algorithm.contributions
    return AlgorithmRecord(
        rounds_per_step=algorithm.rounds_per_step,
        sends=algorithm.sends.tolist(),
        contributions=UNSET
        if carried is None
        else [np.flatnonzero(row).tolist() for row in carried],
    )


def algorithm_of(record: AlgorithmRecord, nodes: int) -> Algorithm:
    """The algorithm of a record, on P nodes; still to be verified.

    Raises:
        FileFormatError: when its contributions do not fit its sends, or the nodes.
        ModelError: when it makes no sense.
    """
    count, listed = len(record.sends), record.contributions
    sends = np.fromiter(chain.from_iterable(record.sends), np.int64, 4 * count).reshape(-1, 4)
    if listed is UNSET:
        return Algorithm(record.rounds_per_step, sends)
    if len(listed) != count:
        raise FileFormatError(f"contributions to {len(listed)} sends, but there are {count}")
    carried = np.zeros((count, nodes), dtype=bool)
    for row, contributors in zip(carried, listed, strict=True):
        if any(n >= nodes for n in contributors):
            raise FileFormatError(
                f"a send carries the contribution of node {max(contributors)}; "
                f"the nodes are 0 to {nodes - 1}"
            )
        row[contributors] = True
    return Algorithm(record.rounds_per_step, sends, carried)
