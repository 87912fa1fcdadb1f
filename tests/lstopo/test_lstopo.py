"""hwloc's XML: GPUs, PCIe, cards, and the matrices of links."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from syncoll.errors import ImportFormatError
from syncoll.importing import import_machine
from syncoll.model import Fabric
from syncoll.plugins import Imported
from syncoll_lstopo import RECORD

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'


def gpu(number: int, *, kind: str = "0302", speed: str = "15.753846", name: str = "nvml") -> str:
    return (
        f'<object type="PCIDev" gp_index="{50 + number}" pci_busid="0000:{10 + number}:00.0" '
        f'pci_type="{kind} [10de:1db8] [10de:131d] a1 00" pci_link_speed="{speed}">'
        f'<object type="OSDev" gp_index="{80 + number}" name="{name}{number}" osdev_type="12"/>'
        "</object>\n"
    )


def card(bus: str, name: str, speed: str = "15.753846") -> str:
    return (
        f'<object type="PCIDev" gp_index="9{bus}" pci_busid="0000:{bus}:00.0" '
        f'pci_type="0207 [15b3:101b] [15b3:0007] 00 00" pci_link_speed="{speed}">'
        f'<object type="OSDev" name="ib{bus}" osdev_type="8"/>'
        f'<object type="OSDev" name="{name}" osdev_type="16"/></object>\n'
    )


def bridge(bus: str, *inside: str, speed: str = "15.753846") -> str:
    return (
        f'<object type="Bridge" gp_index="7{bus}" bridge_type="1-1" pci_busid="0000:{bus}:01.0" '
        f'pci_type="0604 [10b5:9781] [10b5:9781] b0 00" pci_link_speed="{speed}">\n'
        f"{''.join(inside)}</object>\n"
    )


def package(number: int, *inside: str) -> str:
    return (
        f'<object type="Package" os_index="{number}" gp_index="{number + 2}">\n'
        f'<object type="NUMANode" os_index="{number}" gp_index="{number + 20}"/>\n'
        f'<object type="Bridge" gp_index="{number + 30}" bridge_type="0-1">\n{"".join(inside)}'
        "</object>\n</object>\n"
    )


def matrix(objects: list[str], cells: dict[tuple[int, int], int], name: str) -> str:
    count = len(objects)
    rows = [
        str(cells.get((a, b), 1000000 if a == b else 0)) for a in range(count) for b in range(count)
    ]
    return (
        f'<distances2hetero nbobjs="{count}" kind="25" name="{name}">\n'
        f'<indexes length="9">{" ".join(objects)} </indexes>\n'
        + "".join(f'<u64values length="9">{" ".join(rows[i : i + count])} </u64values>\n'
                  for i in range(0, count * count, count))
        + "</distances2hetero>\n"
    )  # fmt: skip


def system(*packages: str, behind: str = "") -> str:
    inside = "".join(packages)
    return (
        f'{HEAD}<topology version="3.0">\n<object type="Machine" os_index="0" gp_index="1">\n'
        f'{inside}</object>\n{behind}<support name="discovery.pu"/>\n</topology>\n'
    )


def imported(text: str, **options: str) -> Imported:
    return import_machine(RECORD, text, "topo.xml", options)


def fabric(text: str, **options: str) -> Fabric:
    machine = imported(text, **options).machine
    assert isinstance(machine, Fabric)
    return machine


def both(links: dict[tuple[int, int], object]) -> dict[tuple[int, int], object]:
    return links | {(b, a): rate for (a, b), rate in links.items()}


LANES = Fraction("15.753846")
TWO = [package(0, bridge("40", gpu(0), gpu(1))), package(1, bridge("41", gpu(2), gpu(3)))]


def test_pcie_and_cpus_without_other_links() -> None:
    """Every link has the speed of its lower end; hwloc's document type is no danger."""
    found = imported(system(*TWO), socket="20")
    assert RECORD.recognises(system(*TWO))
    assert found.names[2] == "nvml2 (0000:12:00.0)"
    # The CPUs lead from one bridge to the other only, and are no switches.
    assert found.switch_names == ("PCIe 0000:40:01.0", "PCIe 0000:41:01.0")
    links = {(n, 4 + n // 2): LANES for n in range(4)} | {(4, 5): LANES}
    assert isinstance(found.machine, Fabric)
    assert found.machine.bandwidths == both(links)
    assert fabric(system(*TWO), socket="5").bandwidths[4, 5] == 5


@pytest.mark.parametrize("above", ["NUMANode", "Socket"])
def test_sockets_of_hwloc_1_have_no_numbers(above: str) -> None:
    """Bridges stand below NUMA nodes, or below sockets without an index of their own."""
    text = system(*TWO).replace("Package", above)
    text = re.sub(r' gp_index="\d+"|<object type="NUMANode"[^>]*/>', "", text)
    found = imported(text, socket="5")
    assert isinstance(found.machine, Fabric)
    assert found.machine.bandwidths[4, 5] == 5
    assert "Assumed: 5 GB/s between CPUs (option socket)." in found.notes


def test_nvlinks_of_pairs_and_with_cpus() -> None:
    objects = [*(f"OSDev:{80 + n}" for n in range(4)), "Package:2", "Package:3"]
    pairs = {
        (0, 1): 40000,
        (2, 3): 40000,
        (0, 4): 20000,
        (1, 4): 20000,
        (2, 5): 20000,
        (3, 5): 20000,
    }
    behind = matrix(
        objects, {**pairs, **{(b, a): r for (a, b), r in pairs.items()}}, "NVLinkBandwidth"
    )
    machine = imported(system(*TWO, behind=behind))
    assert machine.switch_names[0].startswith("CPU 0")
    assert isinstance(machine.machine, Fabric)
    labels = {(x.source, x.destination): (x.bandwidth, x.label) for x in machine.machine.links}
    assert labels[0, 1] == (40, "NVLink")
    cpu = 4 + machine.switch_names.index("CPU 0")
    assert labels[0, cpu] == (20, "NVLink")  # not PCIe


def test_nvswitches_are_one_switch() -> None:
    switches = "".join(
        f'<object type="PCIDev" gp_index="{60 + s}" subtype="NVSwitch" pci_busid="0000:6{s}:00.0" '
        'pci_type="0680 [10de:1ac2] [0000:0000] a1 00" pci_link_speed="1.0"/>' for s in range(2)
    )  # fmt: skip
    objects = [*(f"OSDev:{80 + n}" for n in range(4)), "PCIDev:60", "PCIDev:61"]
    ports = {(n, 4 + s): 25000 for n in range(4) for s in range(2)}
    behind = matrix(
        objects, {**ports, **{(b, a): r for (a, b), r in ports.items()}}, "NVLinkBandwidth"
    )
    machine = fabric(system(*TWO, bridge("60", switches), behind=behind))
    assert machine.bandwidths == both({(n, 4): 50 for n in range(4)})
    cards = [card("70", "mlx5_0"), card("71", "mlx5_1")]
    text = system(
        package(0, bridge("40", gpu(0), gpu(1), cards[0])),
        package(1, bridge("41", gpu(2), gpu(3), cards[1])), bridge("60", switches), behind=behind,
    )  # fmt: skip
    many = imported(text, boxes="2", card="100Gb/s")
    assert isinstance(many.machine, Fabric)
    assert many.machine.num_nodes == 8
    assert "mlx5_0 (ib70) of 12.5 GB/s nearest to nvml0" in " ".join(many.notes)
    assert fabric(text, boxes="3", domain="3").num_switches == 1


def test_displays_and_unknown_speeds() -> None:
    text = system(package(0, gpu(0, speed="0.000000"), gpu(1), gpu(5, kind="0300", name="card")))
    found = imported(text, pcie="12")
    assert len(found.names) == 2
    notes = " ".join(found.notes)
    assert "displays without a compute device (0000:15:00.0)" in notes
    assert "12 GB/s for 1 PCIe links without a speed (option pcie)" in notes
    assert set(fabric(text, pcie="12").bandwidths.values()) == {12}


def test_a_single_gpu_and_boxes() -> None:
    text = system(package(0, gpu(0), card("70", "mlx5_0")))
    with pytest.raises(ImportFormatError, match=r"it describes 1 GPU\n.*boxes=2"):
        imported(text)
    assert fabric(text, boxes="2", card="200Gb/s").num_nodes == 2
    slow = system(package(0, gpu(0), card("70", "mlx5_0"), card("71", "eno1", speed="1.0")))
    found = imported(slow, boxes="2", card="200Gb/s")
    assert "Left out: eno1, whose PCIe is slow (option cards)." in found.notes
    assert imported(slow, boxes="2", card="1GB/s", cards="eno1").machine.num_nodes == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("0000:11:00.0", "0000:10:00.0", "0000:10:00.0 occurs twice"),
        ("<topology version", "<machine version", "not XML|root element"),
        ('<object type="Machine"', '<!ENTITY x "y"><object type="Machine"', "not XML"),
        ("hwloc2.dtd\"", "hwloc2.dtd\" [<!ENTITY x SYSTEM \"file:///etc/passwd\">]", "entities"),
        ("OSDev:81", "OSDev:99", "names 'OSDev:99'"),
        ("nbobjs=\"4\"", "nbobjs=\"5\"", "NVLinkBandwidth is incomplete"),
        ("25000 25000", "25000", "NVLinkBandwidth is incomplete"),
    ],
)  # fmt: skip
def test_files_that_are_refused(old: str, new: str, words: str) -> None:
    objects = [f"OSDev:{80 + n}" for n in range(4)]
    mesh = {(a, b): 25000 for a in range(4) for b in range(4) if a != b}
    text = system(*TWO, behind=matrix(objects, mesh, "NVLinkBandwidth"))
    assert fabric(text).bandwidths[0, 3] == 25
    assert old in text
    with pytest.raises(ImportFormatError, match=words):
        imported(text.replace(old, new, 1))
