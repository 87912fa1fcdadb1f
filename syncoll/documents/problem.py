"""How topologies, chunks and algorithms lie in JSON, shared by all of syncoll's files.

Everything that the verifier needs is in the file: a reader needs neither the spec nor the library.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain, pairwise
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict, replace

import syncoll
from syncoll.documents.node_set import MOST_LISTED_NODES, NodeEntry, nodes_of, set_entries
from syncoll.documents.record import ClosedRecord, Count, Node, Nodes, PositiveCount, Record
from syncoll.errors import FileFormatError
from syncoll.model import (
    Algorithm,
    BandwidthBound,
    Carriers,
    Counting,
    Fabric,
    FabricLink,
    Instance,
    OrbitAlgorithm,
    Topology,
)
from syncoll.model.node_sets import MOST_DENSE_CELLS, NodeSets

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

VERSION = 4
"""The newest version of all kinds of files; what says nothing new is written as version 1."""

_MOST_NODES = 10_000
"""P of the largest problem that a file may ask for: its distances take a gigabyte."""

LinkRow = tuple[Node, Node]
SendRow = tuple[Count, Count, Count, Count]


class BoundRecord(Record, frozen=True):
    """So many chunks per round over some links together.

    Args:
        links: source and destination node of each.
        chunks_per_round: an exact rational as text, such as 7/6 or 2.
        label: for people.
        counts: what counts as one of them where that is not every send: with "sources" all that a
            node sends of one value in a step, with "destinations" all that nodes send one of a
            chunk in a step to be added up.
    """

    links: Annotated[tuple[LinkRow, ...], Meta(min_length=1)]
    chunks_per_round: Fraction
    label: str
    counts: Literal["sources", "destinations"] | UnsetType = UNSET


class FabricRecord(Record, frozen=True):
    """The physical network with switches that links and bounds were made from, for people: nothing
    is verified with it.

    Args:
        switches: they are numbered from P on.
        measure: what its bandwidths count.
        chunk_per_round: the bandwidth that carries one chunk per round: a round lasts as long as
            one chunk takes at it.
        links: rows of source, destination, bandwidth, label.
        latencies: seconds, of each link; left out where they are not known.
        multicast: the switches that copy; left out where none does.
        reduce: the switches that add up; left out where none does.
    """

    switches: Annotated[int, Meta(ge=0, le=65_536)]
    measure: Literal["GB/s", "chunks per round"]
    chunk_per_round: Fraction
    links: tuple[tuple[Count, Count, Fraction, str], ...]
    latencies: tuple[Fraction, ...] | UnsetType = UNSET
    multicast: tuple[Count, ...] | UnsetType = UNSET
    reduce: tuple[Count, ...] | UnsetType = UNSET


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
        pre: nodes where the chunks start; a pair is a run of nodes, its first and its last.
        post: nodes where the chunks must end.
    """

    pre: tuple[NodeEntry, ...]
    post: tuple[NodeEntry, ...]
    chunks: tuple[Count, ...]


class CarriersRecord(ClosedRecord, frozen=True):
    """Permutations of nodes and chunks, element 0 being the identity.

    Args:
        nodes: for each generator the node that each node goes to.
        chunks: for each generator the chunk that each chunk goes to.
        products: elements 1, 2, …: rows of a generator and an earlier element that it comes after.
        delays: for each generator by how many steps everything happens later; missing where all
            are 0.
    """

    nodes: list[list[Node]]
    chunks: list[list[Count]]
    products: list[tuple[Count, Count]]
    delays: list[Annotated[int, Meta(ge=-1_000_000_000, le=1_000_000_000)]] | UnsetType = UNSET


class AlgorithmRecord(Record, frozen=True):
    """Q and T.

    Args:
        rounds_per_step: Q.
        sends: T: rows of chunk, source, destination, step; steps count from 0.
        contributions: for a combining algorithm, send by send the nodes whose contributions it
            carries, reduced; a pair is a run of nodes, its first and its last.
        carriers: missing where all sends are listed; else T is the images of these under each
            element.
    """

    rounds_per_step: tuple[Count, ...]
    sends: list[SendRow]
    contributions: list[list[NodeEntry]] | UnsetType = UNSET
    carriers: CarriersRecord | UnsetType = UNSET


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


