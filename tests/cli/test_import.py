"""``syncoll import``, and ``IMPORTER:FILE`` wherever a command takes a machine."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from .conftest import Run

SQUARE = """\
        GPU0    GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity
GPU0     X      NV1     NV2     SYS     0-23            0
GPU1    NV1      X      SYS     NV2     0-23            0
GPU2    NV2     SYS      X      NV1     24-47           1
GPU3    SYS     NV2     NV1      X      24-47           1
"""
SPEC = """\
# Imported from square.txt (importer nvidia-smi).
#
# Assumptions and omissions:
# * Each NVLink carries 25 GB/s in each direction, as on V100, A100, H100 (options gpu and link
#   change it); the matrix has no speeds.
# * 2 of 6 pairs have no NVLinks, and no link here: PCIe is left out (pcie=31.5 adds it).
# * Assumed: latencies of GPU to GPU by which NCCL 2.8 chooses its algorithms
#   (src/graph/tuning.cc, hwLat of rings, protocol LL): 0.47 us over NVLink, divided over the
#   links on the way. The latencies of the real machine must be measured (--alpha).
#
# Nodes: 0 to 3 are GPU0 to GPU3.
topology square {
    nodes 4
    link (0, 1), (2, 3) both ways bandwidth 25 GB/s latency 470 ns label "1 NVLink"
    link (0, 2), (1, 3) both ways bandwidth 50 GB/s latency 470 ns label "2 NVLinks"
}
"""
NIC = {"CPU": "NIC0", "0-23": "PIX", "24-47": "SYS"}
WORK = ("--work", "5", "--sizes", "1MiB")
ROCM = """\
=== Link Type between two GPUs ===
       GPU0         GPU1
