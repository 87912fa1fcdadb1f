"""Questions about measured rates, in the form of their logs, with the answers of `ceiling`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import UsageError
from syncoll.measuring import RunCeilings
from syncoll.verbs.ceiling.result import CeilingResult

from .tables import GIB, Row, at_rate, matrix, nccl_tests

SIXTEEN = 16 * GIB

SPEC = """
# Boxes of some GPUs, each with a card of 50 GB/s.
topology pairs(gpus) {
    nodes 2 * gpus
    switches 3
    link (g, switch(g div gpus)) both ways for g in nodes if gpus > 1 bandwidth 450 GB/s
        latency 235 ns label "NVLinks of GPU {g}"
    link (g, switch(2)) both ways for g in nodes bandwidth 50 GB/s latency 1350 ns
        label "network card of GPU {g}"
}
# Four boxes of eight GPUs; two GPUs share a card of 25 GB/s.
topology shared_cards {
    nodes 32
    switches 17
    link (a, b) both ways for a in nodes, b in range(a) if a div 8 == b div 8 bandwidth 50 GB/s
        latency 800 ns label "xGMI"
    link (g, switch(g div 2)) both ways for g in nodes bandwidth 25 GB/s latency 1 us
        label "PCIe of GPU {g}"
    link (switch(c), switch(16)) both ways for c in range(16) bandwidth 25 GB/s latency 3750 ns
        label "network card {c}"
}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked(machine: str, *tables: str) -> CeilingResult:
    """The ceilings of a log on a machine."""
    Path("run.log").write_text("".join(tables), "utf-8")
    return syncoll.ceiling(machine, "run.log", progress="none")


def alone(machine: str, program: str, rows: list[Row], ranks: int) -> RunCeilings:
    """The only run of a log."""
    (run,) = asked(machine, nccl_tests(program, rows, ranks)).runs
    return run


def rates(run: RunCeilings) -> tuple[int, int]:
    """algbw and busbw of the ceiling, in whole GB/s."""
    return round(run.plain.algbw / 1e9), round(run.plain.algbw * run.factor / 1e9)


def said(run: RunCeilings) -> str:
    """The findings of a run."""
    from syncoll.measuring import findings

    return " ".join(findings(run))


def limit_of(run: RunCeilings, name: str) -> int:
    """The busbw of a library's algorithm, in whole GB/s."""
    return round(next(x for x in run.library if x.name == name).algbw * run.factor / 1e9)


def test_two_boxes_of_h100_near_the_limit_of_their_ports() -> None:
    run = alone("dgx_h100(boxes=2)", "all_reduce", [at_rate(SIXTEEN, 250)], 16)
    assert rates(run) == (267, 500)
    assert run.summed is not None
    assert round(run.summed.algbw / 1e9) == 400
    assert list(run.plain.binding) == ["NVLinks", "network card"]
    assert "Good for any algorithm without sums in switches: 94%" in said(run)
    assert run.algbw / run.summed.algbw == pytest.approx(0.63, abs=0.01)


def test_four_boxes_at_the_limit_of_a_double_tree() -> None:
    run = alone("dgx_h100(boxes=4)", "all_reduce", [at_rate(SIXTEEN, 189)], 32)
    assert rates(run) == (258, 500)
    assert limit_of(run, "nccl_tree") in (387, 388)
    assert "Nothing is broken: the library's tree is at 94% of its own limit" in said(run)
    assert "an inner box of a double tree sends twice the buffer" in said(run)


def test_eight_boxes_below_the_limit_of_a_tree() -> None:
    run = alone("dgx_h100(boxes=8)", "all_reduce", [at_rate(SIXTEEN, 163)], 64)
    assert rates(run) == (229, 450)
    assert limit_of(run, "nccl_tree") == 394
    assert list(run.plain.binding) == ["network card"]
    assert run.algbw / run.plain.algbw == pytest.approx(0.71, abs=0.01)
    assert "look at the spine and the rails" in said(run)


