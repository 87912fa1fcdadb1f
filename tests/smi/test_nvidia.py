"""``nvidia-smi topo -m``: meshes, NVSwitches, NICs, and typical changes of the text by people."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import networkx as nx
import pytest

import syncoll_specs
from syncoll.errors import ImportFormatError, OptionError
from syncoll.model import Fabric
from syncoll.spec import SpecLibrary
from syncoll_smi import NVIDIA_SMI

from .conftest import Import, bandwidths, nvidia_text, uniform
from .test_amd import TABLES, amd_text

DGX1 = """\
X NV1 NV1 NV2 NV2 SYS SYS SYS
NV1 X NV2 NV1 SYS NV2 SYS SYS
NV1 NV2 X NV2 SYS SYS NV1 SYS
NV2 NV1 NV2 X SYS SYS SYS NV1
NV2 SYS SYS SYS X NV1 NV1 NV2
SYS NV2 SYS SYS NV1 X NV2 NV1
SYS SYS NV1 SYS NV1 NV2 X NV2
SYS SYS SYS NV1 NV2 NV1 NV2 X
"""
MESH = [row.split() for row in DGX1.splitlines()]


def graph(fabric: Fabric, unit: Fraction) -> nx.DiGraph[int]:
    result: nx.DiGraph[int] = nx.DiGraph()
    for link in fabric.links:
        result.add_edge(link.source, link.destination, rate=link.bandwidth / unit)
    return result


def test_a_dgx1_is_the_shipped_one(nvidia: Import) -> None:
    imported = nvidia(nvidia_text(MESH))
    shipped = Fabric.of(SpecLibrary([Path(syncoll_specs.__file__).parent]).topology("dgx1"))
    assert nx.is_isomorphic(
        graph(imported.machine, Fraction(25)),
        graph(shipped, Fraction(1)),
        edge_match=lambda a, b: a["rate"] == b["rate"],
    )
    assert imported.names == tuple(f"GPU{g}" for g in range(8))
    assert "12 of 28 pairs have no NVLinks, and no link here" in " ".join(imported.notes)


@pytest.mark.parametrize(
    ("cell", "number", "options", "ports"),
    [
        ("NV6", 16, {}, 6 * 25),
        ("NV12", 8, {}, 12 * 25),
        ("NV18", 8, {}, 18 * 25),
        ("NV18", 8, {"gpu": "b200"}, 18 * 50),
        ("NV12", 8, {"link": "160Gb/s"}, 12 * 20),
        ("NV12", 4, {}, 12 * 25),  # half of a machine, as a container sees it
        ("NV6", 4, {"nvswitch": "yes"}, 6 * 25),
        ("NV18", 72, {}, 18 * 25),
    ],
)
def test_nvswitches(
    cell: str, number: int, options: dict[str, str], ports: int, nvidia: Import
) -> None:
    imported = nvidia(nvidia_text(uniform(number, cell)), **options)
    machine = imported.machine
    assert isinstance(machine, Fabric)
    assert machine.num_switches == 1
    assert bandwidths(machine) == {
        pair: ports for g in range(number) for pair in ((g, number), (number, g))
    }
    assert imported.switch_names == (f"NVSwitches of GPU0 to GPU{number - 1}",)
    assert "taken as one switch" in imported.notes[1]
    assert ("gpu=b200" in imported.notes[0]) == (cell == "NV18" and not options)


@pytest.mark.parametrize(
    ("cell", "number", "options", "rate"),
    [
        ("NV4", 2, {}, Fraction("56.25")),  # a bridge, not an A100
        ("NV4", 2, {"gpu": "a100"}, 100),
        ("NV18", 2, {}, 450),
        ("NV4", 4, {}, 100),  # HGX A100 with four GPUs
        ("NV6", 4, {}, 150),  # HGX H100 with four GPUs
        ("NV12", 8, {"nvswitch": "no"}, 300),
        ("NV4", 2, {"gpu": "a6000"}, Fraction("56.25")),
    ],
)
def test_direct_links(
    cell: str, number: int, options: dict[str, str], rate: Fraction, nvidia: Import
) -> None:
    imported = nvidia(nvidia_text(uniform(number, cell)), **options)
    assert isinstance(imported.machine, Fabric)
    assert bandwidths(imported.machine) == {
        (a, b): rate for a in range(number) for b in range(number) if a != b
    }
    words = " ".join(imported.notes)
    assert ("set nvswitch=yes" in words) == (number > 2)


def test_a_gpu_with_fewer_ports(nvidia: Import) -> None:
    cells = uniform(8, "NV18")
    for g in range(8):
        if g != 3:
            cells[3][g] = cells[g][3] = "NV16"
    machine = nvidia(nvidia_text(cells)).machine
    assert [machine.bandwidths[g, 8] for g in range(8)] == [450] * 3 + [400] + [450] * 4


def test_more_nvlinks_than_a_gpu_has_and_no_nvswitches(nvidia: Import) -> None:
    cells = uniform(8, "NV12")
    cells[1][2] = cells[2][1] = "NV3"
    with pytest.raises(ImportFormatError) as caught:
        nvidia(nvidia_text(cells))
    words = str(caught.value)
    assert words.startswith("topo.txt:3: GPU0 would have 84 NVLinks, more than any GPU, but NVSwi")
    assert "would give GPU1 and GPU2 12 NVLinks, and they have 3\n3 | GPU1" in words
    assert nvidia(nvidia_text(cells), nvswitch="no").machine.bandwidths[1, 2] == 75
    with pytest.raises(ImportFormatError, match="nvswitch=yes, but NVSwitches would give GPU0"):
        nvidia(nvidia_text(MESH), nvswitch="yes")


def test_two_islands_with_switches_meet_over_pcie(nvidia: Import) -> None:
    cells = uniform(8, "SYS")
    for half in (range(4), range(4, 8)):
        for a, b in combinations(half, 2):
            cells[a][b] = cells[b][a] = "NV12"
    text = nvidia_text(cells, affinity=["0-31"] * 4 + ["32-63"] * 4)
    imported = nvidia(text, pcie="16", socket="20")
    machine = imported.machine
    assert isinstance(machine, Fabric)
    assert imported.switch_names == (
        "NVSwitches of GPU0 to GPU3",
        "NVSwitches of GPU4 to GPU7",
        "CPU of GPU0 to GPU3",
        "CPU of GPU4 to GPU7",
    )
    for g in range(8):
        assert machine.bandwidths[g, 8 + g // 4] == 300
        assert machine.bandwidths[g, 10 + g // 4] == 16
    assert machine.bandwidths[10, 11] == 20
    with pytest.raises(ImportFormatError) as caught:
        nvidia(text, pcie="no")
    assert "these are separate: GPU0 to GPU3 | GPU4 to GPU7" in str(caught.value)
    assert "expected pcie=auto" in str(caught.value)


def test_nics_are_noted_and_left_out(nvidia: Import) -> None:
    legend = "\nLegend:\n\n  X = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_0\n"
    nics = {"NIC0": ["PIX"] * 8, "NIC1": ["SYS"] * 8}
    imported = nvidia(nvidia_text(MESH, nics=nics, legend=legend))
    assert imported.machine == nvidia(nvidia_text(MESH)).machine
    assert "NIC0 (mlx5_0), nearest to GPU0, GPU1" in imported.notes[-2]
    assert "; NIC1 (mlx5_bond_0))" in imported.notes[-2]
    imported = nvidia(nvidia_text(MESH, nics={"mlx5_0": ["PIX"] * 8}))
    assert "Left out: network cards (mlx5_0, nearest" in imported.notes[-2]


NICS = {
    "NIC0": ["PXB", "PXB", "SYS", "SYS"],
    "NIC1": ["SYS", "SYS", "PIX", "NODE"],
    "NIC2": ["NODE", "NODE", "SYS", "SYS"],
    "NIC3": ["SYS", "SYS", "NODE", "NODE"],
}


def test_network_cards_make_a_cluster(nvidia: Import) -> None:
    """Each GPU reaches its nearest cards over its own lanes and the switches above, which GPUs
    share as they share cards."""
    text = nvidia_text(uniform(4, "NV4"), nics=NICS, legend="NIC Legend:\n  NIC1: mlx5_7\n")
    one = nvidia(text).machine
    many = nvidia(text, boxes="3", card="400Gb/s")
    machine = many.machine
    assert (machine.num_nodes, machine.num_switches) == (12, 3 * 5 + 1)
    hub, lanes = 12 + 15, Fraction("31.5")
    assert many.switch_names[:2] == (
        "upper PCIe switch of GPU0 and GPU1 of box 0",
        "CPU of GPU2 and GPU3 of box 0",
    )
    expected: dict[tuple[int, int], int | Fraction] = {}
    for box in range(3):
        for (a, b), rate in one.bandwidths.items():
            expected[4 * box + a, 4 * box + b] = rate
        gpu = [4 * box + g for g in range(4)]
        pxb, cpu, *cards = [12 + 5 * box + s for s in range(5)]  # NIC0, NIC1, NIC3
        tree = {(gpu[0], pxb): lanes, (gpu[1], pxb): lanes, (pxb, cards[0]): 50}
        tree |= {(gpu[2], cards[1]): lanes, (cpu, cards[1]): lanes}  # its switch has no other GPU
        tree |= {(gpu[3], cpu): lanes, (cpu, cards[2]): 50, **{(card, hub): 50 for card in cards}}
        expected |= tree | {(b, a): rate for (a, b), rate in tree.items()}
    assert machine.bandwidths == expected
    assert many.names[5] == "GPU1 of box 1"
    assert many.switch_names[8] == "NIC1 (mlx5_7) of box 1"
    assert many.switch_names[-1] == "network"
    assert "Left out: NIC2, because others are nearer to the GPUs" in many.notes[-2]
    rails = nvidia(text, boxes="2", card="50GB/s", rails="yes", cards="NIC0+mlx5_7")
    assert rails.machine.num_switches == 2 * 4 + 2
    cards = [8 + s for s, name in enumerate(rails.switch_names) if name.startswith("NIC")]
    assert [rails.machine.bandwidths[c, 16 + i % 2] for i, c in enumerate(cards)] == [50] * 4
    assert rails.switch_names[-2:] == ("network of NIC0", "network of NIC1 (mlx5_7)")
    assert "Left out: NIC2, NIC3, which were not chosen" in rails.notes[-2]


def test_network_cards_on_pcie_switches(nvidia: Import) -> None:
    """With PCIe in the machine, a card is on the switch where the GPUs nearest to it meet."""
    cells = [["X" if a == b else "PIX" if a // 2 == b // 2 else "SYS" for b in range(4)]
             for a in range(4)]  # fmt: skip
    nics = {"NIC0": ["PIX", "PIX", "SYS", "SYS"], "NIC1": ["SYS", "SYS", "NODE", "NODE"]}
    text = nvidia_text(cells, affinity=["0-1", "0-1", "2-3", "2-3"], nics=nics, legend=LEGEND)
    alone = nvidia(text)
    names = ["PCIe switch of GPU0 and GPU1", "CPU of GPU2 and GPU3"]
    hooks = [4 * 2 + alone.switch_names.index(name) for name in names]
    machine = nvidia(text, boxes="2", card="25GB/s").machine
    cards = [8 + alone.machine.num_switches + c for c in range(2)]
    assert [machine.bandwidths[h, c] for h, c in zip(hooks, cards, strict=True)] == [25, 25]
    assert not any((gpu, card) in machine.bandwidths for gpu in range(8) for card in cards)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"boxes": "0"}, "option boxes of importer nvidia-smi is '0'; it must be a whole number"),
        ({"boxes": "2.5"}, "it must be a whole number of at least 1"),
        ({"boxes": "2"}, "with boxes=2 needs the speed of the network cards, which topo.txt does"),
        ({"boxes": "2", "card": "50"}, "option card of importer nvidia-smi is '50'; it must be a"),
        ({"card": "0 GB/s"}, "with its unit, such as 50GB/s or 400Gb/s"),
        (
            {"cards": "NIC9"},
            "names 'NIC9', but topo.txt has no such card; its network cards: NIC0, NIC1",
        ),
        ({"boxes": "2", "card": "50GB/s", "cards": "NIC0+"}, "names '', but topo.txt has"),
        ({"boxes": "2", "card": "50GB/s", "rails": "2"}, "it must be one of no, yes"),
        ({"boxen": "2"}, "has no option 'boxen'; it has: boxes, card, cards, domain"),
    ],
)
def test_clusters_that_make_no_sense(options: dict[str, str], words: str, nvidia: Import) -> None:
    with pytest.raises(OptionError) as caught:
        nvidia(nvidia_text(uniform(4, "NV4"), nics=NICS), **options)
    assert words in str(caught.value)


def test_clusters_that_a_matrix_does_not_give(nvidia: Import, amd: Import) -> None:
    options = {"boxes": "2", "card": "50GB/s"}
    for call, text in (
        (nvidia, nvidia_text(uniform(4, "NV4"))),
        (amd, amd_text({"LINK TYPE": TABLES["LINK TYPE"]})),
    ):
        with pytest.raises(ImportFormatError, match="boxes=2, but it lists no network cards to"):
            call(text, **options)
    text = nvidia_text(uniform(4, "NV4"), nics={**NICS, "NIC1": ["PIX", "what", "SYS", "SYS"]})
    with pytest.raises(ImportFormatError, match=r"3: GPU1 to NIC1 is 'what'\n3 \| GPU1"):
        nvidia(text, **options)
    text = nvidia_text(uniform(4, "NV4"), nics=NICS)
    with pytest.raises(ImportFormatError, match="5000 boxes, each of 4 compute nodes, 5 switches"):
        nvidia(text, boxes="5000", card="50GB/s")


def test_a_gpu_alone_and_its_boxes(nvidia: Import) -> None:
    """Workstations of one GPU, joined by two of their cards."""
    text = nvidia_text([["X"]], nics={f"NIC{c}": ["NODE"] for c in range(3)})
    with pytest.raises(ImportFormatError, match=r"GPU0 is the only GPU; .*\n.*\nexpected several"):
        nvidia(text)
    found = nvidia(text, boxes="2", card="100Gb/s", cards="NIC0+NIC2").machine
    assert (found.num_nodes, found.num_switches) == (2, 2 * 3 + 1)
    out = [rate for (a, _), rate in found.bandwidths.items() if a == 2]  # the CPU
    assert sorted(out) == [12.5, 12.5, Fraction("31.5")]


def test_a_card_that_is_near_to_no_gpu_does_not_join(nvidia: Import) -> None:
    nics = {"NIC0": ["PIX", "SYS"], "NIC1": ["SYS", "PIX"], "NIC2": ["SYS", "SYS"]}
    text = nvidia_text(uniform(2, "NV12"), nics=nics)
    found = nvidia(text, boxes="2", card="200Gb/s")
    assert found.machine.num_switches == 2 * 2 + 1
    assert "Left out: NIC2, because others are nearer to the GPUs" in found.notes[-2]
    assert nvidia(text, boxes="2", card="200Gb/s", cards="NIC2").machine.num_switches > 2 * 1 + 1


GRACE = ["0-71", "0-71", "72-143", "72-143"]


@pytest.mark.parametrize(("boxes", "gpus"), [("2", 8), ("18", 72)])
def test_trays_that_share_their_nvswitches(boxes: str, gpus: int, nvidia: Import) -> None:
    """A tray of GB200 is known by its CPUs; all GPUs of a rack are on one switch."""
    nics = {"NIC0": ["NODE", "NODE", "SYS", "SYS"]}
    text = nvidia_text(uniform(4, "NV18"), affinity=GRACE, nics=nics)
    assert "with boxes=18 these are one machine (option domain)" in " ".join(nvidia(text).notes)
    machine = nvidia(text, boxes=boxes).machine
    assert (machine.num_nodes, machine.num_switches) == (gpus, 1)
    ports = {(gpu, gpus): 900 for gpu in range(gpus)}
    assert machine.bandwidths == ports | {(b, a): rate for (a, b), rate in ports.items()}
    other = nvidia_text(uniform(4, "NV18"), nics=nics)
    assert nvidia(other, boxes="2", domain="2", gpu="b200").machine.num_switches == 1
    with pytest.raises(OptionError, match="needs the speed of the network cards"):
        nvidia(other, boxes="2")
    with pytest.raises(OptionError, match="needs the number of boxes, such as boxes=18"):
        nvidia(text, domain="18")
    with pytest.raises(ImportFormatError, match="27 boxes in domains of 18"):
        nvidia(text, boxes="27", card="400Gb/s")
    with pytest.raises(ImportFormatError, match="no NVSwitches join its GPUs"):
        nvidia(nvidia_text(uniform(4, "NV4"), nics=nics), boxes="2", domain="2")


def test_racks_are_joined_by_their_cards(nvidia: Import) -> None:
    nics = {"NIC0": ["PIX", "SYS", "SYS", "SYS"], "NIC1": ["SYS", "SYS", "PIX", "SYS"]}
    text = nvidia_text(uniform(4, "NV18"), affinity=GRACE, nics=nics)
    found = nvidia(text, boxes="4", domain="2", card="50GB/s", cards="NIC0+NIC1").machine
    assert found.num_nodes == 16
    hub = found.num_vertices - 1
    assert [rate for (a, b), rate in found.bandwidths.items() if b == hub] == [50] * 8
    first = [a for a, b in found.bandwidths if a < 8 and b == next(iter(
        b for a, b in found.bandwidths if a == 0 and found.bandwidths[a, b] == 900))]  # fmt: skip
    assert first == list(range(8))


# The text -----------------------------------------------------------------------------------------


def variants(text: str) -> dict[str, str]:
    lines = text.splitlines()
    body = lines[: next(i for i, line in enumerate(lines) if not line)]
    words = [line.split() for line in body]
    return {
        "spaces": text.expandtabs(10),
        "colours": "\x1b[4m" + text.replace("\n", "\x1b[0m\n", 1).replace("X ", "\x1b[1mX\x1b[m "),
        "a prompt above": "$ nvidia-smi topo -m\n\n" + text,
        "a mail": "".join(f"> {line}\n" for line in lines),
        "a fence": f"```\n{text}\n```\n",
        "a table": "".join(f"| {' | '.join(w)} |\n" for w in words),
        "no legend": "\n".join(body),
        "no end of line": text.rstrip("\n"),
        "blank lines": "\n\n".join(body) + "\n\n" + "\n".join(lines[len(body) :]),
        "other spaces": text.replace("\t", "\u00a0\u00a0"),
        "a mark in front": "\ufeff" + text,
        "no affinity": "\n".join(
            " ".join(w[: 8 if i == 0 else 9]) for i, w in enumerate(words[:9])
        ),
        "text below": "\n".join(body[:9]) + "\nThat is all.\n",
    }


@pytest.mark.parametrize("how", list(variants(nvidia_text(MESH))))
@pytest.mark.parametrize("tail", ["CPU Affinity", "CPU Affinity\tNUMA Affinity\tGPU NUMA ID"])
def test_changed_texts_are_read(how: str, tail: str, nvidia: Import) -> None:
    text = nvidia_text(MESH, tail=tail, nics={"NIC0": ["PIX"] * 8})
    assert nvidia(variants(text)[how]).machine == nvidia(nvidia_text(MESH)).machine
    assert NVIDIA_SMI.recognises(variants(text)[how])


def test_cut_off_anywhere(nvidia: Import) -> None:
    """A text that was cut off is an error, or no relevant line is missing."""
    text = nvidia_text(MESH)
    whole = nvidia(text).machine
    refused = 0
    for end in range(len(text)):
        try:
            assert nvidia(text[:end]).machine == whole
        except ImportFormatError:
            refused += 1
    assert refused > text.index("GPU7\tSYS")


ROWS = nvidia_text(MESH).splitlines()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello\n", ["topo.txt: no matrix of GPUs", "`nvidia-smi topo -m`"]),
        ("\n".join(ROWS[1:]), ["topo.txt:1: the line above the matrix", "1 | GPU0"]),
        ("\n".join(ROWS[:5]), ["topo.txt:1: the matrix is incomplete", "GPU4, GPU5, GPU6, GPU7"]),
        ("\n".join([*ROWS[:5], "Oops", *ROWS[5:]]), [":6: rows of the matrix", "6 | Oops"]),
        ("\n".join([*ROWS[:5], *ROWS[4:]]), [":6: a second row of GPU3", "in line 5"]),
        ("\n".join(ROWS) + "\n" + "\n".join(ROWS), ["a second matrix; the first is in line 1"]),
        ("\n".join(ROWS).replace("NV1", "NV0"), [":2: GPU0 to GPU1 is 'NV0'", "SYS"]),
        ("\n".join(ROWS).replace("SYS", "OK"), [":2: GPU0 to GPU5 is 'OK'"]),
        ("\n".join(ROWS).replace("X ", "NV1", 1), [":2: GPU0 to GPU0 is 'NV1'", "expected X"]),
        ("\n".join(ROWS).replace("NV1", "X", 1), [":2: GPU0 to GPU1 is 'X'"]),
        (
            "\n".join(ROWS).replace("NV1", "NV2", 1),
            [":3: GPU1 to GPU0 is NV1, but GPU0 to GPU1 is NV2 (line 2)", "both directions"],
        ),
        ("\n".join(ROWS).replace("GPU3", "GPU2", 1), [":1: two columns are named GPU2"]),
        ("\tGPU0\tCPU Affinity\nGPU0\tX \t0-3\n", [":1: GPU0 is the only GPU"]),
        ("\n".join([ROWS[0], ROWS[1][:20], *ROWS[2:]]), [":2: the row of GPU0 has 4 of 8 cells"]),
        ("\t".join(f"GPU{g}" for g in range(1100)), ["1100 columns", "at most 1024 devices"]),
    ],
)
def test_nonsense(text: str, words: list[str], nvidia: Import) -> None:
    with pytest.raises(ImportFormatError) as caught:
        nvidia(text)
    for word in words:
        assert word in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"link": "fast"}, "option link of importer nvidia-smi is 'fast'"),
        ({"link": "0"}, "above 0"),
        ({"gpu": "mi300"}, "one of auto, p100, v100"),
        ({"pcie": "often"}, "it must be auto, no, or a bandwidth"),
        ({"socket": ""}, "option socket"),
        ({"nvswitch": "1"}, "one of auto, yes, no"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, str], words: str, nvidia: Import) -> None:
    with pytest.raises(OptionError, match=words):
        nvidia(nvidia_text(MESH), **options)


def test_gpus_that_are_numbered_otherwise(nvidia: Import) -> None:
    """A column and a row cut out: the others keep their names."""
    text = nvidia_text(uniform(4, "NV4"))
    lines = [line.split("\t") for line in text.splitlines()[:5]]
    kept = "\n".join("\t".join(w[:2] + w[3:]) for w in lines if w[0] != "GPU1")
    imported = nvidia(kept)
    assert imported.names == ("GPU0", "GPU2", "GPU3")
    assert len(imported.machine.links) == 6


def test_rows_in_another_order(nvidia: Import) -> None:
    shuffled = ROWS[1:9]
    random.Random(1).shuffle(shuffled)
    assert nvidia("\n".join([ROWS[0], *shuffled])).machine == nvidia("\n".join(ROWS)).machine


LEGEND = "\nLegend:\n\n  X    = Self\n" + "".join(
    f"  {word:<4} = Connection traversing {what}\n"
    for word, what in [
        ("SYS", "PCIe as well as the SMP interconnect between NUMA nodes"),
        ("NODE", "PCIe as well as the interconnect between PCIe Host Bridges"),
        ("PHB", "PCIe as well as a PCIe Host Bridge"),
        ("PXB", "multiple PCIe bridges"),
        ("PIX", "at most a single PCIe bridge"),
        ("NV#", "a bonded set of # NVLinks"),
    ]
)
PCIE = uniform(4, "SYS")


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("\x1b[4m", "\x1b[0m"),
        ("[4m", "[0m"),
        ("^[[4m", "^[[0m"),
        (r"\x1b[4m", r"\x1b[0m"),
        (r"\033[4m", r"\033[m"),
        (r"\u001b[1;4m", r"\u001b[0m"),
        ("\N{SYMBOL FOR ESCAPE}[4m", "\N{SYMBOL FOR ESCAPE}[0m"),
    ],
)
def test_headers_pasted_without_escape_characters(begin: str, end: str, nvidia: Import) -> None:
    plain = nvidia_text(MESH, nics={"NIC0": ["PIX"] * 8})
    first, rest = plain.split("\n", 1)
    underlined = f"\t{begin}{first.strip()}{end}\n{rest}"
    assert NVIDIA_SMI.recognises(underlined)
    assert nvidia(underlined) == nvidia(plain)


def test_a_matrix_that_hides_nvlinks(nvidia: Import) -> None:
    """``topo -mp`` is recognised by its legend, or by its command; without these it may be
    either."""
    whole, hidden = nvidia_text(PCIE, legend=LEGEND), LEGEND[: LEGEND.index("  NV#")]
    words = " ".join(nvidia(whole).notes)
    assert "topo -mp" not in words
    certain = [
        nvidia_text(PCIE, legend=hidden),
        "$ nvidia-smi topo -mp\n" + nvidia_text(PCIE, legend=""),
        "host# nvidia-smi topo --matrix_pci -i 0,1,2,3\n" + nvidia_text(PCIE, legend=""),
    ]
    for text in certain:
        for pcie in ("auto", "no"):
            with pytest.raises(
                ImportFormatError, match="this is the output of `nvidia-smi topo -mp`"
            ) as got:
                nvidia(text, pcie=pcie)
            assert "expected the output of `nvidia-smi topo -m`; for PCIe" in str(got.value)
        imported = nvidia(text, pcie="31.5")
        assert imported.machine == nvidia(whole, pcie="31.5").machine
        assert "leaves NVLinks out: only PCIe is taken" in imported.notes[0]
    older = hidden.replace("SYS", "SOC")
    for text in (nvidia_text(PCIE, legend=""), nvidia_text(PCIE, legend=older)):
        assert nvidia(text).machine == nvidia(whole).machine
        assert "If the machine has some, this was printed by `nvidia-smi" in nvidia(text).notes[0]
    assert nvidia(nvidia_text(MESH, legend=hidden)).machine == nvidia(nvidia_text(MESH)).machine
