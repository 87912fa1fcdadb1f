"""The page is one file that loads nothing, runs only its own script, and shows verified facts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError, VerificationError
from syncoll.model import Topology
from syncoll.reporting import ReportEntry, Subject
from syncoll.reporting.markup import text
from syncoll.results import Frontier
from syncoll.wording import gap
from tests.oracles.orbits import random_orbit

from .conftest import BEFORE, data_of, family, only_families, shown

EVIL = '</script><img src=x onerror="alert(1)">&amp;{{data}}\x07'
OUTSIDE = re.compile(r"\b(?:src|href|action|data|srcset|poster)\s*=|@import|url\(", re.IGNORECASE)


class Parsed(HTMLParser):
    """The elements of a page, and the text of its table cells."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_it_names_no_other_place(dgx1: Path) -> None:
    html = syncoll.report(dgx1).html
    for tag, attributes in Parsed(html).tags:
        for name in ("src", "srcset", "action", "data", "style"):
            assert name not in attributes, tag
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style is not None
    outside = [found for found in OUTSIDE.findall(style[1]) if found != "url("]
    assert not outside
    assert set(re.findall(r"url\(([^)]*)\)", style[1])) <= {"#hatch"}


def test_its_policy_admits_its_own_script_and_style_alone(dgx1: Path) -> None:
    html = syncoll.report(dgx1).html
    (policy,) = (
        attributes["content"]
        for tag, attributes in Parsed(html).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy).split(";"))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    for kind, tag in (("script-src", "script"), ("style-src", "style")):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"


def test_names_cannot_become_markup() -> None:
    wires = {(0, 1): 1, (1, 0): 1}
    topology = Topology.from_links(EVIL, 2, wires, [(wires, 2)])
    bounds = tuple(type(one)(one.links, one.chunks_per_round, EVIL) for one in topology.bounds)
    topology = Topology(EVIL, 2, topology.links, bounds)
    frontier = Frontier(topology, EVIL, (), (), EVIL, {"max_steps": EVIL, "strategy": EVIL})
    html = shown(Subject.of_frontier(frontier, None, EVIL))
    plain = shown(Subject.of_frontier(only_families(), None))
    assert {tag for tag, _ in Parsed(html).tags} <= {tag for tag, _ in Parsed(plain).tags}
    assert html.count("</script>") == 2
    assert data_of(html)["title"] == f"{EVIL} on {EVIL}"


def test_the_same_file_gives_the_same_page(dgx1: Path) -> None:
    assert syncoll.report(dgx1).html == syncoll.report(dgx1).html


def test_numbers_equal_the_file(dgx1: Path) -> None:
    document, html = json.loads(dgx1.read_text()), syncoll.report(dgx1).html
    data = data_of(html)
    for one, point in zip(data["algorithms"], document["points"], strict=True):
        for name, there in (("steps", "steps"), ("cost", "bandwidth"), ("bound", "bound")):
            assert one[name] == point[there]
        assert one["rounds_per_step"] == point["algorithm"]["rounds_per_step"]
        assert one["sends"] == len(point["algorithm"]["sends"])
    assert data["frontier"]["least_cost"] == document["bounds"]["bandwidth"]
    assert document["digest"] in html


def test_invalid_files_give_no_page(dgx1: Path, tmp_path: Path) -> None:
    document = json.loads(dgx1.read_text())
    document["points"][0]["algorithm"]["sends"].pop()
    del document["digest"]
    wrong, target = tmp_path / "wrong.json", tmp_path / "report.html"
    wrong.write_text(json.dumps(document))
    with pytest.raises(VerificationError, match=r"wrong\.json"):
        syncoll.report(wrong, target)
    lower = json.loads(dgx1.read_text())
    lower["evidence"]["certificates"][0]["rounds"] = "5/3"
    del lower["digest"]
    wrong.write_text(json.dumps(lower))
    with pytest.raises(VerificationError, match="certificate"):
        syncoll.report(wrong, target)
    assert main(["report", str(wrong), "-o", str(target)]) == 2
    assert not target.exists()


