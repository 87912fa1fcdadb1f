"""``syncoll plan``: tables, pictures, folders, and complaints in one line."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.documents import read_file, schema
from syncoll.errors import UsageError, VerificationError
from syncoll.planning import NeverBest
from syncoll.plugins import ExportRequest
from syncoll.verbs.plan.result import _never_best
from syncoll_msccl_xml.program import XmlProgram, program_of
from tests.cli.conftest import COUNT, EXPORT, refuse

Run = Callable[..., Any]

MODEL = ("--alpha", "0.7us", "--beta", "25GB/s", "--timing", "lockstep")
CROSSOVER = 420_000
"""Of the two points of allgather on dgx1, in bytes: 8 nodes * 0.7 us * 25 GB/s / (3/2 - 7/6)."""
SIMULATED = MODEL[:4]

COLLECTIVES = ["allgather", "gather", "scatter", "alltoall", "broadcast", "reduce"]
COLLECTIVES += ["reducescatter", "allreduce", "multi_broadcast"]


def valid(document: dict[str, Any]) -> dict[str, Any]:
    jsonschema.Draft202012Validator(schema("plan")).validate(document)
    return document


@pytest.fixture(scope="module")
def frontiers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frontiers of all collectives on a small ring, and of a machine with units."""
    folder = tmp_path_factory.mktemp("frontiers")
    limits = ("--max-steps", "4", "--max-chunks", "4", "--backend", "pysat")
    for name in COLLECTIVES:
        called = "multi_broadcast(0, 2)" if name == "multi_broadcast" else name
        out = str(folder / f"{name}.json")
        assert main(["pareto", "ring(4)", called, *limits, "-o", out]) == 0
    units = ["pareto", "a100", "allgather", "--backend", "ring", "-o", str(folder / "units.json")]
    assert main(units) == 0
    return folder


def test_a_table(run: Run, files: Path) -> None:
    result = run("plan", files / "frontier.json", *MODEL)
    assert result.code == 0
    assert result.err == ""
    rows = [re.split("  +", line.strip()) for line in result.out.splitlines()]
    first = ["0 B", "410.2 KiB", "0-419999", "points[0]", "2", "3", "2", "3/2", "1.40", "4.55"]
    last = ["410.2 KiB", "no end", "420000 up", "points[1]", "3", "7", "6", "7/6", "4.55", "no end"]
    assert [*first, "0", "92.31"] in rows
    assert [*last, "92.31", "< 171.4"] in rows
    assert "message: the output of one node, 8 L; L: the data of one node" in result.out


def test_json_has_exact_values(run: Run, files: Path) -> None:
    command = ("plan", files / "frontier.json", *MODEL, "--overhead", "5us", "--format", "json")
    document = valid(run(*command).json)
    assert Fraction(document["model"]["alpha"]) == Fraction(7, 10**7)
    assert document["model"]["bandwidth_from"] == "command"
    first, last = document["ranges"]
    assert document["model"]["timing"] == "lockstep"
    assert (first["message_from"], first["message_below"]) == ("0", str(CROSSOVER))
    assert (last["message_from"], last["message_below"]) == (str(CROSSOVER), None)
    assert first["message_bytes"] == [0, CROSSOVER - 1]
    assert last["message_bytes"] == [CROSSOVER, None]
    assert last["ends"][0]["seconds"] == pytest.approx(9.55e-6)
    assert last["ends"][1] == {
        "message": None,
        "seconds": None,
        "algbw": pytest.approx(8 * 25e9 * 6 / 7),
    }


@pytest.mark.parametrize("timing", ["asynchronous", "lockstep"])
@pytest.mark.parametrize("name", ["allgather", "allreduce", "units"])
def test_simulate_names_the_same_fastest_and_times(
    run: Run, frontiers: Path, name: str, timing: str
) -> None:
    how = (frontiers / f"{name}.json", *MODEL[:-1], timing, "--overhead", "3us")
    simulated = run("simulate", *how, "--sizes", "1KiB:1GiB", "--format", "json").json
    plan = syncoll.plan(how[0], alpha="0.7us", beta="25GB/s", overhead="3us", timing=timing)  # type: ignore[arg-type]
    assert plan.timing == timing
    printed = run("plan", *how, "--size", "64KiB").out
    assert f"{timing}, alpha 700 ns" in printed
    for number, best in enumerate(simulated["best"]):
        chosen = plan.best(best["message_bytes"]).algorithm
        fastest = best["classic"] if (best["speedup"] or 1) < 1 else best["best"]
        assert chosen.where == fastest
        for one in simulated["algorithms"]:
            if one["where"] == chosen.where:
                seconds = float(plan.seconds(chosen, best["message_bytes"]))
                assert one["measurements"][number]["seconds"] == seconds


