"""``syncoll recommend``: the fastest algorithms of a machine, with their files, in one command."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import syncoll
from syncoll import searching
from syncoll.documents import schema
from syncoll.units import format_size
from syncoll.verbs.recommend.recommending import recommendation_for

Run = Callable[..., Any]

WORK = ("--work", "2", "--progress", "none")

SPEC = """
# Three nodes, any two joined by a link; wide=true doubles the links, close=true nothing.
topology three(wide = false, close = false) {
    nodes 3
    link (a, b) for a in nodes, b in nodes if a != b
        bandwidth (if wide then 50 else 25) GB/s latency (if close then 1000 else 1000) ns
}

# A ring of five, with a link across.
topology crossed {
    nodes 5
    link (i, (i + 1) mod 5) both ways for i in nodes bandwidth 25 GB/s latency 1 us
    link (0, 2) both ways bandwidth 25 GB/s latency 1 us
}
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recommend") / "own.syncoll"
    path.write_text(SPEC, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def found(spec: Path) -> syncoll.RecommendationResult:
    return syncoll.recommend(f"{spec}:crossed", "allreduce", work=0.5, progress="none")


def valid(document: dict[str, Any]) -> dict[str, Any]:
    jsonschema.Draft202012Validator(schema("recommendation")).validate(document)
    return document


def test_times_and_bounds_are_as_simulated(
    found: syncoll.RecommendationResult, tmp_path: Path
) -> None:
    document = valid(found.document())
    found.frontier.save(tmp_path / "f.json")
    sizes = [4 << 10, 1 << 20, 256 << 20]
    simulated = syncoll.simulate(tmp_path / "f.json", sizes=sizes)
    assert [one["message_bytes"] for one in document["recommended"]] == sizes
    for number, one in enumerate(document["recommended"]):
        chosen = simulated.timed(one["where"])
        every = [*simulated.algorithms, *simulated.classics]
        whole = [x for x in every if sizes[number] % (4 * x.algorithm.chunks) == 0]
        assert chosen in whole
        assert one["seconds"] == float(chosen.seconds[number])
        near = [x for x in whole if x.seconds[number] <= chosen.seconds[number]]
        assert all(one["seconds"] <= 1.02 * float(x.seconds[number]) for x in near)
        assert one["algbw"] == pytest.approx(sizes[number] / one["seconds"])
        classic = min(float(x.seconds[number]) for x in whole if x.classic)
        assert one["speedup"] == pytest.approx(classic / one["seconds"])
        assert one["speedup"] >= 1 - 1e-6
        assert one["floor"] == simulated.floor(number)
        assert one["gap"] == pytest.approx(one["seconds"] / one["floor"])
    assert document["optimal_classic"] is None
    assert document["variants"] == []


def test_a_frontier_file_is_not_searched_again(
    found: syncoll.RecommendationResult, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found.frontier.save("f.json")
    monkeypatch.setattr("syncoll.pareto", lambda *_, **__: 1 / 0)
    result = run("recommend", "f.json", "--sizes", "64KiB", "--format", "json")
    assert result.code == 0
    (one,) = valid(result.json)["recommended"]
    assert one["message_bytes"] == 64 << 10
    places = {"points": found.frontier.points, "timed": found.frontier.timed}
    assert one["where"] in [f"{x}[{i}]" for x, each in places.items() for i in range(len(each))]
    assert pickle.loads(pickle.dumps(found)).recommended == found.recommended
    text = run("recommend", "f.json").out
    assert "message  algorithm" in text
    assert "  256 MiB  " in text
    assert max(map(len, found.page().lines(80))) <= 80
    for one in found.recommended:
        size = format_size(one.message_bytes)
        hint = f"{one.where} does not cut {size} into {one.chunks} equal chunks of whole elements"
        assert hint not in text
    assert f"{found.recommended[2].where}: S = " in text
    assert "e+" not in run("recommend", "f.json", "--sizes", "16GiB").out


def test_a_proved_classic_and_a_better_variant_have_a_line(run: Run, spec: Path) -> None:
    result = run("recommend", f"{spec}:three", "allgather", *WORK, "--sizes", "1MiB")
    assert (result.code, result.err) == (0, "")
    assert "Nothing can be gained: all_pairs is proved optimal here.\n" in result.out
    variant = "The variant wide=true of this machine may be faster: at 1 MiB its lower bound is "
    assert variant in result.out.replace("\n", " ")
    assert "close=true" not in result.out


def test_exports_are_executed_and_cover_all_messages(run: Run, spec: Path) -> None:
    to = ("--to", "msccl-xml", "--dialect", "rccl", "-o", "deploy")
    result = run("recommend", f"{spec}:crossed", "reducescatter", *WORK, *to)
    assert result.code == 0
    assert "executed: MSCCL XML (rccl), reducescatter" in result.out
    assert "saved in deploy/frontier.json" in result.err
    index = json.loads(Path("deploy/index.json").read_text())
    jsonschema.Draft202012Validator(schema("plan")).validate(index)
    ranges = [one["message_bytes"] for one in index["exports"]["algorithms"]]
    assert (ranges[0][0], ranges[-1][1]) == (0, None)
    assert run("verify", "deploy/algorithms", "--dialect", "rccl").code == 0
    assert run("check", "deploy").code in (0, 4)
    assert run("verify", "deploy").code == 0
    again = run("recommend", "deploy/frontier.json", "-o", "plain", "--format", "json")
    assert again.code == 0
    assert "exports" not in valid(again.json)
    assert sorted(path.name for path in Path("plain").iterdir()) == ["frontier.json", "index.json"]


def test_a_faster_classic_is_recommended_and_exported(spec: Path, tmp_path: Path) -> None:
    """A ring of more chunks: S and R/C are the same, and chunks follow each other sooner."""
    frontier = syncoll.pareto(f"{spec}:crossed", "reducescatter", backend="bfb", progress="none")
    found = syncoll.recommend(frontier, sizes="4KiB", to="msccl-xml", output=tmp_path / "out")
    (one,) = found.recommended
    assert (one.is_classic, one.classic, one.speedup) == (True, one.where, 1.0)
    assert one.seconds < found.compared.best(0).seconds[0]
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    places = [each["where"] for each in index["exports"]["algorithms"]]
    assert one.where in places


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_after_the_search_keeps_the_frontier(
    run: Run, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncoll.simulate", interrupted)
    command = ("recommend", f"{spec}:three", "allgather", *WORK)
    result = run(*command)
    assert result.code == 130
    (kept,) = Path().glob("*.frontier.json")
    assert f"saved in {kept}" in result.err
    assert run(*command, "-o", "out").code == 130
    assert [path.name for path in Path("out").iterdir()] == ["frontier.json"]
    assert len(syncoll.load("out/frontier.json")) == len(syncoll.load(kept)) >= 1  # type: ignore[arg-type]


def test_ctrl_c_in_the_exports_keeps_the_frontier(
    run: Run, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncoll.planning.exports.export_verified", interrupted)
    to = ("--to", "msccl-xml", "-o", "out")
    result = run("recommend", f"{spec}:three", "allgather", *WORK, *to)
    assert result.code == 130
    assert "all_pairs" in result.out
    assert [path.name for path in Path("out").iterdir()] == ["frontier.json"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ring(4)"], "file ring(4) does not exist; give the file of a frontier, or"),
        (["no.json"], "syncoll: file no.json does not exist\n"),
        (["ring(4)", "allreduce"], "--alpha is missing: ring"),
        (["allreduce", "ring(4)"], "exchange them"),
        (["rnig(4)", "allreduce"], "rnig"),
        (["ring(4)", "allreduce", "--sizes", "much"], "--sizes: 'much' is not a size"),
        (["ring(4)", "allreduce", "--to", "msccl-xml"], "--to msccl-xml needs --output"),
        (["ring(4)", "allreduce", "--dialect", "rccl"], "need --to and -o"),
        (["ring(4)", "allreduce", "--to", "msccl", "-o", "x"], "did you mean"),
        (["ring(4)", "allreduce", "-o", "full"], "not empty"),
        (["ring(4)", "allreduce", "--work", "1", "--time-limit", "1s"], "give one of them"),
        (["f.json", "allreduce"], "f.json is a frontier, not a topology"),
    ],
)
def test_a_wrong_request_is_one_error(
    run: Run, found: syncoll.RecommendationResult, arguments: list[str], complaint: str
) -> None:
    Path("full").mkdir()
    Path("full/old").touch()
    found.frontier.save("f.json")
    result = run("recommend", *arguments)
    assert result.code == 2
    assert complaint in result.err
    assert (result.out, "Traceback" in result.err) == ("", False)


def test_a_search_without_an_algorithm_has_its_exit_code(run: Run, spec: Path) -> None:
    result = run("recommend", f"{spec}:crossed", "allreduce", "--work", "0", "--seeds", "none")
    assert result.code in (0, 3)


def test_a_faster_algorithm_that_does_not_fit_has_a_line(
    found: syncoll.RecommendationResult,
) -> None:
    sizes = [4 * n for n in (1021, 1031 * 64, 1 << 20)]
    again = syncoll.recommend(found.frontier, sizes=sizes, progress="none")
    text = " ".join(str(again.page()).split())
    named = 0
    for number, one in enumerate(again.recommended):
        fastest = again.compared.best(number)
        slower = one.seconds * 0.95 > fastest.seconds[number]
        line = f"{fastest.name} (C = {fastest.algorithm.chunks}) would take "
        assert (line in text) == slower
        named += slower
    assert named
    pytest.importorskip("pandas")
    table = again.to_pandas()
    assert list(table["message_bytes"]) == sizes
    assert list(table["seconds"]) == [one.seconds for one in again.recommended]


def test_a_runtime_that_cuts_unequally_takes_the_fastest(
    found: syncoll.RecommendationResult,
) -> None:
    """1,276 multiples of 80 bytes, and a size that no plan for five ranks takes."""
    sizes = [80 * 1276, 4 * 1021]
    asked: dict[str, Any] = {"sizes": sizes, "progress": "none", "to": "mscclpp"}
    again = recommendation_for(found.frontier, None, **asked)
    every = [*again.compared.algorithms, *again.compared.classics]
    assert not all(again.compared.fits(sizes[0], one.algorithm.chunks) for one in every)
    first = again.recommended[0]
    assert first.seconds == pytest.approx(min(float(x.seconds[0]) for x in every), rel=0.02)
    text = " ".join(str(again.page()).split())
    assert f"For {format_size(sizes[1])}, " in text
    assert "takes only multiples of 16 bytes" in text


@pytest.mark.parametrize(
    ("to", "options", "words"), [("mscclp", {}, "mscclpp"), ("mscclpp", {"packet": 1}, "packet")]
)
def test_a_wrong_format_or_option_leaves_no_folder(
    to: str,
    options: dict[str, int],
    words: str,
    found: syncoll.RecommendationResult,
    tmp_path: Path,
) -> None:
    with pytest.raises(syncoll.SyncollError, match=words):
        found.export(tmp_path / "new", to, options=options)
    assert not (tmp_path / "new").exists()


def test_a_classic_that_a_found_algorithm_beats_is_not_optimal(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even by less than an algorithm of fewer chunks may be slower."""
    frontier = syncoll.pareto(f"{spec}:three", "allgather", work=2, progress="none")
    assert syncoll.recommend(frontier, sizes="1MiB").optimal == "all_pairs"
    simulated = syncoll.simulate(frontier, sizes="1MiB")
    (point,) = simulated.algorithms
    finer = next(one for one in simulated.classics if one.algorithm.chunks > point.algorithm.chunks)
    faster = replace(
        finer, classic="", seconds=tuple(x * Fraction(985, 1000) for x in point.seconds)
    )
    floors = tuple(0.98 * one for one in simulated.floors)
    changed = replace(simulated, algorithms=(point, faster), floors=floors)
    monkeypatch.setattr("syncoll.simulate", lambda *_, **__: changed)
    again = syncoll.recommend(frontier, sizes="1MiB")
    assert (again.recommended[0].chunks, again.optimal) == (point.algorithm.chunks, None)


def test_a_classic_of_least_costs_above_the_bound_is_not_optimal() -> None:
    """Of S and R/C no algorithm has less, but chunks that follow each other sooner are faster."""
    costs: dict[str, Any] = {"alpha": "1us", "beta": "25GB/s"}
    found = syncoll.recommend("hypercube(3)", "allgather", work=1, progress="none", **costs)
    classic = found.compared.timed("halving_doubling[0]").algorithm
    least = (found.frontier.least_steps, found.frontier.least_bandwidth)
    assert (classic.steps, classic.bandwidth) == least
    assert found.optimal is None
    assert "proved optimal" not in str(found.page())


def test_a_recommendation_constructs_each_classic_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names, construct = list[str](), searching.constructed

    def counting(seed: searching.ChosenSeed, *rest: Any) -> Any:
        names.append(seed.record.name)
        return construct(seed, *rest)

    monkeypatch.setattr(searching, "constructed", counting)
    how: dict[str, Any] = {"alpha": "1us", "beta": "25GB/s", "progress": "none"}
    syncoll.recommend("ring(3)", "allgather", work=2, **how)
    assert "ring" in names
    assert len(names) == len(set(names))