def test_the_collective_lets_more_be_checked(dgx1: Path) -> None:
    found = syncoll.load(dgx1)
    assert isinstance(found, syncoll.FrontierResult)
    unnamed = replace(found, collective="mine")
    assert "Not checked" in syncoll.report(unnamed).html
    assert "Not checked" not in syncoll.report(unnamed, collective="allgather").html
    assert "Not checked" not in syncoll.report(dgx1).html
    assert "Not checked" not in syncoll.report(dgx1, collective="allgather").html
    with pytest.raises(VerificationError):
        syncoll.report(dgx1, collective="alltoall")


@pytest.mark.parametrize("name", ["outcome_sat", "outcome_unsat", "frontier_shared"])
def test_answers_and_frontiers(name: str) -> None:
    html = syncoll.report(BEFORE / f"{name}.json").html
    data = data_of(html)
    assert (data["frontier"] is None) == name.startswith("outcome")
    assert len(data["algorithms"]) == (name != "outcome_unsat") or data["frontier"]
    if name == "outcome_unsat":
        assert "unsat: " in html


def test_an_undecided_answer_is_not_called_impossible() -> None:
    document = json.loads((BEFORE / "outcome_unsat.json").read_text())
    topology = syncoll.load(BEFORE / "frontier_shared.json").topology
    answer = "unknown: with C = 1, S = 1, R = 1 (time limit)."
    html = shown(Subject(topology, document["collective"], (), answer=answer))
    assert answer in html
    assert "unsat" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)


def test_a_frontier_of_families_shows_some_members() -> None:
    data = data_of(shown(Subject.of_frontier(only_families(), None)))
    assert [one["cost"] for one in data["algorithms"]] == ["2", "3/2", "4/3", "5/4"]
    assert data["frontier"]["families"][0]["members"][:2] == [[2, "2"], [3, "3/2"]]
    assert data["frontier"]["families"][0]["limit"] == str(family().limit)


def test_page_of_a_family_states_proved_members() -> None:
    found = syncoll.pareto("line(3)", "broadcast", backend="pipelines")
    plain = syncoll.report(found).html
    assert "Proved up to S = 12: S = 2 to 12 optimal for every C." in plain
    assert "13/12 with 13 steps (within 8.3 %, nearer with more)" in plain
    (command,) = re.findall(r"syncoll pareto [^<\n]*", plain)
    assert "--max" not in command


def test_a_frontier_without_anything() -> None:
    topology = syncoll.topology("ring(4)")
    html = shown(Subject.of_frontier(Frontier(topology, "allgather", (), (), "C <= 1"), None))
    assert "No algorithm was found." in html
    assert data_of(html)["algorithms"] == []


def test_bounds_alone(tmp_path: Path) -> None:
    path = tmp_path / "bounds.json"
    syncoll.bounds("torus(3,3)", "alltoall").save(path)
    html = syncoll.report(path, collective="alltoall").html
    data = data_of(html)
    assert data["algorithms"] == []
    assert data["proofs"]
    assert "Proved bounds" in html
    assert "syncoll bounds 'torus(3,3)' alltoall -o bounds.json".replace("'", "&#x27;") in html
    assert "Times: alpha" not in html


def test_an_algorithm_of_images() -> None:
    instance, algorithm = random_orbit(0)
    stored = StoredAlgorithm(instance, algorithm, "algorithm")
    subject = Subject(instance.topology, instance.collective, (ReportEntry(stored, "open", ""),))
    (one,) = data_of(shown(subject))["algorithms"]
    assert one["sends"] == algorithm.num_sends


