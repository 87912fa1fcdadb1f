"""Repairs from end to end: better than nothing, never worse than a search from nothing."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.documents import frontier_document, write_document
from syncoll.errors import UsageError
from syncoll.model import Collective, Topology
from syncoll.repairing.cost_delta import Loss, bound_for, percent
from syncoll.results import Frontier


def costs(frontier: Frontier) -> list[tuple[int, Fraction]]:
    return [(point.steps, point.bandwidth) for point in frontier.points]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An allgather on dgx1, from seeds alone: two points."""
    path = tmp_path_factory.mktemp("whole") / "whole.json"
    found = syncoll.pareto("dgx1", "allgather", backend="bfb", progress="none", time_limit=20)
    found.save(path)
    return path


@pytest.mark.parametrize(
    ("topology", "collective", "without"),
    [
        ("ring(5)", "allgather", "link 0->1"),
        ("dgx1", "allgather", "node 5"),
        ("hypercube(3)", "reducescatter", "link 0<->1"),
    ],
)
def test_it_is_no_worse_than_a_search_from_nothing(
    topology: str, collective: str, without: str
) -> None:
    limits = {"max_steps": 4, "time_limit": 20.0}
    known = syncoll.pareto(topology, collective, backend="multitree", progress="none")
    done = syncoll.repair(known, without, progress="none", **limits)
    anew = syncoll.pareto(done.machine.topology, collective, progress="none", **limits)
    assert done.frontier.least_bandwidth == anew.least_bandwidth
    for steps, bandwidth in costs(anew):
        best = min(cost for s, cost in costs(done.frontier) if s <= steps)
        assert best <= bandwidth
    done.frontier.check(collective)


def test_seeds_alone_are_enough(whole: Path, tmp_path: Path) -> None:
    """Without a solver: kept and mended algorithms, in a file that can be checked."""
    out = tmp_path / "damaged.json"
    command = ["repair", str(whole), "--without", "link 0->1", "--backend", "ring", "-o", str(out)]
    assert main([*command, "--format", "json"]) == 0
    checked = syncoll.check(out, "allgather")
    assert checked.frontier.topology.name == "dgx1 without link 0->1"
    assert {p.backend for p in checked.frontier.points} & {"mended", "kept"}


def test_a_report_of_a_repair_names_no_search_of_its_machine(tmp_path: Path) -> None:
    """Only the file of the repair describes the machine."""
    found = syncoll.pareto("ring(4)", "allgather", backend="bfb", progress="none")
    out, page = tmp_path / "damaged.json", tmp_path / "report.html"
    syncoll.repair(found, "link 0->1", backend="ring", progress="none").frontier.save(out)
    syncoll.report(out, page, classics=False)
    text = page.read_text()
    assert f"syncoll check {out.name}" in text
    assert "syncoll pareto" not in text


