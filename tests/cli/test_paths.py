"""Paths where a name of the language is expected: the error gives the correct form."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.errors import SpecError
from syncoll.session import Session

Run = Callable[..., Any]

PAIR = "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n"
FILES = {
    "größe.txt": PAIR,
    "pair": PAIR,
    "my box.txt": PAIR,
    "a+b.txt": PAIR,
    "graph.json": '{"nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1}]}',
    "notes.txt": "Hello.\n",
    "empty.txt": "",
    "frontier.json": '{"schema": "syncoll/frontier/5", "nodes": 3, "links": []}',
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "sub.d").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("reference", "message", "expected"),
    [
        ("./f.json", "file ./f.json does not exist", "an existing file"),
        ("./f.json:x", "file ./f.json does not exist", "an existing file"),
        ("~/f", "file ~/f does not exist", "an existing file"),
        ("größe.text", "file größe.text does not exist", "an existing file"),
        ("größe.txt", "looks like a file for the importer nvidia-smi", "`nvidia-smi:größe.txt`"),
        ("./größe.txt:x", "./größe.txt is not a .syncoll file", "`nvidia-smi:./größe.txt`"),
        ("my box.txt", "my box.txt is not a", "`nvidia-smi:my box.txt`"),
        ("a+b.txt", "a+b.txt is not a", "`nvidia-smi:a+b.txt`"),
        ("pair", "pair is not a .syncoll file", "`nvidia-smi:pair`"),
        ("routed pair", "pair is not a .syncoll file", "`nvidia-smi:pair`"),
        ("größe.txt without node 1", "größe.txt is not a", "`nvidia-smi:größe.txt`"),
        ("graph.json", "for the importer node-link", "`node-link:graph.json`"),
        ("notes.txt", "notes.txt is not a .syncoll file", "`IMPORTER:notes.txt`, with one of amd"),
        ("empty.txt", "empty.txt is not a .syncoll file", "`IMPORTER:empty.txt`, with one of amd"),
        ("frontier.json", "frontier.json is a frontier, not a topology", "the name of a topology"),
        ("sub.d", "sub.d is a folder", "a file in it"),
    ],
)
def test_a_path_of_a_machine(reference: str, message: str, expected: str, folder: Path) -> None:
    with pytest.raises(SpecError) as caught:
        syncoll.topology(reference)
    assert message in str(caught.value)
    assert expected in str(caught.value).split("expected ")[1]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("./f.json", "file ./f.json does not exist"),
        ("2 * ./f.json:x + allgather", "file ./f.json does not exist"),
        ("pair", "pair is not a .syncoll file"),
        ("größe.txt", "größe.txt is not a .syncoll file"),
        ("a+b.txt", "a+b.txt is not a .syncoll file"),
    ],
)
def test_a_path_of_a_collective(reference: str, message: str, folder: Path) -> None:
    with pytest.raises(SpecError) as caught:
        syncoll.collective(reference)
    assert message in str(caught.value)
    assert "importer" not in str(caught.value)


def test_a_name_goes_before_a_file_of_that_name(folder: Path) -> None:
    (folder / "dgx1").write_text(PAIR, encoding="utf-8")
    (folder / "allgather").mkdir()
    assert syncoll.topology("dgx1").num_nodes == 8
    assert syncoll.collective("allgather + 2 * alltoall").name == "allgather + 2 * alltoall"


def test_commands_give_the_correct_form(folder: Path, run: Run) -> None:
    for arguments in (["bounds", "größe.txt", "allgather"], ["show", "pair"], ["forest", "pair"]):
        result = run(*arguments)
        assert result.code == 2
        assert f"`nvidia-smi:{arguments[1]}`" in result.err
    assert "no machine, collective or file 'größe.text'" in run("show", "größe.text").err


def test_another_process_recognises_nothing(folder: Path) -> None:
    specs = Session().specs
    assert list(specs.recognised("pair")) == ["nvidia-smi"]
    assert list(pickle.loads(pickle.dumps(specs)).recognised("pair")) == []


def test_a_text_too_long_for_a_path() -> None:
    with pytest.raises(SpecError, match=r"file \./x+ does not exist"):
        syncoll.topology("./" + "x" * 9000)
