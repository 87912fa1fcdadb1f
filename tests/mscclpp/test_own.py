"""Collectives without a name in runtimes: groups, sums, uneven exchanges, any demand."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from syncoll.api import collective
from syncoll.arrays import Bools
from syncoll.errors import ExportError, UncheckedError, VerificationError
from syncoll.model import Algorithm, Collective, Instance, Topology, compose, invert
from syncoll.plugins import CheckedExport, ExportRequest
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime import export_verified
from syncoll.testing.instances import connected_topology, random_trees
from syncoll_mscclpp import RECORD
from tests.oracles.classics import hub, one_way_ring

from .test_checker_mutations import simulate

Plan = dict[str, Any]
Case = tuple[Instance, Algorithm]

UNEVEN = [[0, 2, 1, 0], [0, 0, 0, 0], [3, 0, 0, 1], [1, 0, 2, 0]]
COLLECTIVES: dict[str, tuple[Collective, int]] = {
    "equal groups": (collective("allgather").within([[0, 1], [2, 3]]), 2),
    "unequal groups": (collective("allgather").within([[0, 2], [1, 3, 4]]), 1),
    "nodes that have nothing": (collective("allgather").within([[1, 3]]), 1),
    "groups that overlap": (collective("allgather").within([[0, 1, 2], [1, 2, 3]]), 1),
    "sums in groups": (collective("allreduce").within([[0, 1], [2, 3, 4]]), 1),
    "sums in groups that overlap": (collective("allreduce").within([[0, 1], [1, 2]]), 1),
    "two at the same time": (collective("allgather") + collective("alltoall"), 4),
    "one of them twice": (2 * collective("allgather") + collective("broadcast"), 1),
    "sums and what moves": (
        collective("allreduce").within([[0, 1, 2]]) + collective("alltoall"),
        4,
    ),
    "an uneven exchange": (collective("alltoallv", UNEVEN), 1),
}


def made(rng: random.Random, topology: Topology, pre: Bools, post: Bools) -> Case:
    """Chunks come together at one node along a random tree, where there are several, and spread."""
    if (pre.sum(axis=1) == 1).all():
        return random_trees(rng, topology, "own", pre, post)
    root = np.zeros_like(pre)
    root[np.arange(len(pre)), [rng.choice(np.flatnonzero(row).tolist()) for row in pre]] = True
    gathered = invert(*random_trees(rng, topology.reversed(), "dual", root, pre), "own")
    return compose(gathered, random_trees(rng, topology, "own", root, post), "own")


def case_of(name: str, seed: int = 0) -> Case:
    asked, chunks = COLLECTIVES[name]
    nodes = 5 if name in ("unequal groups", "sums in groups", "nodes that have nothing") else 4
    table = asked.tabulate(nodes, chunks)
    return made(random.Random(seed), one_way_ring(nodes), table.pre, table.post)


def export(case: Case, **options: object) -> tuple[Plan, CheckedExport, tuple[str, ...]]:
    handed = export_verified(RECORD, ExportRequest("own", "own", *case), options)
    (content,) = handed.exported.files.values()
    plan: Plan = json.loads(content)
    return plan, handed.checked, handed.exported.notes


def check(plan: Plan, instance: Instance | None = None) -> CheckedExport:
    return RECORD.load_checker().check({"own.json": json.dumps(plan).encode()}, {}, instance)


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("channel", ["memory", "port", "packets"])
def test_round_trips(name: str, channel: str) -> None:
    """Written, read back and executed; an independent simulator agrees."""
    case = case_of(name)
    kind, packets = ("memory", "yes") if channel == "packets" else (channel, "no")
    plan, checked, _ = export(case, channel=kind, packets=packets)
    assert plan["collective"] == checked.collective == "custom"
    assert checked.result_checked
    assert check(plan, case[0]).result_checked
    assert set(simulate(plan, 0, 2, random.Random(1), case[0])) == {""}


@pytest.mark.parametrize("seed", range(25))
def test_random_demands(seed: int) -> None:
    rng = random.Random(seed)
    topology = connected_topology(rng)
    nodes, chunks, combining = topology.num_nodes, rng.randint(1, 4), rng.random() < 0.5
    pre = np.zeros((chunks, nodes), dtype=bool)
    for row in pre:
        row[rng.sample(range(nodes), rng.randint(1, nodes) if combining else 1)] = True
    post = np.array([[rng.random() < 0.5 for _ in range(nodes)] for _ in pre])
    post[np.arange(chunks), [rng.randrange(nodes) for _ in pre]] = True
    case = made(rng, topology, pre, post)
    kind, packets = rng.choice([("memory", "no"), ("memory", "yes"), ("port", "no")])
    plan, checked, _ = export(case, channel=kind, packets=packets, blocks=rng.choice([1, 2, 32]))
    assert checked.result_checked
    if plan["collective"] == "custom":
        assert set(simulate(plan, 0, 2, rng, case[0])) == {""}


def test_a_plan_states_the_places_of_chunks() -> None:
    plan, checked, _ = export(case_of("an uneven exchange"))
    assert plan["syncoll"]["combining"] is False
    assert plan["syncoll"]["inputs"] == [[0, 1, 2], [], [3, 4, 5, 6], [7, 8, 9]]
    assert plan["syncoll"]["outputs"] == [[3, 4, 5, 7], [0, 1], [2, 8, 9], [6]]
    assert [gpu["input_chunks"] for gpu in plan["gpus"]] == [3, 1, 4, 3], "never 0"
    assert checked.facts["stated collective"] == "own"
    assert checked.num_chunks == 10


def test_notes_describe_the_callers_buffers() -> None:
    notes = " ".join(export(case_of("an uneven exchange"))[2])
    assert "3 and 4 (rank 0), 1 and 2 (rank 1), 4 and 3 (rank 2), 3 and 1 (rank 3)" in notes
    assert "a rank without input, or without output, passes a buffer of one" in notes
    assert "every rank compares the bytes of its own input" in notes
    notes = " ".join(export(case_of("equal groups"))[2])
    assert "2 and 4 chunks at each rank" in notes
    assert "passes room" not in notes
    assert "its own input" not in notes
    assert "always adds and ignores" in " ".join(export(case_of("sums in groups"))[2])


def test_sizes_are_compared_by_rank() -> None:
    """The request is about the largest input, 4 chunks; the smallest one has a single chunk."""
    case = case_of("an uneven exchange")
    request = ExportRequest("own", "own", *case, False, 1000, 1 << 20)
    (content,) = export_verified(RECORD, request, {}).exported.files.values()
    plan = json.loads(content)
    assert (plan["min_message_size"], plan["max_message_size"]) == (250, 1 << 20)
    with pytest.raises(ExportError, match="compares with at most"):
        export_verified(RECORD, ExportRequest("own", "own", *case, False, 1 << 40, UNLIMITED), {})


def test_in_place_is_not_defined() -> None:
    case = case_of("equal groups")
    with pytest.raises(ExportError, match="for which in place is defined"):
        export_verified(RECORD, ExportRequest("own", "own", *case, True), {})


def first(plan: Plan, name: str, rank: int = 0) -> Plan:
    ops = (op for block in plan["gpus"][rank]["threadblocks"] for op in block["ops"])
    return next(op for op in ops if op["name"] == name)


def drop(plan: Plan, name: str) -> None:
    for block in plan["gpus"][0]["threadblocks"]:
        for op in block["ops"]:
            if op["name"] == name:
                block["ops"].remove(op)
                return


def swap(plan: Plan, key: str, rank: int) -> None:
    plan["syncoll"][key][rank][:2] = plan["syncoll"][key][rank][1::-1]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda p: first(p, "put")["src_buff"][0].update(index=1), "wrong result|race"),
        (lambda p: first(p, "put")["dst_buff"][0].update(index=9), "whose . has"),
        (lambda p: drop(p, "wait"), "race|awaited|wait"),
        (lambda p: drop(p, "copy"), "wrong result"),
        (lambda p: p["gpus"][0].update(input_chunks=3), "input_chunks is 3, but that buffer"),
        (lambda p: swap(p, "outputs", 1), "wrong result for own"),
        (lambda p: swap(p, "inputs", 0), "wrong result for own"),
        (lambda p: p["syncoll"]["outputs"][0].append(0), "in two places of one buffer"),
        (lambda p: p["syncoll"]["outputs"].pop(), "of 3 ranks, and there are 4 gpus"),
        (lambda p: p["syncoll"].pop("combining"), "'combining' is missing"),
        (lambda p: p.update(inplace=True), "inplace is true; this is not defined for own"),
    ],
)
def test_errors_in_plans_are_found(change: Callable[[Plan], Any], match: str) -> None:
    plan, _, _ = export(case_of("equal groups"), packets="no")
    change(plan)
    with pytest.raises(VerificationError, match=match):
        check(plan)


def test_writes_to_a_rank_without_output_are_refused() -> None:
    """Rank 0 has neither input nor output; its caller passes a buffer that is not touched."""
    plan, _, _ = export(case_of("nodes that have nothing"))
    plan["gpus"][0]["threadblocks"][0]["ops"].append(
        {
            "name": "copy",
            "src_buff": [{"type": "i", "index": 0, "size": 1}],
            "dst_buff": [{"type": "o", "index": 0, "size": 1}],
        }
    )
    with pytest.raises(VerificationError, match="that rank has no output"):
        check(plan)


def test_an_instance_is_compared_chunk_by_chunk() -> None:
    asked, _ = COLLECTIVES["equal groups"]
    plan, _, _ = export(case_of("equal groups"))

    def instance(meant: Collective, chunks: int, nodes: int = 4) -> Instance:
        return meant.instantiate(hub(nodes), chunks=chunks, steps=3, rounds=50)

    check(plan, instance(asked, 2))
    check(plan, instance(asked, 1))  # each chunk in two
    for wrong, match in (
        (instance(collective("allgather").within([[0, 2], [1, 3]]), 2), "put of rank . holds"),
        (instance(collective("allgather"), 2), "needs 2 chunks .0, 4. there"),
        (instance(asked, 2, 5), "4 ranks, the instance for 5"),
        (
            instance(collective("allreduce").within([[0, 1], [2, 3]]), 2),
            "does not reduce, and collective .* reduces",
        ),
    ):
        with pytest.raises(VerificationError, match=match):
            check(plan, wrong)


def test_without_stated_places_the_usual_order_is_checked() -> None:
    case = case_of("unequal groups")
    plan, _, _ = export(case)
    own = plan.pop("syncoll")
    assert "not checked" in str(check(plan).facts["result"])
    assert check(plan, case[0]).result_checked
    other = copy.deepcopy(plan)
    first(other, "put")["dst_buff"][0]["index"] ^= 1
    with pytest.raises(VerificationError):
        check({**other, "syncoll": own})
    wrong = collective("allgather").within([[0, 1], [2, 3, 4]])
    asked = wrong.instantiate(hub(5), chunks=1, steps=3, rounds=50)
    with pytest.raises(UncheckedError, match="does not define the places of chunks"):
        check(plan, asked)
