"""How topologies, chunks and algorithms lie in JSON, shared by all of syncoll's files.

Everything that the verifier needs is in the file: a reader needs neither the spec nor the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from syncoll.errors import FileFormatError, ModelError
from syncoll.model import (
    Algorithm,
    BandwidthBound,
    BoolArray,
    Fabric,
    FabricLink,
    Instance,
    Topology,
)

__all__ = [
    "algorithm_from_json",
    "algorithm_to_json",
    "fraction_from_json",
    "instance_from_json",
    "instance_to_json",
    "interconnect_to_json",
    "topology_from_json",
]

Json = dict[str, Any]

_MOST_CELLS = 100_000_000
"""G * P, and P * P, of the largest problem that a file may ask for: a gigabyte to verify it."""


def interconnect_to_json(topology: Topology) -> Json:
    """Links and the bandwidth relation, and the physical network behind them if it is known."""
    document: Json = {
        "links": [list(link) for link in topology.links],
        "bounds": [
            {
                "links": [list(link) for link in bound.links],
                "chunks_per_round": str(bound.chunks_per_round),
                "label": bound.label,
            }
            for bound in topology.bounds
        ],
    }
    fabric = topology.fabric
    if fabric is not None:
        document["fabric"] = {
            "switches": fabric.num_switches,
            "measure": fabric.measure,
            "chunk_per_round": str(fabric.chunk_bandwidth),
            "links": [[x.source, x.destination, str(x.bandwidth), x.label] for x in fabric.links],
        }
    return document


def _fabric_from_json(name: str, nodes: int, document: Mapping[str, Any]) -> Fabric:
    """The physical network of a file.

    Raises:
        ModelError: when it makes no sense.
    """
    unit = fraction_from_json(document["chunk_per_round"])
    return Fabric(
        name,
        nodes,
        document["switches"],
        tuple(
            FabricLink(a, b, fraction_from_json(bandwidth), label)
            for a, b, bandwidth, label in document["links"]
        ),
        measure=document["measure"],
        unit=unit if document["measure"] == "GB/s" else None,
    )


def topology_from_json(document: Mapping[str, Any]) -> Topology:
    """The topology of a document with ``topology``, ``nodes`` and ``interconnect``.

    Raises:
        FileFormatError: when it is too large to be verified.
        ModelError: when it makes no sense.
    """
    interconnect, nodes = document["interconnect"], document["nodes"]
    if nodes * nodes > _MOST_CELLS:
        raise FileFormatError(f"{nodes} nodes are more than syncoll can verify")
    return Topology(
        document["topology"],
        nodes,
        tuple((a, b) for a, b in interconnect["links"]),
        tuple(
            BandwidthBound(
                tuple((a, b) for a, b in bound["links"]),
                fraction_from_json(bound["chunks_per_round"]),
                bound["label"],
            )
            for bound in interconnect["bounds"]
        ),
        fabric=_fabric_from_json(document["topology"], nodes, interconnect["fabric"])
        if "fabric" in interconnect
        else None,
    )


def fraction_from_json(text: str) -> Fraction:
    """The number of a text such as ``7/6``.

    Raises:
        FileFormatError: on a denominator of 0.
    """
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise FileFormatError(f"{text!r} is no number") from None


def instance_to_json(instance: Instance) -> Json:
    """C, S, R, whether it combines, and the chunks in classes of equal pre and post."""
    return {
        "chunks": instance.chunks,
        "steps": instance.steps,
        "rounds": instance.rounds,
        "bandwidth": str(Fraction(instance.rounds, instance.chunks)),
        "combining": instance.combining,
        "chunk_classes": [
            {
                "pre": np.flatnonzero(instance.pre[members[0]]).tolist(),
                "post": np.flatnonzero(instance.post[members[0]]).tolist(),
                "chunks": members.tolist(),
            }
            for members in instance.chunk_classes
        ],
    }


def instance_from_json(
    document: Mapping[str, Any], topology: Topology, collective: str
) -> Instance:
    """The instance of an object made by `instance_to_json`.

    Raises:
        FileFormatError: when the chunk classes overlap, have gaps or name unknown nodes, or the
            bandwidth is not R/C.
        ModelError: when the instance makes no sense.
    """
    classes = document["chunk_classes"]
    numbers = [c for one in classes for c in one["chunks"]]
    nodes = topology.num_nodes
    if len(numbers) * nodes > _MOST_CELLS:
        raise FileFormatError(f"{len(numbers)} chunks on {nodes} nodes are more than fit in memory")
    if sorted(numbers) != list(range(len(numbers))):
        raise FileFormatError("the chunk classes do not name each chunk from 0 up exactly once")
    pre = np.zeros((len(numbers), nodes), dtype=bool)
    post = np.zeros_like(pre)
    for one in classes:
        for array, key in ((pre, "pre"), (post, "post")):
            if any(n >= nodes for n in one[key]):
                raise FileFormatError(
                    f"the {key} of a chunk class names node {max(one[key])}; "
                    f"the nodes are 0 to {nodes - 1}"
                )
            if one[key] and one["chunks"]:
                array[np.ix_(one["chunks"], one[key])] = True
    chunks, steps, rounds = document["chunks"], document["steps"], document["rounds"]
    if fraction_from_json(document["bandwidth"]) != Fraction(rounds, chunks):
        raise FileFormatError(
            f"bandwidth {document['bandwidth']} is not rounds/chunks = {Fraction(rounds, chunks)}"
        )
    combining = document.get("combining", False)
    return Instance(topology, collective, chunks, steps, rounds, pre, post, combining=combining)


def algorithm_to_json(algorithm: Algorithm) -> Json:
    """Q and T, and for a combining algorithm whose contributions each send carries."""
    result: Json = {
        "rounds_per_step": list(algorithm.rounds_per_step),
        "sends": algorithm.sends.tolist(),
    }
    if algorithm.contributions is not None:
        result["contributions"] = [np.flatnonzero(row).tolist() for row in algorithm.contributions]
    return result


def algorithm_from_json(document: Mapping[str, Any], nodes: int) -> Algorithm:
    """The algorithm of an object made by `algorithm_to_json`; still to be verified.

    Args:
        document: the object.
        nodes: P.

    Raises:
        FileFormatError: when its numbers do not fit an array.
    """
    listed = document.get("contributions")
    try:
        sends = np.array(document["sends"], dtype=np.int64).reshape(-1, 4)
        carried = None if listed is None else _contributions(listed, len(sends), nodes)
        return Algorithm(tuple(document["rounds_per_step"]), sends, carried)
    except (ModelError, OverflowError, ValueError) as error:
        raise FileFormatError(
            f"sends that are no table of chunk, source, destination, step: {error}"
        ) from error


def _contributions(listed: list[list[int]], sends: int, nodes: int) -> BoolArray:
    if len(listed) != sends:
        raise FileFormatError(f"contributions to {len(listed)} sends, but there are {sends}")
    carried = np.zeros((sends, nodes), dtype=bool)
    for row, contributors in zip(carried, listed, strict=True):
        if any(n >= nodes for n in contributors):
            raise FileFormatError(
                f"a send carries the contribution of node {max(contributors)}; "
                f"the nodes are 0 to {nodes - 1}"
            )
        row[contributors] = True
    return carried
