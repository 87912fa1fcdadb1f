"""Ranks do not all begin with the same destination, in any format."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np
import pytest

import syncoll
from syncoll.model import Algorithm, Instance
from syncoll.plugins import ExportRequest, PluginManager
from syncoll.routing import as_topology
from syncoll.runtime import Action, export_verified, lower
from syncoll.runtime.rounds import by_rounds
from syncoll.runtime.tables import MessageRow
from syncoll.runtime.values import in_turn
from syncoll.spec import SpecLibrary
from syncoll.testing.instances import random_case
from syncoll_chakra.checker import read_trace
from syncoll_messages import NodeKind

MANAGER = PluginManager.discover()
NODES, CHUNKS, ROUNDS = 8, 12, 7


@pytest.fixture(scope="module")
def request_() -> ExportRequest:
    """Allgather (12, 1, 7) on dgx_a100, by number: every chunk to all nodes, in one step."""
    library = SpecLibrary([record.folder for record in MANAGER.spec_libraries.values()])
    instance = library.collective("allgather").instantiate(
        as_topology(library.topology("dgx_a100")), chunks=CHUNKS, steps=1, rounds=ROUNDS
    )
    assert isinstance(instance, Instance)
    chunks, starts = np.nonzero(instance.pre)
    sends = [
        (c, start, node, 0)
        for c, start in zip(chunks.tolist(), starts.tolist(), strict=True)
        for node in range(NODES)
        if node != start
    ]
    return ExportRequest("x", "allgather", instance, Algorithm((ROUNDS,), np.array(sends)), True)


def require_no_two_alike(ranks: Sequence[Sequence[int]]) -> None:
    """At each position ranks name different ranks, and no rank names itself."""
    assert len({len(one) for one in ranks}) == 1
    for place in zip(*ranks, strict=True):
        assert sorted(place) == list(range(NODES))
        assert all(other != rank for rank, other in enumerate(place))


def microseconds(destinations: Sequence[Sequence[int]]) -> float:
    """Chunks of 1 MiB through a switch, one after the other on each wire; 300 GiB/s and 0.5 us."""
    chunk, latency = 2**20 / (300 * 2**30) * 1e6, 0.5
    arrivals = sorted(
        ((place + 1) * chunk + latency, rank, node)
        for rank, nodes in enumerate(destinations)
        for place, node in enumerate(nodes)
    )
    free = [0.0] * NODES
    for time, _, node in arrivals:
        free[node] = max(free[node], time) + chunk
    return max(free) + latency


def test_no_two_ranks_send_to_the_same_one_at_a_time(request_: ExportRequest) -> None:
    ranks = lower(request_).ranks
    sends, receives = (
        [[one.peer or 0 for one in rank.operations if one.action is action] for rank in ranks]
        for action in (Action.SEND, Action.RECEIVE)
    )
    require_no_two_alike(sends)
    require_no_two_alike(receives)
    assert len(sends[0]) == CHUNKS * (NODES - 1)
    by_number = [
        [node for chunk, start, node, _ in request_.algorithm.sends.tolist() if start == rank]
        for rank in range(NODES)
    ]
    assert [sorted(one) for one in sends] == [sorted(one) for one in by_number]
    # Each of its 84 chunks without waiting, and one more from the switch on.
    assert microseconds(sends) == pytest.approx(277.69, abs=0.01)
    assert microseconds(by_number) > 1.05 * microseconds(sends)


def test_in_every_format(request_: ExportRequest) -> None:
    plan = json.loads(written("mscclpp", request_))
    for rank, gpu in enumerate(plan["gpus"]):
        senders = 0
        for tb in gpu["threadblocks"]:
            buffers = [i for one in tb["remote_buffer_refs"] for i in one["remote_buffer_ids"]]
            owners = [gpu["remote_buffers"][i]["rank"] for i in buffers]
            puts = [one for op in tb["ops"] if op["name"] == "put" for one in op["dst_buff"]]
            away = [(owners[one["buffer_id"]] - rank) % NODES for one in puts]
            # Blocks work concurrently, each on chunks of its own: all begin with the next rank.
            assert away == sorted(away)
            assert not away or sorted(set(away)) == list(range(1, NODES))
            senders += bool(away)
        assert senders > 1
    algo = ElementTree.fromstring(written("msccl-xml", request_))
    blocks = [[int(tb.get("send", "")) for tb in gpu.findall("tb")] for gpu in algo.findall("gpu")]
    require_no_two_alike([[node for node in one if node >= 0] for one in blocks])
    traces = export_verified(MANAGER.exporters["chakra"], request_, {}).exported.files
    nodes = [
        read_trace(content, name, rank, NODES).nodes
        for rank, (name, content) in enumerate(traces.items())
    ]
    require_no_two_alike(
        [[n.peer or 0 for n in one.values() if n.kind is NodeKind.SEND] for one in nodes]
    )


def written(name: str, request: ExportRequest) -> str:
    (content,) = export_verified(MANAGER.exporters[name], request, {}).exported.files.values()
    return content.decode()


def test_only_the_order_within_a_step_changes() -> None:
    rng = random.Random(7)
    for _ in range(20):
        instance, algorithm = random_case(rng)
        order = in_turn(algorithm.sends, instance.topology.num_nodes)
        assert sorted(order.tolist()) == list(range(len(algorithm.sends)))
        steps = algorithm.sends[order, 3]
        assert (np.diff(steps) >= 0).all()


def test_messages_over_a_trunk_start_one_after_the_other() -> None:
    hubs = syncoll.topology("benchmarks/network/machines.syncoll:two_hubs(4)")
    ends = [(a, (a + away) % NODES) for away in range(1, NODES) for a in range(NODES)]
    near = [(a, b) for a, b in ends if b - a in (-4, 4) or a // 4 == b // 4]
    messages = [MessageRow(0, a, b, 0, 0, 0, 1) for a, b in near]
    assert len(messages) == 4 * NODES
    ordered = list(by_rounds(messages, hubs))
    assert sorted(ordered) == sorted(messages)
    # A step of four rounds: in each of them every rank sends, receives, and one way crosses once.
    by_rank = [[row.destination for row in ordered if row.source == rank] for rank in range(NODES)]
    for destinations in zip(*by_rank, strict=True):
        assert sorted(destinations) == list(range(NODES))
        assert sum(node // 4 != rank // 4 for rank, node in enumerate(destinations)) == 2


def test_messages_without_a_collision_keep_their_order() -> None:
    ring = syncoll.topology("ring(8)")
    messages = [MessageRow(0, a, (a + 1) % 8, 0, 0, 0, 3) for a in (3, 1, 4, 0, 5, 2, 7, 6)]
    assert list(by_rounds(messages, ring)) == messages