def test_simulated_ranges_meet_where_times_are_equal(run: Run, files: Path) -> None:
    document = valid(run("plan", files / "frontier.json", *SIMULATED, "--format", "json").json)
    assert document["schema"] == "syncoll/plan/4"
    assert document["model"]["timing"] == "asynchronous"
    first, last = document["ranges"]
    assert first["message_below"] == last["message_from"]
    (size,) = {end["message"] for end in (first["ends"][1], last["ends"][0])}
    assert size == last["message_from"]
    assert first["ends"][1]["seconds"] == pytest.approx(last["ends"][0]["seconds"], rel=1e-4)
    # 3 steps and 7/6 of L at 25 GB/s are its time in lockstep; overlap makes it shorter.
    lockstep = 3 * 0.7e-6 + 7 / 6 * int(size) / 8 / 25e9
    assert last["ends"][0]["seconds"] <= lockstep
    assert last["ends"][1]["algbw"] >= 8 * 25e9 * 6 / 7 * (1 - 1e-6)


@pytest.mark.parametrize("name", ["broadcast", "allgather", "allreduce"])
def test_a_classic_is_planned_where_it_is_the_fastest(
    run: Run, frontiers: Path, tmp_path: Path, name: str
) -> None:
    """The frontiers have few chunks, so that classics win for large messages."""
    path, to = frontiers / f"{name}.json", ("--to", "msccl-xml", "-o", "out")
    result = run("plan", path, *SIMULATED, *to, "--tolerance", "0")
    index = valid(json.loads((tmp_path / "out" / "index.json").read_text()))
    winners = [one["where"] for one in index["ranges"]]
    assert any(not one.startswith("points") for one in winners)
    assert all(one in result.out for one in winners)
    assert {one["where"] for one in index["exports"]["algorithms"]} == {*winners}
    assert all(one["where"].startswith("points") for one in index["never_best"])
    plan = syncoll.plan(path, alpha="0.7us", beta="25GB/s")
    compared = syncoll.simulate(path, alpha="0.7us", beta="25GB/s", sizes="64..1GiB", factor=8)
    for number, size in enumerate(compared.sizes):
        classic = compared.best_classic(number)
        assert classic is not None
        best = plan.seconds(plan.best(size).algorithm, size)
        assert best <= classic.seconds[number] * (1 + Fraction(1, 10**8))
    alone = syncoll.plan(path, alpha="1us", beta="1GB/s", classics=["all_pairs"])
    found = {one.algorithm.where.partition("[")[0] for one in alone.ranges}
    assert found <= {"points", "all_pairs"}


