"""The start page's picture agrees with today's searches; ``python docs/picture.py`` draws it."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from .conftest import DOCS

_SPEC = importlib.util.spec_from_file_location("picture", DOCS / "picture.py")
assert _SPEC is not None
picture: Any = importlib.util.module_from_spec(_SPEC)
assert _SPEC.loader is not None
_SPEC.loader.exec_module(picture)


@pytest.mark.slow
def test_it_is_not_out_of_date() -> None:
    times = picture.recorded(picture.PICTURE.read_bytes())
    today = picture.simulated()
    assert list(times) == list(today)
    for name, each in today.items():
        assert times[name] == pytest.approx(each, rel=0.03), name


def test_a_picture_holds_its_data() -> None:
    times = {name: [2.0 * i for i in range(1, 12)] for name in ("syncoll", "ring")}
    assert picture.recorded(picture.draw(times)) == times
