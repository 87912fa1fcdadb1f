"""MSCCL++ plans by switch channels: executed by a checker that reads them as the runtime does."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from syncoll.errors import ExportError, VerificationError
from syncoll.model import Algorithm, Instance
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


@pytest.mark.parametrize("in_place", [False, True])
def test_each_chunk_is_one_operation_of_its_root(in_place: bool) -> None:
    plan = export(waves(4, [0, 0, 2, 1, 0]), in_place)
    assert moves(plan, 0) == [("glres", 0, 2), ("glres", 4, 1)]
    assert moves(plan, 1) == [("glres", 3, 1)]
    assert moves(plan, 2) == [("glres", 2, 1)]
    assert moves(plan, 3) == []


def test_many_chunks_take_several_blocks() -> None:
    plan = export(waves(2, [0, 1] * 60))
    assert [len(gpu["threadblocks"]) for gpu in plan["gpus"]] == [2, 2]
    assert sum(size for rank in (0, 1) for _, _, size in moves(plan, rank)) == 120


def test_a_broadcast_is_stored_by_its_root() -> None:
    pre = np.zeros((2, 3), dtype=bool)
    pre[:, 1] = True
    algorithm = Algorithm((2,), [(c, 1, n, 0) for c in (0, 1) for n in (0, 2)])
    whole = Instance(box(3), "broadcast", 2, 1, 2, pre, np.ones_like(pre))
    assert moves(export((whole, algorithm)), 1) == [("gstore", 0, 2)]


def test_what_takes_other_ways_is_refused() -> None:
    ends = [0, 1, 2]
    sends = [(0, 0, 1, 0, [0]), (0, 1, 2, 1, [0, 1]), (0, 2, 0, 2, ends), (0, 2, 1, 2, ends)]
    case = reduction(box(3), 3, 3, ends), summed((1, 1, 1), sends, 3)
    with pytest.raises(ExportError, match="chunk 0 does not come to one rank"):
        export(case)


def test_what_all_send_to_all_is_added_up_by_one() -> None:
    """The switch does it all the same, and the rank that has the fewest chunks tells it to."""
    _, algorithm = waves(3, [0, 1])
    sends = [(2, a, b, 0, [a]) for a in range(3) for b in range(3) if a != b]
    rows = [*algorithm.sends.tolist(), *(one[:4] for one in sends)]
    assert algorithm.contributions is not None
    carried = [*algorithm.contributions.tolist(), *np.eye(3, dtype=bool)[[s[1] for s in sends]]]
    both = Algorithm((9, 9), rows, np.array(carried, dtype=bool)).tightened(box(3))
    plan = export((reduction(box(3), 2, both.rounds, [0, 1, 2], chunks=3), both))
    assert [moves(plan, rank) for rank in range(3)] == [[("glres", c, 1)] for c in range(3)]


def test_a_wrong_plan_is_found() -> None:
    """The checker knows nothing of the algorithm: a chunk that nobody adds up is missed."""
    plan = export(waves(3, [0, 1, 2]))
    ops = plan["gpus"][1]["threadblocks"][0]["ops"]
    (move,) = (op for op in ops if "src_buff" in op)
    move["src_buff"][0]["index"] = move["dst_buff"][0]["index"] = 0
    checker = RECORD.load_checker()
    with pytest.raises(VerificationError):
        checker.check({"a.json": json.dumps(plan).encode()}, {})


def test_other_plans_say_that_they_take_longer() -> None:
    case = waves(3, [0])
    for options, said in (({"channel": "switch"}, False), ({}, True)):
        handed = export_verified(RECORD, ExportRequest("a", "x", *case), options)
        assert any("channel=switch" in note for note in handed.exported.notes) is said
