"""MSCCL++ plans by switch channels: executed by a checker that reads them as the runtime does."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from syncoll.api import collective
from syncoll.errors import ExportError, VerificationError
from syncoll.model import Algorithm, BandwidthBound, Counting, Instance, Topology
from syncoll.plugins import ExportRequest
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime import export_verified
from syncoll_mscclpp import RECORD
from tests.oracles.counted import box

from .test_counting import reduction, summed


def waves(nodes: int, roots: list[int]) -> tuple[Instance, Algorithm]:
    """An allreduce in two steps, each chunk by a root of its own."""
    sends = []
    for chunk, root in enumerate(roots):
        others = [n for n in range(nodes) if n != root]
        sends += [(chunk, n, root, 0, [n]) for n in others]
        sends += [(chunk, root, n, 1, list(range(nodes))) for n in others]
    bare = summed((0, 0), sends, nodes)
    algorithm = bare.tightened(box(nodes))
    return (
        reduction(box(nodes), 2, algorithm.rounds, list(range(nodes)), chunks=len(roots)),
        algorithm,
    )


def export(case: tuple[Instance, Algorithm], in_place: bool = False) -> dict[str, Any]:
    request = ExportRequest("a", "x", *case, in_place, 0, UNLIMITED)
    handed = export_verified(RECORD, request, {"channel": "switch"})
    (content,) = handed.exported.files.values()
    plan = json.loads(content)
    assert isinstance(plan, dict)
    return plan


def moves(plan: dict[str, Any], rank: int) -> list[tuple[str, int, int]]:
    blocks = plan["gpus"][rank]["threadblocks"]
    ops = [op for block in blocks for op in block["ops"] if "src_buff" in op]
    return [(op["name"], op["src_buff"][0]["index"], op["src_buff"][0]["size"]) for op in ops]


def slices(plan: dict[str, Any], rank: int) -> list[tuple[int, int]]:
    """The slices of its operations."""
    blocks = plan["gpus"][rank]["threadblocks"]
    parts = [op["tbg_info"] for block in blocks for op in block["ops"] if "tbg_info" in op]
    return [(part["tb_id"], part["tbg_size"]) for part in parts]


@pytest.mark.parametrize("in_place", [False, True])
def test_the_chunks_of_a_root_are_one_operation(in_place: bool) -> None:
    plan = export(waves(4, [0, 0, 2, 1, 0, 0, 3, 2]), in_place)
    assert [len(moves(plan, rank)) for rank in range(4)] == [1, 1, 1, 1]
    assert [sum(size for _, _, size in moves(plan, rank)) for rank in range(4)] == [4, 1, 2, 1]


@pytest.mark.parametrize("in_place", [False, True])
def test_other_numbers_of_ranks_get_slices(in_place: bool) -> None:
    plan = export(waves(3, [0, 0, 2, 1, 0]), in_place)
    assert [len(slices(plan, rank)) for rank in range(3)] == [3, 1, 1]
    every = [one for rank in range(3) for one in slices(plan, rank)]
    assert sorted(every) == [(number, 5) for number in range(5)]
    assert {gpu["input_chunks"] for gpu in plan["gpus"]} == {1}


def test_many_chunks_of_one_way_take_one_thread_block() -> None:
    plan = export(waves(2, [0, 1] * 60))
    assert [len(gpu["threadblocks"]) for gpu in plan["gpus"]] == [1, 1]
    assert sum(size for rank in (0, 1) for _, _, size in moves(plan, rank)) == 2


def test_a_broadcast_is_stored_by_its_root() -> None:
    pre = np.zeros((2, 3), dtype=bool)
    pre[:, 1] = True
    algorithm = Algorithm((2,), [(c, 1, n, 0) for c in (0, 1) for n in (0, 2)])
    whole = Instance(box(3), "broadcast", 2, 1, 2, pre, np.ones_like(pre))
    assert moves(export((whole, algorithm)), 1) == [("gstore", 0, 1)]


def test_algorithms_with_other_ways_are_refused() -> None:
    ends = [0, 1, 2]
    sends = [(0, 0, 1, 0, [0]), (0, 1, 2, 1, [0, 1]), (0, 2, 0, 2, ends), (0, 2, 1, 2, ends)]
    case = reduction(box(3), 3, 3, ends), summed((1, 1, 1), sends, 3)
    with pytest.raises(ExportError, match="chunk 0 is not reduced at one rank"):
        export(case)


def test_one_rank_adds_up_sends_from_all_to_all() -> None:
    """The switch adds them up all the same; the rank with the fewest chunks starts it."""
    _, algorithm = waves(3, [0, 1])
    sends = [(2, a, b, 0, [a]) for a in range(3) for b in range(3) if a != b]
    rows = [*algorithm.sends.tolist(), *(one[:4] for one in sends)]
    assert algorithm.contributions is not None
    carried = [*algorithm.contributions.tolist(), *np.eye(3, dtype=bool)[[s[1] for s in sends]]]
    both = Algorithm((9, 9), rows, np.array(carried, dtype=bool)).tightened(box(3))
    plan = export((reduction(box(3), 2, both.rounds, [0, 1, 2], chunks=3), both))
    assert sorted(one for rank in range(3) for one in slices(plan, rank)) == [
        (number, 3) for number in range(3)
    ]


def test_a_wrong_plan_is_found() -> None:
    """The checker has no copy of the algorithm: it notices a chunk that no rank adds up."""
    plan = export(waves(3, [0, 1, 2]))
    ops = plan["gpus"][1]["threadblocks"][0]["ops"]
    (move,) = (op for op in ops if "src_buff" in op)
    move["tbg_info"]["tb_id"] = (move["tbg_info"]["tb_id"] + 1) % 3
    checker = RECORD.load_checker()
    with pytest.raises(VerificationError):
        checker.check({"a.json": json.dumps(plan).encode()}, {})


def test_switches_are_used_where_the_algorithm_counts_on_them() -> None:
    """Otherwise a note names the option for them, or the reason why they cannot be used."""
    case = waves(3, [0])
    counted = ExportRequest("a", "x", *case)
    for options, switches, hint in (
        ({}, True, False),
        ({"channel": "auto"}, True, False),
        ({"channel": "switch"}, True, False),
        ({"channel": "memory"}, False, True),
    ):
        handed = export_verified(RECORD, counted, options)
        (content,) = handed.exported.files.values()
        assert (b"switch_channel_id" in content) is switches
        notes = " ".join(handed.exported.notes)
        assert ("every send is separate" in notes) is not switches
        assert ("channel=switch" in notes) is hint
    conservative = case[1].tightened(case[0].topology.conservative)
    uncounted = replace(case[0], rounds=conservative.rounds)
    handed = export_verified(RECORD, ExportRequest("a", "x", uncounted, conservative), {})
    assert all(b"switch" not in content for content in handed.exported.files.values())


def chain() -> tuple[Instance, Algorithm]:
    """A sum that goes round, and is then copied to two at a time."""
    ends = [0, 1, 2]
    sends = [(0, 0, 1, 0, [0]), (0, 1, 2, 1, [0, 1]), (0, 2, 0, 2, ends), (0, 2, 1, 2, ends)]
    algorithm = summed((0, 0, 0), sends, 3).tightened(box(3))
    return reduction(box(3), 3, algorithm.rounds, ends), algorithm


def test_a_note_gives_the_reason_why_switches_are_unused() -> None:
    handed = export_verified(RECORD, ExportRequest("a", "x", *chain()), {})
    notes = " ".join(handed.exported.notes)
    assert "memory channels, because switch channels cannot express it: chunk 0 is not" in notes
    assert "every send is separate" in notes
    assert "channel=switch" not in notes, "that was tried"
    case = waves(3, [0])
    handed = export_verified(RECORD, ExportRequest("a", "x", *case), {"packets": "yes"})
    notes = " ".join(handed.exported.notes)
    assert "packets do not go through switches" in notes
    with pytest.raises(ExportError, match="through switches; expected channel=memory"):
        export_verified(
            RECORD, ExportRequest("a", "x", *case), {"packets": "yes", "channel": "switch"}
        )


def spread(name: str, chunks: int, nodes: int, groups: list[list[int]] | None) -> Any:
    """Every chunk goes straight to its destinations; combined chunks first to the lowest of their
    ranks, in turn."""
    meant = collective(name) if groups is None else collective(name).within(groups)
    table = meant.tabulate(nodes, chunks)
    sends: list[tuple[int, int, int, int]] = []
    carried = []
    for chunk in range(len(table.pre)):
        starts, ends = (np.flatnonzero(x[chunk]).tolist() for x in (table.pre, table.post))
        root = starts[chunk % len(starts)]
        if meant.combining:
            sends += [(chunk, n, root, 0) for n in starts if n != root]
            carried += [np.arange(nodes) == n for n in starts if n != root]
        sends += [(chunk, root, n, int(meant.combining)) for n in ends if n != root]
        carried += [table.pre[chunk] for n in ends if n != root]
    free = Algorithm(
        (0,) * (1 + sends[-1][3]), sends, np.array(carried) if meant.combining else None
    )
    algorithm = free.tightened(box(nodes))
    return (
        Instance(
            box(nodes),
            meant.name,
            chunks,
            algorithm.steps,
            algorithm.rounds,
            table.pre,
            table.post,
            combining=meant.combining,
        ),
        algorithm,
    )


def groups_in(plan: dict[str, Any], rank: int) -> list[tuple[str, list[int]]]:
    return [
        (one["buffer_type"], one["rank_groups"][0]["ranks"])
        for one in plan["gpus"][rank]["channels"]
        if one["channel_type"] == "switch"
    ]


@pytest.mark.parametrize("in_place", [False, True])
def test_an_allgather_is_stored_by_each_rank(in_place: bool) -> None:
    plan = export(spread("allgather", 2, 3, None), in_place)
    assert moves(plan, 1) == [("gstore", 0, 1)]
    assert groups_in(plan, 1) == [("o", [0, 1, 2])]


def test_each_group_has_multicast_groups_of_its_own() -> None:
    plan = export(spread("allreduce", 4, 5, [[0, 2, 4], [1, 3]]))
    assert plan["collective"] == "custom"
    assert groups_in(plan, 2) == [("i", [0, 2, 4]), ("o", [0, 2, 4])]
    assert groups_in(plan, 3) == [("i", [1, 3]), ("o", [1, 3])]
    assert plan["gpus"][1]["channels"][0]["connected_to"] == [3]
    for name in ("allgather", "broadcast", "allreduce"):
        export(spread(name, 3, 6, [[0, 1, 2], [4, 5]]))


def test_chunks_at_different_places_are_refused() -> None:
    """Rank 1 has the first chunk of group (1, 2) behind that of group (0, 1)."""
    with pytest.raises(ExportError, match="has different places in its ranks' inputs"):
        export(spread("allreduce", 1, 3, [[0, 1], [1, 2]]))
    with pytest.raises(ExportError, match="does not end at exactly the ranks that contribute"):
        export(spread("reduce", 1, 3, None))
    case = spread("broadcast", 1, 3, [[0, 1, 2], [0, 1]])
    handed = export_verified(RECORD, ExportRequest("a", "x", *case), {"channel": "switch"})
    assert any("1 of 2 chunks go through switches" in note for note in handed.exported.notes)


def test_wrong_groups_are_found() -> None:
    checker = RECORD.load_checker()
    case = spread("allreduce", 2, 4, [[0, 1], [2, 3]])
    for change, match in (
        (lambda g: g[0]["channels"][1]["rank_groups"][0].update(ranks=[0, 2]), "does not make"),
        (lambda g: [one["channels"].pop() for one in g[:2]], "switch channel 1, but the rank has"),
        (lambda g: g[0]["channels"][1].update(buffer_type="o"), "does not make the same one"),
        (lambda g: g[0]["threadblocks"][0]["ops"].pop(), "awaited|race"),
        (lambda g: g[0]["threadblocks"][0]["ops"].pop(0), "awaited|race|waits"),
    ):
        plan = export(case)
        change(plan["gpus"])
        with pytest.raises(VerificationError, match=match):
            checker.check({"a.json": json.dumps(plan).encode()}, {})
    plan = export(case)
    for gpu in plan["gpus"]:  # all of them add up over the whole box
        for channel in gpu["channels"][1:]:
            channel["rank_groups"][0]["ranks"] = [0, 1, 2, 3]
    with pytest.raises(VerificationError, match=r"race|wrong result|another chunk"):
        checker.check({"a.json": json.dumps(plan).encode()}, {})


def test_a_group_must_be_around_one_switch() -> None:
    """Two boxes of three, with links between them that no switch of theirs is on."""
    case = waves(6, [0])
    halves = [(0, 1, 2), (3, 4, 5)]
    inside = [(a, b) for half in halves for a in half for b in half if a != b]
    across = [(a, b) for a in range(6) for b in range(6) if a // 3 != b // 3]
    counted = [
        BandwidthBound(tuple(link for link in inside if link[end] == node), Fraction(1), "", how)
        for node in range(6)
        for end, how in ((0, Counting.SOURCES), (1, Counting.DESTINATIONS))
    ]
    between = [BandwidthBound((link,), Fraction(1)) for link in across]
    links = tuple(sorted(inside + across))
    boxes = Topology("boxes", 6, links, (*counted, *between))
    algorithm = case[1].tightened(boxes)
    instance = replace(case[0], topology=boxes, rounds=algorithm.rounds)
    with pytest.raises(ExportError, match="no switch of boxes reduces and copies"):
        export((instance, algorithm))
