"""Figures for papers: present for every page with an algorithm, and reproducible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import UsageError
from syncoll.reporting import Subject, Times, figures
from syncoll.reporting.figures import link_curves
from syncoll.reporting.layout import lay_out

from .conftest import BEFORE, only_families


def test_each_is_an_svg_and_a_png(dgx1: Path, tmp_path: Path) -> None:
    folder, page = tmp_path / "figures", tmp_path / "r.html"
    words = ["report", str(dgx1), "-o", str(page), "--figures", str(folder), "--classics", "ring"]
    assert main(words) == 0
    names = ("frontier", "times", "network-0", "network-1")
    assert {path.name for path in folder.iterdir()} == {
        f"{n}.{s}" for n in names for s in ("svg", "png")
    }
    assert (folder / "network-1.png").read_bytes().startswith(b"\x89PNG")
    times = (folder / "times.svg").read_text("utf-8")
    assert "ring" in times
    assert "simulated" in times
    assert "$" not in times
    made = syncoll.report(dgx1, classics=["ring"]).figures()
    assert made["times"].svg == times


def test_every_step_is_drawn(dgx1: Path) -> None:
    picture = syncoll.report(dgx1, classics=False).figures()["network-1"].svg
    for step in range(3):
        assert f"step {step}, " in picture


def test_odd_ones() -> None:
    subject = Subject.of_frontier(only_families(), None)
    made = syncoll.report(BEFORE / "outcome_sat.json", classics=False)
    assert "frontier" not in made.figures()
    assert "frontier" not in figures(subject, made.times)
    nothing = Subject(subject.topology, "broadcast", (), answer="unsat")
    with pytest.raises(UsageError, match="no algorithm"):
        figures(nothing, Times.of(nothing, made.times.model, "given", "given"))


def test_links_around_a_torus_have_two_stubs() -> None:
    torus = syncoll.topology("torus(4,4)")
    layout = lay_out(torus)
    curves = link_curves(torus, layout)
    number = torus.links.index((0, 3))
    first, outer, gap, other, last = curves[number]
    assert number in layout.broken
    assert np.isnan(gap).all()
    assert outer[0] < first[0] < last[0] < other[0]
    assert not np.isnan(curves[torus.links.index((0, 1))]).any()