GPU0   0            XGMI
GPU1   XGMI         0
"""


@pytest.fixture(autouse=True)
def square(tmp_path: Path) -> Path:
    path = tmp_path / "square.txt"
    path.write_text(SQUARE)
    (tmp_path / "rocm.txt").write_text(ROCM)
    return path


def standard_input(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_the_spec_on_standard_output(run: Run) -> None:
    result = run("import", "nvidia-smi", "square.txt")
    assert (result.code, result.out, result.err) == (0, SPEC, "")


def test_a_reference_is_read_as_elsewhere(run: Run) -> None:
    result = run("import", "nvidia-smi:square.txt")
    assert (result.code, result.out, result.err) == (0, SPEC, "")
    given = run("import", "nvidia-smi(link=20,pcie=no):square.txt", "--option", "link=30")
    options = ("--option", "link=30", "--option", "pcie=no")
    assert given.out == run("import", "nvidia-smi", "square.txt", *options).out
    same = run("import", "nvidia-smi(link=20):square.txt", "-o", "square.txt")
    assert (same.code, Path("square.txt").read_text()) == (2, SQUARE)
    assert "square.txt is the file that is imported" in same.err
    assert "expected `nvidia-smi FILE` or `nvidia-smi:FILE`" in run("import", "nvidia-smi").err
    assert "`nvidia-smi:` without a file" in run("import", "nvidia-smi:").err
    assert "slum" in run("import", "slum:square.txt").err


def test_from_standard_input_into_a_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input(monkeypatch, SQUARE)
    options = ("--name", "mine", "--option", "link=20", "--option", "pcie=no")
    result = run("import", "nvidia-smi", "-", "-o", "mine.syncoll", *options)
    assert (result.code, result.out) == (0, "")
    assert "saved in mine.syncoll" in result.err
    written = Path("mine.syncoll").read_text()
    assert written.startswith(
        "# Imported from standard input (importer nvidia-smi, link=20, pcie=no).\n"
    )
    assert "topology mine {" in written
    assert "bandwidth 40 GB/s" in written
    assert run("spec", "check", "mine.syncoll").code == 0
    assert run("show", "mine.syncoll").code == 0


@pytest.mark.parametrize(
    "command",
    [["bounds", "{}", "allgather"], ["forest", "{}"]],
    ids=lambda command: str(command[0]),
)
def test_a_file_is_a_machine(command: list[str], run: Run) -> None:
    """The same output as for the written spec, except for times."""
    assert run("import", "nvidia-smi", "square.txt", "-o", "square.syncoll").code == 0
    results = [
        run(*(part.format(machine) for part in command), "--format", "json")
        for machine in ("nvidia-smi:square.txt", "square.syncoll:square")
    ]
    assert [result.code for result in results] == [0, 0]
    assert _lasting(results[0].json) == _lasting(results[1].json)


def _lasting(document: object) -> object:
    """A document without times and random parts."""
    if isinstance(document, dict):
        return {
            key: _lasting(value)
            for key, value in document.items()
            if "seconds" not in key and key != "digest"
        }
    if isinstance(document, list):
        return [_lasting(value) for value in document]
    return document


def test_stored_results_are_checked_against_it(run: Run) -> None:
    search = ("pareto", "nvidia-smi:square.txt", "allgather", "--max-steps", "2")
    assert run(*search, "-o", "f.json").code == 0
    for command, *more in (("verify",), ("check", "--collective", "allgather")):
        asked = (command, "f.json", *more, "--topology")
        assert run(*asked, "nvidia-smi:square.txt").code == 0
        assert run(*asked, "rocm-smi:rocm.txt").code == 2
    assert json.loads(Path("f.json").read_text())["topology"]


def test_show_prints_the_assumptions(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("show", "nvidia-smi:square.txt").out
    assert "Each NVLink carries 25 GB/s in each direction" in shown
    assert "a chunk per round is 25 GB/s" in shown
    standard_input(monkeypatch, SQUARE)
    assert "a chunk per round is 40 GB/s" in run("show", "nvidia-smi(link=40):-").out


def test_a_file_of_another_importer_that_ends_like_a_stored_one(run: Run) -> None:
    Path("square.json").write_text(SQUARE)
    assert "square: 4 nodes" in run("show", "nvidia-smi:square.json").out


def test_network_cards_that_are_left_out_are_named(run: Run, tmp_path: Path) -> None:
    """In one line, unless boxes=1 asks for that; a description without cards has no such line."""
    cards = re.sub("(CPU|0-23|24-47)", lambda found: f"{NIC[found[0]]:8}{found[0]}", SQUARE)
    (tmp_path / "cards.txt").write_text(f"{cards}NIC0    PIX     PIX     SYS     SYS      X\n")
    hidden = "cards.txt: 1 network card left out; "
    for options, said in (
        ("(gpu=h100)", '"nvidia-smi(gpu=h100,boxes=2,card=50GB/s):cards.txt" joins two'),
        ("(card=50GB/s)", '"nvidia-smi(card=50GB/s,boxes=2):cards.txt" joins two'),
        ("(boxes=1)", ""),
    ):
        err = run("show", f"nvidia-smi{options}:cards.txt").err
        assert err.count(hidden + said) == bool(said)
    assert hidden[10:] not in run("show", "nvidia-smi:square.txt").err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["import", "nvidia", "square.txt"], ["no importer 'nvidia'", "did you mean nvidia-smi?"]),
        (["import", "nvidia-smi", "no.txt"], ["file 'no.txt' does not exist"]),
        (["import", "nvidia-smi", "."], ["is a folder"]),
        (["import", "nvidia-smi", "rocm.txt"], ["rocm.txt:", "for the importer rocm-smi"]),
        (["import", "rocm-smi", "square.txt"], ["for the importer nvidia-smi"]),
        (["import", "nvidia-smi", "square.txt", "--option", "lnk=2"], ["no option 'lnk'", "link"]),
        (["import", "nvidia-smi", "square.txt", "--option", "link"], ["write NAME=VALUE"]),
        (["import", "nvidia-smi", "square.txt", "--name", "a-b"], ["'a-b' cannot be the name"]),
        (["import", "nvidia-smi", "square.txt", "--name", ""], ["name of the topology is empty"]),
        (["import", "nvidia-smi", "square.txt", "-o", "no/such.syncoll"], ["cannot write"]),
        (["import", "nvidia-smi", "square.txt", "-o", "square.txt"], ["the file that is imported"]),
        (["show", "nvidia-smi:no.txt"], ["file 'no.txt' does not exist"]),
        (
            ["show", "nvidia-smi(link=25):square.txt (boxes=2)"],
            ["stand before the colon", "expected `nvidia-smi(link=25,boxes=2):square.txt`"],
        ),
        (["show", "nvidia-smi:"], ["`nvidia-smi:` without a file"]),
        (["show", "nvidiasmi:square.txt"], ["did you mean `nvidia-smi`?"]),
        (["pareto", "nvidia-smi(x=1):square.txt", "allgather"], ["has no option 'x'"]),
        (["pareto", "rocm-smi:square.txt", "allgather"], ["for the importer nvidia-smi"]),
        (["pareto", "ring(4)", "nvidia-smi:square.txt"], ["defines no collective"]),
    ],
)  # fmt: skip
def test_refused(arguments: list[str], words: list[str], run: Run) -> None:
    result = run(*arguments)
    assert result.code == 2, result.err
    assert result.out == ""
    assert result.err.startswith("syncoll")
    assert "Traceback" not in result.err
    for word in words:
        assert word in result.err
    assert Path("square.txt").read_text() == SQUARE


def test_a_picture(tmp_path: Path, run: Run) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "topology.conf").write_text(
        "SwitchName=a Nodes=n[0-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=c Switches=a,b\n"
    )
    source, picture = str(tmp_path / "topology.conf"), tmp_path / "hall.svg"
    assert run("import", "slurm", source, "--plot", str(picture)).code == 0
    assert picture.read_text().count("<use ") >= 5 + 3  # a marker for each device
    assert run("import", "slurm", source, "--plot", "hall.gif").code != 0