def test_json_has_the_losses(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["repair", str(whole), "--without", "node 5", "--backend", "multitree"]
    assert main([*command, "--slow", "link 0->1 by 2", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["nodes"] == [0, 1, 2, 3, 4, 6, 7]
    assert said["without"] == ["node 5"]
    assert said["slow"] == ["link 0->1 by 2"]
    for row in said["losses"]:
        now, bound, before = (Fraction(row[name]) for name in ("now", "bound", "whole"))
        assert row["lost"] == float(now / before - 1)
        proved = None if bound < before else float(bound / before - 1)
        assert row["lost_for_good"] == proved
        assert row["gap"] == float(now / bound - 1) >= 0
    assert main(["repair", str(whole), "--without", "node 5", "--backend", "multitree"]) == 0
    page = capsys.readouterr().out
    assert "7 nodes take part; nodes 0 to 6 are the former nodes 0 to 4, 6 to 7" in page


def test_fewer_steps_than_possible_are_lost_for_good(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Link 3->6 is the only short way from 3 to the other half of the machine."""
    done = syncoll.repair(whole, "link 3->6", backend="multitree", progress="none")
    (first, *_) = done.losses
    assert (first.steps, first.now, first.bound, first.lost_for_good) == (2, None, None, None)
    assert "impossible" in str(done.page())
    assert "At least 3 steps now, 2 before." in str(done.page())
    assert done.to_pandas()["steps"].iloc[0] == 2


def test_a_bound_below_the_whole_machines_proves_no_loss() -> None:
    one = Loss(None, Fraction(7), Fraction(5), Fraction(2))
    assert (one.lost, one.lost_for_good, one.gap) == (Fraction(-2, 7), None, Fraction(3, 2))
    assert Loss(None, Fraction(7), Fraction(7), Fraction(7)).lost_for_good == 0


def test_bounds_for_more_steps_hold_for_fewer(whole: Path) -> None:
    found = syncoll.load(whole)
    assert isinstance(found, syncoll.FrontierResult)
    least = [bound_for(found, steps) for steps in (2, 3, 4, None)]
    assert least == sorted(least, reverse=True)
    assert least[-1] == Fraction(7, 6)
    assert [percent(x) for x in (None, Fraction(0), Fraction(1, 3))] == ["-", "0 %", "+33.3 %"]
    assert [percent(x) for x in (Fraction(1), Fraction(5, 2))] == ["2x", "3.5x"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "no damage is given: name a broken or slower part with --without"),
        (["--without", "link 3->4"], "dgx1 has no link from 3 to 4"),
        (["--without", "link 0->1", "--collective", "broadcast"], "another collective than"),
        (["--without", "link 0->1", "--collective", "gatherall"], "there is no collective"),
        (["--slow", "link 0->1"], "--slow: 'link 0->1' is not of the form PART by N"),
        (["--slow", "0->1 by 5/00"], "is not of the form PART by N"),
        (["--slow", "0->1 by 10000000000"], "with N above 1, of at most 9 digits"),
        (["--without", "link 0->1", "-o", "/nowhere/x.json"], "cannot write /nowhere/x.json"),
    ],
)
def test_bad_input_is_one_clear_error(
    whole: Path, more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repair", str(whole), *more]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_the_whole_machines_frontier_is_not_overwritten(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = whole.read_bytes()
    assert main(["repair", str(whole), "--without", "link 0->1", "-o", str(whole)]) == 2
    assert "is the frontier of the whole machine" in capsys.readouterr().err
    assert whole.read_bytes() == before


@pytest.mark.parametrize("given", [None, (3, 2), 3, ["link 0->1", None]])
def test_damages_must_be_texts(whole: Path, given: Any) -> None:
    with pytest.raises(UsageError, match="is not a text such as"):
        syncoll.repair(whole, given, progress="none")
    with pytest.raises(UsageError, match="is not a text such as"):
        syncoll.repair(whole, "link 0->1", slow=given, progress="none")


def test_a_collective_whose_file_moved_or_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sizes = tmp_path / "m.csv"
    sizes.write_text("0,2\n1,0\n")
    found = syncoll.pareto(
        "ring(2)", 'alltoallv("m.csv")', backend="all_pairs", max_steps=1, progress="none"
    )
    found.save("f.json")

    def refused(source: str) -> str:
        with pytest.raises(UsageError) as caught:
            syncoll.repair(source, slow="0->1 by 2", progress="none")
        return str(caught.value)

    for text in ("0,2\n2,0\n", "0,1,0\n1,0,0\n0,0,1\n"):
        sizes.write_text(text)
        assert "its file has changed since the search" in refused("f.json")
    sizes.unlink()
    assert "file m.csv does not exist" in refused("f.json")


def test_a_matrix_without_a_file_is_given_again(tmp_path: Path) -> None:
    """A file only has the name of the matrix, which is unique."""
    rows = [[2 if (a - b) % 16 == 1 else 0 for b in range(16)] for a in range(16)]
    meant, path = syncoll.collective("alltoallv", rows), tmp_path / "g.json"
    options: dict[str, Any] = {"backend": "all_pairs", "max_steps": 1, "progress": "none"}
    syncoll.pareto("ring(16)", meant, **options).save(path)
    with pytest.raises(
        UsageError, match=r'collective alltoallv\("16 rows, .*name it with collective'
    ):
        syncoll.repair(path, slow="1->0 by 2", **options)
    done = syncoll.repair(path, slow="1->0 by 2", collective=meant, **options)
    assert [(one.whole, one.now) for one in done.losses] == [(2, 4), (2, 4)]


@pytest.mark.parametrize(
    ("collective", "kept", "gone"), [("broadcast", "1->0", "0->1"), ("reduce", "0->1", "1->0")]
)
def test_pipelines_that_still_work_are_kept(collective: str, kept: str, gone: str) -> None:
    """A broadcast never sends to its root."""
    whole = syncoll.pareto("ring(4)", collective, backend="pipelines", progress="none", work=3)
    (family,) = whole.families
    done = syncoll.repair(whole, kept, backend="ring", progress="none")
    (same,) = done.frontier.families
    assert (same.words, same.found_by) == (family.words, "kept")
    done.frontier.check(collective)
    assert (done.losses[-1].now, done.losses[-1].found_by) == (family.limit, "kept")
    assert not syncoll.repair(whole, gone, backend="ring", progress="none").frontier.families
    slower = syncoll.repair(whole, slow=f"{gone} by 2", backend="ring", progress="none")
    assert not slower.frontier.families


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    for content, words in (("{", "not JSON"), ('{"schema": "x"}', "schema"), (None, "No such")):
        if content is None:
            path.unlink()
        else:
            path.write_text(content)
        assert main(["repair", str(path), "--without", "node 1"]) == 2
        assert words.lower() in capsys.readouterr().err.lower()
    assert main(["bounds", "ring(4)", "allgather", "-o", str(path)]) == 0
    assert main(["repair", str(path), "--without", "node 1"]) == 2
    assert re.search(r"\.json: .* has no points", capsys.readouterr().err)


def test_an_undefined_collective_is_named(tmp_path: Path) -> None:
    """A file only has its name, not its definition."""
    shift = Collective.from_relations(
        "shift",
        chunks=lambda nodes, chunks: nodes * chunks,
        pre=lambda c, n, nodes, _: n == c % nodes,
        post=lambda c, n, nodes, _: n == (c + 1) % nodes,
    )
    machine = Topology.from_links(
        "mine", 4, {(a, b): 1 for a in range(4) for b in range(4) if a != b}
    )
    found = syncoll.pareto(machine, shift, backend="all_pairs", progress="none")
    write_document(tmp_path / "f.json", frontier_document(found))
    with pytest.raises(UsageError, match="the collective shift is unknown"):
        syncoll.repair(tmp_path / "f.json", "link 0->1")
    for source, what in ((tmp_path / "f.json", shift), (found, None)):
        done = syncoll.repair(
            source, "link 0->1", collective=what, backend="all_pairs", progress="none"
        )
        assert costs(done.frontier)[0] == (2, 2)
        assert done.losses[0].whole == 1
