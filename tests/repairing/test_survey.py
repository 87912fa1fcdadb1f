"""Surveys: every single failure, once for each orbit."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.damage.damaged import damaged
from syncoll.deadline import NEVER
from syncoll.documents.folder import FrontierFolder
from syncoll.model import Topology
from syncoll.repairing import survey as surveys
from syncoll.repairing.survey import FailureKind, Surveyed, single_failures
from syncoll.results import Frontier
from syncoll.session import Session
from syncoll.spec.damages import parse_damage
from syncoll.verbs.frontier import frontier_of

SESSION = Session()
ALONE = ["--backend", "multitree", "--progress", "none"]


def automorphisms(topology: Topology, fixed: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """All automorphisms, by brute force over permutations."""
    rates = {bound.links[0]: bound.chunks_per_round for bound in topology.bounds}
    return [
        images
        for images in permutations(range(topology.num_nodes))
        if all(rates.get((images[a], images[b])) == rate for (a, b), rate in rates.items())
        and all(images[node] == node for node in fixed)
    ]


@pytest.mark.parametrize("name", ["mesh(2,3)", "ring(5)", "star(5)", "circulant(6,1,3)"])
@pytest.mark.parametrize("collective", ["allgather", "broadcast(root=1)"])
def test_orbits_match_all_automorphisms(name: str, collective: str) -> None:
    topology, asked = syncoll.topology(name), SESSION.collective(collective)
    group = automorphisms(topology, (1,) if "root" in collective else ())
    for kind in (FailureKind.LINKS, FailureKind.CABLES, FailureKind.NODES):
        orbits: set[frozenset[tuple[int, ...]]] = set()
        things: list[tuple[int, ...]] = [(node,) for node in range(topology.num_nodes)]
        if kind is not FailureKind.NODES:
            things = [tuple(link) for link in topology.links]
        for thing in things:
            images = (tuple(g[node] for node in thing) for g in group)
            one = kind is FailureKind.CABLES
            orbits.add(frozenset(tuple(sorted(x)) if one else x for x in images))
        found = single_failures(topology, asked, kind)
        assert sorted(one.images for one in found) == sorted(map(len, orbits))
        for one in found:  # the words name the same damage
            assert parse_damage(one.damage.words).words == one.damage.words


def test_all_of_an_orbit_have_one_bound() -> None:
    """Cables and routes of a machine with switches, too."""
    topology, asked = syncoll.topology("p2_16xlarge"), SESSION.collective("allgather")
    fabric = topology.fabric
    assert fabric is not None
    (first, *_) = single_failures(topology, asked, FailureKind.CABLES)
    assert (first.damage.words, first.images) == ("link 0<->switch 0", 16)
    switches = single_failures(topology, asked, FailureKind.SWITCHES)
    assert [(one.damage.words, one.images) for one in switches] == [
        ("switch 0", 8),
        ("switch 8", 2),
    ]
    costs = set()
    for node in (0, 5, 15):
        text = f"link {node}->switch {node // 2} by 2"
        machine = damaged(topology, [parse_damage(text, slow=True)])
        costs.add(syncoll.bounds(machine.topology, asked, max_steps=0).bandwidth)
    assert len(costs) == 1


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("survey") / "whole.json"
    assert main(["pareto", "mesh(2,3)", "allgather", *ALONE, "-o", str(path)]) == 0
    return path


def test_the_worst_is_first_and_everything_is_in_the_table(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.csv"
    command = ["repair", str(whole), "--survey", "links", "--table", str(table), *ALONE]
    assert main(command) == 0
    page = capsys.readouterr().out
    assert "without one of its 14 links" in page
    with table.open() as file:
        listed = list(csv.DictReader(file))
    ends = [row for row in listed if not row["steps"]]
    assert sum(int(row["alike"]) for row in ends) == 14
    assert [float(row["now"]) for row in ends] == sorted(
        (float(row["now"]) for row in ends), reverse=True
    )
    assert f"The worst is {ends[0]['broken']}" in page
    assert all(float(row["gap"]) >= 0 for row in ends)


def test_while_failures_wait_the_worst_is_preliminary(whole: Path) -> None:
    found = syncoll.survey(whole, progress="none", backend="multitree")
    first, *others = found.surveyed
    half = replace(found, surveyed=(first, *(Surveyed(one.failure) for one in others)))
    assert f"The worst is {found.worst[0].words}:" in str(found.page())
    assert f"The worst so far is {first.words}:" in str(half.page())


def test_a_survey_continues_from_its_folder(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "failures"
    command = ["repair", str(whole), "--survey", "cables", "-o", str(folder), *ALONE]
    command += ["--format", "json"]
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    files = sorted(folder.glob("allgather-*.json"))
    assert len(files) == len(first["failures"]) == 3
    assert json.loads((folder / "index.json").read_text())["failures"] == first["failures"]
    assert main(["check", str(folder)]) in (0, 4)
    capsys.readouterr()
    files[1].write_text(files[1].read_text().replace('"steps": 3', '"steps": 2', 1))
    files[2].unlink()
    searched = []
    search = surveys.warm_start_seeds

    def seen(machine, *more):  # type: ignore[no-untyped-def]
        searched.append(machine.topology.name)
        return search(machine, *more)

    monkeypatch.setattr(surveys, "warm_start_seeds", seen)
    assert main(command) == 0
    assert len(searched) == 2
    again = json.loads(capsys.readouterr().out)
    assert [one["broken"] for one in again["failures"]] == [
        one["broken"] for one in first["failures"]
    ]


def test_a_folder_of_something_else_is_left_as_it_is(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, other = tmp_path / "failures", tmp_path / "other.json"
    command = ["--survey", "nodes", "-o", str(folder), *ALONE]
    assert main(["repair", str(whole), *command]) == 0
    assert main(["pareto", "line(3)", "allgather", *ALONE, "-o", str(other)]) == 0
    before = (folder / "index.json").read_text()
    for again in (["repair", str(other), *command], ["repair", str(whole), *command]):
        if str(whole) in again:
            again[again.index("nodes")] = "cables"
        assert main(again) == 2
        assert "name another folder, or remove this one" in capsys.readouterr().err
    assert (folder / "index.json").read_text() == before
    (folder / "index.json").write_text("[]")
    assert main(["repair", str(whole), *command]) == 2


def test_long_names_have_a_file_each(tmp_path: Path) -> None:
    folder = FrontierFolder(tmp_path, print)
    names = [folder.file(f"{'x' * 150} without node {node}", "allgather") for node in range(3)]
    assert len({*names}) == 3
    assert max(len(name.name) for name in names) < 150


def test_a_survey_that_found_nothing_says_so(whole: Path) -> None:
    """The exit code is the same as of a single repair."""
    command = ["repair", str(whole), "--survey", "cables", "--backend", "ring"]
    command += ["--search-limit", "1us", "--progress", "none"]
    assert main(command) == 3
    assert main([*command[:-4], "--search-limit", "5s", "--progress", "none"]) == 0


def test_fatal_failures_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "line.json"
    assert main(["pareto", "line(3)", "allgather", *ALONE, "-o", str(path)]) == 0
    capsys.readouterr()
    assert main(["repair", str(path), "--survey", "links", *ALONE]) == 0
    page = capsys.readouterr().out
    assert "impossible" in page
    assert "allgather is impossible without link 0->1" in page
    assert main(["repair", str(path), "--survey", "nodes", *ALONE]) == 0
    assert "allgather is impossible without node 1" in capsys.readouterr().out


def test_undescribable_damages_are_not_called_impossible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bandwidth of a switch that receives more than it sends cannot be divided, but data passes
    it.
    """
    whole = syncoll.pareto(
        "fat_tree(4)", "broadcast", backend="all_pairs", max_steps=1, progress="none"
    )
    table = tmp_path / "t.csv"
    found = syncoll.survey(whole, search_limit=0.01, backend="all_pairs", progress="none")
    found.save_table(table)
    words = {one.words: one for one in found.surveyed}
    assert "no path leads there" in words["link 0->switch 0"].refused
    one = words["link 4->switch 1"]
    assert (one.refused, one.left_out) == ("", "")
    for text, ends in (("0->switch 4", (16, 20)), ("4->switch 0", (20, 16))):
        one = words[f"link switch {text}"]
        assert not one.refused
        assert "cannot be dealt out" in one.left_out
        fabric = whole.topology.fabric
        assert fabric is not None
        assert reaches(set(fabric.bandwidths) - {ends}, 0) >= {*range(16)}
    page = str(found.page())
    assert "left out, nothing is proved" in page
    assert "not yet" not in page
    entry = next(e for e in found.document()["failures"] if e["left_out"])
    assert (entry["refused"], entry["losses"]) == (None, [])
    with table.open() as file:
        rows = {row["broken"]: row for row in csv.DictReader(file)}
    assert rows[entry["broken"]]["left_out"] == entry["left_out"]


