"""A design stores every bound with its proof, for checks by another command and later designs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.designing import assessing
from syncoll.errors import UsageError

COMMAND = ["design", "torus(a,b)", "--where", "P == 8", "allgather", "alltoall", "allreduce"]


def test_all_shown_bounds_can_be_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made"
    assert main([*COMMAND, "-o", str(folder), "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert json.loads((folder / "index.json").read_text()) == shown
    files = sorted(folder.glob("al*.json"))
    assert len(files) == 3 * len(shown["candidates"]) == 6
    for one in shown["candidates"]:
        for name, bounds in one["bounds"].items():
            (file,) = (
                f
                for f in files
                if f.name.startswith(f"{name}-{one['topology'][:5]}")
                and syncoll.load(f).topology.name == one["topology"]
            )
            checked = syncoll.check(file, name, topology=one["topology"])
            assert not checked.unchecked
            assert str(checked.frontier.least_bandwidth) == bounds["bandwidth"]
            assert checked.frontier.least_steps == bounds["steps"]
    assert main(["check", str(folder)]) == 0
    assert "6 files with 0 points and 6 bounds" in capsys.readouterr().out
    assert main(["check", str(folder), "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["files"]) == 6


def test_stored_bounds_are_checked_and_not_proved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, asked = tmp_path / "made", list[str]()
    assert main([*COMMAND, "-o", str(folder), "--format", "json"]) == 0
    before = capsys.readouterr().out
    usual = assessing.lower_bounds

    def counted(topology: syncoll.Topology, *given: object, **how: object) -> object:
        asked.append(topology.name)
        return usual(topology, *given, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(assessing, "lower_bounds", counted)
    assert main([*COMMAND, "-o", str(folder), "--format", "json"]) == 0
    assert capsys.readouterr().out == before
    assert not asked
    changed = folder / "alltoall-torus_2_4.json"
    document = json.loads(changed.read_text())
    document["bounds"]["bandwidth"] = "7"
    changed.write_text(json.dumps(document))
    assert main(["check", str(folder)]) == 2
    capsys.readouterr()
    assert main([*COMMAND, "-o", str(folder), "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert printed.out == before
    assert asked == ["torus(2,4)"]
    assert "alltoall-torus_2_4.json is unusable" in printed.err
    assert main(["check", str(folder)]) == 0


def test_a_folder_with_a_forest_bounds_and_a_frontier(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    syncoll.bounds("ring(4)", "broadcast").save(tmp_path / "bounds.json")
    syncoll.forest("ring(4)").save(tmp_path / "forest.json")
    syncoll.pareto("ring(4)", "allgather", max_steps=2, progress="none").save(tmp_path / "f.json")
    assert main(["check", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Checked: 2 files with 1 point and ")
    assert ", 1 forest. Everything claimed holds." in out
    assert main(["check", str(tmp_path), "--format", "json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert [("bounds" in one, "algbw" in one) for one in files] == [
        (True, False),
        (True, False),
        (False, True),
    ]
    text = (tmp_path / "forest.json").read_text()
    (tmp_path / "forest.json").write_text(text.replace('"collective": "', '"collective": "x', 1))
    assert main(["check", str(tmp_path)]) == 2
    assert "forest.json" in capsys.readouterr().err


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text("{}")
    with pytest.raises(UsageError, match=r"t\.json: it is a file; name a new folder"):
        syncoll.design("ring(4)", "allgather", output=file)
    assert file.read_text() == "{}"


def test_one_more_link_is_kept_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "made"
    assert main(["design", "ring(4)", "--one-more-link", "alltoall", "-o", str(folder)]) == 0
    assert len(list(folder.glob("alltoall-*.json"))) == 3
    assert main(["check", str(folder)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["ring(4)", "line(4)", "--where", "P > 1", "allgather", "alltoall"], ""),
        (["ring(4)", "line(5)", "--where", "P > 1", "alltoall"], "a part of the design of ring(4)"),
        (["line(4)", "--where", "P > 1", "allgather"], "a part of the design of line(4), P > 1"),
        (["ring(4)", "allgather"], "a part of the design of ring(4);"),
        (["ring(4)", "--where", "P > 1", "--most", "8", "allgather"], "with parameters up to 8"),
    ],
)
def test_a_folder_grows_and_is_of_one_design(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    folder = ["-o", str(tmp_path)]
    assert main(["design", "ring(4)", "--where", "P > 1", "allgather", *folder]) == 0
    before = (tmp_path / "index.json").read_text()
    assert main(["design", *more, *folder]) == (2 if words else 0)
    said = capsys.readouterr().err
    if words:
        assert "holds other results than" in said
        assert words in said
        assert (tmp_path / "index.json").read_text() == before
    (tmp_path / "index.json").write_text("[]")
    assert main(["design", *more, *folder]) == 2


def test_invalid_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert main([*COMMAND, "-o", str(file)]) == 2
    assert main(["check", str(tmp_path)]) == 2
    assert "has no file ending in .json" in capsys.readouterr().err
    assert main(["check", str(tmp_path), "--collective", "allgather"]) == 2
    assert "is about one file" in capsys.readouterr().err
