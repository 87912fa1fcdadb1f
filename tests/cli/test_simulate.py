"""``syncoll simulate``: tables, documents, and complaints in one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.documents import schema

Run = Callable[..., Any]

MODEL = ("--alpha", "0.7us", "--beta", "25GB/s")


def command(files: Path, *more: str) -> tuple[object, ...]:
    return ("simulate", files / "frontier.json", *MODEL, *more)


def test_a_table_like_that_of_nccl_tests(run: Run, files: Path) -> None:
    result = run(*command(files, "--sizes", "8MiB:32MiB", "--classics", "ring,binomial"))
    assert (result.code, result.err) == (0, "")
    rows = [re.split("  +", line.strip()) for line in result.out.splitlines()]
    names = ["message (B)", "count", "type", "redop", "time (us)"]
    assert [*names, "algbw (GB/s)", "busbw (GB/s)"] in rows
    # 8 nodes of 1 MiB: 3 steps and 7/6 of 1 MiB at 25 GB/s are 51.03 us in lockstep.
    row = next(row for row in rows if row[:4] == ["8388608", "262144", "float", "none"])
    assert float(row[4]) <= 65.02
    assert float(row[5]) == pytest.approx(8388608 / float(row[4]) / 1000, rel=1e-3)
    assert float(row[6]) == pytest.approx(float(row[5]) * 7 / 8, abs=0.01)
    assert any(line.startswith("ring, the best at each size") for line in result.out.splitlines())
    assert "binomial is left out: a binomial tree has one root" in result.out
    assert any(row[:2] == ["8 MiB", "points[1]"] for row in rows)


def test_json_follows_the_schema_and_lockstep_the_plan(run: Run, files: Path) -> None:
    lockstep = ("--timing", "lockstep", "--classics", "none", "--overhead", "2us")
    document = run(*command(files, *lockstep, "--format", "json")).json
    jsonschema.Draft202012Validator(schema("simulation")).validate(document)
    plan = syncoll.plan(
        files / "frontier.json", alpha="0.7us", beta="25GB/s", overhead="2us", timing="lockstep"
    )
    assert len(document["algorithms"]) == 2
    for one in document["algorithms"]:
        assert len(one["measurements"]) == 11
        for row in one["measurements"]:
            cost = Fraction(one["bandwidth"])
            assert Fraction(row["per_node"]) * 8 == row["size"]
            seconds = plan.model.seconds(one["steps"], cost, Fraction(row["per_node"]))
            assert row["seconds"] == float(seconds)
            assert row["busbw"] == pytest.approx(row["algbw"] * 7 / 8)
    for best in document["best"]:
        assert best["best"] == plan.best(best["message_bytes"]).algorithm.where
        assert (best["classic"], best["speedup"]) == (None, None)


def test_python_says_the_same(files: Path, run: Run) -> None:
    found = syncoll.simulate(files / "frontier.json", alpha="0.7us", beta="25GB/s")
    assert found.document() == run(*command(files, "--format", "json")).json
    assert found.speedup(0) == found.best_classic(0).seconds[0] / found.best(0).seconds[0]  # type: ignore[union-attr]
    again = syncoll.load(files / "frontier.json").simulate(alpha="0.7us", beta="25GB/s")  # type: ignore[union-attr]
    assert again.algorithms[1].seconds == found.algorithms[1].seconds
    one = found.simulation("points[0]", found.sizes[3])
    assert one.seconds == found.timed("points[0]").seconds[3]
    assert "points[0]" in repr(one)


def test_members_of_families_and_a_machine_with_units(run: Run, tmp_path: Path) -> None:
    path, spec = tmp_path / "units.json", tmp_path / "units.syncoll"
    links = "link (i, (i + 1) mod 4) both ways for i in range(4) bandwidth 25 GB/s"
    spec.write_text(f"topology round {{ nodes 4  {links} }}", encoding="utf-8")
    how = ("--backend", "pipelines", "-o", str(path))
    assert main(["pareto", f"{spec}:round", "broadcast", *how]) == 0
    result = run("simulate", path, "--alpha", "1us", "--classics", "double_binary_tree")
    assert result.code == 0
    assert re.search(r"^families\[0\]\.member\(\d+\): S = ", result.out, re.MULTILINE)
    assert "a chunk per round at 25 GB/s, as round is described" in result.out


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--sizes", "4MiB:1MiB"), "--sizes: '4MiB:1MiB' is empty"),
        (("--factor", "1"), "factor is 1; expected a whole number of at least 2"),
        (("--slow", "0->6 by 3"), "dgx1 has no lane 0->6; its lanes are 0 -> 1"),
        (("--slow", "0 to 5"), "'0 to 5' is not FROM->TO by FACTOR"),
        (("--slow", "a->5 by 3"), "'a' is neither a node such as 3"),
        (("--slow", "0->1 by 0.5"), "with a factor of at least 1"),
        (("--late", "rank 8 by 1us"), "rank 8 does not exist; dgx1 has ranks 0 to 7"),
        (("--late", "rank 3"), "is not 'rank N by TIME'"),
        (("--late", "rank 3 by 1"), "has no unit"),
        (("--timing", "lockstep", "--depth", "2"), "--depth decides when sends leave"),
        (("--sharing", "fair", "--injection", "lockstep"), "for sends that take turns"),
        (("--classics", "rings"), "rings"),
        (("--collective", "broadcast"), "broadcast is another collective"),
    ],
)
def test_invalid_requests_are_refused_in_a_line(
    run: Run, files: Path, more: tuple[str, ...], says: str
) -> None:
    result = run(*command(files, *more))
    assert result.code == 2
    assert result.out == ""
    assert says in result.err
    assert "Traceback" not in result.err


def test_missing_times_are_requested(run: Run, files: Path) -> None:
    path = files / "frontier.json"
    assert "--beta is missing: dgx1" in run("simulate", path, "--alpha", "1us").err
    assert "--alpha is missing: dgx1" in run("simulate", path, "--beta", "1GB/s").err
