"""Topologies, chunks and algorithms as records; reading does not import this module."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from syncoll.arrays import Ints
from syncoll.documents.node_set import NodeEntry, set_entries
from syncoll.documents.problem import (
    AlgorithmRecord,
    BoundRecord,
    CarriersRecord,
    ChunkClassRecord,
    ChunkEntry,
    FabricRecord,
    InterconnectRecord,
    ProblemRecord,
)
from syncoll.model import Algorithm, Counting, Fabric, Instance, OrbitAlgorithm, Topology
from syncoll.model.node_sets import NodeSets
from syncoll.version import __version__

_MOST_LISTED = 100_000
"""Up to this number of sends, or chunks, files list every one, and the nodes of its contributions,
as version 1 needs it."""


def file_entries(topology: Topology, collective: str) -> dict[str, Any]:
    """The first entries of every file; `versioned` fills in the schema."""
    return {
        "schema": "",
        "version": __version__,
        "topology": topology.name,
        "collective": collective,
        "nodes": topology.num_nodes,
        "interconnect": interconnect_record(topology),
    }


def _protocols(fabric: Fabric) -> dict[str, tuple[Fraction | None, ...]]:
    stated = [dict(link.protocols) for link in fabric.links]
    names = dict.fromkeys(name for one in stated for name in one)
    return {name: tuple(one.get(name) for one in stated) for name in names}


def interconnect_record(topology: Topology) -> InterconnectRecord:
    """Links and the bandwidth relation, and the physical network if known."""
    physical: FabricRecord | UnsetType = UNSET
    if (fabric := topology.fabric) is not None:
        latencies = tuple(x.latency for x in fabric.links if x.latency is not None)
        physical = FabricRecord.of(
            fabric,
            switches=fabric.num_switches,
            chunk_per_round=fabric.chunk_bandwidth,
            links=tuple((x.source, x.destination, x.bandwidth, x.label) for x in fabric.links),
            latencies=latencies if fabric.states_latencies else UNSET,
            protocols=_protocols(fabric) or UNSET,
            multicast=fabric.multicast or UNSET,
            reduce=fabric.reduce or UNSET,
        )
    bounds = tuple(
        BoundRecord.of(one, counts=UNSET if one.counts is Counting.SENDS else one.counts.value)
        for one in topology.bounds
    )
    grains = UNSET if topology.grains == 1 else topology.grains
    return InterconnectRecord(topology.links, bounds, physical, grains)


def problem_entries(instance: Instance, *, runs: bool = True) -> dict[str, Any]:
    """The entries of `ProblemRecord`; `runs` allows runs of chunks, which need version 5."""
    starts, ends, runs = instance.table.starts, instance.table.ends, runs and _are_in_runs(instance)
    pre, post = (
        [set_entries(np.flatnonzero(row).tolist(), instance.topology.num_nodes) for row in sets]
        for sets in (starts.sets, ends.sets)
    )
    classes = tuple(
        ChunkClassRecord(
            pre[starts.number[first]],
            post[ends.number[first]],
            tuple(_in_runs(members[:, None]) if runs else members.tolist()),
        )
        for members in instance.chunk_classes
        for first in members[:1]
    )
    bandwidth = Fraction(instance.rounds, instance.chunks)
    reproducible: Any = instance.reproducible or UNSET
    how = {"bandwidth": bandwidth, "chunk_classes": classes, "reproducible": reproducible}
    return asdict(ProblemRecord.of(instance, **how))


def algorithm_record(algorithm: Algorithm, *, runs: bool = True) -> AlgorithmRecord:
    """Q and T, and for a combining algorithm the contributions of each send."""
    carriers: CarriersRecord | UnsetType = UNSET
    if isinstance(algorithm, OrbitAlgorithm):
        maps = (algorithm.carriers.nodes, algorithm.carriers.chunks, algorithm.carriers.products)
        carriers = CarriersRecord(*(array.tolist() for array in maps))
        if algorithm.carriers.delays.any():
            carriers = replace(carriers, delays=algorithm.carriers.delays.tolist())
        algorithm = algorithm.representative
    carried = algorithm.contributions
    short = carriers is not UNSET or len(algorithm.sends) > _MOST_LISTED
    return AlgorithmRecord(
        rounds_per_step=algorithm.rounds_per_step,
        sends=_send_rows(algorithm, runs),
        contributions=UNSET if carried is None else _lists(carried, short),
        carriers=carriers,
    )


def _lists(table: npt.NDArray[np.bool_], runs: bool) -> list[list[NodeEntry]]:
    """The columns of each row's entries, in runs if allowed."""
    of = NodeSets.of(table)  # few of millions of rows differ
    rows, columns = np.nonzero(of.sets)
    ends = np.searchsorted(rows, np.arange(len(of.sets) + 1)).tolist()
    listed = columns.tolist()
    found = [
        list(set_entries(listed[a:b], of.num_nodes, runs=runs or None)) for a, b in pairwise(ends)
    ]
    return [found[i] for i in of.number.tolist()]


def _are_in_runs(instance: Instance) -> bool:
    """Whether the members of classes are written as runs: they are many, and runs are shorter."""
    if instance.num_chunks <= _MOST_LISTED:
        return False
    order = instance.table.by_kind()
    breaks = (np.diff(order) != 1) | (np.diff(instance.table.kind[order]) != 0)
    return 2 * (1 + int(breaks.sum())) <= instance.num_chunks


def _sends_in_runs(algorithm: Algorithm) -> bool:
    """Whether sends without contributions are written as runs."""
    if isinstance(algorithm, OrbitAlgorithm) or algorithm.contributions is not None:
        return False
    sends = algorithm.sends
    return len(sends) > _MOST_LISTED and 2 * len(_starts(sends)) <= len(sends)


def rows_written(algorithm: Algorithm) -> int:
    """The number of rows of sends that `algorithm_record` writes."""
    if not _sends_in_runs(algorithm):
        return algorithm.num_listed
    return len(_starts(algorithm.sends))


def _starts(rows: Ints) -> Ints:
    """The starts of runs, whose rows differ only in consecutive first numbers."""
    follows = (np.diff(rows[:, 0]) == 1) & (rows[1:, 1:] == rows[:-1, 1:]).all(axis=1)
    return np.flatnonzero(np.concatenate([[True], ~follows]))


def _in_runs(rows: Ints) -> list[ChunkEntry]:
    """The first numbers of rows, in runs."""
    starts = _starts(rows)
    lasts = rows[np.append(starts[1:], len(rows)) - 1, 0].tolist()
    firsts = rows[starts, 0].tolist()
    return [a if a == b else [a, b] for a, b in zip(firsts, lasts, strict=True)]


def _send_rows(algorithm: Algorithm, runs: bool) -> list[Any]:
    sends = algorithm.sends
    if not (runs and _sends_in_runs(algorithm)):
        listed: list[Any] = sends.tolist()
        return listed
    rest = sends[_starts(sends), 1:].tolist()
    return [(entry, *row) for entry, row in zip(_in_runs(sends), rest, strict=True)]
