"""Fits: costs that are known, and found again from times that have them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import UsageError
from syncoll.measuring import Load, Sample, Way, fit, predicted
from syncoll.measuring.fit import scaled
from syncoll.runtime import Kind
from syncoll.simulating import Reach, Runtime, runtime

from .tables import Row, nccl_tests

RING = Way(
    "nccl_ring",
    {Reach.BOX: Load(13e-6, 26, 1.64, 450e9), Reach.NETWORK: Load(11e-6, 4, 0.234, 50e9)},
)
TREE = Way(
    "nccl_tree",
    {Reach.BOX: Load(6.6e-6, 14, 1.75, 450e9), Reach.NETWORK: Load(5.4e-6, 2, 0.125, 50e9)},
)
SIZES = [1 << i for i in range(10, 33)]


def changed(one: Runtime, call: float, hop: float, share: float) -> Runtime:
    """A runtime with costs times some factors."""
    factors = np.array([call, hop, hop, share, share])
    return replace(one, protocols=tuple(scaled(x, factors) for x in one.protocols))


def measured(one: Runtime, sizes: list[int]) -> list[Sample]:
    """Times that a runtime has."""
    asked = [Sample(size, 1.0, (RING, TREE), Kind.ALLREDUCE) for size in sizes]
    times = predicted(one, asked).tolist()
    return [replace(x, seconds=time) for x, time in zip(asked, times, strict=True)]


def test_costs_are_found_again() -> None:
    start = runtime("nccl")
    found = fit(measured(changed(start, 0.6, 1.8, 0.8), SIZES), start)
    assert np.median(found.before) > 0.1
    assert np.median(found.errors) < 0.01
    assert np.median(found.held_out) < 0.02
    assert found.outliers == []
    assert set(found.by_decade()) == {"below 64 KiB", "64 KiB to 16 MiB", "above 16 MiB"}


def test_three_rows_suffice() -> None:
    start = runtime("nccl")
    machine = changed(start, 0.6, 1.8, 0.8)
    found = fit(measured(machine, [4096, 1 << 20, 1 << 28]), start)
    others = measured(machine, SIZES)
    before, after = (
        np.median(np.abs(predicted(x, others) / [one.seconds for one in others] - 1))
        for x in (start, found.runtime)
    )
    assert after < before / 2
    assert after < 0.14


def test_two_rows_are_refused() -> None:
    start = runtime("nccl")
    with pytest.raises(UsageError, match="2 rows to fit costs to; expected at least 3"):
        fit(measured(start, SIZES[:2]), start)


def test_cold_rows_hardly_move_the_fit() -> None:
    start = runtime("nccl")
    samples = measured(changed(start, 0.8, 1.2, 0.9), SIZES)
    samples[0] = replace(samples[0], seconds=8 * samples[0].seconds)
    found = fit(samples, start)
    assert found.outliers == [samples[0]]
    assert np.median(found.errors) < 0.02


def test_gpus_of_one_process_cost_a_call_each() -> None:
    start = runtime("nccl")
    (one,) = measured(start, [4096])
    (eight,) = predicted(start, [replace(one, gpus=8)])
    assert eight - one.seconds == pytest.approx(7 * float(start.per_gpu))


TIMES = {10: 21.0, 14: 23.0, 18: 35.0, 22: 60.0, 24: 130.0, 26: 390.0, 28: 1350.0, 30: 5000.0}
ROWS: list[Row] = [(1 << i, time) for i, time in TIMES.items()]


def test_a_calibrated_runtime_is_a_file_for_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.log").write_text(nccl_tests("all_reduce", ROWS, 8), "utf-8")
    ask = ["calibrate", "run.log", "--machine", "dgx_h100", "-o", "ours.toml"]
    assert main(ask) == 0
    page = capsys.readouterr().out
    assert page.startswith("nccl fitted to 8 rows of run.log")
    assert "of rows that are left out of the fit" in page
    found = runtime("ours.toml")
    assert found.basis == "calibrated on 8 rows of the machine"
    assert found.error is not None
    assert found.error < Fraction(1, 4)
    again = syncoll.calibrate("run.log", machine="dgx_h100", runtime="ours.toml", progress="none")
    before, after = float(np.median(again.before)), float(np.median(again.errors))
    assert before == pytest.approx(after, abs=0.05)


def test_the_error_of_few_rows_is_that_of_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.log").write_text(nccl_tests("all_reduce", ROWS[::3], 8), "utf-8")
    found = syncoll.calibrate("run.log", machine="dgx_h100(boxes=n)", progress="none")
    assert found.runtime.error == runtime("nccl").error
    assert found.document()["rows"] == 3
