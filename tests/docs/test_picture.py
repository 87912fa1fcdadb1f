"""The start page's picture agrees with today's searches; ``python docs/picture.py`` draws it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from syncoll.cli.main import main

from .conftest import DOCS

_SPEC = importlib.util.spec_from_file_location("picture", DOCS / "picture.py")
assert _SPEC is not None
picture: Any = importlib.util.module_from_spec(_SPEC)
assert _SPEC.loader is not None
_SPEC.loader.exec_module(picture)


def test_it_is_not_out_of_date(folder: Path, tmp_path: Path) -> None:
    ring = tmp_path / "ring.json"
    assert main([*picture.RING, str(ring)]) == 0
    assert picture.recorded(picture.PICTURE.read_bytes()) == picture.facts(
        folder / "frontier.json", ring
    )


def test_a_picture_holds_its_data() -> None:
    facts = {"frontier": [["1", "2", "1"], ["4", "3/2", "5/4"]], "ring": [["5", "7/6"]]}
    assert picture.recorded(picture.draw(facts)) == facts
