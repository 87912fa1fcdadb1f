"""Pastes that lost blanks, rows, columns or ends of lines: rejected, or read as the same
machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from syncoll.errors import ImportFormatError
from syncoll.importing import TextError
from syncoll.plugins import Imported, ImporterRecord, resolve_options
from syncoll_smi import AMD_SMI, NPU_SMI, NVIDIA_SMI, ROCM_SMI, XPU_SMI

from .conftest import nvidia_text, uniform
from .test_amd import TABLES, TITLES, amd_text, rocm_text, square
from .test_nvidia import LEGEND, MESH
from .test_others import TILES, ascend, intel

SOCKETS = ["0-15,64-79"] * 4 + ["16-31,80-95"] * 4
NICS = {"NIC0": ["PIX", "PIX", *["SYS"] * 6], "mlx5_1": [*["SYS"] * 4, "PXB", "PXB", "SYS", "SYS"]}
TREE = [
    ["X" if a == b else "PIX" if a // 2 == b // 2 else "NODE" if a // 4 == b // 4 else "SYS"
     for b in range(8)] for a in range(8)
]  # fmt: skip
HALVES = square(0, "XGMI", "PCIE")
SAMPLES: dict[str, tuple[ImporterRecord, str, dict[str, str]]] = {
    "mesh": (NVIDIA_SMI, nvidia_text(MESH, affinity=SOCKETS, nics=NICS), {"pcie": "16"}),
    "tree": (NVIDIA_SMI, nvidia_text(TREE, affinity=SOCKETS, nics=NICS, legend=LEGEND), {}),
    "switch": (NVIDIA_SMI, nvidia_text(uniform(8, "NV12"), affinity=SOCKETS), {}),
    "pair": (NVIDIA_SMI, nvidia_text(uniform(2, "NV4"), affinity=["0-7", "8-15"]), {}),
    "rocm": (ROCM_SMI, rocm_text(TITLES), {}),
    "rocm types": (
        ROCM_SMI,
        rocm_text({"Link Type between two GPUs": HALVES}, numa=[0, 0, 0, 1, 1, 1]),
        {"pcie": "16"},
    ),
    "amd": (AMD_SMI, amd_text(TABLES), {}),
    "npu": (NPU_SMI, ascend(uniform(4, "HCCS")), {}),
    "xpu": (XPU_SMI, intel(TILES), {}),
}


def manglings(text: str) -> Iterator[tuple[str, str]]:
    """Each damaged version of a text, with a name of the damage."""
    lines = text.split("\n")

    def with_line(i: int, line: str) -> str:
        return "\n".join([*lines[:i], line, *lines[i + 1 :]])

    for i, line in enumerate(lines):
        if line:
            yield f"line {i + 1} dropped", "\n".join(lines[:i] + lines[i + 1 :])
            yield (
                f"lines {i + 1} and {i + 2} joined",
                "\n".join([*lines[:i], "\t".join(lines[i : i + 2]), *lines[i + 2 :]]),
            )
        for gap in re.finditer(r"(?<=\S)\s+(?=\S)", line):
            yield (
                f"line {i + 1} glued at {gap.start()}",
                with_line(i, line[: gap.start()] + line[gap.end() :]),
            )
        for end in range(1, len(line), 2):
            yield f"line {i + 1} cut at {end}", with_line(i, line[:end])
        for word in re.finditer(r"\S+\s*", "" if "TABLE" in line else line):
            kept = line[: word.start()] + line[word.end() :]
            yield f"line {i + 1} without {word[0]!r}", with_line(i, kept)
    for block in re.split(r"\n(?=\S.* TABLE:|=)|\n\n", text):
        rows = [re.findall(r"\S+\s*", row) for row in block.split("\n")]
        width = max(map(len, rows))
        table = [i for i, row in enumerate(rows) if len(row) > width // 2]
        names = {rows[i][0].strip() for i in table[1:]}
        columns = [k for k, name in enumerate(rows[table[0]]) if name.strip() in names]
        for k in columns:
            cut = [[*row] for row in rows]
            glued = [[*row] for row in rows]
            for i in table:
                at = k + (i != table[0])  # a row has its name before its cells
                if at < len(rows[i]):
                    del cut[i][at]
                    glued[i][at] = glued[i][at].strip()
            for what, those in (("dropped", cut), ("glued to the next", glued)):
                changed = text.replace(block, "\n".join("".join(row) for row in those), 1)
                yield f"column {rows[table[0]][k].strip()} {what}", changed


def read(record: ImporterRecord, text: str, given: Mapping[str, object]) -> Imported:
    options = resolve_options(record.options, given, record.name)
    try:
        return record.load().read(text, "t.txt", options)
    except TextError as error:
        raise error.of("t.txt") from None


@pytest.mark.parametrize("name", SAMPLES)
def test_refused_or_the_same_machine(name: str) -> None:
    record, text, options = SAMPLES[name]
    whole = read(record, text, options)
    outcomes = {"refused": 0, "same": 0}
    for what, mangled in manglings(text):
        try:
            found = read(record, mangled, options)
        except ImportFormatError:
            outcomes["refused"] += 1
            continue
        outcomes["same"] += 1
        for field in ("machine", "names", "switch_names"):
            assert getattr(found, field) == getattr(whole, field), what
        cards, right = ([replace(card, alias="") for card in one.cards] for one in (found, whole))
        assert cards == right, what
    assert min(outcomes.values()) > 10, outcomes


FOUR = nvidia_text(uniform(4, "NV4"), affinity=["0-31", "0-31", "32-63", "32-63"], nics={
    "NIC0": ["PIX", "PIX", "SYS", "SYS"], "NIC1": ["SYS", "SYS", "PXB", "PXB"]})  # fmt: skip
APART = FOUR.replace("NV4", "SYS")
TYPES = rocm_text({"Link Type between two GPUs": HALVES}, numa=[0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize(
    ("record", "text", "words"),
    [
        (
            NVIDIA_SMI,
            nvidia_text(uniform(4, "NV4")).replace("GPU3\tCPU", "GPU3CPU", 1),
            ["t.txt:1: the column 'GPU3CPU' names no device: GPU3 and CPU are glued together\n1 |"],
        ),
        (NVIDIA_SMI, FOUR.replace("NIC0\tNIC1", "NIC0NIC1", 1), ["NIC0 and NIC1 are glued"]),
        (NVIDIA_SMI, FOUR.replace("NIC1\tCPU", "NIC1CPU", 1), ["NIC1 and CPU are glued"]),
        (
            NVIDIA_SMI,
            FOUR.replace("NIC0\tNIC1", "mlx5_0mlx5_1", 1),
            [":2: the row of GPU0 has a cell 'SYS' after its 5 columns", "in line 1"],
        ),
        (
            NVIDIA_SMI,
            nvidia_text(uniform(4, "NV4"), tail="").replace("\tGPU3", "", 1),
            [":2: the row of GPU0 has a cell 'NV4' after its 3 columns\n2 | GPU0"],
        ),
        (
            NVIDIA_SMI,
            "GPU0 GPU1\n\nGPU0 X NV4\n\nGPU1 NV4 X\n\nGPU2 NV4 NV4\n",
            [":7: a row of GPU2, but no column of that name\n7 | GPU2 NV4 NV4"],
        ),
        (
            NVIDIA_SMI,
            "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\nLegend:\nGPU2 NV4 NV4\n",
            [":5: a row of GPU2, but no column of that name"],
        ),
        (NVIDIA_SMI, FOUR.replace("NV4\tPIX", "NV4PIX", 1), [":2: GPU0 to GPU3 is 'NV4PIX'"]),
        (NVIDIA_SMI, FOUR.replace("PIX\tSYS", "PIXSYS", 1), [":2: GPU0 to NIC0 is 'PIXSYS'"]),
        (NVIDIA_SMI, APART.replace("32-63", "32-6", 1), [":4: the CPU affinity of GPU2 is '32-6'"]),
        (
            NVIDIA_SMI,
            APART.replace("32-63", "32-60", 1),
            [":5: the CPU affinity of GPU3 is 32-63, and shares CPUs with 32-60 of GPU2\n5 | GPU3"],
        ),
        (
            ROCM_SMI,
            TYPES.replace("GPU5 ", "", 1),
            [":4: the row of GPU0 has a cell 'PCIE' after its 5 columns"],
        ),
        (
            ROCM_SMI,
            "Link Type between two GPUs\nGPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0\nGPU2 XGMI XGMI\n",
            [":5: a row of GPU2, but no column of that name"],
        ),
        (
            ROCM_SMI,
            rocm_text(TITLES).replace(f"{' Hops between two GPUs ':=^80}\n", ""),
            [": the columns of a matrix, and no title above them"],
        ),
        (
            ROCM_SMI,
            TYPES.replace("GPU[4]\t\t: (Topology) Numa Node: 1\n", ""),
            [":3: GPU4 has no line `Numa Node`, but others have"],
        ),
        (
            ROCM_SMI,
            TYPES + "GPU[6]\t\t: (Topology) Numa Node: 1\n",
            [":3: GPU6 has a NUMA node, but no column in the matrix"],
        ),
        (
            AMD_SMI,
            amd_text(TABLES).replace("50000-50000", "50000-", 1),
            ["0000:0c:00.0 to 0000:22:00.0 is '50000-'", "in MB/s such as 50000-50000"],
        ),
    ],
)
def test_a_refusal_names_line_and_cell(record: ImporterRecord, text: str, words: list[str]) -> None:
    with pytest.raises(ImportFormatError) as caught:
        read(record, text, {})
    for word in words:
        assert word in str(caught.value)


def test_numa_nodes_that_are_not_known() -> None:
    unknown = read(ROCM_SMI, TYPES.replace("Node: 1", "Node: -1"), {"pcie": "16"})
    assert unknown.switch_names == ("CPU of GPU0 to GPU5",)
