"""One time for an algorithm in every command, under a runtime, with its error."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.documents import schema
from syncoll.errors import UsageError
from syncoll.simulating import (
    Reach,
    floors_by_cuts,
    message_times,
    physical_network,
    runtime,
    runtime_text,
)
from syncoll.simulating.message_times import SHOWN_SIZES, times_of

SIZES = (1 << 12, 1 << 20, 1 << 28)


POD = """topology pod {
    nodes 4
    switches 3
    link (g, switch(g div 2)) both ways for g in nodes bandwidth 300 GB/s latency 235 ns
    link (g, switch(2)) both ways for g in nodes bandwidth 25 GB/s latency 1350 ns
}
"""


@pytest.fixture(scope="module")
def frontier(tmp_path_factory: pytest.TempPathFactory) -> syncoll.FrontierResult:
    path = tmp_path_factory.mktemp("pod") / "pod.syncoll"
    path.write_text(POD, encoding="utf-8")
    return syncoll.pareto(f"{path}:pod", "allgather", backend="bfb", progress="none")


def seconds_by_verb(
    frontier: syncoll.FrontierResult, how: dict[str, Any]
) -> dict[str, list[dict[str, float]]]:
    """By command and size the time of each algorithm of the frontier, by its place."""
    simulated = syncoll.simulate(frontier, sizes=SIZES, classics=False, **how)
    planned = syncoll.plan(frontier, **how)
    shown = syncoll.report(frontier, classics=False, **how).times.simulated
    recommended = syncoll.recommend(frontier, sizes=SIZES, progress="none", **how)
    assert shown is not None
    return {
        "simulate": [
            {one.name: float(one.seconds[at]) for one in simulated.algorithms} for at in range(3)
        ],
        "plan": [
            {one.name: float(planned.seconds(one.algorithm, size)) for one in simulated.algorithms}
            for size in SIZES
        ],
        "report": [
            {
                one.name: float(one.seconds[shown.sizes.index(size)])
                for one in shown.algorithms
                if one.name.startswith("points")
            }
            for size in SIZES
        ],
        "recommend": [
            {
                one.name: float(one.seconds[at])
                for one in recommended.compared.algorithms
                if one.name.startswith("points")
            }
            for at in range(3)
        ],
    }


@pytest.mark.parametrize("name", ["wire", "nccl", "mscclpp:LL"])
def test_four_commands_have_one_time(frontier: syncoll.FrontierResult, name: str) -> None:
    found = seconds_by_verb(frontier, {"runtime": name})
    assert len(found["simulate"][0]) == len(frontier.points)
    for verb in ("plan", "report", "recommend"):
        for own, other in zip(found["simulate"], found[verb], strict=True):
            assert other == pytest.approx(own), verb


def test_pages_have_the_error_of_the_times(frontier: syncoll.FrontierResult) -> None:
    error = runtime("nccl").accuracy
    assert error.startswith("± ")
    how: dict[str, Any] = {"runtime": "nccl"}
    recommended = syncoll.recommend(frontier, sizes=SIZES, progress="none", **how)
    report = syncoll.report(frontier, classics=False, **how)
    for text in (
        str(syncoll.simulate(frontier, sizes=SIZES, classics=False, **how).page()),
        str(recommended.page()),
        str(syncoll.plan(frontier, **how).page()),
        report.html,
    ):
        assert f"runtime nccl ({error})" in " ".join(text.split())
    named = syncoll.plan(frontier, size="1MiB", **how)
    assert f"us {error}." in " ".join(str(named.page()).split())
    assert "runtime" not in str(syncoll.plan(frontier).page())


def test_documents_name_the_runtime(frontier: syncoll.FrontierResult) -> None:
    simulated = syncoll.simulate(frontier, sizes=SIZES, classics=False, runtime="nccl").document()
    recommended = syncoll.recommend(frontier, sizes=SIZES, progress="none", runtime="nccl")
    planned = syncoll.plan(frontier, runtime="nccl").document()
    pairs = (
        ("simulation", simulated, simulated),
        ("recommendation", recommended.document(), recommended.document()),
        ("plan", planned, planned["model"]),
    )
    for kind, document, owner in pairs:
        jsonschema.Draft202012Validator(schema(kind)).validate(document)
        assert owner["runtime"]["name"] == "nccl"
        assert owner["runtime"]["error"] == float(runtime("nccl").error or 0)
    rows = simulated["algorithms"][0]["measurements"]
    assert rows[0]["protocol"] == "LL"
    assert rows[-1]["protocol"] == "Simple"
    assert "runtime" not in syncoll.plan(frontier).document()["model"]


def test_exports_for_a_runtime_have_its_costs(tmp_path: Path) -> None:
    box = syncoll.pareto("mi300x", "allgather", backend="bfb", progress="none")
    how: dict[str, Any] = {"to": "mscclpp", "classics": False}
    planned = syncoll.plan(box, exports=tmp_path / "out", **how)
    index = json.loads((tmp_path / "out" / "index.json").read_text("utf-8"))
    assert index["model"]["runtime"]["name"] == planned.runtime.name == "mscclpp"
    other = syncoll.plan(box, runtime="wire", **how)
    assert other.runtime.name == "wire"
    one = planned.best(1 << 20).algorithm
    assert other.seconds(one, 1 << 20) < planned.seconds(one, 1 << 20)


def test_an_overhead_replaces_the_call(frontier: syncoll.FrontierResult, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(runtime_text(runtime("nccl:LL")).replace("call = ", 'call = "30 us" # '))
    how: dict[str, Any] = {"sizes": 1024, "classics": False}
    times = {
        overhead: syncoll.simulate(frontier, runtime=path, overhead=overhead, **how).algorithms[0]
        for overhead in (None, "0s", "30us")
    }
    assert times[None].seconds == times["30us"].seconds
    assert float(times[None].seconds[0] - times["0s"].seconds[0]) == pytest.approx(30e-6)


@pytest.mark.parametrize("timing", ["asynchronous", "lockstep"])
def test_lockstep_plans_have_the_runtime(frontier: syncoll.FrontierResult, timing: str) -> None:
    planned = syncoll.plan(frontier, runtime="nccl", timing=timing, classics=False)  # type: ignore[arg-type]
    assert planned.timing == timing
    simulated = syncoll.simulate(
        frontier,
        sizes=SIZES,
        runtime="nccl",
        timing=timing,  # type: ignore[arg-type]
        classics=False,
    )
    for at, size in enumerate(SIZES):
        best = planned.best(size).algorithm
        assert planned.seconds(best, size) == simulated.best(at).seconds[at]


def test_an_unknown_runtime_ends_the_command(
    frontier: syncoll.FrontierResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frontier.save(tmp_path / "f.json")
    for verb in ("simulate", "plan", "report", "recommend"):
        assert main([verb, str(tmp_path / "f.json"), "--runtime", "ncll"]) == 2
        assert "ncll is neither a runtime nor a file" in capsys.readouterr().err


def test_options_of_exports_name_the_protocol() -> None:
    both = runtime("nccl")
    for options, names in (
        ({"proto": "LL"}, ["LL"]),
        ({"packets": "no"}, ["Simple"]),
        ({"packets": "auto"}, ["LL", "Simple"]),  # plans have no LL128
        ({}, [one.name for one in both.protocols]),
    ):
        assert [one.name for one in both.written(options).protocols] == names
    with pytest.raises(UsageError, match="have the protocol LL or Simple, and nccl only LL128"):
        runtime("nccl:LL128").written({"packets": "auto"})
    box = syncoll.pareto("mi300x", "allgather", backend="bfb", progress="none")
    how: dict[str, Any] = {"runtime": "rccl", "to": "msccl-xml", "classics": False}
    planned = syncoll.plan(box, options={"proto": "LL"}, **how)
    alone = syncoll.plan(box, runtime="rccl:LL", classics=False)
    one = planned.best(1 << 28).algorithm
    assert planned.seconds(one, 1 << 28) == alone.seconds(one, 1 << 28)
    assert syncoll.plan(box, **how).runtime == runtime("rccl:Simple")
    how |= {"to": "mscclpp", "runtime": "nccl"}
    assert [one.name for one in syncoll.plan(box, **how).runtime.protocols] == ["LL", "Simple"]


def test_times_of_a_frontier_have_the_runtime(
    frontier: syncoll.FrontierResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = times_of(frontier, runtime("nccl"))
    assert times is not None
    simulated = syncoll.simulate(frontier, sizes=SHOWN_SIZES, runtime="nccl", classics=False)
    found = times.of_points(frontier.points)
    assert [tuple(row) for row in found] == [one.seconds for one in simulated.algorithms]
    # Of many sends they are a formula, which never has less than a call and a hop.
    monkeypatch.setattr(message_times, "_MOST_SENDS", 0)
    call = min(one.call for one in runtime("nccl").protocols)
    for rows, formula in zip(found, times.of_points(frontier.points), strict=True):
        assert list(formula) != list(rows)
        assert all(call < x < 40 * y for x, y in zip(formula, rows, strict=True))


@pytest.mark.parametrize("name", ["wire", "nccl", "mscclpp", "mpi"])
def test_no_algorithm_is_below_the_bound(frontier: syncoll.FrontierResult, name: str) -> None:
    compared = syncoll.simulate(frontier, sizes="64B..1GiB", factor=16, runtime=name)
    for one in (*compared.algorithms, *compared.classics):
        for seconds, floor in zip(one.seconds, compared.floors, strict=True):
            assert floor <= float(seconds)


def test_bounds_know_the_shares_of_both_kinds_of_links() -> None:
    """The ports of a GPU bind: it sends 15/8 of the buffer within the box and to others."""
    network = physical_network(syncoll.topology("dgx_h100(boxes=2)"))
    simple = next(x for x in runtime("mscclpp").protocols if x.name == "Simple")
    ports = 450 * simple.hops[Reach.BOX].share + 50 * simple.hops[Reach.NETWORK].share
    (floor,) = floors_by_cuts(
        syncoll.collective("allreduce"), network, [1 << 34], runtime("mscclpp:Simple")
    )
    assert floor == pytest.approx(float(Fraction(15, 8) * (1 << 34) / (ports * 10**9)), rel=1e-3)
