"""Long lists of whole numbers are written as `json` writes them, only faster."""

from __future__ import annotations

import json
from typing import Any

import pytest

from syncoll.documents.json_text import compact_text, to_text

LONG: list[Any] = [
    list(range(100)),
    [[i, -i, 10**12 * i] for i in range(100)],
    [[i, [i, [0]]] for i in range(70)],
    [[]] * 80,
    [1.5, 1e-9, 1e22, *range(90)],
    ["7/6", *range(90)],
    [True, False, None, *range(90)],
    ["ü", "\ud800", *range(90)],
    [*range(90), 1 << 70],
    [(1, 2)] * 80,
]


@pytest.mark.parametrize("value", LONG, ids=lambda value: repr(value)[:30])
def test_the_text_is_that_of_json(value: list[Any]) -> None:
    document = {"b": value, "a": [{"z": value, "ö": 1}, {}], "c": {}}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    assert compact_text(document) == text
    assert json.loads(to_text(document)) == json.loads(text)
    assert to_text(value, ascii_only=True) == json.dumps(value)


@pytest.mark.parametrize(
    "one",
    [
        {"z": [7], "a": "ring [1, 2]", "b": True},
        {"z": 1e22, "a": [1.5]},
        {"z": None, "a": "\x7f"},
        {"z": "ü", "a": '"'},
        {"z": 1 << 70},
    ],
)
def test_the_compact_text_of_many_objects_is_that_of_json(one: dict[str, Any]) -> None:
    value = [dict(one) for _ in range(80)]
    assert compact_text(value) == json.dumps(value, sort_keys=True, separators=(",", ":"))


def test_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_text([float("nan"), *range(90)])
