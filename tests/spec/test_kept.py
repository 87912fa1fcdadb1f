"""Trees of shipped files are kept for the next process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from syncoll.errors import SpecError
from syncoll.spec import kept
from syncoll.spec.kept import parse_once
from syncoll.spec.parser import parse_file, parse_reference
from syncoll.spec.source import Source
from syncoll.spec.syntax import File, Node

TEXT = """\
# Two nodes.
topology pair(b = 3/2) { nodes 2 link (0, 1) both ways bandwidth b label "all of {b}" }
collective gather { chunks C pre { (c, n) : c mod P == n } post All }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path)
    return tmp_path


def structure(node: Node) -> list[Any]:
    """The contents of a tree and their places, node by node."""
    return [
        (type(one), one.span.origin, {k: v for k, v in vars(one).items() if isinstance(v, str)})
        for one in node.walk()
    ]


def never(_source: Source) -> File:
    raise AssertionError("it was kept")


def test_a_tree_is_parsed_once(folder: Path) -> None:
    source = Source("pair.syncoll", TEXT)
    made = parse_once(source, parse_file)
    (path,) = folder.glob("spec-*")  # lark's grammar may be there too
    again = parse_once(Source("pair.syncoll", TEXT), never)
    assert structure(again) == structure(made)
    with pytest.raises(AssertionError):
        parse_once(Source("pair.syncoll", TEXT + "\n"), never)
    with pytest.raises(AssertionError):
        parse_once(Source("other.syncoll", TEXT), never)
    for content in (path.read_bytes()[:-9], b"", b"\x80\x04N."):
        path.write_bytes(content)
        assert structure(parse_once(source, parse_file)) == structure(made)
        assert structure(parse_once(source, never)) == structure(made)


def test_an_error_is_not_kept(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(SpecError):
            parse_once(Source("pair.syncoll", "topology {"), parse_file)
    assert not list(folder.glob("spec-*"))


@pytest.mark.usefixtures("folder")
def test_another_parser_makes_trees_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("pair.syncoll", TEXT)
    parse_once(source, parse_file)
    monkeypatch.setattr(kept, "_makers", lambda: b"other code")
    with pytest.raises(AssertionError):
        parse_once(source, never)


def test_without_a_place_every_process_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_place(*_: object, **__: object) -> Path:
        raise OSError

    monkeypatch.setattr("platformdirs.user_cache_path", no_place)
    source = Source("pair.syncoll", TEXT)
    assert structure(parse_once(source, parse_file)) == structure(parse_file(source))


@pytest.mark.parametrize("text", ["dgx1", " dgx1", "dgx1()", "ring(8)"])
def test_a_bare_name_is_read_as_by_the_parser(text: str) -> None:
    call = parse_reference(Source.typed(text))
    assert call.id == text.strip().partition("(")[0]
    assert call.span.text == text.strip()
    assert call.name_span.text == call.id


def test_a_word_of_the_language_is_no_reference() -> None:
    with pytest.raises(SpecError, match="is a word of the language"):
        parse_reference(Source.typed("topology"))
