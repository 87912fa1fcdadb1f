"""A repaired frontier can be named again: by a second repair, a check and a search."""

from __future__ import annotations

from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main

BY_NAME = [
    ("allreduce", "allreduce"),
    (
        "allgather within [[0,1],[2,3]] + 2 * alltoall",
        "allgather within [[0],[1,2]] + 2 * alltoall without node 1",
    ),
    ("allgather within [[i, i + P div 2] for i in range(P div 2)]", None),
]


@pytest.mark.parametrize(("name", "expected"), BY_NAME)
def test_a_repair_can_be_repaired(
    name: str, expected: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, first, second = (str(tmp_path / f"{i}.json") for i in range(3))
    machine = "fully_connected(4)"
    limits = ["--work", "15", "--max-steps", "2", "--progress", "none"]
    assert main(["pareto", machine, name, "-o", whole, *limits]) == 0
    assert main(["repair", whole, "--without", "node 1", "-o", first, *limits]) == 0
    slow = ["--without", "node 0", "--slow", "link 1->2 by 2"]
    assert main(["repair", first, *slow, "-o", second, *limits]) == 0
    for file, nodes in ((first, 3), (second, 2)):
        found = syncoll.load(file)
        assert isinstance(found, syncoll.FrontierResult)
        assert found.topology.num_nodes == nodes
        assert syncoll.topology(found.topology.name).same_as(found.topology)
        assert main(["check", file, "--collective", found.collective]) == 0
        again = ["pareto", found.topology.name, found.collective, *limits]
        assert main(again) == 0
        assert main(["bounds", found.topology.name, found.collective, "--max-steps", "1"]) == 0
        meant = syncoll.collective(found.collective)
        instance = found.points[0].instance
        table = meant.tabulate(nodes, instance.chunks)
        assert table.matching(instance.table) is not None
        assert file == second or found.collective == (expected or f"{name} without node 1")
    assert main(["simulate", first, "--alpha", "1us", "--beta", "25GB/s", "--sizes", "1MiB"]) == 0
    capsys.readouterr()


def test_a_repair_of_a_repair_from_python() -> None:
    sizes = [[0, 1, 2, 3], [1, 0, 1, 1], [1, 1, 0, 1], [1, 2, 1, 0]]
    whole = syncoll.pareto(
        "fully_connected(4)", syncoll.collective("alltoallv", sizes), progress="none"
    )
    once = syncoll.repair(whole, "node 1", progress="none", work=15).frontier
    twice = syncoll.repair(once, "node 1", slow="link 0->2 by 2", progress="none", work=15)
    name = "alltoallv([[0,1,2,3],[1,0,1,1],[1,1,0,1],[1,2,1,0]]) without node 1 without node 1"
    assert twice.frontier.collective == name
    assert twice.frontier.topology.name == (
        "fully_connected(4) without node 1 without node 1 and with link 0->2 by 2"
    )
