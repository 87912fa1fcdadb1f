"""Plans of several boxes: switch channels within each, port channels between them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from syncoll.errors import ExportError, VerificationError
from syncoll.model import Algorithm, BandwidthBound, Counting, Instance, Topology
from syncoll.plugins import ExportRequest
from syncoll.runtime import HandedOut, export_verified
from syncoll.testing.instances import random_trees
from syncoll_mscclpp import RECORD
from tests.mscclpp.test_checker_mutations import simulate

Plan = dict[str, Any]
Row = tuple[int, int, int, list[int]]
"""Source, destination, step and contributors."""


def boxes(count: int, size: int) -> Topology:
    """Switches that copy and add up in each box, and a link from every rank to all elsewhere."""
    nodes = range(count * size)
    inside = [(a, b) for a in nodes for b in nodes if a != b and a // size == b // size]
    across = [(a, b) for a in nodes for b in nodes if a // size != b // size]
    counted = [
        BandwidthBound(tuple(link for link in inside if link[end] == node), Fraction(1), "", how)
        for node in nodes
        for end, how in ((0, Counting.SOURCES), (1, Counting.DESTINATIONS))
    ]
    between = [BandwidthBound((link,), Fraction(1)) for link in across]
    return Topology("boxes", count * size, tuple(sorted(inside + across)), (*counted, *between))


class Chunk:
    """The sends of one chunk of an allreduce."""

    def __init__(self, count: int, size: int, root: int) -> None:
        self.every = list(range(count * size))
        self.size, self.root = size, root % size
        self.roots = [b * size + self.root for b in range(count)]

    def box(self, node: int) -> list[int]:
        return [n for n in self.every if n // self.size == node // self.size]

    def column(self, node: int) -> list[int]:
        return [n for n in self.every if n % self.size == node % self.size]

    def up(self, step: int, value: Callable[[int], list[int]]) -> list[Row]:
        """Sends to the root in each box."""
        ends = [(n, n // self.size * self.size + self.root) for n in self.every]
        return [(n, root, step, value(n)) for n, root in ends if n != root]

    def down(self, step: int, value: Callable[[int], list[int]]) -> list[Row]:
        """Sends from the root in each box."""
        ends = [(n, n // self.size * self.size + self.root) for n in self.every]
        return [(root, n, step, value(root)) for n, root in ends if n != root]

    def all_to_all(self, step: int, value: Callable[[int], list[int]]) -> list[Row]:
        return [(a, b, step, value(a)) for a in self.every for b in self.box(a) if a != b]

    def columns(self, step: int, value: Callable[[int], list[int]]) -> list[Row]:
        """Sends from every rank to the ranks of the same number in other boxes."""
        return [(a, b, step, value(a)) for a in self.every for b in self.column(a) if a != b]

    def rows(self, way: str) -> list[Row]:
        def alone(node: int) -> list[int]:
            return [node]

        def whole(_node: int) -> list[int]:
            return self.every

        if way == "by roots":
            cross = [(a, b, 1, self.box(a)) for a in self.roots for b in self.roots if a != b]
            return [*self.up(0, alone), *cross, *self.down(2, whole)]
        if way == "by a chain of roots":
            last = len(self.roots) - 1
            sums = [n for root in self.roots for n in self.box(root)]
            there = [
                (a, b, 1 + i, sums[: (i + 1) * self.size])
                for i, (a, b) in enumerate(zip(self.roots, self.roots[1:], strict=False))
            ]
            back = [(self.roots[last], b, 1 + last, self.every) for b in self.roots[:last]]
            return [*self.up(0, alone), *there, *back, *self.down(2 + last, whole)]
        if way == "boxes first":
            cross = self.columns(2, self.box)
            return [*self.up(0, alone), *self.down(1, self.box), *cross]
        if way == "boxes first, all to all":
            return [*self.all_to_all(0, alone), *self.columns(1, self.box)]
        if way == "boxes last":
            up, down = self.up(1, self.column), self.down(2, whole)
            return [*self.columns(0, alone), *up, *down]
        if way == "boxes last, all to all":
            return [*self.columns(0, alone), *self.all_to_all(1, self.column)]
        assert way == "by itself"
        others = self.every[1:]
        up = [(n, 0, 0, [n]) for n in others]
        return [*up, *((0, n, 1, self.every) for n in others)]


WAYS = (
    "by roots",
    "by a chain of roots",
    "boxes first",
    "boxes first, all to all",
    "boxes last",
    "boxes last, all to all",
)


def allreduce(
    ways: list[str], count: int, size: int, delays: list[int] | None = None
) -> tuple[Instance, Algorithm]:
    """Each chunk in a way of its own, its roots going round; some begin later."""
    topology, nodes = boxes(count, size), count * size
    rows = [
        (chunk, a, b, step + (delays[chunk] if delays else 0), whose)
        for chunk, way in enumerate(ways)
        for a, b, step, whose in Chunk(count, size, chunk).rows(way)
    ]
    carried = np.zeros((len(rows), nodes), dtype=bool)
    for row, (*_, whose) in zip(carried, rows, strict=True):
        row[whose] = True
    free = Algorithm((0,) * (1 + max(r[3] for r in rows)), [row[:4] for row in rows], carried)
    algorithm = free.tightened(topology)
    every = np.ones((len(ways), nodes), dtype=bool)
    steps, rounds = algorithm.steps, algorithm.rounds
    return (
        Instance(topology, "x", len(ways), steps, rounds, every, every, combining=True),
        algorithm,
    )


def handed(case: tuple[Instance, Algorithm], **options: object) -> tuple[Plan, HandedOut]:
    given = {"channel": "switch", **options}
    out = export_verified(RECORD, ExportRequest("a", "x", *case), given)
    (content,) = out.exported.files.values()
    plan: Plan = json.loads(content)
    return plan, out


def names(plan: Plan) -> set[str]:
    return {op["name"] for gpu in plan["gpus"] for b in gpu["threadblocks"] for op in b["ops"]}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("count", "size"), [(2, 2), (2, 3), (3, 2)])
def test_every_way_goes_through_switches(way: str, count: int, size: int) -> None:
    """In boxes; between them there are ports.  A simulator that shares nothing agrees."""
    plan, _ = handed(allreduce([way], count, size))
    assert "glres" in names(plan)
    assert ("gstore" in names(plan)) is ("roots" in way)
    for gpu in plan["gpus"]:
        rank = gpu["id"]
        for one in gpu["channels"]:
            ends = one.get("connected_to", [])
            for group in one.get("rank_groups", ()):
                assert group["ranks"] == [
                    n for n in range(count * size) if n // size == rank // size
                ]
            near = {end // size == rank // size for end in ends}
            assert near == {"memory": {True}, "port": {False}, "switch": set()}[one["channel_type"]]
    assert set(simulate(plan, 0, 3, random.Random(0))) == {""}


@pytest.mark.parametrize("seed", range(12))
def test_chunks_in_different_ways(seed: int) -> None:
    rng = random.Random(seed)
    count, size = rng.choice([(2, 2), (2, 3), (3, 2)])
    ways = rng.choices([*WAYS, "by itself"], k=rng.randint(2, 5))
    ways[0] = rng.choice(WAYS)
    case = allreduce(ways, count, size, [rng.randint(0, 2) for _ in ways])
    plan, out = handed(case, blocks=rng.choice([1, 2, 32]))
    alone = ways.count("by itself")
    notes = " ".join(out.exported.notes)
    assert ("sends of other chunks are separate" in notes) is bool(alone)
    if alone:
        assert f"{len(ways) - alone} of {len(ways)} chunks go through switches" in notes
    assert set(simulate(plan, 0, 2, rng)) == {""}


def test_blocks_with_switch_operations_are_split() -> None:
    case = allreduce(["by roots", "boxes first", "boxes last"] * 8, 2, 2, [*range(6)] * 4)
    with pytest.raises(ExportError, match="rank 0 needs more than 1 thread block"):
        handed(case, blocks=1)
    plan, _ = handed(case, blocks=4)
    assert 1 < max(len(gpu["threadblocks"]) for gpu in plan["gpus"]) <= 4
    for gpu in plan["gpus"]:
        for block in gpu["threadblocks"]:
            assert len(block["ops"]) <= 64


def moved(name: str, count: int, size: int) -> tuple[Instance, Algorithm]:
    """A broadcast of rank 1, or an allgather: from box to box, and then within each."""
    topology, nodes = boxes(count, size), count * size
    sources = [1] if name == "broadcast" else list(range(nodes))
    pre = np.eye(nodes, dtype=bool)[sources]
    rows = []
    for chunk, source in enumerate(sources):
        way = Chunk(count, size, source)
        rows += [(chunk, source, root, 0) for root in way.roots if root != source]
        rows += [(chunk, a, b, 1) for a, b, *_ in way.down(1, way.box)]
    algorithm = Algorithm((0, 0), rows).tightened(topology)
    rounds = algorithm.rounds
    return Instance(topology, "x", 1, 2, rounds, pre, np.ones_like(pre)), algorithm


@pytest.mark.parametrize("name", ["broadcast", "allgather"])
def test_moved_data_is_stored_in_each_box(name: str) -> None:
    plan, _ = handed(moved(name, 2, 3))
    assert {"gstore", "put"} < names(plan)
    assert "glres" not in names(plan)
    assert set(simulate(plan, 1, 3, random.Random(0))) == {""}


def test_requests_unfit_for_switches_are_refused() -> None:
    case = allreduce(["by roots"], 2, 2)
    request = ExportRequest("a", "x", *case, True)
    with pytest.raises(ExportError, match="in place, data from another box"):
        export_verified(RECORD, request, {"channel": "switch"})
    with pytest.raises(ExportError, match="no chunk is reduced to one rank of a box"):
        handed(allreduce(["by itself"], 2, 2))
    pre = np.eye(4, dtype=bool)
    post = np.roll(pre, 1, axis=1)
    with pytest.raises(ExportError, match="no chunk is reduced to one rank of a box"):
        handed(random_trees(random.Random(0), boxes(2, 2), "x", pre, post))


def test_switches_are_the_default_where_the_algorithm_needs_them() -> None:
    case = allreduce(["by roots"] * 4, 2, 3)
    out = export_verified(RECORD, ExportRequest("a", "x", *case), {})
    assert b"glres" in next(iter(out.exported.files.values()))
    out = export_verified(RECORD, ExportRequest("a", "x", *case, True), {})
    assert b"glres" not in next(iter(out.exported.files.values()))
    notes = " ".join(out.exported.notes)
    assert "by memory and port channels, because switch channels cannot express it" in notes
    assert "export it out of place" in notes


def drop(plan: Plan, name: str, kind: str, nth: int = 0) -> None:
    """Takes away the n-th operation of a name over channels of a kind."""
    for gpu in plan["gpus"]:
        for block in gpu["threadblocks"]:
            for op in block["ops"]:
                if op["name"] == name and op.get("channel_type") == kind:
                    nth -= 1
                    if nth < 0:
                        block["ops"].remove(op)
                        return
    raise AssertionError(name)


def regroup(plan: Plan, ranks: list[int]) -> None:
    for gpu in plan["gpus"]:
        for one in gpu["channels"]:
            for group in one.get("rank_groups", ()):
                group["ranks"] = ranks


@pytest.mark.parametrize(
    "change",
    [
        lambda p: drop(p, "wait", "memory"),
        lambda p: drop(p, "wait", "port", 1),
        lambda p: drop(p, "signal", "port"),
        lambda p: drop(p, "rlxwait", "memory"),
        lambda p: drop(p, "glres", "switch"),
        lambda p: drop(p, "gstore", "switch"),
        lambda p: regroup(p, [0, 1, 2, 3]),
        lambda p: p["gpus"][0]["channels"][2]["rank_groups"][0].update(ranks=[0, 2]),
    ],
)
def test_mutants_are_found(change: Callable[[Plan], None]) -> None:
    plan, _ = handed(allreduce(["by roots"], 2, 2))
    change(plan)
    with pytest.raises(VerificationError):
        RECORD.load_checker().check({"a.json": json.dumps(plan).encode()}, {})


def test_passing_mutants_of_waits_and_nops_are_correct() -> None:
    """A plan that passes without an operation gives the right numbers under every schedule."""
    rng = random.Random(0)
    plan, _ = handed(allreduce(["by roots", "boxes last"], 2, 2), blocks=1)
    places = [
        (gpu, block, op)
        for gpu, one in enumerate(plan["gpus"])
        for block, inner in enumerate(one["threadblocks"])
        for op, what in enumerate(inner["ops"])
        if what["name"] in ("nop", "wait", "glres", "gstore", "re")
    ]
    passed = 0
    for gpu, block, op in rng.sample(places, 25):
        mutant = json.loads(json.dumps(plan))
        del mutant["gpus"][gpu]["threadblocks"][block]["ops"][op]
        try:
            RECORD.load_checker().check({"a.json": json.dumps(mutant).encode()}, {})
        except VerificationError:
            continue
        passed += 1
        assert set(simulate(mutant, 0, 4, rng)) == {""}
    assert passed < 10


def test_a_relayed_sum_uses_no_switch() -> None:
    """The sum of the first box passes by a rank that is no root; then no switch carries it."""
    case = allreduce(["by roots"], 2, 3)
    algorithm = case[1]
    assert algorithm.contributions is not None
    rows = [[c, a, b, 2 * s] for c, a, b, s in algorithm.sends.tolist()]
    carried = algorithm.contributions.copy()
    cross = next(i for i, (_, a, b, _) in enumerate(rows) if a < 3 <= b)
    rows[cross][2] = 4
    rows.append([0, 4, 3, 3])
    free = Algorithm((0,) * 5, rows, np.vstack([carried, carried[cross]]))
    detour = free.tightened(case[0].topology)
    instance = replace(case[0], steps=detour.steps, rounds=detour.rounds)
    with pytest.raises(ExportError, match="no chunk is reduced to one rank of a box"):
        handed((instance, detour))
