"""Files that belong together appear together, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncoll.documents import write_folder
from syncoll.errors import UsageError

FILES = {"a.0": b"\x00\xff", "a.1": b"one\r\n"}


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_folder(tmp_path: Path) -> None:
    write_folder(tmp_path / "new", FILES)
    assert content(tmp_path / "new") == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_a_folder_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.0").write_text("old")
    (tmp_path / "other").write_text("kept")
    write_folder(tmp_path, FILES)
    assert content(tmp_path) == {**FILES, "other": b"kept"}


def test_a_failed_folder_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        write_folder(tmp_path / "new", {**FILES, "no\0such": b""})
    assert list(tmp_path.iterdir()) == []


def test_impossible_places_are_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(UsageError, match="it is not a folder"):
        write_folder(tmp_path / "file", FILES)
    with pytest.raises(UsageError, match="create it first"):
        write_folder(tmp_path / "no" / "new", FILES)
    assert content(tmp_path) == {"file": b"old"}
