"""A collective within groups, as a plain one on the nodes of each group."""

from __future__ import annotations

import random

import numpy as np
import pytest

from syncoll.api import collective
from syncoll.errors import ExportError, ModelError
from syncoll.model import Algorithm, Collective, Instance
from syncoll.model.groups import groups_of, instance_within
from syncoll.plugins import ExportRequest
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime import Kind, kind_of, request_within
from syncoll.testing.instances import random_topology, random_trees
from syncoll.trust import violations
from tests.oracles.classics import hub, one_way_ring


def asked(meant: Collective, nodes: int, chunks: int = 1) -> Instance:
    return meant.instantiate(hub(nodes), chunks=chunks, steps=3, rounds=99)


def test_groups_are_the_nodes_with_chunks_in_common() -> None:
    gather = collective("allgather")
    assert groups_of(asked(gather.within([[4, 1], [0, 2, 3]]), 6)) == ((0, 2, 3), (1, 4))
    assert groups_of(asked(gather.within([[0, 1], [1, 2], [4, 3]]), 5)) == ((0, 1, 2), (3, 4))
    assert groups_of(asked(gather, 3)) == ((0, 1, 2),)
    chain = [[0, 3], [3, 1], [1, 4], [4, 2]]
    assert groups_of(asked(gather.within(chain), 5)) == ((0, 1, 2, 3, 4),)


@pytest.mark.parametrize("name", ["allgather", "allreduce", "alltoall", "broadcast"])
def test_a_group_has_the_plain_collective(name: str) -> None:
    whole = asked(collective(name).within([[1, 3, 5], [0, 2, 4]]), 6, 3)
    assert kind_of(whole).kind is Kind.CUSTOM
    for number in (0, 1):
        assert kind_of(instance_within(whole, number)).kind == name
    with pytest.raises(ModelError, match=r"no group 2; .* 0 \(nodes 0, 2, 4\), 1 \(nodes 1, 3, 5"):
        instance_within(whole, 2)


@pytest.mark.parametrize("seed", range(20))
def test_sends_within_a_group_are_an_algorithm_there(seed: int) -> None:
    """Groups have no links to other groups, which could be needed otherwise."""
    rng = random.Random(seed)
    halves = [random_topology(rng, most_nodes=4) for _ in range(2)]
    while any(one.distances.max() >= one.num_nodes for one in halves):
        halves = [random_topology(rng, most_nodes=4) for _ in range(2)]
    sizes = [one.num_nodes for one in halves]
    order = rng.sample(range(sum(sizes)), sum(sizes))
    groups = [sorted(order[: sizes[0]]), sorted(order[sizes[0] :])]
    every = {(a, b) for a in range(sum(sizes)) for b in range(sum(sizes)) if a != b}
    inside = {(a, b) for g in groups for a in g for b in g if a != b}
    topology = hub(sum(sizes))
    assert set(topology.links) == every
    meant = collective("allgather").within(groups)
    table = meant.tabulate(sum(sizes), rng.choice([1, 2]))
    instance, algorithm = random_trees(rng, topology, "x", table.pre, table.post)
    request = ExportRequest("x", "x", instance, algorithm, False, 0, UNLIMITED)
    for number, nodes in enumerate(groups_of(instance)):
        mine = {
            (int(a), int(b))
            for chunk, a, b, _ in algorithm.sends.tolist()
            if instance.pre[chunk, list(nodes)].any()
        }
        if not mine <= inside:
            with pytest.raises(ExportError, match="relays chunk"):
                request_within(request, number)
            continue
        part = request_within(request, number)
        assert not list(violations(part.instance, part.algorithm))
        assert part.name == f"group{number}-x"


def test_contributions_are_restricted_to_the_group() -> None:
    whole = asked(collective("reduce").within([[0, 2], [1, 3]]), 4)
    sends = [(0, 2, 0, 0), (1, 3, 1, 0)]
    carried = np.array([[0, 0, 1, 0], [0, 0, 0, 1]], dtype=bool)
    algorithm = Algorithm((1, 0, 0), sends, carried)
    part = request_within(ExportRequest("x", "x", whole, algorithm, False, 10, 100), 1)
    assert part.algorithm.sends.tolist() == [[0, 1, 0, 0]]
    assert part.algorithm.contributions is not None
    assert part.algorithm.contributions.tolist() == [[False, True]]
    assert (part.min_bytes, part.max_bytes) == (10, 100)


def test_sizes_become_sizes_of_the_groups_messages() -> None:
    """The whole is measured by the largest input, an allgather by its output."""
    meant = collective("allgather").within([[0, 1], [2, 3, 4]])
    table = meant.tabulate(5, 1)
    sends = [
        (chunk, int(table.pre[chunk].argmax()), node, 0)
        for chunk, node in np.argwhere(table.post & ~table.pre).tolist()
    ]
    whole = meant.instantiate(hub(5), chunks=1, steps=1, rounds=9)
    request = ExportRequest("x", "x", whole, Algorithm((9,), sends), False, 10, 100)
    sizes = [(one.min_bytes, one.max_bytes) for one in (request_within(request, i) for i in (0, 1))]
    assert sizes == [(20, 200), (30, 300)]


def test_a_relay_outside_is_named() -> None:
    meant = collective("allgather").within([[0, 2], [1, 3]])
    topology = one_way_ring(4)
    table = meant.tabulate(4, 1)
    case = random_trees(random.Random(0), topology, "x", table.pre, table.post)
    with pytest.raises(ExportError, match=r"node 1 relays chunk 0 of group 0 \(nodes 0, 2\)"):
        request_within(ExportRequest("x", "x", *case), 0)
