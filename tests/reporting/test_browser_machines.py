"""The page about machines in a real browser: numbers, sorting, choices and a phone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.simulating import physical_network

from .browser import CELLS, OVERLAPS, Browser, press, use

pytestmark = pytest.mark.usefixtures("clean")


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, syncoll.DesignResult]:
    """The page about a few machines; one is behind another."""
    path = tmp_path_factory.mktemp("design") / "networks.html"
    found = syncoll.design(
        ["circulant(n,1,i)", "torus(2,a)", "ring(8)"],
        ["allgather", "alltoall"],
        where="P == 8",
        steps=2,
    )
    rings = syncoll.design("ring(8)", "allgather", synthesise=True, store="none")
    searched = {one.candidate.name: one.bounds["allgather"] for one in rings.assessed}
    assessed = tuple(
        replace(one, bounds={**one.bounds, "allgather": searched[one.candidate.name]})
        if one.candidate.name in searched
        else one
        for one in found.assessed
    )
    found = replace(found, assessed=assessed)
    found.report(path)
    return path, found


def heads(browser: Browser) -> list[str]:
    found: list[str] = browser.value(
        "[...document.querySelectorAll('#machines th')].map(h => h.innerText.trim())"
    )
    return found


def press_head(browser: Browser, number: int) -> None:
    browser.value(f"document.querySelectorAll('#machines th button')[{number}].click()")
    browser.settle()


def test_machines_are_sorted_by_exact_numbers(
    browser: Browser, networks: tuple[Path, syncoll.DesignResult]
) -> None:
    path, found = networks
    browser.open(path)
    column = heads(browser).index("alltoall: R/C ≥")
    meant = sorted(one.bounds["alltoall"].bandwidth for one in found.assessed)
    for order in (meant, meant[::-1]):
        press_head(browser, column)
        cells = browser.value(CELLS.format("#machines"))
        assert [Fraction(row[column]) for row in cells] == order
    names = {row[0]: row[column] for row in cells}
    assert names == {
        one.candidate.name: str(one.bounds["alltoall"].bandwidth) for one in found.assessed
    }
    # A machine behind no other has an empty cell, which comes last in both orders.
    for _ in range(2):
        press_head(browser, len(heads(browser)) - 1)
        last = [row[-1] for row in browser.value(CELLS.format("#machines"))]
        assert last == [name for name in last if name] + [""] * last.count("")
        assert 0 < last.count("") < len(last)


def test_a_machine_that_is_chosen_shows_its_bounds(
    browser: Browser, networks: tuple[Path, syncoll.DesignResult]
) -> None:
    path, found = networks
    browser.open(path)
    marks = "document.querySelectorAll('#machines-chart .machine')"
    assert browser.value(f"{marks}.length") == len(found.assessed)
    assert browser.value(
        "document.querySelectorAll('#machines-chart .machine.front').length"
    ) == sum(one is None for one in found.behind())
    for number, one in enumerate(found.assessed):
        # By its row, which stays its own wherever it is sorted to.
        press_head(browser, 0)
        browser.value(f"document.querySelector('tr[data-machine=\"{number}\"]').click()")
        browser.settle()
        assert browser.value("document.getElementById('chosen-name').innerText") == (
            one.candidate.name
        )
        words = browser.value("document.getElementById('chosen-words').innerText")
        proved = one.bounds["allgather"]
        assert f"S at least {proved.steps}, R/C at least {proved.bandwidth}." in words
        points = proved.frontier.points if proved.frontier else ()
        assert browser.value("document.querySelectorAll('#chosen-place .point').length") == len(
            points
        )
    browser.value(f"{marks}[0].focus()")
    browser.press("Enter", 13)
    chosen = browser.value("document.querySelector('tr[data-machine].chosen').cells[0].innerText")
    assert browser.value("document.getElementById('chosen-name').innerText") == chosen


def test_times_of_machines_follow_the_formula(
    browser: Browser, networks: tuple[Path, syncoll.DesignResult]
) -> None:
    path, found = networks
    browser.open(path)
    use(browser, "#sizes-controls input", 5)  # µs a step; a link has 25 GB/s
    rows = {row[0]: row[1:] for row in browser.value(CELLS.format("#sizes-table"))}

    def least(one: Any, size: int) -> float:
        proved = one.bounds["allgather"]
        return min(
            float(s * Fraction(5, 10**6) + proved.at(s) * size / 8 / (25 * 10**9))
            for s in range(proved.steps, 20)
        )

    for size, name in ((1 << 10, "1 KiB"), (1 << 20, "1 MiB")):
        times = {one.candidate.name: least(one, size) for one in found.assessed}
        best = min(times.values())
        assert rows[name][1] == f"{best * 1e6:.4g} µs"
        for machine in rows[name][0].split(" and ")[0].split(", "):
            assert times[machine] == pytest.approx(best)
        (ring,) = (one for one in found.assessed if one.candidate.name == "ring(8)")
        assert ring.bounds["allgather"].frontier is not None
        points = ring.bounds["allgather"].frontier.points
        taken = min(p.steps * 5e-6 + float(p.bandwidth) * size / 8 / 25e9 for p in points)
        assert rows[name][2:] == ["ring(8)", f"{taken * 1e6:.4g} µs"]


def test_latencies_that_machines_state(browser: Browser, tmp_path: Path) -> None:
    found = syncoll.design(["dgx_h100", "ring(8)"], "allgather")
    page = tmp_path / "page.html"
    found.report(page)
    browser.open(page)
    (h100,) = (one for one in found.assessed if one.candidate.rate is not None)
    use(browser, "#sizes-controls select", "8 nodes, with units")
    network = physical_network(h100.candidate.topology)
    proved, rate = h100.bounds["allgather"], h100.candidate.rate or Fraction(1)
    rows = {row[0]: row[1:] for row in browser.value(CELLS.format("#sizes-table"))}
    for size, name in ((1 << 10, "1 KiB"), (1 << 30, "1 GiB")):
        least = proved.steps * network.least_latency + proved.bandwidth * size / 8 / rate
        unit, factor = ("ns", 1e9) if least < 1e-6 else ("ms", 1e3)
        assert rows[name] == [h100.candidate.name, f"{float(least) * factor:.4g} {unit}"]
    words = browser.value("document.getElementById('sizes-words').innerText")
    assert "Latencies are as stated" in words
    use(browser, "#sizes-controls select", "8 nodes")
    rows = {row[0]: row[1:] for row in browser.value(CELLS.format("#sizes-table"))}
    assert rows["1 KiB"][0] == "ring(8)"


def test_machines_of_different_sizes_compare(browser: Browser, tmp_path: Path) -> None:
    found = syncoll.design(["ring(n)", "torus(2,a)"], "allgather", where="P >= 4", most=4, steps=2)
    assert len({one.candidate.costs.nodes for one in found.assessed}) > 1
    path = tmp_path / "sizes.html"
    found.report(path)
    browser.open(path)
    rows = {row[0]: row[1:] for row in browser.value(CELLS.format("#compared-table"))}
    assert len(rows) == len(found.assessed)
    for one in found.assessed:
        proved, nodes = one.bounds["allgather"], one.candidate.costs.nodes
        times = [
            min(
                float(s * Fraction(1, 10**6) + (proved.at(s) or 0) * size / nodes / (25 * 10**9))
                for s in range(proved.steps, 20)
            )
            for size in (1 << 12, 1 << 20, 1 << 28)
        ]
        shown = rows[one.candidate.name]
        assert shown[:2] == [str(nodes), str(one.candidate.costs.links)]
        assert [float(cell) for cell in shown[2:5]] == pytest.approx(
            [1e6 * seconds for seconds in times], rel=1e-3
        )
        bus = (1 << 28) / times[2] * (nodes - 1) / nodes
        assert float(shown[5]) == pytest.approx(bus / 1e9, rel=1e-3)
    assert browser.value(CELLS.format("#sizes-table")) == []
    use(browser, "#sizes-controls select", "4 nodes")
    assert browser.value(CELLS.format("#sizes-table"))[0][0] == "1 KiB"


def test_the_page_of_machines_on_a_phone(
    browser: Browser, networks: tuple[Path, syncoll.DesignResult]
) -> None:
    browser.resize(360, mobile=True)
    browser.open(networks[0])
    assert browser.value("document.documentElement.scrollWidth") <= 360
    assert browser.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("width", [390, 1280])
def test_labels_of_machines_do_not_collide(
    browser: Browser, networks: tuple[Path, syncoll.DesignResult], width: int
) -> None:
    browser.resize(width, mobile=width < 600)
    browser.open(networks[0])
    for mode in ("R/C", "Time of 1 MiB"):
        press(browser, mode)
        assert browser.value(OVERLAPS % "#machines-chart") == []
