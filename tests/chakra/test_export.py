"""Traces compute the algorithm's result, and the checker confirms it."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncoll.errors import ExportError, OptionError
from syncoll.model import Algorithm, BandwidthBound, Instance, Topology
from syncoll.plugins import Exported, ExportRequest
from syncoll.runtime import Kind, MessageRuns, export_verified, kind_of, lower
from syncoll.testing.instances import connected_topology, random_case, random_trees
from syncoll_chakra import RECORD
from syncoll_messages import expected_of_instance
from tests.oracles.classics import ring

TakeApart = Callable[[Mapping[str, bytes]], Any]
AttributeOf = Callable[[Any, str], Any]

SEND, RECEIVE, COMPUTE = 5, 6, 4


def request(instance: Instance, algorithm: Algorithm, **more: Any) -> ExportRequest:
    return ExportRequest("sample", instance.collective, instance, algorithm, **more)


def write(instance: Instance, algorithm: Algorithm, **options: object) -> Exported:
    return export_verified(RECORD, request(instance, algorithm), options).exported


def ring_allgather(nodes: int) -> tuple[Instance, Algorithm]:
    """Each chunk goes around."""
    topology = ring(nodes)
    sends = [
        (c, (c + s) % nodes, (c + s + 1) % nodes, s) for c in range(nodes) for s in range(nodes - 1)
    ]
    eye = np.eye(nodes, dtype=bool)
    instance = Instance(topology, "Allgather", 1, nodes - 1, nodes - 1, eye, np.ones_like(eye))
    return instance, Algorithm((1,) * (nodes - 1), np.array(sends))


@pytest.mark.parametrize("steps", ["strict", "relaxed"])
def test_random_algorithms_pass_with_and_without_their_instance(steps: str) -> None:
    rng = random.Random(11)
    found: Counter[str] = Counter()
    for _ in range(60):
        instance, algorithm = random_case(rng)
        handed = export_verified(RECORD, request(instance, algorithm), {"steps": steps})
        assert RECORD.load_checker().check(handed.exported.files, {}) == handed.checked
        assert handed.checked.collective == kind_of(instance).kind
        needed = lower(request(instance, algorithm))
        assert handed.checked.facts["messages"] == len(MessageRuns.in_(needed).members)
        assert handed.checked.facts["bytes"] == len(needed.messages) << 20
        found[handed.checked.collective] += 1
    assert len(found) == 6, found


def test_every_collective_by_name() -> None:
    """The checker and the writer derive the same names independently."""
    rng = random.Random(5)
    found: Counter[str] = Counter()
    for _ in range(400):
        topology = connected_topology(rng, most_nodes=4)
        nodes = topology.num_nodes
        share = rng.randint(1, 2)
        eye, ones = np.eye(nodes, dtype=bool), np.ones((nodes, nodes), dtype=bool)
        root = np.zeros((nodes, nodes), dtype=bool)
        root[:, rng.randrange(nodes)] = True
        pairs = [np.repeat(eye, nodes, axis=0), np.tile(eye, (nodes, 1))]
        plain = [(eye, ones), (root, ones), (root, eye), (eye, root), (pairs[0], pairs[1])]
        combining = [(ones, ones), (ones, root), (ones, eye)]
        reduces = rng.random() < 0.5
        pre, post = rng.choice(combining if reduces else plain)
        pre, post = np.tile(pre, (share, 1)), np.tile(post, (share, 1))
        if rng.random() < 0.2:
            pre, post = pre[:-1], post[:-1]
        elif rng.random() < 0.2 and nodes > 1:
            post = post.copy()
            post[rng.randrange(len(post)), rng.randrange(nodes)] ^= True
        if not post.any():
            continue
        order = rng.sample(range(len(pre)), len(pre))
        instance = Instance(topology, "any", 1, 9, 9, pre[order], post[order], reduces)
        found[kind_of(instance).kind] += 1
        assert expected_of_instance(instance).name() == kind_of(instance).kind
    assert set(found) == set(Kind), found


def test_the_nodes_of_a_ring(take_apart: TakeApart, attribute_of: AttributeOf) -> None:
    """Rank 1 of three sends its chunk at once, and the chunk of rank 0 after its arrival."""
    traces = take_apart(write(*ring_allgather(3), size=300, steps="relaxed").files)
    assert traces.names == [f"sample.{rank}.et" for rank in range(3)]
    assert traces.metadata[0].version == "0.0.4"
    nodes = {node.name: node for node in traces.nodes[1]}
    assert set(nodes) == {
        "send chunk 1 to 2, step 0",
        "receive chunk 0 from 0, step 0",
        "send chunk 0 to 2, step 1",
        "receive chunk 2 from 0, step 1",
    }
    forwarded = nodes["send chunk 0 to 2, step 1"]
    assert forwarded.type == SEND
    assert list(forwarded.data_deps) == [nodes["receive chunk 0 from 0, step 0"].id]
    assert list(forwarded.ctrl_deps) == [nodes["send chunk 1 to 2, step 0"].id]
    assert not nodes["send chunk 1 to 2, step 0"].ctrl_deps
    assert attribute_of(forwarded, "comm_size").int64_val == 100
    assert attribute_of(forwarded, "comm_dst").int32_val == 2
    assert attribute_of(forwarded, "comm_tag").int32_val == 1
    assert attribute_of(forwarded, "comm_type").int64_val == 5
    received = nodes["receive chunk 2 from 0, step 1"]
    assert received.type == RECEIVE
    assert not received.data_deps
    assert attribute_of(received, "comm_src").int32_val == 0
    assert attribute_of(received, "comm_tag").int32_val == 1


def test_tags_are_unique_between_two_ranks(
    take_apart: TakeApart, attribute_of: AttributeOf
) -> None:
    rng = random.Random(3)
    for _ in range(20):
        traces = take_apart(write(*random_case(rng)).files)
        ends: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for rank, nodes in enumerate(traces.nodes):
            for node in nodes:
                if node.type == COMPUTE:
                    continue
                tag = attribute_of(node, "comm_tag").int32_val
                if node.type == SEND:
                    pair = (rank, attribute_of(node, "comm_dst").int32_val)
                else:
                    pair = (attribute_of(node, "comm_src").int32_val, rank)
                ends[node.type].append((*pair, tag))
        assert len(set(ends[SEND])) == len(ends[SEND])
        assert sorted(ends[SEND]) == sorted(ends[RECEIVE])


def test_strict_sends_wait_for_steps_and_relaxed_ones_for_data(
    take_apart: TakeApart, attribute_of: AttributeOf
) -> None:
    rng = random.Random(7)
    more = 0
    for _ in range(20):
        case = random_case(rng)
        strict = take_apart(write(*case, steps="strict").files)
        relaxed = take_apart(write(*case, steps="relaxed").files)
        for ours, theirs in zip(strict.nodes, relaxed.nodes, strict=True):
            before: dict[int, set[int]] = {}
            for node, other in zip(ours, theirs, strict=True):
                before[node.id] = set(node.data_deps).union(*(before[i] for i in node.data_deps))
                reads = attribute_of(node, "syncoll_reads")
                read = set(reads.uint64_list.values) if reads else set()
                assert set(other.data_deps) == read
                assert set(node.data_deps) >= read
                more += len(set(node.data_deps) - read)
                if node.type == SEND:
                    step = attribute_of(node, "syncoll_step").int64_val
                    earlier = {
                        one.id for one in ours if attribute_of(one, "syncoll_step").int64_val < step
                    }
                    assert before[node.id] >= earlier
                else:
                    assert set(node.data_deps) == read
    assert more


def test_uneven_sizes_are_cut_into_all_bytes(
    take_apart: TakeApart, attribute_of: AttributeOf
) -> None:
    instance, algorithm = ring_allgather(3)
    exported = write(instance, algorithm, size=101)
    traces = take_apart(exported.files)
    sizes = {}
    for nodes in traces.nodes:
        for node in nodes:
            sizes[node.name.split()[2]] = attribute_of(node, "comm_size").int64_val
    assert sizes == {"0": 34, "1": 34, "2": 33}
    assert "does not divide evenly" in " ".join(exported.notes)


def test_a_message_smaller_than_its_chunks_is_refused() -> None:
    with pytest.raises(ExportError, match="at least 3 bytes"):
        write(*ring_allgather(3), size=2)
    with pytest.raises(OptionError, match="size"):
        write(*ring_allgather(3), size=-1)


def test_the_default_size_is_within_the_range_of_the_request(
    take_apart: TakeApart, attribute_of: AttributeOf
) -> None:
    instance, algorithm = ring_allgather(4)
    for low, high, expected in (
        (0, 1 << 40, 1 << 20),
        (0, 4096, 1024),
        (1 << 23, 1 << 40, 1 << 21),
    ):
        asked = request(instance, algorithm, min_bytes=low, max_bytes=high)
        traces = take_apart(export_verified(RECORD, asked, {}).exported.files)
        assert attribute_of(traces.nodes[0][0], "comm_size").int64_val == expected


def test_chunks_are_numbered_for_scaling_if_nodes_divide_them(
    take_apart: TakeApart, attribute_of: AttributeOf
) -> None:
    traces = take_apart(write(*ring_allgather(4)).files)
    for nodes in traces.nodes:
        for node in nodes:
            chunk = int(node.name.split()[2])
            assert attribute_of(node, "msg_chunk_cnt").int32_val == 1
            assert attribute_of(node, "msg_chunk_idx").int32_val == chunk
            assert attribute_of(node, "total_chunk_cnt").int32_val == 4
    topology = ring(3)
    pre = np.zeros((2, 3), dtype=bool)
    pre[:, 0] = True
    case = random_trees(random.Random(0), topology, "broadcast", pre, np.ones_like(pre))
    node = take_apart(write(*case).files).nodes[0][0]
    for name in ("msg_chunk_cnt", "msg_chunk_idx", "total_chunk_cnt"):
        assert attribute_of(node, name).int32_val == -1


def test_a_rank_without_work_has_a_node(take_apart: TakeApart) -> None:
    pre = np.zeros((1, 4), dtype=bool)
    pre[0, 0] = True
    post = pre.copy()
    post[0, 1] = True
    case = random_trees(random.Random(0), ring(4), "one", pre, post)
    traces = take_apart(write(*case).files)
    assert [len(nodes) for nodes in traces.nodes] == [1, 1, 1, 1]
    assert traces.nodes[3][0].type == COMPUTE


def test_in_place_and_out_of_place_are_the_same_trace() -> None:
    rng = random.Random(4)
    for _ in range(10):
        asked = request(*random_case(rng))
        both = [
            export_verified(RECORD, replace(asked, in_place=in_place), {})
            for in_place in (False, True)
        ]
        assert both[0].exported.files == both[1].exported.files
        assert both[0].checked.in_place is None


def test_the_record_recognises_its_files_alone(tmp_path: Any) -> None:
    files = write(*ring_allgather(3)).files
    for name, content in files.items():
        assert RECORD.recognises(tmp_path / name, content[:4096])
        assert not RECORD.recognises(tmp_path / "sample.0.xml", content[:4096])
    assert not RECORD.recognises(tmp_path / "sample.0.et", b"<algo name")
    assert not RECORD.recognises(tmp_path / "sample.0.et", b"")


def test_attributes_and_options_are_documented(take_apart: TakeApart) -> None:
    page = (Path(__file__).parents[2] / "docs" / "chakra.md").read_text()
    traces = take_apart(write(*random_case(random.Random(3))).files)
    names = {one.name for nodes in traces.nodes for node in nodes for one in node.attr}
    assert len(names) > 8
    assert all(f"`{name}`" in page for name in names)
    assert all(option.name in page for option in RECORD.options)


def test_lanes_that_share_a_bandwidth_keep_the_order(take_apart: TakeApart) -> None:
    """Both links of node 0 share one bound, so its send to 2 waits for the earlier one to 1."""
    links = ((0, 1), (0, 2), (1, 0), (2, 0))
    bounds = tuple(BandwidthBound(some, Fraction(1)) for some in (links[:2], links[2:3], links[3:]))
    topology = Topology("fork", 3, links, bounds)
    pre = np.array([[True, False, False]] * 2)
    post = np.array([[False, True, False], [False, False, True]])
    instance = Instance(topology, "x", 2, 2, 2, pre, post)
    algorithm = Algorithm((1, 1), np.array([(0, 0, 1, 0), (1, 0, 2, 1)]))
    (first, second), *_ = take_apart(write(instance, algorithm, steps="relaxed").files).nodes
    assert (list(first.ctrl_deps), list(second.ctrl_deps)) == ([], [first.id])
