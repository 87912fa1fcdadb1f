"""The runtimes against the tables of measured times."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import known_schedules, measured
from benchmarks.tables import RESULTS
from syncoll.measuring import Way

STORED = json.loads((RESULTS / "measured.json").read_text())


def test_every_table_is_used_or_left_out_with_a_reason() -> None:
    every = measured.tables()
    assert len(every) == len({one.id for one in every}) == 133
    used = [one for one in every if not one.left_out]
    assert len(used) == 61
    assert all(one.collective != "sendrecv" and "TCP" not in one.network for one in used)
    assert all(one.source and one.rows for one in every)


@pytest.mark.parametrize("decade", ["all", *measured.DECADES])
def test_errors_of_the_runtimes_do_not_grow(decade: str, quick: dict[str, float]) -> None:
    assert quick[decade] <= STORED["a few tables"][decade] + 0.001


@pytest.fixture(scope="module")
def quick() -> dict[str, float]:
    return measured.quick_medians()


def test_the_page_keeps_its_promises() -> None:
    runtimes = STORED["runtimes `nccl` and `rccl`, not calibrated"]
    assert runtimes["all"] <= 0.20
    assert runtimes["below 64 KiB"] <= 0.25
    assert STORED["fitted without the machine of the table"]["all"] <= 0.22
    assert STORED["the same, calibrated with three rows of the table"]["all"] <= 0.14
    known = STORED["known schedules"]
    assert max(known["in-sample"], known["simulated"]) <= 0.05
    assert known["collective left out"] <= 0.16


@pytest.mark.parametrize("collective", ["allreduce", "allgather", "alltoall"])
def test_ways_of_more_boxes_follow_from_two_boxes(collective: str) -> None:
    two, four = (
        measured._ways((f"{measured.HERE / 'machines.syncoll'}:gh200(boxes={n})",), collective)
        for n in (2, 4)
    )
    for small, large in zip(two, four, strict=True):
        found: Way = measured.of_more_boxes(small, 4, 4)
        assert found.name == large.name
        for reach, load in found.loads.items():
            other = large.loads[reach]
            assert load.latency == pytest.approx(other.latency, rel=0.05, abs=1e-9)
            assert load.share == pytest.approx(other.share, rel=0.05)


def test_blocks_of_a_ring_wait_for_each_other() -> None:
    # Measured in LL, where one block moves 1.57 GB/s: 2.45, 3.0 and 10.2 GB/s.
    found = [known_schedules.blocks_at_work(channels) for channels in (1, 2, 4, 8)]
    assert found == pytest.approx([1, 2.45 / 1.57, 3.0 / 1.57, 10.2 / 1.57], rel=0.1)


def test_costs_of_a_program_are_found_again() -> None:
    costs = np.array([5e-6, 2e-6, 2e9, 0.6, 3e-6, 200e9])
    made = []
    for one in known_schedules.programs():
        if one.protocol == "LL":
            times = known_schedules.seconds(one, costs)
            made.append(replace(one, seconds=times))
    found = known_schedules.fitted(made, "LL")
    assert np.median(known_schedules.errors(made, found)) < 0.01


@pytest.mark.parametrize("table", ["049", "068", "082"])
def test_simulations_of_programs_are_near_their_times(table: str) -> None:
    (one,) = (one for one in known_schedules.programs() if one.table == table)
    error = np.abs(known_schedules.simulated(one) / one.seconds - 1)
    assert np.median(error) < 0.08
