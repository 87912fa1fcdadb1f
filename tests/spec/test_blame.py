"""Errors in arguments are shown at the arguments, never in the shipped files."""

from __future__ import annotations

import codecs
import stat
from pathlib import Path

import pytest

from syncoll.errors import LocatedError
from syncoll.spec import SpecLibrary, check_file
from syncoll.spec.check import Trials
from syncoll.spec.module import make_module
from syncoll.spec.parser import parse_file
from syncoll.spec.source import Source
from tests.spec.conftest import SpecFile

TOPOLOGIES = {
    "ring(0)": ("0", "at least 1 node"),
    "ring(n=0)": ("0", "at least 1 node"),
    "ring(1.5)": ("1.5", "a whole number"),
    "ring(true)": ("true", "a number"),
    "ring(4, bandwidth=0)": ("0", "a bandwidth above 0"),
    "torus()": ("torus()", "as in torus(4,4)"),
    "mesh(2, 0, 1)": ("2, 0, 1", "sizes of at least 1"),
    "torus([2])": ("[2]", "a number"),
    "fat_tree(1.5)": ("1.5", "a whole number"),
    "leaf_spine(3)": ("3", "a list"),
    "leaf_spine([[8]], cards=[1, 2])": ("leaf_spine([[8]], cards=[1, 2])", "as many cards"),
    "dgx_a100(bandwidth=0)": ("0", "a bandwidth above 0"),
}
COLLECTIVES = {
    "broadcast(9)": ("9", "a root among"),
    "broadcast(true)": ("true", "a number"),
    "multi_broadcast(0, 0)": ("0, 0", "different roots"),
    "reduce(9)": ("9", "a root among"),
    "scatter": ("scatter", "a multiple of P"),
}


def marked(error: LocatedError) -> str:
    assert error.origin is not None
    return error.origin.text[error.origin.column - 1 :][: error.origin.width]


@pytest.mark.parametrize("reference", [*TOPOLOGIES, *COLLECTIVES])
def test_the_argument_is_pointed_at(
    reference: str, library: SpecLibrary, spec_file: SpecFile
) -> None:
    mark, expected = {**TOPOLOGIES, **COLLECTIVES}[reference]
    ring = library.topology("ring(4)")
    spec_file(
        f"search s {{ topology {reference}\n collective allgather }}"
        if reference in TOPOLOGIES
        else f"collective own = {reference} or {reference}"
    )

    def typed() -> None:
        if reference in TOPOLOGIES:
            library.topology(reference)
        else:
            library.collective(reference).instantiate(ring, chunks=3, steps=4, rounds=4)

    def in_a_file() -> None:
        if reference in TOPOLOGIES:
            library.search("my.syncoll:s")
        else:
            library.collective("my.syncoll:own").tabulate(4, 3)

    for ask, file in ((typed, "<argument>"), (in_a_file, "my.syncoll")):
        if reference == "scatter" and ask is in_a_file:
            continue  # then it is the composition that has no such C
        with pytest.raises(LocatedError) as caught:
            ask()
        assert caught.value.origin is not None
        assert caught.value.origin.file == file
        assert marked(caught.value) == mark
        assert expected in caught.value.expected
        assert "does not hold" not in caught.value.message


def test_a_mistake_of_the_definition_itself_stays_there(
    library: SpecLibrary, spec_file: SpecFile, tmp_path: Path
) -> None:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "a.syncoll").write_text("topology broken { nodes 1 / 0 }")
    with pytest.raises(LocatedError) as caught:
        SpecLibrary([folder]).topology("broken")
    assert marked(caught.value) == "/"
    spec_file("topology own(n) { nodes n }\ncollective c { chunks C pre Root(true) post All }")
    with pytest.raises(LocatedError, match="own") as caught:
        library.topology("my.syncoll:own(0)")
    assert marked(caught.value) == "n"
    with pytest.raises(LocatedError, match="is a Boolean") as caught:
        library.collective("my.syncoll:c").tabulate(2, 1)
    assert marked(caught.value) == "Root(true)"


# Evaluation by a check ----------------------------------------------------------------------------