def test_busbw_of_one_box_counts_one_direction() -> None:
    gathered = nccl_tests("all_gather", [at_rate(SIXTEEN, 411.4)], 8)
    reduced = nccl_tests("all_reduce", [at_rate(SIXTEEN, 205.7)], 8)
    first, second = asked("dgx_h100", gathered, reduced).runs
    assert (rates(first), rates(second)) == ((514, 450), (257, 450))
    assert first.summed is None
    assert second.summed is not None
    assert second.algbw / second.summed.algbw == pytest.approx(0.46, abs=0.01)
    assert "busbw counts one direction, and both are in use" in said(first)
    assert "No sign of sums in switches (NVLS)" in said(second)


@pytest.mark.parametrize("algbw", [271.4, 274.3])
def test_a_rate_above_the_ceiling_without_sums(algbw: float) -> None:
    run = alone("dgx_h100", "all_reduce", [at_rate(SIXTEEN, algbw)], 8)
    assert run.algbw / run.plain.algbw == pytest.approx(algbw / 257.1, abs=0.01)
    assert "the switches add up (NVLS)" in said(run)
    assert "The links do not bind, the channels of NVLS do" in said(run)


def test_four_gpus_run_a_ring() -> None:
    Path("four.txt").write_text(matrix(4, "NV18"), "utf-8")
    run = alone("nvidia-smi:four.txt", "all_reduce", [at_rate(SIXTEEN, 247)], 4)
    assert run.summed is not None
    assert run.algbw / run.summed.algbw == pytest.approx(0.55, abs=0.01)
    assert limit_of(run, "nccl_ring") == 450
    assert "NCCL runs a ring on 4 GPUs" in said(run)


def test_shared_cards_at_the_limit_of_a_ring() -> None:
    Path("box.txt").write_text(matrix(8, "NV12", 4), "utf-8")
    machine = "nvidia-smi(boxes=3,card=200Gb/s):box.txt"
    run = alone(machine, "all_reduce", [at_rate(SIXTEEN, 50.1)], 24)
    assert rates(run) == (75, 144)
    assert run.summed is None
    assert limit_of(run, "nccl_ring") == 100
    assert "the library's ring is at 96% of its own limit of 100 GB/s" in said(run)
    assert "up to 1.5 times as fast" in said(run)


def test_runs_of_a_family_with_the_same_small_share() -> None:
    Path("own.syncoll").write_text(SPEC, "utf-8")
    tables = [
        nccl_tests("all_reduce", [at_rate(GIB, rate)], ranks)
        for rate, ranks in ((3.7, 2), (7.7, 4), (15.0, 8))
    ]
    found = asked("own.syncoll:pairs(n)", *tables)
    assert [round(run.plain.algbw / 1e9) for run in found.runs] == [50, 100, 200]
    assert [run.machine for run in found.runs][1:] == [
        "own.syncoll:pairs(2)",
        "own.syncoll:pairs(4)",
    ]
    page = " ".join(str(found).split())
    assert (
        "With 2, 4, 8 GPUs the runs reach the same share of their ceilings (7.4% to 7.7%)" in page
    )


@pytest.mark.parametrize(
    ("socket", "algbw", "words"),
    [
        ("19", 8.3, "without peer access every pair of GPUs goes through the host"),
        ("21.5", 11.8, "the library's ring is at 96% of its own limit of 21.5 GB/s busbw"),
    ],
)
def test_a_box_of_pcie_across_sockets(socket: str, algbw: float, words: str) -> None:
    # With wide PCIe ports the buffer crosses the pair of sockets once each way, and that binds.
    Path("pcie.txt").write_text(matrix(8, "PHB", far="SYS"), "utf-8")
    machine = f"nvidia-smi(socket={socket},pcie=63):pcie.txt"
    run = alone(machine, "all_reduce", [at_rate(GIB, algbw)], 8)
    assert run.plain.algbw / 1e9 == pytest.approx(float(socket), rel=1e-3)
    assert run.algbw / run.plain.algbw == pytest.approx(algbw / float(socket), abs=0.01)
    assert words in said(run)


def test_ports_of_pcie_bind_before_the_sockets() -> None:
    Path("pcie.txt").write_text(matrix(8, "PHB", far="SYS"), "utf-8")
    run = alone("nvidia-smi(socket=19):pcie.txt", "all_reduce", [at_rate(GIB, 8.3)], 8)
    assert run.plain.algbw / 1e9 == pytest.approx(31.5 * 4 / 7, rel=1e-3)


