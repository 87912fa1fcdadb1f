"""A file is the old one or the new one, never a part, and no other file remains."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from syncoll.documents import read_file, require_writable, write_atomically
from syncoll.errors import UsageError

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_atomically(path, "öne\n")
    write_atomically(path, "two\n")
    assert path.read_text("utf-8") == "two\n"
    assert names(tmp_path) == ["file.json"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.json"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os if failing == "fsync" else Path, failing, fail)
    with pytest.raises(UsageError, match=r"cannot write .*file\.json: No space left on device"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.json"]


def test_ctrl_c_while_writing_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.json"
    path.write_text("old")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.json"]


@posix
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_as_for_any_new_file(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "ours", "x")
        (tmp_path / "plain").write_text("x")
    finally:
        os.umask(before)
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "plain")}
    assert modes == {0o666 & ~mask}


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@posix
def test_a_link_to_a_missing_file(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "target.json")
    write_atomically(link, "new")
    assert (tmp_path / "target.json").read_text() == "new"


@posix
def test_devices_and_pipes_are_written_to_and_stay(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    require_writable(pipe)
    write_atomically(pipe, "through the pipe")
    reader.join(timeout=20)
    assert got == ["through the pipe"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_require_writable_leaves_no_trace(tmp_path: Path) -> None:
    require_writable(tmp_path / "new.json")
    assert names(tmp_path) == []
    old = tmp_path / "old.json"
    old.write_text("old")
    require_writable(old)
    assert old.read_text() == "old"


def test_unwritable_paths_are_errors(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for path, match in (
        (tmp_path, "it is a folder"),
        (tmp_path / "no" / "file.json", "there is no folder"),
        (file / "file.json", "there is no folder"),
        (tmp_path / ("x" * 300), "too long"),
    ):
        for act in (require_writable, lambda p: write_atomically(p, "x")):
            with pytest.raises(UsageError, match=match):
                act(path)
    assert names(tmp_path) == ["file"]


@posix
def test_a_protected_file_or_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "file"
    file.write_text("old")
    file.chmod(0o444)
    if os.access(file, os.W_OK):
        pytest.skip("this user may write everything")
    with pytest.raises(UsageError, match="write-protected"):
        write_atomically(file, "new")
    folder.chmod(0o555)
    try:
        with pytest.raises(UsageError, match="Permission denied"):
            require_writable(folder / "other")
    finally:
        folder.chmod(0o755)


WRITER = """\
import sys
from pathlib import Path
from syncoll.documents import write_atomically
path, i = Path(sys.argv[1]), 0
while True:
    i += 1
    write_atomically(path, (str(i % 10) * 100_000))
    print(i, flush=True)
"""


@posix
def test_a_reader_sees_no_part_even_if_the_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    try:
        writer.stdout.readline()
        for _ in range(300):
            text = path.read_text()
            assert text == text[:1] * 100_000
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    text = path.read_text()
    assert text == text[:1] * 100_000


def test_a_half_written_file_would_be_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"schema": "syncoll/frontier/1", "points": [')
    with pytest.raises(Exception, match="truncated"):
        read_file(path)
