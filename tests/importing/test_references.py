"""``NAME:FILE`` and ``NAME(option=value):FILE`` as references to topologies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import syncoll_specs
from syncoll.errors import SpecError
from syncoll.model import Fabric
from syncoll.spec import SpecLibrary

PAIR = "# Doc of it.\ntopology pair { nodes 2 link (0, 1) both ways bandwidth 1 }\n"


class Reads:
    """A reader that notes its arguments."""

    def __init__(self, text: str = PAIR) -> None:
        self.text = text
        self.asked: list[tuple[str, list[str]]] = []

    def __call__(self, file: str, settings: Sequence[str]) -> str:
        self.asked.append((file, list(settings)))
        return self.text


def library(reads: Reads) -> SpecLibrary:
    return SpecLibrary([Path(syncoll_specs.__file__).parent], {"a-tool": reads})


def test_a_file_is_read_once() -> None:
    reads = Reads()
    specs = library(reads)
    assert specs.topology("a-tool:x.txt").name == "pair"
    assert Fabric.of(specs.topology("a-tool:x.txt")).num_nodes == 2
    assert specs.definition("topology", "a-tool:x.txt").doc == "Doc of it."
    assert reads.asked == [("x.txt", [])]


@pytest.mark.parametrize(
    ("reference", "file", "settings"),
    [
        ("a-tool:x.json", "x.json", []),
        ("a-tool:-", "-", []),
        (" a-tool : a b.txt ", "a b.txt", []),
        ("a-tool:C:\\x:y(1).syncoll", "C:\\x:y(1).syncoll", []),
        ("a-tool(link=25):x", "x", ["link=25"]),
        ("a-tool( link=25GB/s, gpu=h100, ):x", "x", ["link=25GB/s", "gpu=h100"]),
        ("a-tool():x", "x", []),
    ],
)
def test_the_reader_gets_file_and_settings(reference: str, file: str, settings: list[str]) -> None:
    reads = Reads()
    specs = library(reads)
    assert specs.is_read(reference)
    specs.topology(reference)
    assert reads.asked == [(file, settings)]


@pytest.mark.parametrize(
    "reference", ["ring(4)", "x.syncoll:pair", "b-tool:x", "a-tool", "a-tool(x"]
)
def test_other_texts_are_no_references(reference: str) -> None:
    assert not library(Reads()).is_read(reference)


@pytest.mark.parametrize(
    ("reference", "message", "expected"),
    [
        ("a_tool:x.txt", "no importer is called `a_tool`; did you mean `a-tool`?", "or one of a-t"),
        ("what(x=1):x.txt", "no importer is called `what`", "`file.syncoll:name`"),
        ("a-tool:", "`a-tool:` without a file", "the path of a file"),
        ("a-tool: ", "`a-tool:` without a file", "the path of a file"),
    ],
)
def test_refused(reference: str, message: str, expected: str) -> None:
    with pytest.raises(SpecError) as caught:
        library(Reads()).topology(reference)
    assert caught.value.message == message
    assert expected in caught.value.expected


def test_a_machine_is_no_collective() -> None:
    with pytest.raises(SpecError, match="defines no collective"):
        library(Reads()).collective("a-tool:x")
    with pytest.raises(SpecError) as caught:
        library(Reads()).collective("b:x")
    assert "a-tool" not in caught.value.expected


def test_a_wrong_spec_is_shown_as_such() -> None:
    with pytest.raises(SpecError) as caught:
        library(Reads("topology x { nodes 2 link (0, 5) bandwidth 1 }")).topology("a-tool:x.txt")
    assert caught.value.origin is not None
    assert caught.value.origin.file == "a-tool:x.txt (as a spec)"


def test_a_reader_without_a_file() -> None:
    with pytest.raises(SpecError, match="no file is named") as caught:
        library(Reads()).topology("a-tool")
    assert caught.value.expected == "`a-tool:FILE`"