def test_a_time_that_jumps_shows_a_threshold() -> None:
    Path("own.syncoll").write_text(SPEC, "utf-8")
    rows: list[Row] = [(1 << 16, 107), (1 << 20, 1460), (1 << 21, 70000)]
    run = alone("own.syncoll:shared_cards", "all_gather", rows, 32)
    seconds = run.plain.seconds[-1]
    assert 15e-6 < seconds < 30e-6  # 16 us over the cards, and the latencies
    assert "From 1 MiB to 2 MiB the time grows to 48 times: a threshold" in said(run)


def test_a_time_below_every_runtime_is_wrong() -> None:
    Path("four.txt").write_text(matrix(4, "NV18"), "utf-8")
    run = alone("nvidia-smi:four.txt", "all_reduce", [(1024, 0.5), (2048, 0.52)], 4)
    assert run.plain.seconds[0] / run.times[0][1] == pytest.approx(0.94, abs=0.01)
    assert "no runtime comes near (the best public one takes 5.9 us)" in said(run)


def test_a_rack_without_sums_in_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the algorithms of libraries, which take long to simulate on 72 GPUs.
    monkeypatch.setattr("syncoll.verbs.ceiling.result.library_ways", lambda *_: ())
    run = alone("nvl72", "all_reduce", [at_rate(SIXTEEN, 423.3)], 72)
    assert rates(run) == (456, 900)
    assert run.summed is not None
    assert run.algbw / run.summed.algbw == pytest.approx(0.47, abs=0.01)
    assert "Good for any algorithm without sums in switches: 93%" in said(run)


def test_a_rate_that_the_machine_cannot_have() -> None:
    run = alone("mi300x", "all_gather", [at_rate(GIB, 600)], 8)
    assert "is less than the proved least on mi300x: its links are faster than described" in said(
        run
    )


def test_another_number_of_ranks_is_refused_with_its_line() -> None:
    with pytest.raises(
        UsageError, match=r"run\.log, line 24: a run of 16 ranks, but dgx_h100 has 8"
    ):
        asked("dgx_h100", nccl_tests("all_reduce", [at_rate(GIB, 1)], 16))


def test_runs_of_other_machines_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [at_rate(GIB, 200)]
    other = nccl_tests("all_reduce", rows, 16) + nccl_tests("sendrecv", rows, 8)
    Path("run.log").write_text(nccl_tests("all_reduce", rows, 8) + other, "utf-8")
    assert main(["ceiling", "dgx_h100", "run.log", "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["runs"]) == 1
    assert "left out: run.log, line 41: a run of 16 ranks" in " ".join(shown.err.split())
    assert "the rows do not show their collective" in " ".join(shown.err.split())


def test_settings_for_the_tuner_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    # At 1 and 4 MiB the library's choice is bad.
    rows = [(4096, 22.0), (1 << 16, 27.0), (1 << 20, 400.0), (1 << 22, 900.0), (1 << 28, 1500.0)]
    Path("run.log").write_text(nccl_tests("all_reduce", rows, 8), "utf-8")
    assert main(["ceiling", "dgx_h100", "run.log", "--to", "tuner", "-o", "tuner.csv"]) == 0
    head, *lines = Path("tuner.csv").read_text().splitlines()
    assert head.startswith("collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes")
    cells = [line.split(",") for line in lines]
    assert [x for x in cells if int(x[1]) <= 1 << 20 <= int(x[2])]
    assert all(len(x) == 10 and x[0] == "allreduce" and x[6:8] == ["1", "8"] for x in cells)
    assert {x[3] for x in cells} <= {"ring", "tree"}


def test_the_document_has_the_rows_and_the_limits(capsys: pytest.CaptureFixture[str]) -> None:
    table = nccl_tests("all_reduce", [(1 << 20, 40.0), at_rate(GIB, 200)], 8)
    Path("run.log").write_text(table, "utf-8")
    assert main(["ceiling", "dgx_h100", "run.log", "--format", "json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["ceiling"]["bandwidth"] == "7/4"
    assert [row["size"] for row in run["rows"]] == [1 << 20, GIB]
    assert run["with_sums"]["binding"] == {"NVLinks": 450e9}
