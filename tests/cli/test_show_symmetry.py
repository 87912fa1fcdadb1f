"""``show --symmetry``: the free group of a machine, alone or with a collective; also in Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import syncoll

Run = Callable[..., Any]


def test_a_machine_and_a_collective(run: Run) -> None:
    result = run("show", "--symmetry", "torus(4,4)", "allgather")
    assert result.code == 0
    assert result.out.splitlines() == [
        "allgather on torus(4,4): 16 nodes",
        "a free group of 16 automorphisms: each but the identity moves every node",
        "  nodes   1 of 16 stands for all: 0",
        "  links   4 of 64 stand for all",
        "  bounds  4 of 64 stand for all",
        "generator 1: (0 1 2 3)(4 5 6 7)(8 9 10 11)(12 13 14 15)",
        "generator 2: (0 4 8 12)(1 5 9 13)(2 6 10 14)(3 7 11 15)",
        "all automorphisms of the topology: 384; 4 generators",
        "  that keep allgather: 384",
    ]


def test_a_machine_alone(run: Run) -> None:
    text = run("show", "dgx1", "--symmetry").out
    assert text.startswith("dgx1: 8 nodes\na free group of 4 automorphisms")
    assert "nodes   2 of 8 stand for all: 0 1\n" in text
    assert text.endswith("all automorphisms of the topology: 4; 2 generators\n")


def test_large_machines_in_short(run: Run) -> None:
    text = run("show", "--symmetry", "torus(16,16)", "reducescatter").out
    assert "nodes   1 of 256 stands for all: 0\n" in text
    assert "links   4 of 1024 stand for all\n" in text
    assert "(0 1 2 3 4 5 6 7 …)(16 17 18 19 20 21 22 23 …)" in text
    assert text.count(", 16 cycles of 16") == 2
    assert max(map(len, text.splitlines())) < 200


def test_switches(run: Run) -> None:
    text = run("show", "--symmetry", "a100(boxes=2)", "alltoall").out
    assert "a free group of 16 automorphisms" in text
    assert "all automorphisms of the network with its switches: 1,327,104; " in text


def test_a_machine_without_free_group(run: Run) -> None:
    text = run("show", "--symmetry", "ring(6)", "broadcast").out
    assert "no free group of automorphisms was found but the identity" in text
    assert "nodes   6 of 6 stand for all: 0 1 2 3 4 5\n" in text
    assert "generator 1" not in text
    assert text.endswith(
        "all automorphisms of the topology: 12; 2 generators\n  that keep broadcast: 2\n"
    )
    assert run("show", "--symmetry", "ring(1)").code == 0


def test_json_has_everything(run: Run) -> None:
    found = run("show", "--symmetry", "torus(4,4)", "allgather", "--format", "json").json
    nodes = range(16)
    assert found == {
        "schema": "syncoll/symmetry/1",
        "topology": "torus(4,4)",
        "collective": "allgather",
        "nodes": 16,
        "order": 16,
        "representatives": [0],
        "links": 64,
        "link_orbits": 4,
        "bounds": 64,
        "bound_orbits": 4,
        "generators": [[n - n % 4 + (n + 1) % 4 for n in nodes], [(n + 4) % 16 for n in nodes]],
        "automorphisms": 384,
        "automorphisms_kept": 384,
        "automorphism_generators": 4,
        "automorphism_generators_kept": 4,
    }
    alone = run("show", "--symmetry", "dgx1", "--format", "json").json
    assert alone["collective"] is None
    assert alone["automorphisms"] == alone["order"] == 4
    assert alone["automorphisms_kept"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ring(4)", "allgather"], "shows one thing"),
        (["--symmetry", "allgather"], "allgather is a collective; write"),
        (["--symmetry", "allgather", "ring(4)"], "allgather is a collective; write"),
        (["--symmetry", "ring(4)", "dgx1"], "there is no collective `dgx1`"),
        (
            ["--symmetry", "ring(4)", "broadcast(root=9)"],
            "root 9 does not exist: the nodes are 0 to 3",
        ),
        (["--symmetry", "ring(4)", "-C", "2"], "--chunks has no effect with --symmetry"),
    ],
)
def test_invalid_requests_are_refused(words: list[str], message: str, run: Run) -> None:
    result = run("show", *words)
    assert result.code == 2
    assert message in result.err
    assert not result.out


def test_files_have_none(files: Path, run: Run) -> None:
    result = run("show", "--symmetry", files / "frontier.json")
    assert result.code == 2
    assert "is a file" in result.err


def test_from_python() -> None:
    found = syncoll.symmetry_of("a100(boxes=2)", "allgather")
    assert found.group.order == 16
    assert (found.link_orbits, found.bound_orbits) == (11, 4)
    assert found.automorphisms == 1_327_104
    assert found.collective == "allgather"
    assert "1 of 16 stands for all" in str(found)
    own = syncoll.Topology.from_links("my ring", 3, {(i, (i + 1) % 3): 1 for i in range(3)})
    assert syncoll.symmetry_of(own).record()["generators"] == [[1, 2, 0]]
    one_way = syncoll.Topology.from_links("one way", 3, {(0, 1): 1, (1, 2): 1})
    with pytest.raises(syncoll.SyncollError, match="no path leads there"):
        syncoll.symmetry_of(one_way, "allgather")
