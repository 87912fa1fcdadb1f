"""Questions about measured rates, in the form of their logs, with the answers of `ceiling`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import UsageError
from syncoll.measuring import RunCeilings, findings
from syncoll.units import gigabytes
from syncoll.verbs.ceiling.result import CeilingResult

from .tables import GIB, Row, at_rate, matrix, nccl_tests

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
    Path("own.syncoll").write_text(SPEC, "utf-8")
    Path("four.txt").write_text(matrix(4, "NV18"), "utf-8")
    Path("box.txt").write_text(matrix(8, "NV12", 4), "utf-8")
    Path("pcie.txt").write_text(matrix(8, "PHB", far="SYS"), "utf-8")


def asked(machine: str, *tables: str) -> CeilingResult:
    """The ceilings of a log on a machine."""
    Path("run.log").write_text("".join(tables), "utf-8")
    return syncoll.ceiling(machine, "run.log", progress="none")


def alone(machine: str, program: str, rows: list[Row], ranks: int) -> RunCeilings:
    """The only run of a log."""
    (run,) = asked(machine, nccl_tests(program, rows, ranks)).runs
    return run


def said(run: RunCeilings) -> str:
    """The findings of a run."""
    return " ".join(findings(run))


@pytest.mark.parametrize(
    ("machine", "program", "algbw", "ranks", "ceiling", "summed", "fact", "words"),
    [
        # algbw and busbw of the ceiling, algbw of that with sums, and lanes that bind or a limit.
        (
            *("dgx_h100(boxes=2)", "all_reduce", 250, 16, (267, 500), 400, "NVLinks, network card"),
            "Good for any algorithm without sums in switches: 94%",
        ),
        (
            *("dgx_h100(boxes=4)", "all_reduce", 189, 32, (258, 500), 267, "nccl_tree 387.5"),
            "Nothing is broken: the library's tree is at 94% of its own limit of 387.5 GB/s busbw: "
            "an inner box of a double tree sends twice the buffer",
        ),
        (
            *("dgx_h100(boxes=4)", "all_reduce", 163, 32, (258, 500), 267, "nccl_tree 387.5"),
            "81% of the limit of the library's tree: look at the spine and the rails",
        ),
        (
            *("dgx_h100", "all_gather", 411.4, 8, (514, 450), None, ""),
            "busbw counts one direction, and both are in use",
        ),
        (
            *("dgx_h100", "all_reduce", 205.7, 8, (257, 450), 450, ""),
            "No sign of sums in switches (NVLS)",
        ),
        (
            *("dgx_h100", "all_reduce", 271.4, 8, (257, 450), 450, ""),
            "the switches add up (NVLS). The links do not bind, the channels of NVLS do",
        ),
        (
            *("nvidia-smi:four.txt", "all_reduce", 247, 4, (300, 450), 450, "nccl_ring 450"),
            "NCCL runs a ring on 4 GPUs",
        ),
        (
            *("nvidia-smi(boxes=3,card=200Gb/s):box.txt", "all_reduce", 50.1, 24, (75, 144), None),
            "nccl_ring 100",
            "the library's ring is at 96% of its own limit of 100 GB/s busbw: all of its busbw "
            "crosses each edge. Another algorithm may be up to 1.5 times as fast",
        ),
        # With wide PCIe ports the buffer crosses the pair of sockets once each way, and that binds.
        (
            *("nvidia-smi(socket=19,pcie=63):pcie.txt", "all_reduce", 8.3, 8, (19, 33.25), None),
            "",
            "without peer access every pair of GPUs goes through the host",
        ),
        (
            *("nvidia-smi(socket=21.5,pcie=63):pcie.txt", "all_reduce", 11.8, 8, (21.5, 37.6)),
            *(None, "nccl_ring 21.5"),
            "the library's ring is at 96% of its own limit of 21.5 GB/s busbw. Another",
        ),
        ("nvidia-smi(socket=19):pcie.txt", "all_reduce", 8.3, 8, (18, 31.5), None, "", ""),
        ("mi300x", "all_gather", 600, 8, (512, 448), None, "", "its links are faster than"),
    ],
)
def test_the_answer_of_a_rate(
    machine: str,
    program: str,
    algbw: float,
    ranks: int,
    ceiling: tuple[float, float],
    summed: float | None,
    fact: str,
    words: str,
) -> None:
    run = alone(machine, program, [at_rate(16 * GIB, algbw)], ranks)
    rates = run.plain.algbw, run.plain.algbw * run.factor
    assert [one / 1e9 for one in rates] == pytest.approx(ceiling, abs=0.6)
    assert (run.summed and run.summed.algbw / 1e9) == (summed and pytest.approx(summed, abs=0.6))
    limits = [f"{one.name} {gigabytes(one.algbw * run.factor)}" for one in run.library]
    assert fact in ["", ", ".join(run.plain.binding), *limits]
    assert words in said(run)


def test_a_rack_without_sums_in_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the algorithms of libraries, which take seconds to construct on 72 GPUs.
    monkeypatch.setattr("syncoll.verbs.measured.library_ways", lambda *_: ())
    run = alone("nvl72", "all_reduce", [at_rate(16 * GIB, 423.3)], 72)
    assert run.plain.algbw * run.factor / 1e9 == pytest.approx(900, rel=1e-3)
    assert run.summed is not None
    assert run.algbw / run.summed.algbw == pytest.approx(0.47, abs=0.01)
    assert "Good for any algorithm without sums in switches: 93%" in said(run)


def test_runs_of_a_family_with_the_same_small_share() -> None:
    tables = [
        nccl_tests("all_reduce", [at_rate(GIB, rate)], ranks)
        for rate, ranks in ((3.7, 2), (7.7, 4), (15.0, 8))
    ]
    found = asked("own.syncoll:pairs(n)", *tables)
    assert [round(run.plain.algbw / 1e9) for run in found.runs] == [50, 100, 200]
    assert [run.machine for run in found.runs] == [f"own.syncoll:pairs({i})" for i in (1, 2, 4)]
    words = "With 2, 4, 8 GPUs the runs reach the same share of their ceilings (7.4% to 7.7%)"
    assert words in " ".join(str(found).split())


def test_a_time_that_jumps_shows_a_threshold() -> None:
    rows: list[Row] = [(1 << 16, 107), (1 << 20, 1460), (1 << 21, 70000)]
    run = alone("own.syncoll:shared_cards", "all_gather", rows, 32)
    assert 15e-6 < run.plain.seconds[-1] < 30e-6  # 16 us over the cards, and the latencies
    assert "From 1 MiB to 2 MiB the time grows to 48 times: a threshold" in said(run)


def test_a_time_below_every_runtime_is_wrong() -> None:
    run = alone("nvidia-smi:four.txt", "all_reduce", [(1024, 0.5), (2048, 0.52)], 4)
    assert run.plain.seconds[0] / run.times[0][1] == pytest.approx(0.94, abs=0.01)
    assert "no runtime comes near (the best public one takes 5.9 us)" in said(run)


def test_another_number_of_ranks_is_refused_with_its_line() -> None:
    words = r"run\.log, line 24: a run of 16 ranks, but dgx_h100 has 8"
    with pytest.raises(UsageError, match=words):
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
