"""JSON and XML from outside: parsed as by the standard library, without unsafe features."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from syncoll.errors import ImportFormatError
from syncoll.importing.json_text import exact_number, foreign_json, foreign_text, parse_json, shown
from syncoll.importing.xml_text import parse_xml

NUMBERS = st.integers(-(10**29), 10**29) | st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=6
)
LEAVES = st.none() | st.booleans() | st.text(max_size=5) | NUMBERS
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def written(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}: {written(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


@given(VALUES)
def test_json_comes_back(value: Any) -> None:
    assert parse_json(written(value)) == value


@given(st.text(alphabet='{}[]",:0123456789.eE-+ntrueflas \\u', max_size=20))
def test_json_is_accepted_as_by_the_standard_library(text: str) -> None:
    repeats = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        repeats.append(len(dict(items)) < len(items))
        return dict(items)

    try:
        expected = json.loads(text, parse_float=Decimal, object_pairs_hook=pairs)
    except ValueError:
        expected = None
        repeats.append(True)
    if any(repeats):
        with pytest.raises(ImportFormatError):
            parse_json(text)
    else:
        assert parse_json(text) == expected


@given(NUMBERS)
def test_numbers_are_exact(number: int | Decimal) -> None:
    assert exact_number(number) == Fraction(number)
    if number >= 0:
        assert exact_number(written(number)) == Fraction(number)


def test_a_float_is_the_number_that_is_written() -> None:
    assert exact_number(0.1) == Fraction(1, 10)
    assert exact_number("3/2") == Fraction(3, 2)
    assert exact_number(" 1.5e2 ") == 150


@pytest.mark.parametrize(
    "value",
    [True, None, [], "", "x", "1/0", "-1", "1e31", "1e99", "1e999999999", float("nan"),
     float("inf"), Decimal("1e31"), Decimal("1e-31"), Decimal("nan"), 10**30, "9" * 31, "\u0661"],
)  # fmt: skip
def test_other_texts_are_no_numbers(value: object) -> None:
    assert exact_number(value) is None


def test_shown_values_are_short() -> None:
    assert shown("x" * 1000).endswith("…")
    assert len(shown(list(range(1000)))) <= 60
    assert shown(Decimal("1.50")) == "1.50"


def test_xml_is_parsed_as_elsewhere() -> None:
    text = '<?xml version="1.0" encoding="utf-8"?><a b="1 &amp; 2"><!-- c --><d/>e</a>'
    expected = ElementTree.fromstring(text)
    assert ElementTree.tostring(parse_xml(text)) == ElementTree.tostring(expected)


@pytest.mark.parametrize(
    "text",
    ["", " ", "<a>", "<a></b>", "<a b=1/>", "<a/><b/>", "<a>&nbsp;</a>", "<a>\x01</a>",
     "<!DOCTYPE a><a/>", "<a>" * 65 + "</a>" * 65],
)  # fmt: skip
def test_xml_that_is_refused(text: str) -> None:
    with pytest.raises(ImportFormatError, match=r"not XML|document type|in one another"):
        parse_xml(text)


def test_an_unknown_text_belongs_to_no_tool() -> None:
    assert foreign_text("GPU0 X NV1") == foreign_json({"nodes": []}) == foreign_json([]) == ""