def reaches(links: set[tuple[int, int]], start: int) -> set[int]:
    """All nodes that can be reached from there."""
    known, before = {start}, set[int]()
    while known != before:
        before = set(known)
        known |= {b for a, b in links if a in known}
    return known


def test_failures_without_a_result_in_time_are_named(whole: Path) -> None:
    found = syncoll.survey(whole, search_limit=1e-6, progress="none", backend="ring")
    page = str(found.page())
    for one in found.worst:
        assert one.any_steps is not None
        assert one.any_steps.now is None
    assert re.search(r"R/C now -: no algorithm was found for \d failures within", page)
    assert "The worst is" not in page
    assert "not yet" not in page


def test_an_interrupted_failure_without_algorithm_is_open(whole: Path) -> None:
    known = frontier_of(whole)

    def interrupted(*_: object) -> Frontier:
        return replace(known, points=(), complete=False, interrupted=True)

    work = surveys.SurveyWork(interrupted, 1.0, NEVER)
    allgather = SESSION.collective("allgather")
    found = surveys.survey(known, allgather, FailureKind.LINKS, work, SESSION.collective)
    assert found.interrupted
    assert not any(one.repair for one in found.surveyed)


def test_it_ends_with_its_time(whole: Path) -> None:
    found = syncoll.survey(whole, work=1e-6, progress="none", backend="multitree")
    assert not found.complete
    assert not found.worst
    page = str(found.page())
    assert re.search(r"not yet: \d failures of \d were not searched \(", page)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--survey", "switches"], "mesh(2,3) has no switches"),
        (["--survey", "links", "--without", "node 1"], "--without and --survey"),
        (["--survey", "links", "--max-steps", "0"], "--max-steps and --survey"),
        (["--without", "node 1", "--table", "t.csv"], "--table is for --survey"),
        (["--survey", "links", "--table", "t.txt"], "ends in .csv or .parquet"),
        (["--survey", "links", "-o", "/nowhere/x"], "cannot write /nowhere/x"),
    ],
)
def test_bad_input(
    whole: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", str(whole), *more]) == 2
    assert words in capsys.readouterr().err