def test_the_command(
    dgx1: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(dgx1), "--alpha", "2us", "--beta", "50GB/s", "-o", "r.html"]) == 0
    assert "alpha = 2 us a step (given)" in capsys.readouterr().out
    times = data_of(Path("r.html").read_text())["times"]
    assert (times["alpha"], times["bandwidth"]) == (2e-6, 5e10)
    assert len(times["simulated"]["entries"]) == 2
    assert "ring" in [one["name"] for one in times["rivals"]]
    assert main(["report", str(dgx1), "--classics", "none", "-o", "r.html"]) == 0
    assert data_of(Path("r.html").read_text())["times"]["rivals"] == []
    capsys.readouterr()
    assert main(["report", str(dgx1), "--classics", "none", "-o", "-"]) == 0
    assert capsys.readouterr().out == Path("r.html").read_text()
    assert main(["report", str(dgx1), "--alpha", "fast"]) == 2
    assert main(["report", "nothing.json"]) == 2
    assert main(["report", str(dgx1), "-o", "no/such/folder.html"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_machines_with_units_say_beta() -> None:
    found = syncoll.pareto("a100(boxes=1)", "allgather", max_steps=1, progress="none")
    made = found.report()
    assert made.times.beta_from == "as the machine is described"
    assert "given" in syncoll.report(found, beta="1GB/s").times.words
    with pytest.raises(UsageError, match="alpha"):
        found.report(alpha="x")


def test_machines_with_latencies_say_alpha(tmp_path: Path) -> None:
    spec = tmp_path / "own.syncoll"
    spec.write_text(
        "topology t { nodes 3 "
        "link (0, 1), (1, 2), (2, 0) both ways bandwidth 25 GB/s latency 2 us }"
    )
    found = syncoll.pareto(f"{spec}:t", "allgather", max_steps=2, progress="none")
    times = found.report(classics=False).times
    assert (times.alpha_from, times.beta_from) == ("as the machine is described",) * 2
    assert (times.model.alpha, times.model.bandwidth) == (Fraction(2, 10**6), 25 * 10**9)
    assert times.simulated is not None
    assert times.simulated.sizes[0] == 1024  # the message: of an allgather the output
    assert times.algorithms[0].simulated[0] == pytest.approx(2e-6 + 1024 / 3 / 25e9)
    assert found.report(alpha="1us", classics=False).times.alpha_from == "given"


def test_a_notebook_shows_it_in_a_frame(dgx1: Path) -> None:
    made = syncoll.load(dgx1).report()  # type: ignore[union-attr]
    ((tag, attributes),) = Parsed(made._repr_html_()).tags
    assert tag == "iframe"
    assert attributes["srcdoc"] == made.html
    assert attributes["sandbox"] == "allow-scripts"


def test_the_answer_stands_before_everything_else(dgx1: Path) -> None:
    sizes = [4 << 10, 1 << 20, 256 << 20]
    made = syncoll.simulate(dgx1, sizes=sizes, alpha="1us", beta="25GB/s")
    html = syncoll.report(dgx1, alpha="1us", beta="25GB/s").html
    (table,) = re.findall(r'<div class="answer">(.*?)</table>', html, re.DOTALL)
    assert html.index('class="answer"') < html.index('class="facts"')
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
    assert [row[0] for row in rows] == ["4 KiB", "1 MiB", "256 MiB"]
    for number, row in enumerate(rows):
        best, seconds = made.best(number), float(made.best(number).seconds[number])
        assert float(row[1]) == pytest.approx(seconds * 1e6, abs=0.06)
        assert row[2] == f"{float(made.speedup(number) or 0):.3g}x"
        floor = made.floor(number)
        assert floor
        assert row[3] == gap(seconds, floor)
        assert row[4] == f"{sizes[number] / seconds / 1e9:.4g}"
        assert row[5] == f"S = {best.algorithm.steps}, R/C = {best.algorithm.bandwidth}"
        classic = made.best_classic(number)
        assert classic is not None
        assert row[6] == classic.classic.replace("_", " ")


def test_page_without_algorithms_has_no_answer() -> None:
    assert 'class="answer"' not in syncoll.report(BEFORE / "outcome_unsat.json").html


def test_long_fractions_are_decimals_with_an_exact_title() -> None:
    assert text(Fraction(7, 6)) == "7/6"
    assert text(Fraction(7249, 8760)) == '<span title="7249/8760">0.82751</span>'
