"""Topologies, chunks and algorithms in JSON, shared by all files of syncoll.

A file has all data that the verifier needs: a reader needs neither the spec nor the library.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict

from syncoll.arrays import Ints
from syncoll.documents.node_set import NodeEntry, nodes_of
from syncoll.documents.record import (
    ClosedRecord,
    Count,
    Node,
    Nodes,
    PositiveCount,
    Record,
    RoundsEntry,
    rounds_of,
)
from syncoll.errors import FileFormatError
from syncoll.model import Algorithm, Carriers, Instance, OrbitAlgorithm, Topology
from syncoll.model.bandwidth import BandwidthBound, Counting
from syncoll.model.fabric import Fabric, FabricLink
from syncoll.model.node_sets import MOST_DENSE_CELLS
from syncoll.model.topology import MOST_GRAINS
from syncoll.wording import counted

VERSION = 11
"""The newest version of all kinds of files; each file has the least version that it needs."""

VERSIONS = f"({'|'.join(map(str, range(1, VERSION + 1)))})"
"""All versions, as a regular expression."""

_MOST_NODES = 10_000
"""The largest P of a file; its distances take a gigabyte."""

LinkRow = tuple[Node, Node]
ChunkEntry = Count | Annotated[list[Count], Meta(min_length=2, max_length=2)]
"""A chunk, or the first and the last of a run of chunks, as `NodeEntry`."""

SendRow = tuple[ChunkEntry, Count, Count, Count]


class BoundRecord(Record, frozen=True):
    """A limit in chunks per round over some links together.

    Args:
        links: source and destination node of each.
        chunks_per_round: an exact rational as text, such as 7/6 or 2.
        label: a name for people.
        counts: the unit of the limit if that is not every send: with "sources" all sends of one
            value by a node in a step, with "destinations" all sends of one chunk to a node in a
            step, which are added up.
    """

    links: Annotated[tuple[LinkRow, ...], Meta(min_length=1)]
    chunks_per_round: Fraction
    label: str
    counts: Literal["sources", "destinations"] | UnsetType = UNSET


class FabricRecord(Record, frozen=True):
    """The physical network with switches that links and bounds were made from, for people: no check
    uses it.

    Args:
        switches: they are numbered from P on.
        measure: the unit of its bandwidths.
        chunk_per_round: the bandwidth that carries one chunk per round; a round lasts as long as
            one chunk needs at it.
        links: rows of source, destination, bandwidth, label.
        latencies: seconds, of each link; left out if unknown.
        protocols: by protocol of a runtime the seconds of each link in it; null for its latency by
            the runtime.
        multicast: the switches that copy; left out if none does.
        reduce: the switches that add up; left out if none does.
    """

    switches: Annotated[int, Meta(ge=0, le=65_536)]
    measure: Literal["GB/s", "chunks per round"]
    chunk_per_round: Fraction
    links: tuple[tuple[Count, Count, Fraction, str], ...]
    latencies: tuple[Fraction, ...] | UnsetType = UNSET
    protocols: dict[str, tuple[Fraction | None, ...]] | UnsetType = UNSET
    multicast: tuple[Count, ...] | UnsetType = UNSET
    reduce: tuple[Count, ...] | UnsetType = UNSET


class InterconnectRecord(Record, frozen=True):
    """Directed links, sorted, and the bandwidth relation B.

    Args:
        links: source and destination node of each.
        grains: the rounds of every step are a multiple of 1/grains; missing if rounds are whole.
    """

    links: tuple[LinkRow, ...]
    bounds: tuple[BoundRecord, ...]
    fabric: FabricRecord | UnsetType = UNSET
    grains: Annotated[int, Meta(ge=2, le=MOST_GRAINS)] | UnsetType = UNSET


class ChunkClassRecord(Record, frozen=True):
    """Chunks with equal pre and post.

    Args:
        pre: nodes where the chunks start; a pair is a run of nodes, its first and its last.
        post: nodes where the chunks must end.
        chunks: their numbers; a pair is a run of chunks, its first and its last.
    """

    pre: tuple[NodeEntry, ...]
    post: tuple[NodeEntry, ...]
    chunks: tuple[ChunkEntry, ...]


class CarriersRecord(ClosedRecord, frozen=True):
    """Permutations of nodes and chunks, element 0 being the identity.

    Args:
        nodes: the image of each node, for each generator.
        chunks: the image of each chunk, for each generator.
        products: elements 1, 2, …: rows of a generator and an earlier element that it comes after.
        delays: steps by which each generator moves everything later; missing if all are 0.
    """

    nodes: list[list[Node]]
    chunks: list[list[Count]]
    products: list[tuple[Count, Count]]
    delays: list[Annotated[int, Meta(ge=-1_000_000_000, le=1_000_000_000)]] | UnsetType = UNSET


class AlgorithmRecord(Record, frozen=True):
    """Q and T.

    Args:
        rounds_per_step: Q.
        sends: T: rows of chunk, source, destination, step; steps count from 0.  A pair in place of
            a chunk is a run of chunks, which are all sent like this.
        contributions: the nodes whose reduced contributions each send of a combining algorithm
            carries; a pair is a run of nodes, its first and its last.
        carriers: missing if all sends are listed; else T is the images of these under each element.
    """

    rounds_per_step: tuple[RoundsEntry, ...]
    sends: list[SendRow]
    contributions: list[list[NodeEntry]] | UnsetType = UNSET
    carriers: CarriersRecord | UnsetType = UNSET


class ProblemRecord(Record, frozen=True, kw_only=True):
    """The problem that an algorithm solves.

    Args:
        combining: whether the nodes of pre contribute to the chunk, and post needs the reduction of
            all contributions.
        reproducible: whether chunks of the same pre are added up in one association; missing if
            not.
        chunk_classes: the G chunks, grouped by equal pre and post; every chunk is in exactly one
            class.
    """

    chunks: PositiveCount
    steps: Count
    rounds: RoundsEntry
    bandwidth: Fraction
    combining: bool = False
    reproducible: Literal[True] | UnsetType = UNSET
    chunk_classes: tuple[ChunkClassRecord, ...]


class FileRecord(Record, frozen=True, kw_only=True):
    """The first entries of every file."""

    schema: str
    version: str | UnsetType = UNSET
    topology: str
    collective: str
    nodes: Nodes
    interconnect: InterconnectRecord


class ProblemFileRecord(ProblemRecord, frozen=True, kw_only=True):
    """A file about one problem."""

    schema: str
    version: str | UnsetType = UNSET
    topology: str
    collective: str
    nodes: Nodes
    interconnect: InterconnectRecord


def _stated(
    protocols: Mapping[str, Sequence[Fraction | None]], link: int
) -> tuple[tuple[str, Fraction], ...]:
    stated = ((name, column[link]) for name, column in protocols.items())
    return tuple((name, time) for name, time in stated if time is not None)


def topology_of(record: FileRecord | ProblemFileRecord) -> Topology:
    """The topology of a file.  Raises `FileFormatError` if it is too large to be verified, and
    `ModelError` if it makes no sense."""
    nodes, written = record.nodes, record.interconnect
    if nodes > _MOST_NODES:
        raise FileFormatError(f"{nodes} nodes are more than syncoll can verify")
    fabric, grains = None, written.grains or 1
    if written.fabric:
        physical = written.fabric
        latencies = physical.latencies or (None,) * len(physical.links)
        protocols = physical.protocols or {}
        for column in (latencies, *protocols.values()):
            if len(column) != len(physical.links):
                raise FileFormatError(
                    f"fabric: {counted(len(column), 'latency', 'latencies')} for "
                    f"{counted(len(physical.links), 'link')}; expected one latency for each link"
                )
        fabric = Fabric(
            record.topology,
            nodes,
            physical.switches,
            tuple(
                FabricLink(*row, latency, _stated(protocols, number))
                for number, (row, latency) in enumerate(zip(physical.links, latencies, strict=True))
            ),
            measure=physical.measure,
            unit=physical.chunk_per_round if physical.measure == "GB/s" else None,
            multicast=physical.multicast or (),
            reduce=physical.reduce or (),
            grains=grains,
        )
    bounds = tuple(
        BandwidthBound(
            one.links, one.chunks_per_round, one.label, Counting(one.counts or Counting.SENDS)
        )
        for one in written.bounds
    )
    return Topology(record.topology, nodes, written.links, bounds, fabric=fabric, grains=grains)


def instance_of(record: ProblemRecord, topology: Topology, collective: str) -> Instance:
    """The instance of a record.  Raises `FileFormatError` if chunk classes overlap, have gaps or
    name unknown nodes, or the bandwidth is not R/C, and `ModelError` if the instance makes no
    sense."""
    nodes = topology.num_nodes
    named = [entry for one in record.chunk_classes for entry in one.chunks]
    numbers, lengths = spread(named, MOST_DENSE_CELLS // nodes, f"chunks on {nodes} nodes")
    if (np.sort(numbers) != np.arange(len(numbers))).any():
        raise FileFormatError("the chunk classes do not name each chunk from 0 up exactly once")
    pre = np.zeros((len(numbers), nodes), dtype=bool)
    post = np.zeros_like(pre)
    known: dict[object, tuple[int, ...]] = {}
    end, ends = 0, np.concatenate([[0], np.cumsum(lengths)])
    for one in record.chunk_classes:
        start, end = end, end + len(one.chunks)
        members = numbers[ends[start] : ends[end], None]
        for array, name, entries in ((pre, "pre", one.pre), (post, "post", one.post)):
            places = nodes_of(entries, nodes, f"the {name} of a chunk class", known)
            if places and one.chunks:  # not by `numpy.ix_`, which is three times slower
                array[members, places] = True
    pre.setflags(write=False)
    post.setflags(write=False)
    rounds = rounds_of(record.rounds, topology.grains)
    cost, combining = Fraction(rounds, record.chunks), record.combining
    if record.bandwidth != cost:
        raise FileFormatError(f"bandwidth {record.bandwidth} is not rounds/chunks = {cost}")
    reproducible = record.reproducible is not UNSET
    if reproducible and not combining:
        raise FileFormatError("reproducible, but not combining")
    costs = record.chunks, record.steps, rounds
    made = Instance(topology, collective, *costs, pre, post, combining=combining)
    return replace(made, reproducible=True) if reproducible else made


def algorithm_of(record: AlgorithmRecord, topology: Topology) -> Algorithm:
    """The algorithm of a record, not yet verified.  Raises `FileFormatError` if its contributions
    do not fit its sends, or the nodes, and `ModelError` if it makes no sense."""
    own = _listed(record, topology)
    if record.carriers is UNSET:
        return own
    maps = asdict(record.carriers)
    delays = maps.pop("delays")
    for name, rows in maps.items():
        if len({len(row) for row in rows}) > 1:
            raise FileFormatError(f"{name} of the carriers are rows of several lengths")
    arrays = {name: np.array(rows, dtype=np.int64) for name, rows in maps.items()}
    if delays is not UNSET:
        if len(delays) != len(maps["nodes"]):
            raise FileFormatError(
                f"{len(delays)} delays of the carriers, expected one for each generator"
            )
        arrays["delays"] = np.array(delays, dtype=np.int64)
    return OrbitAlgorithm(own, Carriers(**arrays))


def _listed(record: AlgorithmRecord, topology: Topology) -> Algorithm:
    nodes, grains = topology.num_nodes, topology.grains
    rounds = tuple(rounds_of(one, grains) for one in record.rounds_per_step)
    chunks, lengths = spread([row[0] for row in record.sends], MOST_DENSE_CELLS, "sends")
    rest = np.array([row[1:] for row in record.sends], dtype=np.int64).reshape(-1, 3)
    sends = np.column_stack([chunks, np.repeat(rest, lengths, axis=0)])
    count, listed = len(sends), record.contributions
    if listed is UNSET:
        return Algorithm(rounds, sends)
    if len(listed) != count:
        raise FileFormatError(f"contributions to {len(listed)} sends, but there are {count}")
    carried = np.zeros((count, nodes), dtype=bool)
    known: dict[object, tuple[int, ...]] = {}
    for row, contributors in zip(carried, listed, strict=True):
        row[list(nodes_of(contributors, nodes, "the contributions of a send", known))] = True
    return Algorithm(rounds, sends, carried)


def spread(entries: Sequence[ChunkEntry], most: int, what: str) -> tuple[Ints, Ints]:
    """The numbers of entries, and how many each entry has.  Raises `FileFormatError` for a run that
    ends before it begins, and for more than `most` numbers."""
    pairs = [(one, one) if type(one) is int else one for one in entries]
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    lengths = ends[:, 1] - ends[:, 0] + 1
    if (lengths < 1).any():
        first, last = ends[lengths < 1][0]
        raise FileFormatError(f"a run of chunks from {first} to {last}")
    if (total := int(lengths.sum())) > most:
        raise FileFormatError(f"{total} {what} are more than fit in memory")
    before = np.cumsum(lengths) - lengths
    return np.repeat(ends[:, 0] - before, lengths) + np.arange(total), lengths
