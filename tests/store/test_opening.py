"""Files that are no store, damaged, older, newer, or cannot be written."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from syncoll.errors import FileFormatError, UsageError
from syncoll.store import Store, StoredAnswer, schema
from syncoll.store.packing import answer_details, digest, pack_algorithm
from syncoll.store.question import answer_key
from syncoll.testing.instances import random_case

Answer = Callable[..., StoredAnswer]

VERSION_1 = """
CREATE TABLE answers (exact BLOB PRIMARY KEY NOT NULL, alike BLOB, question BLOB,
    verdict TEXT NOT NULL, weight INTEGER NOT NULL, allowed REAL, algorithm BLOB,
    details TEXT NOT NULL, digest BLOB NOT NULL);
CREATE INDEX answers_alike ON answers (alike) WHERE alike IS NOT NULL;
PRAGMA application_id = 0x53796E43;
PRAGMA user_version = 1;
"""
"""The tables of version 1, which had no certificates; never to be edited."""


def database(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def number(path: Path, pragma: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def test_a_new_store_has_its_marks(path: Path) -> None:
    with Store.open(path) as store:
        assert store.describe().version == schema.VERSION
    assert number(path, "application_id") == schema.APPLICATION_ID
    assert number(path, "user_version") == schema.VERSION
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_store_of_version_1_is_emptied(path: Path, answer: Answer) -> None:
    """Its rows have chunks in another order, so that they are not kept."""
    database(path, VERSION_1)
    instance, algorithm = random_case(random.Random(1))
    key = answer_key(instance, "x")
    data, details = pack_algorithm(algorithm), answer_details(answer(algorithm))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO answers VALUES (?, ?, ?, 'sat', 2, NULL, ?, ?, ?)",
            (key, b"alike", b"question", data, details, digest(key, "sat", data, details)),
        )
    with Store.open(path) as store:
        assert store.describe().answers == 0
        assert store.answer(instance, "x") is None
        assert store.keep_answer(instance, "x", answer(algorithm))
        assert store.answer(instance, "x") is not None
        assert store.describe().certificates == 0
    assert number(path, "user_version") == schema.VERSION


def test_a_newer_store_is_refused(path: Path) -> None:
    Store.open(path).close()
    database(path, f"PRAGMA user_version = {schema.VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(FileFormatError) as caught:
        Store.open(path)
    for word in (str(path), f"version {schema.VERSION + 1}", "newer", "update", "--store"):
        assert word in str(caught.value)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    database(path, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('a')")
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match=r"another program.*--store"):
        Store.open(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("text", [b"not a database at all\n" * 300, b"x", b"{}", b"\0" * 5000])
def test_a_file_that_is_no_database_is_refused(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    with pytest.raises(FileFormatError) as caught:
        Store.open(path)
    for word in (str(path), "delete it", "--store"):
        assert word in str(caught.value)
    assert path.read_bytes() == text


def filled(path: Path, answer: Answer) -> bytes:
    instance, algorithm = random_case(random.Random(1))
    with Store.open(path) as store:
        for i in range(100):
            store.keep_answer(instance, f"{i}", answer(algorithm))
    return path.read_bytes()


def test_damaged_stores_are_refused_or_give_nothing_wrong(path: Path, answer: Answer) -> None:
    instance, algorithm = random_case(random.Random(1))
    whole = filled(path, answer)
    damaged = [whole[: len(whole) // 2], whole[:100], whole[:5000]]
    rng = random.Random(0)
    for _ in range(25):
        at = rng.randrange(len(whole) - 600)
        damaged.append(whole[:at] + rng.randbytes(600) + whole[at + 600 :])
    refusals: list[str] = []
    for data in damaged:
        path.write_bytes(data)
        for extra in path.parent.glob("store.sqlite-*"):
            extra.unlink()
        try:
            store = Store.open(path, on_trouble=lambda _: None)
        except FileFormatError as error:
            refusals.append(str(error))
            continue
        with store:
            for i in range(100):
                found = store.answer(instance, f"{i}")
                assert found is None or found.seconds == answer(algorithm).seconds
    assert len(refusals) >= 15
    assert all(str(path) in text and "--store" in text for text in refusals)


def test_a_store_without_its_tables_is_refused(path: Path) -> None:
    Store.open(path).close()
    database(path, "DROP TABLE certificates")
    with pytest.raises(FileFormatError, match=r"certificates.*delete it"):
        Store.open(path)


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with Store.open(path) as store:
        assert store.describe().answers == 0


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place, why in (
        (tmp_path, "is a folder"),
        (tmp_path / "missing" / "store.sqlite", "no folder"),
        (tmp_path / "file" / "store.sqlite", "no folder"),
        (tmp_path / ("n" * 400), "File name too long|unable to open"),
    ):
        with pytest.raises(UsageError, match=why) as caught:
            Store.open(place)
        assert str(place) in str(caught.value)


def test_a_default_folder_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "file" / name)
    with pytest.raises(UsageError, match=r"cannot make the folder .*--store"):
        Store.open()


def test_a_write_protected_folder(tmp_path: Path, answer: Answer) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o500)
    try:
        try:
            (folder / "probe").touch()
        except PermissionError:
            pass
        else:
            pytest.skip("this user may write everywhere")
        with pytest.raises(UsageError, match="cannot write the store"):
            Store.open(folder / "store.sqlite")
    finally:
        folder.chmod(0o700)


def test_a_store_that_stays_locked_is_refused_after_a_while(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UsageError, match="locked by another process"):
            Store.open(path, patience=0.1)


def test_the_package_is_light_to_import() -> None:
    code = "import sys, syncoll.store; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_reading_it(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(UsageError, match="is not a file"):
        Store.open(path)
