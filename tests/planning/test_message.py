"""The size of a message in runtimes, for every shipped collective."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from syncoll.errors import UsageError
from syncoll.model import Fabric, Instance
from syncoll.planning import message_of, message_of_collective, unit_bandwidth
from syncoll.plugins import PluginManager
from syncoll.routing import as_topology
from syncoll.runtime import Kind
from syncoll.spec import SpecLibrary

from .conftest import PAIR

NODES = 4


@pytest.fixture(scope="module")
def specs() -> SpecLibrary:
    return SpecLibrary([PluginManager.discover().spec_libraries["syncoll"].folder])


def instances(specs: SpecLibrary, collective: str) -> list[Instance]:
    """Instances with two values of C, as in the points of a frontier."""
    ring = as_topology(specs.topology(f"ring({NODES})"))
    found = specs.collective(collective)
    return [found.instantiate(ring, chunks=c, steps=9, rounds=99) for c in (NODES, 3 * NODES)]


@pytest.mark.parametrize(
    ("collective", "kind", "per_node"),
    [
        ("allgather", Kind.ALLGATHER, NODES),
        ("gather", Kind.GATHER, NODES),
        ("gather(root=2)", Kind.GATHER, NODES),
        ("scatter(root=1)", Kind.SCATTER, 1),
        ("alltoall", Kind.ALLTOALL, 1),
        ("broadcast(root=3)", Kind.BROADCAST, 1),
        ("reduce", Kind.REDUCE, 1),
        ("reducescatter", Kind.REDUCESCATTER, 1),
        ("allreduce", Kind.ALLREDUCE, 1),
    ],
)
def test_the_library(specs: SpecLibrary, collective: str, kind: Kind, per_node: int) -> None:
    """Only allgather and gather are measured by a buffer larger than one node's data."""
    message = message_of(instances(specs, collective))
    assert (message.kind, message.per_node, message.measured) == (kind, Fraction(per_node), True)
    assert message.words
    assert message.node_bytes(3 << 10) * per_node == 3 << 10
    assert message_of_collective(specs.collective(collective), NODES) == message


def test_inputs_are_whole_elements(specs: SpecLibrary) -> None:
    """Of an allgather of 4 nodes 1000 bytes are 62 floats a node, as nccl-tests rounds them."""
    allgather = message_of_collective(specs.collective("allgather"), NODES)
    assert allgather.input_bytes(1000, 4) == 62 * 4 == 248
    assert allgather.input_bytes(16, 4) == 4
    with pytest.raises(UsageError, match="a message of 12 bytes; expected at least 16 bytes"):
        allgather.input_bytes(12, 4)
    assert message_of_collective(specs.collective("reducescatter"), NODES).input_bytes(12, 4) == 12
    twice = message_of_collective(specs.collective("2 * allgather"), NODES)
    assert (twice.node_bytes(64), twice.input_bytes(64, 4)) == (8, 16)


def test_some_roots(specs: SpecLibrary) -> None:
    message = message_of(instances(specs, "multi_gather(0, 1)"))
    assert (message.kind, message.per_node, message.measured) == (Kind.CUSTOM, Fraction(1), True)
    message = message_of(instances(specs, "multi_broadcast(0, 1)"))
    assert (message.kind, message.per_node, message.measured) == (Kind.CUSTOM, Fraction(1), False)


def test_different_collectives_have_no_one_message(specs: SpecLibrary) -> None:
    both = [*instances(specs, "allgather"), *instances(specs, "alltoall")]
    assert not message_of(both).measured


def test_units(specs: SpecLibrary) -> None:
    assert unit_bandwidth(as_topology(specs.topology("ring(4)"))) is None
    assert unit_bandwidth(as_topology(specs.topology("a100"))) == 300 * 10**9
    fabric = Fabric.from_bandwidths("slow", 2, 0, {(0, 1): Fraction(5, 2), (1, 0): 5})
    topology = replace(PAIR, fabric=fabric)
    assert unit_bandwidth(topology) == 2_500_000_000, "the slowest link carries a chunk a round"


def test_sizes(specs: SpecLibrary) -> None:
    """L is one unit, and the message the largest input of a node."""
    uneven = message_of(instances(specs, "alltoallv([[0,3,1,1],[2,0,4,1],[1,3,0,1],[0,4,1,0]])"))
    assert (uneven.kind, uneven.per_node, uneven.measured) == (Kind.CUSTOM, Fraction(7), False)
    assert uneven.words == "the largest input of a node"
    assert uneven.of_size == "one unit of the sizes (the largest input of a node: 7 L)"
    even = message_of(instances(specs, "2 * allgather"))
    assert (even.kind, even.per_node, even.measured) == (Kind.ALLGATHER, Fraction(8), True)
    assert "(the largest input of a node: 2 L)" in even.of_size
    assert message_of(instances(specs, "allgather")).of_size == "the data of one node"