def test_a_refused_classic_costs_no_export(
    run: Run, frontiers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A format that cannot express a classic, and does not count, has the others in the plan."""
    refuse(monkeypatch, EXPORT, lambda one: one.chunks > 4)
    to = ("--to", "msccl-xml", "-o", "out")
    assert run("plan", frontiers / "broadcast.json", *SIMULATED, *to).code == 0
    index = valid(json.loads((tmp_path / "out" / "index.json").read_text()))
    assert all(one["chunks"] <= 4 for one in index["ranges"])
    assert {one["reason"] for one in index["exports"]["refused"]} == {"it is too long"}


def test_sends_that_are_too_many_to_simulate(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_many(*_: object, **__: object) -> None:
        raise UsageError("at most 5 sends can be listed")

    monkeypatch.setattr("syncoll.simulating.simulation.workload_of", too_many)
    result = run("plan", files / "frontier.json", *SIMULATED)
    assert result.code == 2
    assert "at most 5 sends can be listed; --timing lockstep plans without" in result.err
    assert run("plan", files / "frontier.json", *MODEL).code == 0


def test_progress(run: Run, files: Path) -> None:
    alone = ("--classics", "none", "--progress", "plain")
    result = run("plan", files / "frontier.json", *SIMULATED, *alone)
    assert "1/2 simulating points[1]" in result.err
    exports = ("--to", "msccl-xml", "-o", "out", *alone)
    lines = run("plan", files / "frontier.json", *MODEL, *exports).err.splitlines()
    assert [line.partition("] ")[2] for line in lines] == [
        f"{number}/2 {what} points[{number}]"
        for what in ("replaying", "counting", "exporting")
        for number in range(2)
    ]


def test_ctrl_c_keeps_finished_exports(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def once(request: ExportRequest, *how: Any) -> XmlProgram:
        calls.append(request)
        if len(calls) > 3:  # both are counted, and the first one is exported
            raise KeyboardInterrupt
        return program_of(request, *how)

    monkeypatch.setattr("syncoll_msccl_xml.writer.program_of", once)
    command = ("plan", files / "frontier.json", *MODEL, "--to", "msccl-xml", "-o", "out")
    result = run(*command, "--format", "json")
    assert result.code == 130
    assert "points[1]: left out: interrupted" in result.err
    index = valid(json.loads((tmp_path / "out" / "index.json").read_text()))
    assert index == valid(result.json)
    assert index["exports"]["interrupted"]
    (kept,) = index["exports"]["algorithms"]
    assert kept["message_bytes"] == [0, CROSSOVER - 1]
    assert (tmp_path / "out" / kept["files"][0]).is_file()
    monkeypatch.setattr("syncoll_msccl_xml.writer.program_of", once)
    assert run(*command[:-1], "none").code == 130
    assert not (tmp_path / "none").exists()


def test_points_that_are_never_best_are_listed(run: Run, files: Path) -> None:
    result = run("plan", files / "frontier.json", "--alpha", "0s", *MODEL[2:])
    text = "Never the best: points[0], S = 2, R/C = 3/2; nearest as messages grow, where it takes"
    assert text in result.out
    one = read_file(files / "frontier.json").algorithms[0]
    at = NeverBest(one, one, one, Fraction(CROSSOVER), Fraction(13, 11))
    assert "nearest at 410.2 KiB, where it takes 1.182 times the best's" in _never_best(at)
    assert _never_best(replace(at, slower=Fraction(1))).endswith("the best at 410.2 KiB")
    assert _never_best(replace(at, slower=None)) == "points[0], S = 2, R/C = 3/2"


def test_only_some_sizes(run: Run, files: Path) -> None:
    command = ("plan", files / "frontier.json", *MODEL, "--sizes", "1MiB..1GiB")
    document = valid(run(*command, "--format", "json").json)
    first, last = document["ranges"]
    assert first["ends"] == [], "outside, but still said"
    assert [end["message"] for end in last["ends"]] == [str(1 << 20), str(1 << 30)]
    text = run(*command).out
    assert "messages from 1 MiB to 1 GiB; 1 range outside." in text
    assert "0-419999" not in text


@pytest.mark.parametrize(
    ("name", "per_node"),
    [(name, 4 if name in ("allgather", "gather") else 1) for name in COLLECTIVES],
)
def test_every_collective(run: Run, frontiers: Path, name: str, per_node: int) -> None:
    path = frontiers / f"{name}.json"
    alone = ("--classics", "none", "--format", "json")
    document = valid(run("plan", path, *MODEL, *alone).json)
    stored = json.loads(path.read_text())
    kind = "custom" if name == "multi_broadcast" else name
    assert document["message"]["kind"] == kind
    assert document["message"]["per_node"] == str(per_node)
    places = {one["where"] for key in ("ranges", "never_best") for one in document[key]}
    assert places == {f"points[{i}]" for i in range(len(stored["points"]))}
    for one in document["ranges"]:
        cost = Fraction(one["rounds"], one["chunks"])
        size = Fraction(one["message_from"])
        seconds = one["steps"] * Fraction(7, 10**7) + cost * size / per_node / (25 * 10**9)
        assert one["ends"][0]["seconds"] == pytest.approx(float(seconds))
        assert one["ends"][0]["algbw"] == pytest.approx(float(size / seconds))
        assert (one["message_bytes"] is None) == (kind == "custom")
    assert run("plan", path, *MODEL).code == 0


def test_the_bandwidth_of_a_machine_with_units(run: Run, frontiers: Path) -> None:
    command = ("plan", frontiers / "units.json", "--alpha", "1us")
    document = valid(run(*command, "--format", "json").json)
    assert document["model"]["bandwidth"] == str(300 * 10**9)
    assert document["model"]["bandwidth_from"] == "file"
    assert "a chunk per round at 300 GB/s, as a100 is described" in run(*command).out
    given = run(*command, "--beta", "25GB/s", "--format", "json")
    assert given.json["model"]["bandwidth"] == str(25 * 10**9)


@pytest.mark.parametrize("name", ["plan.svg", "plan.png"])
def test_a_picture(run: Run, files: Path, tmp_path: Path, name: str) -> None:
    command = ("plan", files / "frontier.json", *MODEL, "--plot", name)
    assert f"drawn in {name}" in run(*command).out
    content = (tmp_path / name).read_bytes()
    assert run(*command, "--format", "json").code == 0
    assert (tmp_path / name).read_bytes() == content
    assert (b"<!-- 410.2 KiB -->" in content) == name.endswith("svg")


def test_no_screen_and_no_window(process: Run, files: Path) -> None:
    """User settings and a missing screen have no effect."""
    command = ("plan", files / "frontier.json", *MODEL, "--plot", "plan.svg")
    result = process(*command, MPLBACKEND="TkAgg", DISPLAY="", WAYLAND_DISPLAY="")
    assert result.code == 0, result.err


@pytest.mark.parametrize("dialect", ["msccl", "executor", "rccl"])
def test_exports_touch(run: Run, files: Path, tmp_path: Path, dialect: str) -> None:
    to = ("--to", "msccl-xml", "--dialect", dialect, "-o", "out")
    result = run("plan", files / "frontier.json", *MODEL, *to)
    assert result.code == 0
    assert "messages of 0 to 419999 bytes" in result.out
    assert f"executed: MSCCL XML ({dialect}), allgather" in result.out
    index = valid(json.loads((tmp_path / "out" / "index.json").read_text()))
    heads, covered = [], []
    for one in index["exports"]["algorithms"]:
        (name,) = one["files"]
        head = (tmp_path / "out" / name).read_text().splitlines()[0]
        heads.append(
            tuple(int(re.findall(f'{a}="(.*?)"', head)[0]) for a in ("minBytes", "maxBytes"))
        )
        covered.append(one["message_bytes"])
    assert covered == [[0, CROSSOVER - 1], [CROSSOVER, None]]
    assert heads[0][0] == 0
    # microsoft/msccl takes messages below its maxBytes, the others up to it.
    assert heads[0][1] + (dialect != "msccl") == heads[1][0] == CROSSOVER
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["algorithms", "index.json"]
    assert run("verify", "out/algorithms", "--dialect", dialect).code == 0


def test_the_folder_of_a_plan_is_verified(run: Run, files: Path, tmp_path: Path) -> None:
    """Every export that the index names, as the collective on the machine of its names."""
    run("plan", files / "frontier.json", *MODEL, "--to", "csv", "-o", "out")
    checked, verified = run("check", "out"), run("verify", "out")
    assert (checked.code, verified.code) == (0, 4)
    assert [text.count("\nout/algorithms/") for text in (checked.out, verified.out)] == [1, 1]
    (tmp_path / "out" / "frontier.json").write_bytes((files / "frontier.json").read_bytes())
    asked = ("--topology", "dgx1", "--collective", "allgather")
    verified = run("verify", "out", *asked)
    assert verified.code == 0
    assert verified.out.startswith("out/frontier.json: executed, frontier: allgather of 8 ranks")
    assert run("verify", "out", "--collective", "gather").code == 1
    assert run("check", "out", "--format", "json").json["exports"]["kind"] == "csv"
    broken = sorted((tmp_path / "out" / "algorithms").iterdir())[-1]
    broken.unlink()
    checked = run("check", "out")
    assert checked.code == 1
    assert f"{broken.name}: No such file" in checked.err
    assert "Everything claimed holds" in checked.out


def test_an_export_for_a_group_is_checked_by_itself(run: Run) -> None:
    pairs = "allgather within [[0, 1], [2, 3]]"
    run("pareto", "ring(4)", pairs, "--max-steps", "1", "--backend", "pysat", "-o", "pairs.json")
    to = ("--to", "msccl-xml", "--option", "group=1", "-o", "out")
    assert run("plan", "pairs.json", *MODEL, *to).code == 0
    checked = run("check", "out")
    assert (checked.code, checked.err) == (0, "")
    assert "allgather of 2 ranks" in checked.out
    assert run("verify", "out", "--topology", "ring(4)").code == 1


def test_a_broken_folder_of_a_plan_is_refused(run: Run, files: Path, tmp_path: Path) -> None:
    run("plan", files / "frontier.json", *MODEL, "--to", "msccl-xml", "-o", "out")
    index = tmp_path / "out" / "index.json"
    document = json.loads(index.read_text())
    changes = (
        ("files", ["../x.xml"], "../x.xml is outside of the folder"),
        ("files", [], "files"),
        ("does", 3, "does"),
    )
    for key, value, words in changes:
        (first, *others) = document["exports"]["algorithms"]
        first = {**first, key: value}
        exports = {**document["exports"], "algorithms": [first, *others]}
        index.write_text(json.dumps({**document, "exports": exports}))
        for verb in ("check", "verify"):
            refused = run(verb, "out")
            assert refused.code == 2
            assert words in refused.err
    index.write_text(json.dumps({**document, "exports": {**document["exports"], "to": "nosuch"}}))
    assert "exporter 'nosuch' is not installed" in run("verify", "out").err
    del document["exports"]
    index.write_text(json.dumps(document))
    assert "neither exports nor a frontier.json" in run("verify", "out").err


@pytest.mark.parametrize("name", ["allreduce", "alltoall", "reducescatter", "broadcast", "gather"])
def test_exports_of_other_collectives(run: Run, frontiers: Path, name: str) -> None:
    to = ("--to", "msccl-xml", "--dialect", "rccl", "-o", "out", "--format", "json")
    document = valid(run("plan", frontiers / f"{name}.json", *MODEL, *to).json)
    sizes = [one["message_bytes"] for one in document["exports"]["algorithms"]]
    assert sizes == [one["message_bytes"] for one in document["ranges"]]
    assert {one["does"] for one in document["exports"]["algorithms"]} == {name}


def test_unsupported_points_are_refused_or_skipped(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an exporter that counts they are left out; by others only with --skip-refused."""
    command = ("plan", files / "frontier.json", *MODEL, "--to", "msccl-xml", "-o", "out")
    with monkeypatch.context() as patched:
        refuse(patched, COUNT, lambda one: one.steps > 2)
        result = run(*command[:-1], "counted")
        assert result.code == 0
        assert "points[1]: left out: it is too long" in result.err
        assert len(list((tmp_path / "counted" / "algorithms").iterdir())) == 1
        shutil.rmtree(tmp_path / "counted")
    refuse(monkeypatch, EXPORT, lambda one: one.steps > 2)
    result = run(*command)
    assert result.code == 2
    assert "points[1], the best for messages from 420000 bytes" in result.err
    assert "it is too long" in result.err
    assert list(tmp_path.iterdir()) == []
    result = run(*command, "--skip-refused", "--format", "json")
    assert result.code == 0
    assert "points[1]: left out: it is too long" in result.err
    valid(result.json)
    assert [one["message_bytes"] for one in result.json["ranges"]] == [[0, None]]
    assert [one["where"] for one in result.json["exports"]["refused"]] == ["points[1]"]
    assert len(list((tmp_path / "out" / "algorithms").iterdir())) == 1


def test_an_export_that_fails_its_check_is_a_bug(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(*_: object) -> None:
        raise VerificationError("rank 3 waits for ever")

    monkeypatch.setattr("syncoll_msccl_xml.checker.MscclXmlChecker.check", check)
    result = run("plan", files / "frontier.json", *MODEL, "--to", "msccl-xml", "-o", "out")
    assert result.code == 70
    assert "rank 3 waits for ever" in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "--alpha is missing"),
        (["--alpha", "1us"], "--beta is missing: dgx1 is described in chunks per round"),
        (["--alpha", "-1us", "--beta", "1GB/s"], "negative"),
        (["--alpha=-0.1us", "--beta", "1GB/s"], "negative"),
        (["--alpha", "1", "--beta", "1GB/s"], "--alpha: the time '1' has no unit"),
        (["--alpha", "1us", "--beta", "1GBq"], "--beta: the bandwidth '1GBq' has the unknown"),
        (["--alpha", "1us", "--beta", "-1GB/s"], "above 0"),
        ([*MODEL, "--overhead", "-1us"], "--overhead"),
        ([*MODEL, "--sizes", "1KiB", "--plot", "x.svg"], "--sizes: a plot needs a range"),
        ([*MODEL, "--sizes", "2KiB..1KiB"], "FROM at most TO"),
        ([*MODEL, "--sizes", "..1KiB"], "has an empty size"),
        ([*MODEL, "--plot", "x.pdf"], ".png or .svg"),
        ([*MODEL, "--plot", "no/x.svg"], "no folder"),
        ([*MODEL, "--to", "msccl-xml"], "--to without -o"),
        ([*MODEL, "-o", "x"], "-o without --to"),
        ([*MODEL, "--dialect", "rccl"], "--dialect is for exports"),
        ([*MODEL, "--in-place"], "--in-place is for exports"),
        ([*MODEL, "--to", "msccl-xm", "-o", "x"], "did you mean msccl-xml?"),
        ([*MODEL, "--to", "msccl-xml", "-o", "x", "--dialect", "new"], "one of msccl, executor"),
        ([*MODEL, "--to", "msccl-xml", "-o", "no/x"], "no folder"),
        ([*MODEL, "--to", "msccl-xml", "-o", "full"], "not empty"),
        ([*MODEL, "--to", "msccl-xml", "-o", "full/old"], "not a folder"),
    ],
)
def test_bad_requests(
    arguments: list[str], complaint: str, run: Run, files: Path, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "old").write_text("old")
    result = run("plan", files / "frontier.json", *arguments)
    assert result.code == 2
    assert complaint in result.err
    assert "Traceback" not in result.err
    assert result.out == ""
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")) == ["full", "full/old"]


