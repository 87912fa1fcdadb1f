"""The metadata of a Parquet table: the instance that its sends solve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from syncoll.arrays import BoolArray
from syncoll.documents.record import Count, Node, Nodes, Record, read_record
from syncoll.errors import FileFormatError, ModelError, VerificationError
from syncoll.model import BandwidthBound, Counting, Instance, Topology

__all__ = ["instance_of", "metadata_of"]

_MOST_CELLS = 1 << 28
"""Of pre and post, chunks by nodes."""

Links = tuple[tuple[Node, Node], ...]
Chunk = Annotated[int, Meta(ge=0)]


class TableBound(Record, frozen=True, omit_defaults=True):
    """A bandwidth bound of the topology."""

    links: Links
    chunks_per_round: Fraction
    label: str
    counts: Counting = Counting.SENDS


class TableTopology(Record, frozen=True):
    """The topology."""

    name: str
    nodes: Nodes
    links: Links
    bounds: tuple[TableBound, ...]


class TableInstance(Record, frozen=True):
    """What is to be solved: the topology, and which chunks start and must end at which node."""

    version: Literal[1]
    collective: str
    combining: bool
    chunks: Count
    global_chunks: Count
    steps: Count
    rounds: Count
    rounds_per_step: tuple[Count, ...] | None
    starts: tuple[tuple[Chunk, ...], ...]
    ends: tuple[tuple[Chunk, ...], ...]
    topology: TableTopology


def metadata_of(instance: Instance) -> str:
    """An instance as JSON."""
    starts, ends = (
        tuple(tuple(np.flatnonzero(column).tolist()) for column in relation.T)
        for relation in (instance.pre, instance.post)
    )
    bounds = tuple(TableBound.of(bound) for bound in instance.topology.bounds)
    topology = TableTopology.of(instance.topology, nodes=instance.topology.num_nodes, bounds=bounds)
    record = TableInstance.of(
        instance,
        version=1,
        global_chunks=instance.num_chunks,
        starts=starts,
        ends=ends,
        topology=topology,
    )
    return json.dumps(msgspec.to_builtins(record, enc_hook=str), separators=(",", ":"))


def instance_of(document: bytes) -> Instance:
    """The instance that metadata describe.

    Raises:
        VerificationError: if they describe no instance.
    """
    try:
        told: TableInstance = read_record(json.loads(document), TableInstance, "its metadata")
        nodes = told.topology.nodes
        if nodes * max(1, told.global_chunks) > _MOST_CELLS:
            raise ModelError(f"{told.global_chunks} chunks on {nodes} nodes")
        bounds = tuple(
            BandwidthBound(one.links, one.chunks_per_round, one.label, one.counts)
            for one in told.topology.bounds
        )
        return Instance(
            Topology(told.topology.name, nodes, told.topology.links, bounds),
            *(told.collective, told.chunks, told.steps, told.rounds),
            _relation(told.starts, told.global_chunks, nodes),
            _relation(told.ends, told.global_chunks, nodes),
            told.combining,
            told.rounds_per_step,
        )
    except FileFormatError as error:
        raise VerificationError(str(error)) from error
    except ModelError as error:
        raise VerificationError(f"its metadata: {error}") from error
    except (RecursionError, ValueError) as error:
        raise VerificationError(
            "its metadata under the key syncoll do not describe an instance "
            f"({type(error).__name__}: {error})"
        ) from error


def _relation(by_node: Sequence[Sequence[int]], chunks: int, nodes: int) -> BoolArray:
    array = np.zeros((chunks, nodes), dtype=bool)
    if len(by_node) > nodes:
        raise ModelError(f"chunks of {len(by_node)} nodes, and there are {nodes}")
    for node, members in enumerate(by_node):
        if any(chunk >= chunks for chunk in members):
            raise ModelError(f"a chunk of node {node} is not within 0 to {chunks - 1}")
        array[list(members), node] = True
    return array