WRONG = {
    "let x = 1 / 0": "/",
    "let x = 1 / (P - P)": "/",
    "let y = x\nlet x = 1 / 0": "/",
    "relation R = { (c, n) : c in range(10 ** 9) }": "range(10 ** 9)",
    "relation R = { (i, 0) for i in range(10 ** 9) }": "range(10 ** 9)",
    "relation R(x = 1 / 0) = { (c, n) : n == x }": "/",
    "let x = sum(range(4000000))": "sum(range(4000000))",
    "let f(n) = if n > 3 then n else 1 / 0": "/",
    "topology t(n) { nodes n\n link (0, 1) bandwidth 1 / 0 }": "/",
    "search s { topology ring(4)\n collective broadcast(9) }": "9",
    "let x = Root(true)": "Root(true)",
}
RIGHT = (
    "relation R = { (0, 1), (2, 3) }",  # on enough nodes
    "relation R = { (c, n) : P > 1 and n == c mod (P - 1) }",
    "let range(x) = x + P\nlet y = range(3)",
    "collective c = inverse broadcast(5)",
    "let x = Root(1)",
)


@pytest.mark.parametrize("text", [*WRONG, *RIGHT])
def test_a_check_evaluates(text: str, library: SpecLibrary, spec_file: SpecFile) -> None:
    errors = check_file(spec_file(text), library).errors
    if text in RIGHT:
        assert not errors
    else:
        assert {marked(error) for error in errors} == {WRONG[text]}


def test_trials_end_with_their_time(library: SpecLibrary) -> None:
    source = Source("my.syncoll", "let a = 1 / 0\nlet b = 1 / 0")
    module = make_module(source, None, library, parse_file(source))
    now = [0.0]
    trials = Trials(module, seconds=9, clock=lambda: now[0])
    found = []
    for definition in module.own.values():
        found.append(trials.run(definition))
        now[0] += 10
    assert [len(errors) for errors, _ in found] == [1, 0]
    assert "for lack of time" in found[1][1]


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty"), ("\ufeff", "is empty"), ("# todo\n", "contains comments only")],
)
def test_nothing_in_a_file(
    text: str, message: str, library: SpecLibrary, spec_file: SpecFile
) -> None:
    (error,) = check_file(spec_file(text), library).errors
    assert message in error.message


# Encodings ---------------------------------------------------------------------------------------

TEXT = "topology quad { nodes 2 # café\n link (0, 1) both ways bandwidth 1\n}\n"


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        TEXT.encode("utf-32"),
        TEXT.encode("utf-8-sig"),
        TEXT.replace("\n", "\r").encode(),
    ],
)
def test_encodings_that_are_read(data: bytes, library: SpecLibrary, spec_file: SpecFile) -> None:
    assert not check_file(spec_file(data), library).errors
    assert len(library.topology("my.syncoll").links) == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (TEXT.encode("latin-1"), "in Latin-1 it is `é`"),
        (codecs.BOM_UTF8 + TEXT.encode("latin-1"), "in Latin-1 it is `é`"),
        (TEXT.replace("é", "e").encode("utf-16-le"), "UTF-16 (little endian)"),
        (TEXT.replace("é", "e").encode("utf-16-be"), "UTF-16 (big endian)"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le")[:-1], "mark of UTF-16"),
        (bytes(range(256)) * 4 + b"\0" * 200, "not a text file"),
        (b"topology a\0b { nodes 1 }", "a NUL byte"),
    ],
)
def test_encodings_that_are_named(
    data: bytes, message: str, library: SpecLibrary, spec_file: SpecFile
) -> None:
    (error,) = check_file(spec_file(data), library).errors
    assert message in error.message


def test_files_that_cannot_be_read(library: SpecLibrary, spec_file: SpecFile) -> None:
    path = spec_file(TEXT)
    path.chmod(0)
    if not path.stat().st_mode & stat.S_IRUSR:
        try:
            path.read_bytes()
        except PermissionError:
            (error,) = check_file(path, library).errors
            assert "Permission denied" in error.message
