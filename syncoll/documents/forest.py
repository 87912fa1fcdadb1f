"""A forest's file: packed trees, the cut that proves their throughput optimal, and the network."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from syncoll.documents.record import ClosedRecord, Count, Node, Seconds, written
from syncoll.results.forest import ForestCollective, Forests, PackedForest

Vertex = Annotated[int, Meta(ge=0)]
Least1 = Annotated[int, Meta(ge=1)]


class TreeRecord(ClosedRecord, frozen=True):
    """A spanning tree.

    Args:
        weight: how many equal trees it stands for.
        edges: [sender, receiver, path], edges near the root first; the path has the vertices from
            sender to receiver.  A switch at which the tree branches, which copies or adds up, ends
            one edge and begins others.
    """

    root: Node
    weight: Least1
    edges: Annotated[
        tuple[tuple[Node, Node, Annotated[tuple[Vertex, ...], Meta(min_length=2)]], ...],
        Meta(min_length=1),
    ]


class _Packed(ClosedRecord, frozen=True, kw_only=True):
    """Trees and their cut.

    Args:
        k: trees of each root; each carries 1/k of that root's share.
        algbw: all data over the time that the trees need, in the unit; for allreduce of both phases
            together.
        bound: the upper bound that the cut proves; for allreduce a bound on algorithms with these
            two phases.
        cut: the data that must leave these vertices bounds the throughput; the switches of P nodes
            are numbered from P on.
        max_height: number of edges on the longest path between a root and a node.
        seconds: time of each stage.
    """

    k: Least1
    cut: Annotated[tuple[Vertex, ...], Meta(min_length=1, extra_json_schema={"uniqueItems": True})]
    max_height: Least1
    trees: Annotated[tuple[TreeRecord, ...], Meta(min_length=1)]
    algbw: Fraction
    bound: Fraction
    seconds: dict[str, Seconds]


class ForestNetworkRecord(ClosedRecord, frozen=True):
    """The network that the trees are for.

    Args:
        switches: they are numbered from P on.
        links: rows of source, destination, bandwidth.
        multicast: the switches that copy.
        reduce: the switches that add up.
    """

    switches: Annotated[int, Meta(ge=0, le=65_536)]
    links: tuple[tuple[Count, Count, Fraction], ...]
    multicast: tuple[Count, ...] | UnsetType = UNSET
    reduce: tuple[Count, ...] | UnsetType = UNSET


class PhaseRecord(_Packed, frozen=True, kw_only=True):
    """One half of an allreduce."""

    collective: Annotated[
        ForestCollective, Meta(extra_json_schema={"enum": ["reducescatter", "allgather"]})
    ]


class AnyRootsRecord(ClosedRecord, frozen=True):
    """Of allreduce on networks that are not too large: the throughput that simultaneous reductions
    to roots with any shares and broadcasts from them reach, and their upper bound, in the unit.
    """

    at_least: Fraction
    at_most: Fraction


class _Forest(_Packed, frozen=True, kw_only=True):
    """Spanning trees of the best throughput that a network admits.

    Args:
        phases: of an allreduce, reducescatter and then allgather; k, cut, max_height and trees of
            the file are from the slower phase.
        network: present from version 2 on.
    """

    schema: Literal["syncoll/forest/1", "syncoll/forest/2"]
    topology: str
    collective: ForestCollective
    nodes: Annotated[int, Meta(ge=2, le=65_536)]
    network: ForestNetworkRecord | UnsetType = UNSET
    unit: Literal["GB/s", "chunks per round"]
    phases: tuple[PhaseRecord, PhaseRecord] | UnsetType = UNSET
    any_roots: AnyRootsRecord | UnsetType = UNSET


ForestRecord = Annotated[
    _Forest,
    Meta(
        extra_json_schema={
            "if": {"properties": {"collective": {"const": "allreduce"}}},
            "then": {"required": ["phases"]},
            "else": {"not": {"required": ["phases"]}},
        }
    ),
]


def forest_document(forests: Forests) -> dict[str, Any]:
    """Forests as the document ``syncoll/forest/2``."""
    phases, fabric = forests.phases, forests.slowest.fabric
    spent = {str(one.collective): sum(one.seconds.values()) for one in phases}
    spent = spent if len(phases) > 1 else dict(phases[0].seconds)
    slowest, any_roots = forests.slowest, forests.any_roots
    halves = [
        PhaseRecord(**_packed(x, x.algbw, x.bound, x.seconds), collective=x.collective)
        for x in phases
    ]
    network = ForestNetworkRecord(
        fabric.num_switches,
        tuple((x.source, x.destination, x.bandwidth) for x in fabric.links),
        fabric.multicast or UNSET,
        fabric.reduce or UNSET,
    )
    return written(
        _Forest(
            **_packed(slowest, forests.algbw, forests.bound, {**spent, "total": forests.seconds}),
            schema="syncoll/forest/2",
            topology=forests.topology,
            collective=ForestCollective(forests.collective),
            nodes=fabric.num_nodes,
            network=network,
            unit=fabric.measure,
            phases=(halves[0], halves[1]) if len(halves) > 1 else UNSET,
            any_roots=UNSET if any_roots is None else AnyRootsRecord(*any_roots),
        )
    )


def _packed(
    phase: PackedForest, algbw: Fraction, bound: Fraction, seconds: Mapping[str, float]
) -> dict[str, Any]:
    return {
        "k": phase.forest.k,
        "cut": tuple(sorted(phase.cut)),
        "max_height": phase.forest.height,
        "trees": tuple(
            TreeRecord(tree.root, tree.weight, tree.edges) for tree in phase.forest.trees()
        ),
        "algbw": algbw,
        "bound": bound,
        "seconds": dict(seconds),
    }
