"""Plans for machines keep the limits of the runtime, take the usual sizes, and run.

The limits are from the runtime's own sources (``execution_common.hpp``,
``ExecutionPlan::checkMessageSize``); the plans run in the simulator of the mutation tests.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syncoll.errors import ExportError
from syncoll.model import Algorithm, Instance, Topology, compose, invert
from syncoll.plugins import ExportRequest, PluginManager, resolve_options
from syncoll.routing import as_topology
from syncoll.runtime import export_verified
from syncoll.spec import SpecLibrary
from syncoll.testing.instances import random_trees
from syncoll_mscclpp import RECORD
from tests.mscclpp.test_checker_mutations import require_limits, simulate

Plan = dict[str, Any]
Case = tuple[Instance, Algorithm]

KINDS = ("allgather", "reducescatter", "allreduce", "alltoall")
POWERS = [1 << n for n in range(16, 31)]


@pytest.fixture(scope="module")
def library() -> SpecLibrary:
    plugins = PluginManager.discover()
    return SpecLibrary([record.folder for record in plugins.spec_libraries.values()])


def grown(topology: Topology, kind: str, weights: list[int], seed: int = 0) -> Case:
    """A collective along random trees with some chunks each, which are numbered at random."""
    dice, nodes = random.Random(seed), topology.num_nodes
    trees = len(weights) * (nodes if kind == "alltoall" else 1)
    pre = np.repeat(np.eye(nodes, dtype=bool), trees, axis=0)
    post = np.ones_like(pre)
    if kind == "alltoall":
        post = np.tile(np.repeat(np.eye(nodes, dtype=bool), len(weights), axis=0), (nodes, 1))
    instance, algorithm = random_trees(dice, topology, "x", pre, post)
    copies = np.tile(weights, len(pre) // len(weights))
    first = np.concatenate(([0], np.cumsum(copies)))
    number = np.arange(first[-1])
    for node in range(nodes):  # in any order among the chunks of a node
        mine = number[first[node * trees] : first[(node + 1) * trees]].tolist()
        number[first[node * trees] : first[(node + 1) * trees]] = dice.sample(mine, len(mine))
    sends = [
        (number[first[chunk] + i], a, b, step)
        for chunk, a, b, step in algorithm.sends.tolist()
        for i in range(copies[chunk])
    ]
    kept = np.empty(len(number), dtype=np.int64)
    kept[number] = np.repeat(np.arange(len(pre)), copies)
    moved = Algorithm((0,) * algorithm.steps, np.array(sends)).tightened(topology)
    whole = replace(
        instance,
        chunks=int(copies.sum()) // nodes,
        steps=moved.steps,
        rounds=moved.rounds,
        pre=pre[kept],
        post=post[kept],
    )
    plain = whole, moved
    if kind in ("allgather", "alltoall"):
        return plain
    inverse = invert(*plain, kind)
    return compose(inverse, plain, kind) if kind == "allreduce" else inverse


def takes(plan: Plan, message: int) -> bool:
    """Whether the runtime accepts a message, in bytes as nccl-tests count them."""
    gpus, ranks = plan["gpus"], len(plan["gpus"])
    large = ranks if plan["collective"] in ("allgather", "reducescatter", "alltoall") else 1
    inside = message // large if plan["collective"] == "allgather" else message
    outside = message // large if plan["collective"] == "reducescatter" else message
    grain = plan["buffer_alignment"]
    for gpu in gpus:
        for size, chunks in ((inside, gpu["input_chunks"]), (outside, gpu["output_chunks"])):
            if size % grain or (size // grain) % chunks:
                return False
    measured = outside if plan["collective"] == "allgather" else inside
    slices = [
        op["tbg_info"]["tbg_size"]
        for gpu in gpus
        for block in gpu["threadblocks"]
        for op in block["ops"]
        if "tbg_info" in op
    ]
    enough = inside // gpus[0]["input_chunks"] >= grain * max(slices, default=1)
    return enough and bool(plan["min_message_size"] <= measured <= plan["max_message_size"])


def export(case: Case, blocks: int, *, in_place: bool = False, **options: object) -> Plan:
    request = ExportRequest("x", "x", *case, in_place)
    given = {"blocks": blocks, **options}
    handed = export_verified(RECORD, request, given)
    (content,) = handed.exported.files.values()
    plan: Plan = json.loads(content)
    require_limits(plan)
    assert all(len(gpu["threadblocks"]) <= blocks for gpu in plan["gpus"])
    counts = handed.exported.counts
    assert counts is not None
    assert counts == RECORD.counts(request, resolve_options(RECORD.options, given, ""))
    assert counts.thread_blocks == max(len(gpu["threadblocks"]) for gpu in plan["gpus"])
    assert counts.file_bytes is not None
    room = 400 * len(plan["gpus"])
    assert len(content) == pytest.approx(counts.file_bytes, rel=0.15, abs=room)
    large = counts.file_bytes > len(plan["gpus"]) << 16 and plan["collective"] != "alltoall"
    assert large == (counts.large is not None)
    assert counts.min_bytes <= POWERS[0]
    sizes = [size for size in POWERS if size <= counts.max_bytes]
    assert [takes(plan, size) for size in sizes] == [
        size % counts.multiple_of == 0 for size in sizes
    ]
    assert not takes(plan, counts.multiple_of * 1024 + 8)
    return plan


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("machine", ["ring(8)", "hypercube(3)", "fully_connected(8)", "dgx1"])
def test_machines_of_eight(library: SpecLibrary, machine: str, kind: str) -> None:
    """Powers of two fit with any number of chunks."""
    dice = random.Random(machine + kind)
    topology = as_topology(library.topology(machine))
    weights = dice.choice([[1], [3, 1], [5, 2]]) if kind == "allreduce" else [dice.choice([1, 3])]
    case = grown(topology, kind, weights, dice.randrange(100))
    for in_place in (False, True):
        plan = export(case, 12, in_place=in_place)
        assert all(takes(plan, size) for size in POWERS)
        if kind != "alltoall" or machine != "ring(8)":
            assert set(simulate(plan, 0, 1, dice)) == {""}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("machine", ["torus(4,4)", "a100(boxes=2)", "mi250(boxes=1)"])
def test_machines_of_sixteen(library: SpecLibrary, machine: str, kind: str) -> None:
    topology = as_topology(library.topology(machine))
    plan = export(grown(topology, kind, [3]), 32)
    assert all(takes(plan, size) for size in POWERS)
    types = {one["channel_type"] for gpu in plan["gpus"] for one in gpu["channels"]}
    assert types == ({"memory", "port"} if "boxes=2" in machine else {"memory"})
    if kind != "alltoall":
        assert len(json.dumps(plan, separators=(",", ":"))) <= 16 << 16


@pytest.mark.parametrize("nodes", [3, 6])
@pytest.mark.parametrize("kind", KINDS)
def test_other_numbers_of_ranks_take_every_multiple(
    library: SpecLibrary, nodes: int, kind: str
) -> None:
    topology = as_topology(library.topology(f"ring({nodes})"))
    dice = random.Random(nodes)
    for weights in ([1], [2, 1], [5]):
        for packets in ("no", "yes"):
            plan = export(grown(topology, kind, weights), 16, packets=packets)
            least = plan["min_message_size"]
            first = -(-max(least, 1) // (16 * nodes)) * 16 * nodes
            assert first <= 16 * nodes * max(16, sum(weights) * nodes)
            assert all(takes(plan, first + 16 * nodes * dice.randrange(1 << 16)) for _ in range(9))
            assert set(simulate(plan, 0, 1, dice)) == {""}


def test_streams_do_not_depend_on_the_numbers_of_chunks(library: SpecLibrary) -> None:
    topology = as_topology(library.topology("hypercube(3)"))
    instance, algorithm = grown(topology, "allgather", [6, 2])
    order = np.random.default_rng(1).permutation(instance.num_chunks)
    sends = algorithm.sends.copy()
    sends[:, 0] = np.argsort(order)[sends[:, 0]]
    other = replace(instance, pre=instance.pre[order], post=instance.post[order])
    same = (
        export((instance, algorithm), 8),
        export((other, Algorithm(algorithm.rounds_per_step, sends)), 8),
    )
    counts = [
        sorted(len(b["ops"]) for gpu in plan["gpus"] for b in gpu["threadblocks"]) for plan in same
    ]
    assert counts[0] == counts[1]


def test_unequal_chunks_cost_two_percent_at_most(library: SpecLibrary) -> None:
    """79 chunks become a power of two, 72 and 7 of them runs of about their share."""
    topology = as_topology(library.topology("ring(8)"))
    request = ExportRequest("x", "x", *grown(topology, "allgather", [72, 7]))
    exported = export_verified(RECORD, request, {"blocks": 8}).exported
    (content,) = exported.files.values()
    share = json.loads(content)["gpus"][0]["input_chunks"]
    assert share > 1
    assert share & (share - 1) == 0
    sizes = {
        piece["size"]
        for block in json.loads(content)["gpus"][0]["threadblocks"]
        for op in block["ops"]
        for piece in op.get("src_buff", ())
    }
    assert sizes & {round(share * 72 / 79), round(share * 7 / 79)}
    longer = re.findall(r"which takes ([0-9.]+)% longer", " ".join(exported.notes))
    assert all(float(one) <= 2 for one in longer)


def test_slices_leave_little_scratch_idle(library: SpecLibrary) -> None:
    """Slices save scratch only if a rank needs about as much for each of them."""
    topology = as_topology(library.topology("fully_connected(8)"))
    for seed in range(3):
        case = grown(topology, "allreduce", [1] * 3, seed)
        plan = export(case, 8)
        scratch = max(gpu["scratch_chunks"] for gpu in plan["gpus"])
        assert scratch <= 3 * plan["gpus"][0]["input_chunks"]


def test_an_exchange_in_place_has_equal_borders_both_ways(library: SpecLibrary) -> None:
    """A rank's chunks to and from another rank are the same memory."""
    topology = as_topology(library.topology("ring(4)"))
    dice = random.Random(5)
    for seed in range(3):  # three chunks of a pair take one to three ways
        plan = export(grown(topology, "alltoall", [1, 1, 1], seed), 16, in_place=True)
        assert set(simulate(plan, 0, 1, dice)) == {""}


def test_many_operations_are_refused_before_anything_is_made(
    library: SpecLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("made")

    case = grown(as_topology(library.topology("ring(8)")), "allreduce", [1] * 24)
    monkeypatch.setattr("syncoll_mscclpp.writer.lower", never)
    request = ExportRequest("x", "x", *case)
    words = r"rank \d needs about \d+ operations, and 2 thread blocks of MSCCL\+\+ have at most 128"
    with pytest.raises(ExportError, match=words):
        export_verified(RECORD, request, {"blocks": 2})
    with pytest.raises(ExportError, match=words):
        RECORD.counts(request, resolve_options(RECORD.options, {"blocks": 2}, ""))