def test_other_files(run: Run, files: Path, tmp_path: Path) -> None:
    result = run("plan", files / "sat.json", *MODEL)
    assert result.code == 2
    assert "this is an outcome; plan takes a frontier" in result.err
    assert "no such file" in run("plan", "none.json", *MODEL).err.lower()
    document = json.loads((files / "frontier.json").read_text())
    for key in ("digest", "evidence", "between"):
        document.pop(key, None)
    for point in document["points"]:
        point.pop("proof", None)
    (tmp_path / "empty.json").write_text(json.dumps({**document, "points": []}))
    result = run("plan", "empty.json", *MODEL)
    assert result.code == 2
    assert "has no points" in result.err


def test_its_schema(run: Run, files: Path) -> None:
    printed = run("schema", "plan").json
    assert printed == schema("plan")
    jsonschema.Draft202012Validator.check_schema(printed)
    validator = jsonschema.Draft202012Validator(printed)
    document = run("plan", files / "frontier.json", *MODEL, "--format", "json").json
    assert validator.is_valid(document)
    for key in ("ranges", "never_best", "model", "message", "nodes"):
        assert not validator.is_valid({k: v for k, v in document.items() if k != key})
    assert not validator.is_valid({**document, "more": 1})
    (first, *rest) = document["ranges"]
    for change in ({"more": 1}, {"from": "-1"}, {"message_bytes": [0]}, {"steps": "2"}):
        assert not validator.is_valid({**document, "ranges": [{**first, **change}, *rest]})


def test_help_teaches(run: Run) -> None:
    text = run("plan", "--help").out
    assert max(map(len, text.splitlines())) <= 100
    for word in ("GiB/s", "0.7us", "--overhead", "P * L", "index.json", "the greatest of them"):
        assert word in " ".join(text.split())