def file_entries(
    kind: str,
    topology: Topology,
    collective: str,
    algorithms: Iterable[Algorithm] = (),
    version: int = 1,
) -> dict[str, Any]:
    """What every file begins with.

    Files are of version 1, which older syncolls read, unless they have carriers or runs of nodes;
    of version 3 where switches copy or add up, of version 4 where claims count what families have.

    Args:
        algorithms: those in the file.
        version: the least that brings what else is in it.
    """
    runs = topology.num_nodes > MOST_LISTED_NODES
    new = runs or any(isinstance(one, OrbitAlgorithm) for one in algorithms)
    fabric = topology.fabric
    copied = topology.counts_copies or (fabric is not None and fabric.copies)
    return {
        "schema": f"syncoll/{kind}/{max(version, 3 if copied else 2 if new else 1)}",
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
        latencies = tuple(x.latency for x in fabric.links if x.latency is not None)
        physical = FabricRecord.of(
            fabric,
            switches=fabric.num_switches,
            chunk_per_round=fabric.chunk_bandwidth,
            links=tuple((x.source, x.destination, x.bandwidth, x.label) for x in fabric.links),
            latencies=latencies if fabric.states_latencies else UNSET,
            multicast=fabric.multicast or UNSET,
            reduce=fabric.reduce or UNSET,
        )
    bounds = tuple(
        BoundRecord.of(one, counts=UNSET if one.counts is Counting.SENDS else one.counts.value)
        for one in topology.bounds
    )
    return InterconnectRecord(topology.links, bounds, physical)


def topology_of(record: FileRecord | ProblemFileRecord) -> Topology:
    """The topology of a file.

    Raises:
        FileFormatError: when it is too large to be verified.
        ModelError: when it makes no sense.
    """
    nodes, written = record.nodes, record.interconnect
    if nodes > _MOST_NODES:
        raise FileFormatError(f"{nodes} nodes are more than syncoll can verify")
    fabric = None
    if written.fabric:
        physical = written.fabric
        latencies = physical.latencies or (None,) * len(physical.links)
        if len(latencies) != len(physical.links):
            raise FileFormatError(
                f"{len(latencies)} latencies of {len(physical.links)} links; expected one for each"
            )
        fabric = Fabric(
            record.topology,
            nodes,
            physical.switches,
            tuple(
                FabricLink(*row, latency)
                for row, latency in zip(physical.links, latencies, strict=True)
            ),
            measure=physical.measure,
            unit=physical.chunk_per_round if physical.measure == "GB/s" else None,
            multicast=physical.multicast or (),
            reduce=physical.reduce or (),
        )
    bounds = tuple(
        BandwidthBound(
            one.links, one.chunks_per_round, one.label, Counting(one.counts or Counting.SENDS)
        )
        for one in written.bounds
    )
    return Topology(record.topology, nodes, written.links, bounds, fabric=fabric)


def problem_entries(instance: Instance) -> dict[str, Any]:
    """C, S, R, whether it combines, and the chunks in classes of equal pre and post."""
    starts, ends = instance.table.starts, instance.table.ends
    pre, post = (
        [set_entries(np.flatnonzero(row).tolist(), instance.topology.num_nodes) for row in sets]
        for sets in (starts.sets, ends.sets)
    )
    classes = tuple(
        ChunkClassRecord(pre[starts.number[first]], post[ends.number[first]], members.tolist())
        for members in instance.chunk_classes
        for first in members[:1]
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
    if len(numbers) * nodes > MOST_DENSE_CELLS:
        raise FileFormatError(f"{len(numbers)} chunks on {nodes} nodes are more than fit in memory")
    if sorted(numbers) != list(range(len(numbers))):
        raise FileFormatError("the chunk classes do not name each chunk from 0 up exactly once")
    pre = np.zeros((len(numbers), nodes), dtype=bool)
    post = np.zeros_like(pre)
    known: dict[object, tuple[int, ...]] = {}
    for one in record.chunk_classes:
        for array, name, entries in ((pre, "pre", one.pre), (post, "post", one.post)):
            places = nodes_of(entries, nodes, f"the {name} of a chunk class", known)
            if places and one.chunks:  # not by `numpy.ix_`, which takes thrice as long
                array[np.reshape(one.chunks, (-1, 1)), places] = True
    pre.setflags(write=False)
    post.setflags(write=False)
    chunks, steps, rounds = record.chunks, record.steps, record.rounds
    cost, combining = Fraction(rounds, chunks), record.combining
    if record.bandwidth != cost:
        raise FileFormatError(f"bandwidth {record.bandwidth} is not rounds/chunks = {cost}")
    return Instance(topology, collective, chunks, steps, rounds, pre, post, combining=combining)


def algorithm_record(algorithm: Algorithm) -> AlgorithmRecord:
    """Q and T, and for a combining algorithm whose contributions each send carries."""
    carriers: CarriersRecord | UnsetType = UNSET
    if isinstance(algorithm, OrbitAlgorithm):
        maps = (algorithm.carriers.nodes, algorithm.carriers.chunks, algorithm.carriers.products)
        carriers = CarriersRecord(*(array.tolist() for array in maps))
        if algorithm.carriers.delays.any():
            carriers = replace(carriers, delays=algorithm.carriers.delays.tolist())
        algorithm = algorithm.representative
    carried = algorithm.contributions
    return AlgorithmRecord(
        rounds_per_step=algorithm.rounds_per_step,
        sends=algorithm.sends.tolist(),
        contributions=UNSET if carried is None else _lists(carried, carriers is not UNSET),
        carriers=carriers,
    )


def _lists(table: npt.NDArray[np.bool_], runs: bool) -> list[list[NodeEntry]]:
    """The columns of each row's entries, in runs where the file may have them."""
    of = NodeSets.of(table)  # of millions of rows few are different
    rows, columns = np.nonzero(of.sets)
    ends = np.searchsorted(rows, np.arange(len(of.sets) + 1)).tolist()
    listed = columns.tolist()
    found = [
        list(set_entries(listed[a:b], of.num_nodes, runs=runs or None)) for a, b in pairwise(ends)
    ]
    return [found[i] for i in of.number.tolist()]


def algorithm_of(record: AlgorithmRecord, nodes: int) -> Algorithm:
    """The algorithm of a record, on P nodes; still to be verified.

    Raises:
        FileFormatError: when its contributions do not fit its sends, or the nodes.
        ModelError: when it makes no sense.
    """
    own = _listed(record, nodes)
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


def _listed(record: AlgorithmRecord, nodes: int) -> Algorithm:
    """The sends that a record lists."""
    count, listed = len(record.sends), record.contributions
    sends = np.fromiter(chain.from_iterable(record.sends), np.int64, 4 * count).reshape(-1, 4)
    if listed is UNSET:
        return Algorithm(record.rounds_per_step, sends)
    if len(listed) != count:
        raise FileFormatError(f"contributions to {len(listed)} sends, but there are {count}")
    carried = np.zeros((count, nodes), dtype=bool)
    known: dict[object, tuple[int, ...]] = {}
    for row, contributors in zip(carried, listed, strict=True):
        row[list(nodes_of(contributors, nodes, "what a send carries", known))] = True
    return Algorithm(record.rounds_per_step, sends, carried)
