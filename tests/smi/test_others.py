"""The matrices of `npu-smi` and `xpu-smi`."""

from __future__ import annotations

import pytest

from syncoll.errors import ImportFormatError, OptionError
from syncoll_smi import NPU_SMI, XPU_SMI

from .conftest import bandwidths, importing, nvidia_text, uniform

npu, xpu = importing(NPU_SMI), importing(XPU_SMI)


def ascend(cells: list[list[str]]) -> str:
    return nvidia_text(cells, tail="CPU Affinity").replace("GPU", "NPU")


def intel(cells: list[list[str]]) -> str:
    """Rows of cards with two tiles."""
    names = [f"GPU {i // 2}/{i % 2}" for i in range(len(cells))]
    lines = [" " * 9 + "|".join([*names, "CPU Affinity"])]
    lines += [
        f"{name:8}|" + "|".join(f"{cell:7}" for cell in [*row, "0-23"])
        for name, row in zip(names, cells, strict=True)
    ]
    return "\n".join(lines) + "\n"


TILES = [
    ["S", "MDF", "XL*", "XL8"],
    ["MDF", "S", "XL8", "XL*"],
    ["XL*", "XL8", "S", "MDF"],
    ["XL8", "XL*", "MDF", "S"],
]


def test_a_mesh_of_ascend() -> None:
    text = ascend(uniform(4, "HCCS"))
    assert NPU_SMI.recognises(text)
    mesh = {(a, b) for a in range(4) for b in range(4) if a != b}
    plain = npu(text)
    assert plain.machine.measure == "chunks per round"
    assert bandwidths(plain.machine) == dict.fromkeys(mesh, 1)
    assert "each link carries one chunk per round (option link=28GB/s)" in plain.notes[0]
    assert bandwidths(npu(text, link="224Gb/s").machine) == dict.fromkeys(mesh, 28)
    assert plain.names[3] == "NPU3"


def test_dies_and_a_switch_of_ascend() -> None:
    cells = [["X" if a == b else "SIO" if a // 2 == b // 2 else "HCCS_SW" for b in range(4)]
             for a in range(4)]  # fmt: skip
    text = ascend(cells).replace("NPU", "Phy-ID")
    found = npu(text, link="100", sio="200")
    ports = {(n, 4): 100 for n in range(4)} | {(0, 1): 200, (2, 3): 200}
    assert bandwidths(found.machine) == ports | {(b, a): rate for (a, b), rate in ports.items()}
    assert found.switch_names == ("HCCS switch",)
    with pytest.raises(
        ImportFormatError, match=r"from Phy-ID0 to Phy-ID1, .*\nexpected option sio="
    ):
        npu(text, link="100")


def test_two_groups_of_ascend_over_pcie() -> None:
    cells = [["X" if a == b else "HCCS" if a // 2 == b // 2 else "SYS" for b in range(4)]
             for a in range(4)]  # fmt: skip
    found = npu(ascend(cells), link="30", lanes="20").machine
    assert (found.bandwidths[0, 1], found.bandwidths[0, 4]) == (30, 20)
    with pytest.raises(ImportFormatError, match=r"others have one\nexpected option link="):
        npu(ascend(cells))


def test_tiles_of_intel() -> None:
    text = intel(TILES)
    assert XPU_SMI.recognises(text)
    assert set(bandwidths(xpu(text).machine)) == {
        (0, 1), (1, 0), (2, 3), (3, 2), (0, 3), (3, 0), (1, 2), (2, 1),
    }  # fmt: skip
    found = xpu(text, link="2", mdf="100")
    assert {found.machine.bandwidths[pair] for pair in ((0, 3), (1, 2))} == {16}
    assert found.machine.bandwidths[0, 1] == 100
    assert found.names == ("GPU0/0", "GPU0/1", "GPU1/0", "GPU1/1")
    assert "2 of 6 pairs have no link, but ways over others." in found.notes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ascend(uniform(3, "HCCS")).replace("HCCS", "NA", 1), "NPU0 to NPU1 is 'NA'"),
        (ascend(uniform(3, "HCCS")).replace("NPU2\tHCCS", "NPU2HCCS"), "no rows of NPU2|missing"),
        (ascend([["X"]]), "NPU0 is the only NPU"),
        ("hello", "no matrix of NPUs: no line begins with NPU0"),
    ],
)
def test_errors_name_line_and_device(text: str, words: str) -> None:
    with pytest.raises(ImportFormatError, match=words):
        npu(text)


def test_invalid_speeds_are_refused() -> None:
    with pytest.raises(OptionError, match="option mdf of importer xpu-smi is 'fast'"):
        xpu(intel(TILES), mdf="fast")
