"""Reports in a real browser: nothing is complained of or asked for, and everything can be used."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.reporting import Subject
from syncoll.simulating import physical_network

from .browser import Browser
from .conftest import BEFORE, only_families, shown

CELLS = (
    "[...document.querySelectorAll('{0} tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
)
PIXELS = "document.getElementById('{0}').toDataURL()"


@pytest.fixture(autouse=True)
def clean(browser: Browser) -> Any:
    """No page may complain, or ask for anything but itself."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.look()
    browser.resize(1440)
    yield
    assert not browser.complaints
    assert all(url.startswith(("file:", "data:", "blob:")) for url in browser.requests)
    assert len({url for url in browser.requests if url.startswith("file:")}) == 1


@pytest.fixture(scope="module")
def report(dgx1: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    syncoll.report(dgx1, path, alpha="0.7us", beta="25GB/s", collective="allgather")
    return path


def pixels(browser: Browser, canvas: str) -> str:
    return hashlib.sha256(browser.value(PIXELS.format(canvas)).encode()).hexdigest()


def use(browser: Browser, control: str, value: object) -> None:
    """Sets a control as a person would."""
    script = "(e => { e.value = %s; for (const k of ['input', 'change']) "
    script += "e.dispatchEvent(new Event(k, {bubbles: true})); })(document.querySelector(%s))"
    browser.value(script % (json.dumps(str(value)), json.dumps(control)))
    browser.settle()


def test_its_numbers_are_the_file_s(browser: Browser, report: Path, dgx1: Path) -> None:
    browser.open(report)
    document = json.loads(dgx1.read_text())
    rows = browser.value(CELLS.format("#frontier"))
    assert [row[:5] for row in rows] == [
        [str(one[k]) for k in ("steps", "rounds", "chunks", "bandwidth", "bound")]
        for one in document["points"]
    ]
    assert [row[6] for row in rows] == [
        str(len(one["algorithm"]["sends"])) for one in document["points"]
    ]
    points = browser.value(
        "[...document.querySelectorAll('#frontier-chart .point')].map("
        "p => p.getAttribute('aria-label'))"
    )
    assert [label.partition(",")[0] for label in points] == ["S = 2", "S = 3"]
    # Times by the simulator, then by the formula, the fastest first.
    simulated = syncoll.simulate(dgx1, alpha="0.7us", beta="25GB/s", sizes=[8 << 20])
    fastest: dict[str, float] = {}
    for timed in (*simulated.algorithms, *simulated.classics):
        stored = timed.algorithm
        name = f"S = {stored.steps}, R/C = {stored.bandwidth}"
        name = timed.classic.replace("_", " ") or name
        fastest[name] = min(fastest.get(name, 1.0), float(timed.seconds[0]))
    rows = browser.value(CELLS.format("#times-table"))
    assert {row[0]: row[1] for row in rows} == {
        name: f"{seconds * 1e6:.4g} µs" for name, seconds in fastest.items()
    }
    best_classic = min(seconds for name, seconds in fastest.items() if "=" not in name)
    assert rows[0][3].startswith(f"{best_classic / min(fastest.values()):.4g}")
    browser.value(
        "[...document.querySelectorAll('button')].find(b => b.innerText === 'Lockstep').click()"
    )
    browser.settle()
    size, times = 1 << 20, {}
    for one in document["points"]:
        cost = Fraction(one["bandwidth"])
        seconds = one["steps"] * 0.7e-6 + float(cost) * size / 25e9
        times[f"S = {one['steps']}, R/C = {cost}"] = f"{seconds * 1e6:.4g} µs"
    found = dict(row[:2] for row in browser.value(CELLS.format("#times-table")))
    assert {name: found[name] for name in times} == times
    # What each limit carries in step 1 of the second point.
    browser.value("document.querySelectorAll('tr[data-algorithm]')[1].click()")
    browser.settle()
    use(browser, "#step", 1)
    if browser.value("!!document.querySelector('#traffic-table button')"):
        browser.value("document.querySelector('#traffic-table button').click()")
    algorithm = document["points"][1]["algorithm"]
    expected = {}
    for bound in document["interconnect"]["bounds"]:
        ((a, b),) = bound["links"]
        chunks = sum(s[1:] == [a, b, 1] for s in algorithm["sends"])
        room = Fraction(bound["chunks_per_round"])
        share = 100 * chunks / (room * algorithm["rounds_per_step"][1])
        if chunks:
            expected[f"{a} → {b}"] = [str(chunks), str(room), f"{float(share):.4g} %"]
    found = {
        row[0]: [cell.strip() for cell in row[1:]]
        for row in browser.value(CELLS.format("#traffic-table"))
    }
    assert found == expected
    prices = browser.value(CELLS.format("#proof-table"))
    assert prices, "what proves the bound of the chosen point"


def test_slider_play_and_follow_change_the_picture(browser: Browser, report: Path) -> None:
    browser.open(report)
    seen = {pixels(browser, "traffic-canvas")}
    use(browser, "#step", 1)
    seen.add(pixels(browser, "traffic-canvas"))
    assert "Step 1 of 0 to 1" in browser.value("document.getElementById('traffic-told').innerText")
    use(browser, "#follow", 3)
    seen.add(pixels(browser, "traffic-canvas"))
    use(browser, "#follow", "")
    browser.value("document.getElementById('play').click()")
    for _ in range(200):  # until chunks have moved
        seen.add(pixels(browser, "traffic-canvas"))
        if len(seen) == 4:
            break
        browser.settle()
    assert len(seen) == 4
    browser.value("document.getElementById('play').click()")
    assert browser.value("document.getElementById('play').getAttribute('aria-label')") == "Play"


def test_the_keyboard_is_enough(browser: Browser, report: Path) -> None:
    browser.open(report)
    browser.value("document.querySelector('.point.chosen').focus()")
    before = pixels(browser, "proof-canvas")
    browser.press("ArrowRight", 39)
    assert browser.value("document.activeElement.dataset.number") == "1"
    assert browser.value("document.querySelector('tr.chosen').dataset.algorithm") == "1"
    assert pixels(browser, "proof-canvas") != before
    browser.value("document.getElementById('step').focus()")
    browser.press("ArrowRight", 39)
    assert browser.value("document.getElementById('step').value") == "1"
    unnamed = browser.value(
        "[...document.querySelectorAll('button, input, select, canvas, [role]')].filter(e => "
        "!(e.getAttribute('aria-label') || e.innerText || e.closest('label') || "
        "e.matches('g, svg, div'))).length"
    )
    assert unnamed == 0, "every control has a name"


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_every_width(browser: Browser, report: Path, width: int) -> None:
    browser.resize(width, mobile=width < 600)
    browser.open(report)
    browser.settle()
    assert browser.value("document.documentElement.scrollWidth") <= width
    small = browser.value(
        "[...document.querySelectorAll('.chart text')].filter(t => "
        "t.getBoundingClientRect().height && parseFloat(getComputedStyle(t).fontSize) * "
        "t.ownerSVGElement.getScreenCTM().a < 9).length"
    )
    assert small == 0, "every word in a chart can be read"


def test_dark_light_and_paper(browser: Browser, report: Path) -> None:
    browser.open(report)
    light = pixels(browser, "traffic-canvas")
    browser.look(dark=True)
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = pixels(browser, "traffic-canvas")
    assert dark != light
    assert browser.value(ground) == "rgb(20, 23, 27)"
    browser.look(dark=True, medium="print")
    assert browser.value(ground) == "rgb(255, 255, 255)"
    assert pixels(browser, "traffic-canvas") != dark
    assert browser.pdf().startswith(b"%PDF")


def test_it_cannot_load_anything(browser: Browser, report: Path) -> None:
    browser.open(report)
    blocked = browser.value(
        "new Promise((done) => { document.addEventListener('securitypolicyviolation', (e) => "
        "done(e.violatedDirective)); new Image().src = 'data:image/gif;base64,R0lGODlhAQABAA=='; })"
    )
    assert blocked == "img-src"
    browser.complaints.clear()


def test_a_page_names_the_parts_without_room(
    browser: Browser, dgx1: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncoll.reporting.content._ROOM", 0)
    path = tmp_path / "small.html"
    syncoll.report(dgx1, path, classics=False)
    browser.open(path)
    browser.value("document.querySelectorAll('tr[data-algorithm]')[1].click()")
    browser.settle()
    assert "no room" in browser.value("document.getElementById('traffic-told').innerText")
    assert "no room" in browser.value("document.getElementById('proof-table').innerText")
    assert browser.value(CELLS.format("#traffic-table")) == []


@pytest.mark.parametrize("name", ["outcome_sat", "outcome_unsat", "frontier_combining", "families"])
def test_odd_ones(browser: Browser, tmp_path: Path, name: str) -> None:
    path = tmp_path / "odd.html"
    if name == "families":
        path.write_text(shown(Subject.of_frontier(only_families(), None)), encoding="utf-8")
    else:
        syncoll.report(BEFORE / f"{name}.json", path)
    browser.open(path)
    assert browser.value("document.getElementById('trouble').hidden")
    assert browser.value("document.getElementById('network').hidden") == (name == "outcome_unsat")


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, syncoll.DesignResult]:
    """The page about a few machines, one of which is behind another."""
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
    # Who is behind nobody has an empty cell, which comes last whichever way.
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
        told = browser.value("document.getElementById('chosen-told').innerText")
        proved = one.bounds["allgather"]
        assert f"S at least {proved.steps}, R/C at least {proved.bandwidth}." in told
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
            float(s * Fraction(5, 10**6) + proved.at(s) * size / (25 * 10**9))
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
        taken = min(p.steps * 5e-6 + float(p.bandwidth) * size / 25e9 for p in points)
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
        least = proved.steps * network.least_latency + proved.bandwidth * size / rate
        unit, factor = ("ns", 1e9) if least < 1e-6 else ("ms", 1e3)
        assert rows[name] == [h100.candidate.name, f"{float(least) * factor:.4g} {unit}"]
    told = browser.value("document.getElementById('sizes-told').innerText")
    assert "Latencies are as stated" in told
    use(browser, "#sizes-controls select", "8 nodes")
    rows = {row[0]: row[1:] for row in browser.value(CELLS.format("#sizes-table"))}
    assert rows["1 KiB"][0] == "ring(8)"


def test_the_page_of_machines_on_a_phone(
    browser: Browser, networks: tuple[Path, syncoll.DesignResult]
) -> None:
    browser.resize(360, mobile=True)
    browser.open(networks[0])
    assert browser.value("document.documentElement.scrollWidth") <= 360
    assert browser.pdf().startswith(b"%PDF")
