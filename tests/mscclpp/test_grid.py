"""Runs of chunks that a plan never takes apart are followed as one, with the same verdict."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from syncoll.errors import VerificationError
from syncoll.model import Topology
from syncoll_mscclpp import RECORD
from syncoll_mscclpp.reading import Grid, read_plan
from tests.mscclpp.test_checker_mutations import some_mutants
from tests.mscclpp.test_machines import export, grown

RING = Topology.from_links("ring", 4, {(n, (n + d) % 4): 1 for n in range(4) for d in (1, 3)})


def verdict(plan: dict[str, Any]) -> str:
    try:
        RECORD.load_checker().check({"p": json.dumps(plan).encode()}, {})
    except VerificationError as error:
        return str(error)
    return ""


def chunk_by_chunk(*_: object) -> None:
    raise VerificationError("without a grid")


@pytest.mark.parametrize("packets", ["no", "yes"])
@pytest.mark.parametrize("kind", ["allgather", "allreduce"])
def test_verdicts_do_not_depend_on_the_grid(
    kind: str, packets: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = export(grown(RING, kind, [7, 2]), 4, packets=packets)
    dice = random.Random(kind + packets)
    tried = [plan, *some_mutants(plan, 12, dice)]
    found = [verdict(one) for one in tried]
    monkeypatch.setattr("syncoll_mscclpp.checker.Grid", chunk_by_chunk)
    assert found == [verdict(one) for one in tried]
    assert found[0] == ""
    assert Counter(map(bool, found))[True] > 6


def test_pieces_are_few(plans: dict[str, Callable[..., dict[str, Any]]]) -> None:
    plan = plans["full_allgather"](3, 8)
    grid = Grid(read_plan(json.dumps(plan).encode()), 8)
    assert grid.pieces_of_part == 1
    assert [grid.index(0, "o", chunk) for chunk in (0, 8, 16, 24)] == [0, 1, 2, 3]
    for block in plan["gpus"][1]["threadblocks"]:  # one rank sends its chunks in two pieces
        for op in block["ops"]:
            for key in ("src_buff", "dst_buff") if op["name"] == "put" else ():
                first, *rest = op[key]
                cut = {**first, "size": 3}, {**first, "index": first["index"] + 3, "size": 5}
                op[key] = [*cut, *rest]
    grid = Grid(read_plan(json.dumps(plan).encode()), 8)
    assert grid.pieces_of_part == 2
    assert grid.index(2, "o", 11) == 3
    assert verdict(plan) == ""
