"""Forests that are saved, read again and checked, and refused files."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import syncoll
from syncoll.documents import schema
from syncoll.errors import FileFormatError, VerificationError

Run = Callable[..., Any]
Document = dict[str, Any]

TWO_BOXES = "dgx_h100(boxes=2,nvls=true)"
ANY_ROOTS = "reductions to any roots and broadcasts from them, both at the same time,"
COPIES = """topology copies {
    nodes 4
    switches 2
    link (node, switch(node div 2)) both ways for node in nodes bandwidth 3
    link (switch(0), switch(1)) both ways bandwidth 2
    multicast switch(one) for one in range(2)
}
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """A broadcast whose trees branch at switches."""
    path = tmp_path_factory.mktemp("forest") / "forest.json"
    syncoll.forest(TWO_BOXES, "broadcast").save(path)
    return json.loads(path.read_text("utf-8"))


def edges_of(document: Document) -> list[list[Any]]:
    return [edge for tree in document["trees"] for edge in tree["edges"]]


@pytest.mark.parametrize(
    "name", ["dgx_h100(nvls=true)", TWO_BOXES, "copies.syncoll:copies", "dgx1"]
)
@pytest.mark.parametrize("collective", ["allgather", "broadcast", "reducescatter", "reduce"])
def test_saved_forests_are_read_again(name: str, collective: str, run: Run) -> None:
    Path("copies.syncoll").write_text(COPIES)
    shown = run("forest", name, "--collective", collective, "-o", "forest.json")
    document = json.loads(Path("forest.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema("forest")).validate(document)
    checked = run("check", "forest.json", "--topology", name, "--collective", collective)
    assert checked.code == 0
    assert "Every tree and every cut holds.\nmachine: " in checked.out
    assert "as the file describes it" not in checked.out
    assert "machine: as the file describes it; --topology" in run("check", "forest.json").out
    assert shown.out.splitlines()[:8] == checked.out.splitlines()[:8]
    again = syncoll.load_forest("forest.json").document()
    assert again == {**document, "seconds": again["seconds"]}
    trees = run("show", "forest.json")
    assert trees.out.count("root ") >= len(document["trees"])
    assert run("show", "forest.json", "--format", "json").json["trees"] == document["trees"]
    able = {"dgx1": set(), "copies.syncoll:copies": {4, 5}}.get(name)
    ends = {v for u, v, _ in edges_of(document)} | {u for u, _, _ in edges_of(document)}
    junctions = {v for v in ends if v >= document["nodes"]}
    if able is None or (able and collective in ("allgather", "broadcast")):
        assert junctions
    else:  # the copying switches of this spec do not reduce
        assert not junctions


def test_an_allreduce_is_read_again(run: Run) -> None:
    run("forest", TWO_BOXES, "--collective", "allreduce", "-o", "forest.json")
    checked = run("check", "forest.json")
    assert checked.code == 4
    assert "Not checked: the throughput of reductions to any roots" in checked.out
    said = f"{ANY_ROOTS} reach 400 GB/s, and nothing of that kind is faster."
    for shown in (checked.out, run("show", "forest.json").out):
        assert f"The file claims, unchecked: {said}" in shown
        assert "Reductions to any roots" not in shown
    answer = run("check", "forest.json", "--format", "json").json
    assert answer["fully_checked"] is False
    assert answer["algbw"] == answer["bound"] == "800/3"
    document = json.loads(Path("forest.json").read_text("utf-8"))
    spoilt = [
        lambda d: d.update(algbw="400"),
        lambda d: d.update(bound="400"),
        lambda d: d.update(trees=d["phases"][0]["trees"][:1]),
        lambda d: d["phases"].reverse(),
        lambda d: d.pop("phases"),
        lambda d: d["phases"][1].update(trees=d["phases"][0]["trees"]),
    ]
    for spoil in spoilt:
        changed = copy.deepcopy(document)
        spoil(changed)
        Path("bad.json").write_text(json.dumps(changed))
        with pytest.raises((FileFormatError, VerificationError)):
            syncoll.load_forest("bad.json")


def test_old_files_are_read(run: Run) -> None:
    """Files of version 1 do not have the network."""
    run("forest", "dgx1", "--collective", "broadcast", "--root", "3", "-o", "forest.json")
    document = json.loads(Path("forest.json").read_text("utf-8"))
    del document["network"]
    document["schema"] = "syncoll/forest/1"
    Path("old.json").write_text(json.dumps(document))
    jsonschema.Draft202012Validator(schema("forest")).validate(document)
    assert run("check", "old.json", "--topology", "dgx1").code == 0
    alone = run("check", "old.json")
    assert alone.code == 2
    assert "name it with --topology" in alone.err
    other = run("check", "old.json", "--topology", "torus(4,4)")
    assert "another network" in other.err
    asked = ("check", "forest.json", "--collective")
    assert run(*asked, "broadcast(root = 3)").code == run(*asked, "broadcast").code == 0
    assert (
        "it is about broadcast(root=3), not broadcast(root=2)"
        in run(*asked, "broadcast(root=2)").err
    )
    assert "not allgather" in run(*asked, "allgather").err
    assert "--proofs is about refutations" in run("check", "forest.json", "--proofs", ".").err


def test_statements_about_any_roots_are_not_checked(run: Run) -> None:
    """Statements that the trees do not contradict may still be wrong."""
    run("forest", "ring(4)", "--collective", "allreduce", "-o", "forest.json")
    document = json.loads(Path("forest.json").read_text("utf-8"))
    halves = document["algbw"]
    for low, high, words in [
        ("9999", "9999", "reach 9999 chunks per round, and nothing of that kind is faster."),
        (halves, "9999", "reach at most 9999 chunks per round."),
        (halves, halves, "are no faster."),
    ]:
        changed = {**document, "any_roots": {"at_least": low, "at_most": high}}
        Path("changed.json").write_text(json.dumps(changed))
        checked = run("check", "changed.json")
        assert checked.code == 4
        assert f"The file claims, unchecked: {ANY_ROOTS} {words}" in checked.out
    assert halves == "4/3"
    for low, high in [("9999", "9998"), ("1", "1"), ("1", "9999")]:
        changed = {**document, "any_roots": {"at_least": low, "at_most": high}}
        Path("changed.json").write_text(json.dumps(changed))
        refused = run("check", "changed.json")
        assert refused.code == 2
        assert f"at least {low} and at most {high}, and its two halves reach 4/3" in refused.err


def test_a_given_number_of_trees_is_named_as_reason(run: Run) -> None:
    """A broadcast on 3 trees that other numbers make faster; a file does not have this reason."""
    asked = ("forest", TWO_BOXES, "--collective", "broadcast", "--fixed-k", "3", "-o", "f.json")
    shown, stored = run(*asked).out, run("show", "f.json").out
    assert "With k = 3 that is 37.5% of the network's bound of 400 GB/s:" in shown
    assert "\nThat is 37.5% of the network's bound of 400 GB/s:" in stored
    for out in (shown, stored):
        assert "is open" not in out
        assert "No algorithm of any number of steps is faster" not in out


def test_a_forest_below_the_bound_is_not_called_optimal(run: Run) -> None:
    """Half of the data can reach the switch, which sends twice as much as it receives."""
    Path("narrow.syncoll").write_text(
        "topology narrow { nodes 3  switches 1  link (0, 1) bandwidth 1  link (1, 2) bandwidth 1"
        "  link (0, switch(0)) bandwidth 1  link (switch(0), 1) bandwidth 1"
        "  link (switch(0), 2) bandwidth 1  multicast switch(one) for one in range(1) }"
    )
    shown = run("forest", "narrow.syncoll:narrow", "--collective", "broadcast", "-o", "f.json").out
    assert "\nThat is 75.0% of the network's bound of 2 " in shown
    assert "No algorithm of any number of steps is faster" not in shown
    assert "may be faster if only some reach a switch that copies; this is open" in shown
    checked = run("check", "f.json")
    assert checked.code == 0
    assert "is open" not in checked.out
    failed = run("forest", "narrow.syncoll:narrow", "--collective", "reduce")
    assert failed.code == 2
    assert "switch 0 receives 1 and sends 2" in failed.err


def _plain_branch(document: Document) -> None:
    document["network"]["multicast"] = document["network"]["multicast"][:1]


def _twice(document: Document) -> None:
    edges = document["trees"][0]["edges"]
    edges.append(edges[-1])


def _not_reached(document: Document) -> None:
    edges = document["trees"][0]["edges"]
    document["trees"][0]["edges"] = [edge for edge in edges if edge[1] != 16]


def _lost(document: Document) -> None:
    tree = next(t for t in document["trees"] if t["edges"][-1][1] < 16)
    tree["edges"].pop()


def _heavier(document: Document) -> None:
    document["k"] += 1
    document["trees"][0]["weight"] += 1


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_plain_branch, "branch at switch 1, which is no switch that copies"),
        (lambda d: d["network"].pop("multicast"), "which is no switch that copies"),
        (_twice, "twice"),
        (_not_reached, "continues from switch 0 before it reaches it"),
        (_lost, "lacks a route"),
        (_heavier, "carries 2 trees, but only 9/8 fit"),
        (lambda d: d.update(algbw="450"), "carries 1 trees, but only 8/9 fit"),
        (lambda d: d.update(algbw="0"), "expected a throughput above 0"),
        (lambda d: d.update(bound="450"), "the bottleneck cut of"),
        (lambda d: d.update(cut=[0]), "the bottleneck cut of"),
        (lambda d: d.update(max_height=4), "has the height 3; 4 is claimed"),
        (lambda d: d.update(k=9), "8 trees are rooted at node 0, not 9"),
        (lambda d: d.update(k=1 << 62), "above"),
        (lambda d: d.update(collective="allgather"), "0 trees are rooted at node 1, not 8"),
        (lambda d: d.update(collective="reduce"), "reaches node 0 twice"),
        (lambda d: d.update(any_roots={"at_least": "1", "at_most": "1"}), "about an allreduce"),
        (lambda d: d.update(nodes=20), "switches"),
        (lambda d: d.pop("network"), "'network' is missing"),
        (lambda d: d.update(schema="syncoll/forest/1"), "expected schema syncoll/forest/2"),
        (lambda d: d.update(schema="syncoll/forest/3"), "expected"),
        (lambda d: d["trees"][0].update(root=99), "has the root 99"),
        (lambda d: d["trees"][1].update(root=3), "reaches node 3 twice"),
        (lambda d: d["trees"][0]["edges"][0][2].reverse(), "does not lead from"),
        (lambda d: d["trees"][0]["edges"][0].__setitem__(2, [0, 30, 8]), "no link"),
        (lambda d: d["trees"][0]["edges"].append([0, 60, [0, 60]]), "branch at switch 44"),
        (lambda d: d["network"]["links"].pop(), "no link"),
    ],
)
def test_wrong_forests_are_refused(
    spoil: Callable[[Document], Any], words: str, saved: Document, tmp_path: Path
) -> None:
    document = copy.deepcopy(saved)
    spoil(document)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document))
    with pytest.raises((FileFormatError, VerificationError), match=words.replace("(", r"\(")):
        syncoll.load_forest(path)


def test_other_files_are_refused(run: Run) -> None:
    Path("torn.json").write_text('{"schema": "syncoll/forest/2", ')
    result = run("check", "torn.json")
    assert result.code == 2
    assert "torn.json:1:" in result.err
    run("pareto", "ring(3)", "allgather", "-o", "frontier.json")
    with pytest.raises(FileFormatError, match="this is a frontier; expected a forest"):
        syncoll.load_forest("frontier.json")
