"""The picture: the same bytes for the same plan, without a screen, with every crossover."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from pathlib import Path

import pytest

from syncoll.errors import UsageError
from syncoll.planning import CostModel, Plan, draw, picture_format, plan_sizes
from syncoll.planning.plot import _sizes, _ticks

from .conftest import Make

DGX1 = [(2, 3, 2), (3, 7, 6)]
MODEL = CostModel(Fraction(7, 10**7), Fraction(25 * 10**9))


@pytest.fixture
def plan(make: Make) -> Plan:
    return plan_sizes(make([*DGX1, (4, 4, 3)]), MODEL)


def texts(svg: bytes) -> list[str]:
    """matplotlib writes each text as curves, and in a comment."""
    return re.findall(r"<!-- (.*?) -->", svg.decode())


def test_the_svg_does_not_depend_on_user_settings(plan: Plan) -> None:
    import matplotlib as mpl

    first = draw(plan, "allgather on dgx1").content("svg")
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.hashsalt": "x"}):
        assert draw(plan, "allgather on dgx1").content("svg") == first
        assert mpl.rcParams["font.size"] == 30, "and a person's settings stay"
    assert ElementTree.fromstring(first).tag.endswith("svg")
    assert b"<dc:date>" not in first
    shown = texts(first)
    for text in ("allgather on dgx1", "102.5 KiB", "S = 2, R/C = 3/2", "never the best", "time"):
        assert text in shown


def test_names_are_no_formulas(plan: Plan) -> None:
    assert "a $b^$ c" in texts(draw(plan, "a $b^$ c").content("svg"))


def test_png(plan: Plan) -> None:
    content = draw(plan, "x").content("png")
    assert content.startswith(b"\x89PNG\r\n")
    assert content == draw(plan, "x").content("png")


def test_only_the_sizes_that_are_asked_for(plan: Plan) -> None:
    shown = texts(draw(plan, "x", (1 << 20, 1 << 24)).content("svg"))
    assert "102.5 KiB" not in shown
    assert {"1 MiB", "16 MiB"} <= set(shown)


def test_every_crossover_is_shown(make: Make) -> None:
    plan = plan_sizes(make(DGX1), CostModel(Fraction(1), Fraction(10**12)))
    low, high = _sizes(plan)
    assert low < plan.crossovers[0] < high
    assert low == 1 << 10
    tiny = plan_sizes(make(DGX1), CostModel(Fraction(1, 10**9), Fraction(10)))
    assert _sizes(tiny) == (1, 1 << 30)


@pytest.mark.parametrize(("low", "high"), [(1, 2), (1000, 1023), (1, 1 << 300), (1024, 1 << 30)])
def test_ticks_can_be_read(low: int, high: int) -> None:
    ticks = _ticks(low, high)
    assert 1 <= len(ticks) <= 10
    assert all(low <= tick <= high for tick in ticks)


def test_lines_of_zero_times_raise_no_warning(make: Make) -> None:
    """All times are 0, which a logarithmic axis cannot show; no warning is raised."""
    (one,) = make([(1, 0, 1)])
    assert draw(plan_sizes([one], CostModel(Fraction(0), Fraction(1))), "x").content("png")


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.png.txt", ".svg"])
def test_other_formats(name: str) -> None:
    with pytest.raises(UsageError, match=r"ends in \.png or \.svg"):
        picture_format(Path(name))
    assert picture_format(Path("a.SVG")) == "svg"


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"syncoll\[plot\]"):
        picture_format(Path("a.svg"))
