"""The page about machines: every number is the design's, and nothing is loaded or forged."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from fractions import Fraction
from html import unescape
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.designing import Assessed, BuildCosts, Design, MachineCandidate, Proved, Question
from syncoll.designing.design import reasons
from syncoll.errors import SpecError
from syncoll.reporting import designs
from syncoll.reporting.designs import design_report

from .conftest import data_of
from .test_page import EVIL, OUTSIDE, Parsed


def cells(html: str, section: str) -> list[list[str]]:
    """The rows of a section's table."""
    (inside,) = re.findall(rf'<section id="{section}"[^>]*>(.*?)</section>', html, re.DOTALL)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", inside, re.DOTALL)
    return [[unescape(one) for one in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows[1:]]


def test_tables_equal_the_design(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, folder = tmp_path / "page.html", tmp_path / "made"
    where = ["circulant(n,1,i)", "dgx1", "--where", "P == 8"]
    command = ["design", *where, "allgather", "alltoall", "--steps", "2", "-o", str(folder)]
    assert main([*command, "--report", str(page)]) == 0
    assert f"report in {page}" in capsys.readouterr().err
    found = syncoll.design(
        ["circulant(n,1,i)", "dgx1"], ["allgather", "alltoall"], where="P == 8", steps=2,
        output=folder,
    )  # fmt: skip
    html = page.read_text()
    meant = [
        [
            one.candidate.name,
            *map(str, (one.candidate.costs.nodes, one.candidate.costs.ports)),
            *map(str, (one.candidate.costs.links, one.candidate.costs.bandwidth)),
            *(
                str(number)
                for name in found.collectives
                for number in (one.bounds[name].steps, one.bounds[name].bandwidth)
            ),
            "" if ahead is None else ahead.candidate.name,
        ]
        for one, ahead in zip(found.assessed, found.behind(), strict=True)
    ]
    assert cells(html, "machines") == meant
    behind = cells(html, "behind")
    assert [row[:2] for row in behind] == [[row[0], row[-1]] for row in meant if row[-1]]
    assert all(row[2] for row in behind)
    proved = {(row[0], row[1]): row for row in cells(html, "proved")}
    assert proved["dgx1", "allgather"][2:] == ["2", "2: 3/2, 3: 7/6", "7/6", ""]
    assert len(proved) == 2 * len(meant)
    again = unescape(re.findall(r"<code>(syncoll design .*)", html)[0])
    assert shlex.split(again)[1:] == [
        "design", "circulant(n,1,i)", "dgx1", "--where", "P == 8", "allgather", "alltoall",
        "--most", "64", "--steps", "2", "-o", "proofs", "--report", "design.html",
    ]  # fmt: skip
    data = data_of(html)
    assert [one["name"] for one in data["machines"]] == [row[0] for row in meant]
    for one, shown in zip(found.assessed, data["machines"], strict=True):
        for name, bound in one.bounds.items():
            assert shown["bounds"][name]["low"] == str(bound.bandwidth)
            assert shown["bounds"][name]["by_steps"] == [[s, str(b)] for s, b in bound.by_steps]


def test_it_loads_nothing_and_names_are_text() -> None:
    ring = syncoll.topology("ring(3)")
    costs = BuildCosts.of(ring)
    collective = syncoll.collective("allgather")
    candidate = MachineCandidate(replace(ring, name=EVIL), costs, (EVIL,))
    proved = Proved(1, Fraction(1), None)
    design = Design(
        Question((collective,), (EVIL,), (EVIL,)),
        (
            Assessed(candidate, {"allgather": proved}),
            Assessed(MachineCandidate(ring, costs), {}, {"allgather": EVIL}, EVIL),
        ),
        {EVIL: (SpecError(EVIL, None, EVIL), 2)},
    )
    html = design_report(design)
    for tag, attributes in Parsed(html).tags:
        assert tag != "img"
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert (attributes.get("href") or "#").startswith("#")
        assert "src" not in attributes
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style is not None
    assert not [one for one in OUTSIDE.findall(style[1]) if one != "url("]
    assert "default-src 'none'" in unescape(html)
    assert data_of(html)["machines"][0]["name"] == EVIL


def test_reasons_name_the_smaller_numbers() -> None:
    ring = syncoll.topology("ring(4)")

    def machine(ports: int, links: int, **bounds: Proved) -> Assessed:
        return Assessed(
            MachineCandidate(ring, BuildCosts(4, links, ports, Fraction(links))), bounds
        )

    one = machine(2, 8, x=Proved(2, Fraction(1), None, ((2, Fraction(2)), (3, Fraction(1)))))
    two = machine(3, 8, x=Proved(3, Fraction(1), None, ((3, Fraction(3, 2)),)))
    assert reasons(one, two, ["x"]) == [
        "2 ports instead of 3",
        "x: S >= 2 instead of 3",
        "x with 3 steps: R/C >= 1 instead of 3/2",
    ]
    assert reasons(two, one, ["x"]) == []
    assert reasons(one, machine(2, 8), ["x", "y"]) == []


def test_page_of_many_machines_drops_dominated_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    found = syncoll.design(["torus(a,b)", "circulant(n,1,i)"], "alltoall", where="P == 12")
    front = [o.candidate.name for o, a in zip(found.assessed, found.behind(), strict=True) if not a]
    assert len(front) < len(found.assessed) - 1
    monkeypatch.setattr(designs, "_MOST", len(front) + 1)
    html = found.report()
    shown = [row[0] for row in cells(html, "machines")]
    assert set(front) < set(shown)
    assert len(shown) == len(front) + 1
    left = len(found.assessed) - len(shown)
    assert f"{left} machine{'s' if left > 1 else ''} behind others" in html


def test_a_page_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "none" / "page.html"
    assert main(["design", "ring(4)", "allgather", "--report", str(page)]) == 2
    output = capsys.readouterr().err
    assert str(page) in output
    assert main(["design", "ring(4)", "allgather", "--report", "-"]) == 2
    assert "--report needs the name of a file" in capsys.readouterr().err
    assert "Traceback" not in output
