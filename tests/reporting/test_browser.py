"""Reports in a real browser: nothing is complained of or asked for, and everything can be used."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path

import pytest

import syncoll
from syncoll.reporting import Subject

from .browser import CELLS, OVERLAPS, Browser, press, use
from .conftest import BEFORE, only_families, shown

pytestmark = pytest.mark.usefixtures("clean")

PIXELS = "document.getElementById('{0}').toDataURL()"


@pytest.fixture(scope="module")
def report(dgx1: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    syncoll.report(dgx1, path, alpha="0.7us", beta="25GB/s", collective="allgather")
    return path


def pixels(browser: Browser, canvas: str) -> str:
    return hashlib.sha256(browser.value(PIXELS.format(canvas)).encode()).hexdigest()


def test_numbers_equal_the_file(browser: Browser, report: Path, dgx1: Path) -> None:
    browser.open(report)
    document = json.loads(dgx1.read_text())
    rows = browser.value(CELLS.format("#frontier"))
    assert [row[:6] for row in rows] == [
        [str(one[k]) for k in ("steps", "rounds", "chunks", "messages", "bandwidth", "bound")]
        for one in document["points"]
    ]
    assert [row[7] for row in rows] == [
        str(len(one["algorithm"]["sends"])) for one in document["points"]
    ]
    points = browser.value(
        "[...document.querySelectorAll('#frontier-chart .point')].map("
        "p => p.getAttribute('aria-label'))"
    )
    assert [label.partition(",")[0] for label in points] == ["S = 2", "S = 3"]
    # Times by the simulator, then by the formula, the fastest first.
    simulated = syncoll.simulate(dgx1, alpha="0.7us", beta="25GB/s", sizes=[1 << 20])
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
        "[...document.querySelectorAll('button')].find(b => b.innerText === 'Formula').click()"
    )
    browser.settle()
    size, times = 1 << 20, {}
    for one in document["points"]:
        cost = Fraction(one["bandwidth"])
        seconds = one["steps"] * 0.7e-6 + float(cost) * size / 8 / 25e9
        times[f"S = {one['steps']}, R/C = {cost}"] = f"{seconds * 1e6:.4g} µs"
    found = dict(row[:2] for row in browser.value(CELLS.format("#times-table")))
    assert {name: found[name] for name in times} == times
    # The load of each limit in step 1 of the second point.
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
    assert prices, "the proof of the bound of the chosen point"


def test_slider_play_and_follow_change_the_picture(browser: Browser, report: Path) -> None:
    browser.open(report)
    seen = {pixels(browser, "traffic-canvas")}
    use(browser, "#step", 1)
    seen.add(pixels(browser, "traffic-canvas"))
    assert "Step 1 of 0 to 1" in browser.value("document.getElementById('traffic-words').innerText")
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


def test_edited_alpha_shows_the_formula_alone(browser: Browser, report: Path) -> None:
    browser.open(report)
    heads = "[...document.querySelectorAll('#times-table th')].map(h => h.innerText)"
    words = "document.getElementById('times-words').innerText"
    simulated = browser.value(CELLS.format("#times-table"))
    assert browser.value(heads)[1] == "time, simulated"
    use(browser, "#times-controls input", 3)
    assert browser.value(heads)[1] == "time, formula"
    assert browser.value(words).startswith("Formula")
    pressed = "[...document.querySelectorAll('[aria-pressed=true]')].map(b => b.innerText)"
    assert "Formula" in browser.value(pressed)
    assert "Simulated" not in browser.value(pressed)
    rows = dict(row[:2] for row in browser.value(CELLS.format("#times-table")))
    seconds = 2 * 3e-6 + 1.5 * (1 << 20) / 8 / 25e9
    assert rows["S = 2, R/C = 3/2"] == f"{seconds * 1e6:.4g} µs"
    press(browser, "Simulated")
    assert browser.value("document.querySelector('#times-controls input').value") == "0.7"
    assert browser.value(words).startswith("Simulated")
    assert browser.value(CELLS.format("#times-table")) == simulated


@pytest.mark.parametrize("width", [390, 1280])
def test_labels_do_not_collide(browser: Browser, report: Path, width: int) -> None:
    browser.resize(width, mobile=width < 600)
    browser.open(report)
    for mode in ("Speed-up", "Time", "Bandwidth"):
        press(browser, mode)
        assert browser.value(OVERLAPS % "#times-chart") == []
    assert browser.value(OVERLAPS % "#frontier-chart") == []


def test_every_classic_has_its_own_line(browser: Browser, report: Path) -> None:
    browser.open(report)
    looks = browser.value(
        "[...document.querySelectorAll('#times-legend .curve.classic')].map(c => "
        "getComputedStyle(c).stroke + getComputedStyle(c).strokeDasharray)"
    )
    assert len(looks) > 3
    assert len(set(looks)) == len(looks)


def texts(browser: Browser, action: str) -> list[str]:
    """The texts that an action draws on canvases."""
    browser.value(
        "window.drawn = []; window.usual ??= CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (words, ...rest) "
        "{ window.drawn.push(words); window.usual.call(this, words, ...rest); }"
    )
    browser.value(action)
    browser.settle()
    found: list[str] = browser.value("window.drawn")
    return found


STEP = (
    "(e => {{ e.value = {0}; e.dispatchEvent(new Event('input', {{bubbles: true}})); }})"
    "(document.getElementById('step'))"
)


def test_many_chunks_on_a_link_are_a_number(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "star.html"
    found = syncoll.pareto("ring(4)", "allgather", max_steps=2, max_chunks=4, progress="none")
    (number,) = (i for i, p in enumerate(found.points) if p.steps == 2)
    rounds = found.points[number].algorithm.rounds_per_step
    chunks = found.points[number].chunks
    syncoll.report(found, path, classics=False)
    browser.open(path)
    browser.value(f"document.querySelectorAll('tr[data-algorithm]')[{number}].click()")
    browser.settle()
    names = sorted(map(str, range(4)))
    for step in range(2):
        drawn = texts(browser, STEP.format(step))
        rest = sorted(drawn)[:]
        for name in names:
            rest.remove(name)
        # A whole load on each of eight links is a number from three chunks on.
        assert rounds[step] <= chunks
        if rounds[step] >= 3:
            assert set(rest) == {str(rounds[step])}
    press(browser, "All steps")
    assert len(texts(browser, STEP.format(0))) > 4


def test_phone_says_which_tables_scroll(browser: Browser, report: Path) -> None:
    wide = "document.querySelectorAll('.scroll.wide').length"
    browser.resize(390, mobile=True)
    browser.open(report)
    browser.settle()
    assert browser.value(
        "[...document.querySelectorAll('.scroll')].every(s => "
        "s.classList.contains('wide') === s.scrollWidth > s.clientWidth + 1)"
    )
    assert browser.value(wide) > 0
    browser.resize(1440)
    assert browser.value(wide) == 0


def test_switches_are_drawn_and_described(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "boxes.html"
    found = syncoll.pareto("dgx_h100(boxes=2)", "allgather", max_steps=2, max_chunks=1)
    syncoll.report(found, path, classics=False)
    browser.open(path)
    drawn = texts(browser, STEP.format(0))
    # Each GPU sends its chunk to the seven others of its box, over one cable.
    assert drawn.count("7") > 16
    assert "switch" in browser.value("document.getElementById('traffic-legend').innerText")
    place = browser.value(
        "(c => { const r = c.getBoundingClientRect(); return [r.width, r.height]; })"
        "(document.getElementById('traffic-canvas'))"
    )
    hints = set()
    for share in range(100):
        browser.value(
            "(c => { const r = c.getBoundingClientRect(); c.dispatchEvent(new PointerEvent("
            f"'pointermove', {{clientX: r.left + {place[0] * share / 100}, "
            f"clientY: r.top + {place[1] / 2}}})); }})(document.getElementById('traffic-canvas'))"
        )
        hints.add(browser.value("document.querySelector('#network .hint').innerText"))
    assert any(hint.startswith("switch ") for hint in hints)


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


def test_page_names_data_without_room(
    browser: Browser, dgx1: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncoll.reporting.content._ROOM", 0)
    path = tmp_path / "small.html"
    syncoll.report(dgx1, path, classics=False)
    browser.open(path)
    browser.value("document.querySelectorAll('tr[data-algorithm]')[1].click()")
    browser.settle()
    assert "no room" in browser.value("document.getElementById('traffic-words').innerText")
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
