"""NCCL and RCCL topology XML: the resulting machines, and errors with reasons."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from syncoll.errors import ImportFormatError, OptionError
from syncoll.importing import Machine, import_machine, import_spec
from syncoll.model import Fabric
from syncoll.plugins import Imported
from syncoll_nccl_xml import RECORD
from syncoll_nccl_xml.speeds import between_cpus, nvlink_bandwidth, pcie_bandwidth, xgmi_bandwidth

Links = Mapping[int, Sequence[tuple[Any, int]]]
"""For each GPU (target, count): another GPU's number, or the class of another device."""

INTEL = 'arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85"'
AMD = 'arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49"'
SWITCH = "0x068000"


def address(gpu: int) -> str:
    return f"0000:{0x10 + gpu:02x}:00.0"


def gpu_xml(
    gpu: int,
    links: Sequence[tuple[Any, int]] = (),
    *,
    model: str = 'sm="70"',
    pci: str = 'link_speed="8 GT/s" link_width="16"',
    tag: str = "nvlink",
    gpu_class: str = "0x030200",
    rank: int | None = None,
) -> str:
    """One GPU below its PCI device."""
    entries = ""
    for target, count in links:
        if isinstance(target, int):
            entries += f'<{tag} target="{address(target)}" count="{count}" tclass="{gpu_class}"/>\n'
        else:
            entries += f'<{tag} target="fffffff:ff:ff.0" count="{count}" tclass="{target}"/>\n'
    return (
        f'<pci busid="{address(gpu)}" class="{gpu_class}" {pci}>\n'
        f'<gpu dev="{gpu}" {model} rank="{gpu if rank is None else rank}" gdr="1">\n{entries}'
        "</gpu></pci>\n"
    )


def bridge(number: int, inside: str, pci: str = 'link_speed="8 GT/s" link_width="16"') -> str:
    """A PCIe bridge."""
    return f'<pci busid="0000:{number:02x}:01.0" class="0x060400" {pci}>\n{inside}</pci>\n'


def system(*cpus: str, attributes: str = INTEL) -> str:
    """A file with one CPU for each text; a text that begins with ``<cpu`` stays as it is."""
    inside = "".join(
        cpu if cpu.startswith("<cpu") else f'<cpu numaid="{i}" {attributes}>\n{cpu}</cpu>\n'
        for i, cpu in enumerate(cpus)
    )
    return f'<system version="1">\n{inside}</system>\n'


def mesh(links: Links, **options: Any) -> str:
    """A machine of one CPU with these links."""
    return system("".join(gpu_xml(gpu, links[gpu], **options) for gpu in sorted(links)))


def imported(text: str, **options: str) -> Imported:
    """Imports a text, and checks that its spec reads as the same machine."""
    import_spec(RECORD, text, "topo.xml", options)
    return import_machine(RECORD, text, "topo.xml", options)


def fabric(text: str, **options: str) -> Fabric:
    machine = imported(text, **options).machine
    assert isinstance(machine, Fabric)
    return machine


def refusal(text: str, **options: str) -> str:
    with pytest.raises(ImportFormatError) as caught:
        import_machine(RECORD, text, "topo.xml", options)
    assert str(caught.value).startswith("topo.xml")
    return str(caught.value)


def both_ways(links: Mapping[tuple[int, int], object]) -> dict[tuple[int, int], Fraction]:
    result = {}
    for (a, b), bandwidth in links.items():
        result[a, b] = result[b, a] = Fraction(str(bandwidth))
    return result


TRIANGLE: Links = {0: [(1, 2), (2, 1)], 1: [(0, 2), (2, 1)], 2: [(0, 1), (1, 1)]}


# Direct links ----------------------------------------------------------------------------------


def test_counts_of_nvlinks_times_the_speed_of_the_generation() -> None:
    for sm, speed in ((60, 18), (70, 20), (80, 20), (86, 12), (90, "20.6"), (100, "40.1")):
        got = fabric(mesh(TRIANGLE, model=f'sm="{sm}"'))
        one = Fraction(str(speed))
        assert got.num_switches == 0
        assert got.bandwidths == both_ways({(0, 1): 2 * one, (0, 2): one, (1, 2): one})


def test_xgmi_links_of_all_spellings_of_an_architecture() -> None:
    for gcn, speed in (("906", 24), ("908", 24), ("910", 36), ("gfx90a", 36), ("gfx942", 48)):
        text = mesh(TRIANGLE, model=f'sm="104" gcn="{gcn}"', tag="xgmi", gpu_class="0x038000")
        got = fabric(text)
        assert got.bandwidths == both_ways({(0, 1): 2 * speed, (0, 2): speed, (1, 2): speed})
        assert {link.label for link in got.links} == {"2 xGMI links", "1 xGMI link"}


def test_the_option_link_overrides_assumptions() -> None:
    result = imported(mesh(TRIANGLE), link="200Gb/s")
    assert isinstance(result.machine, Fabric)
    assert result.machine.bandwidths == both_ways({(0, 1): 50, (0, 2): 25, (1, 2): 25})
    assert any("option link" in note for note in result.notes)
    with pytest.raises(OptionError, match="link of importer nccl-xml"):
        import_machine(RECORD, mesh(TRIANGLE), "topo.xml", {"link": "fast"})


def test_links_of_all_nvswitches_are_ports_of_one_switch() -> None:
    text = system(
        "".join(gpu_xml(gpu, [(SWITCH, 2)] * 6, model='sm="80"') for gpu in range(4)),
        "".join(gpu_xml(gpu, [(SWITCH, 2)] * 6, model='sm="80"') for gpu in range(4, 8)),
    )
    result = imported(text)
    machine = result.machine
    assert isinstance(machine, Fabric)
    assert (machine.num_nodes, machine.num_switches) == (8, 1)
    assert machine.bandwidths == both_ways({(gpu, 8): 240 for gpu in range(8)})
    assert result.switch_names == ("NVSwitch",)
    assert any("PCIe and CPUs" in note for note in result.notes)


def test_nodes_are_in_the_order_of_ranks() -> None:
    text = system(gpu_xml(0, [(1, 1)], rank=1) + gpu_xml(1, [(0, 1)], rank=0))
    assert imported(text).names == ("GPU 1 (0000:11:00.0)", "GPU 0 (0000:10:00.0)")
    unranked = text.replace('rank="0"', "").replace('rank="1"', "")
    result = imported(unranked)
    assert result.names[0].startswith("GPU 0 ")
    assert "device numbers" in result.notes[0]
    same = unranked.replace('dev="1"', 'dev="0"')
    assert "neither" in imported(same).notes[0]


def test_unused_gpus_and_links_to_them_are_left_out() -> None:
    text = mesh({0: [(1, 1), (2, 1)], 1: [(0, 1), (2, 1)]})
    bare = f'<pci busid="{address(2)}" class="0x030200" link_speed="" link_width="0"/></cpu>'
    result = imported(text.replace("</cpu>", bare))
    assert result.machine.num_nodes == 2
    notes = " ".join(result.notes)
    assert "1 GPUs that the job" in notes
    assert "2 links to GPUs that are not in the file" in notes


# PCIe ------------------------------------------------------------------------------------------


def test_pcie_is_a_tree_of_switches() -> None:
    text = system(
        bridge(1, gpu_xml(0) + gpu_xml(1)) + bridge(2, gpu_xml(2) + gpu_xml(3)),
        bridge(3, bridge(4, gpu_xml(4))) + gpu_xml(5, pci='link_speed="" link_width="0"'),
    )
    result = imported(text)
    machine = result.machine
    assert isinstance(machine, Fabric)
    names = {name: 6 + i for i, name in enumerate(result.switch_names)}
    assert set(names) == {"PCIe 0000:01:01.0", "PCIe 0000:02:01.0", "CPU 0", "CPU 1"}
    one, two = names["PCIe 0000:01:01.0"], names["PCIe 0000:02:01.0"]
    cpus = names["CPU 0"], names["CPU 1"]
    expected = {(0, one): 12, (1, one): 12, (2, two): 12, (3, two): 12, (one, cpus[0]): 12}
    expected |= {(two, cpus[0]): 12, cpus: 10, (4, cpus[1]): 12, (5, cpus[1]): 12}
    assert machine.bandwidths == both_ways(expected)


def test_links_of_a_single_gpu_are_as_wide_as_the_narrowest() -> None:
    wide = 'link_speed="16.0 GT/s PCIe" link_width="16"'
    narrow = 'link_speed="8.0 GT/s PCIe" link_width="4"'
    text = system(
        bridge(1, bridge(2, gpu_xml(0, pci=wide), narrow), wide)
        + gpu_xml(1, pci=wide)
        + gpu_xml(2, pci=wide)
    )
    assert fabric(text).bandwidths == both_ways({(0, 3): 3, (1, 3): 24, (2, 3): 24})


def test_two_hives_are_joined_by_pcie() -> None:
    def hive(first: int) -> str:
        a, b = first, first + 1
        options: dict[str, Any] = {
            "model": 'sm="64" gcn="906"',
            "tag": "xgmi",
            "gpu_class": "0x038000",
        }
        return gpu_xml(a, [(b, 1)], **options) + gpu_xml(b, [(a, 1)], **options)

    text = system(hive(0), hive(2), attributes=AMD)
    expected = {(0, 1): 24, (2, 3): 24, (4, 5): 16}
    expected |= {(gpu, 4 + gpu // 2): 12 for gpu in range(4)}
    assert fabric(text).bandwidths == both_ways(expected)
    assert "xGMI links do not connect all GPUs" in " ".join(imported(text).notes)
    assert "reach 2 of 4 GPUs" in refusal(text, network="nvlink")
    slow = fabric(text, socket="3GB/s").bandwidths
    assert slow[4, 5] == 3


def test_the_option_network() -> None:
    text = mesh(TRIANGLE)
    assert fabric(text, network="nvlink") == fabric(text)
    assert fabric(text, network="pcie").bandwidths == both_ways({(g, 3): 12 for g in range(3)})
    everything = fabric(text, network="all").bandwidths
    assert everything == {**fabric(text).bandwidths, **fabric(text, network="pcie").bandwidths}


def test_two_levels_of_one_broadcom_switch_are_one_switch() -> None:
    ids = (
        'link_speed="16 GT/s" link_width="16" vendor="0x1000" device="0xc010" '
        'subsystem_vendor="0x1000" subsystem_device="0xa096"'
    )
    inner = [bridge(2 + i, gpu_xml(2 * i) + gpu_xml(2 * i + 1), ids) for i in range(2)]
    text = system(bridge(1, "".join(inner), ids))
    assert fabric(text).bandwidths == both_ways({(gpu, 4): 12 for gpu in range(4)})
    others = text.replace("0xa096", "0xb096")
    assert fabric(others).num_switches == 2


def test_a_pcilink_makes_one_switch_of_two() -> None:
    link = '<pcilink target="0000:02:01.0"/>'
    first, second = (gpu_xml(g) + gpu_xml(g + 1) for g in (0, 2))
    text = system(bridge(1, link + first), bridge(2, second))
    machine = fabric(text)
    assert [machine.bandwidths.get((gpu, 4)) for gpu in range(4)] == [12] * 4


def test_links_to_cpus_of_power_and_grace() -> None:
    power = 'arch="ppc64"'
    text = system(
        *("".join(gpu_xml(g, [("0x068001", 3)]) for g in (c, c + 1)) for c in (0, 2)),
        attributes=power,
    )
    expected = {(gpu, 4 + gpu // 2): 60 + 12 for gpu in range(4)} | {(4, 5): 32}
    assert fabric(text).bandwidths == both_ways(expected)
    grace = text.replace("ppc64", "arm64").replace(
        '<nvlink target="fffffff:ff:ff.0" count="3" tclass="0x068001"/>',
        '<c2c bw="40000" count="10"/>',
    )
    expected = {(gpu, 4 + gpu // 2): 400 + 12 for gpu in range(4)} | {(4, 5): 6}
    assert fabric(grace).bandwidths == both_ways(expected)


def test_nics_and_unused_cpus_are_left_out() -> None:
    nic = (
        '<pci busid="0000:7f:00.0" class="0x020000" link_speed="8 GT/s" link_width="16"><nic>'
        '<net name="mlx5_0" dev="0" speed="100000"/></nic></pci>'
    )
    ports = nic.replace("mlx5_0", "mlx5_1")
    loose = '<nic><net name="eth0" dev="1" speed="1000"/></nic>'
    result = imported(system(gpu_xml(0) + nic + ports + loose, gpu_xml(1), nic.replace("7f", "7e")))
    machine = result.machine
    assert isinstance(machine, Fabric)
    assert machine.bandwidths == both_ways({(0, 1): 10})
    assert all(name in " ".join(result.notes) for name in ("mlx5_0", "mlx5_1", "eth0"))


NIC = (
    '<pci busid="0000:{bus}:00.0" class="0x020000" link_speed="{speed} GT/s" link_width="16">'
    '<nic><net name="mlx5_{bus}" dev="0" speed="{rate}"/></nic></pci>'
)


def card(bus: str, rate: int = 100_000, speed: int = 16) -> str:
    return NIC.format(bus=bus, rate=rate, speed=speed)


def clustered(text: str, **options: str) -> Fabric:
    machine = imported(text, **options).machine
    assert isinstance(machine, Fabric)
    return machine


def test_network_cards_join_boxes() -> None:
    """With the speeds of the file; no faster than the lanes of the GPU, if PCIe is left out."""
    links = {0: [(1, 1)], 1: [(0, 1)]}
    text = system(
        bridge(1, gpu_xml(0, links[0]) + card("70", 200_000)) + card("71"),
        bridge(2, gpu_xml(1, links[1])) + card("72"),
    )
    machine = clustered(text, boxes="2")
    assert (machine.num_nodes, machine.num_switches) == (4, 2 * 2 + 1)
    expected: dict[tuple[int, int], Any] = {}
    for box in range(2):
        expected |= {(2 * box, 2 * box + 1): 20, (2 * box, 4 + 2 * box): 12}
        expected |= {(2 * box + 1, 5 + 2 * box): 12}
        expected |= {(4 + 2 * box, 8): 25, (5 + 2 * box, 8): Fraction("12.5")}
    assert machine.bandwidths == both_ways(expected)
    slow = clustered(text, boxes="2", card="1GB/s", cards="mlx5_71")
    expected = {(4 + 2 * b, 5 + 2 * b): 1 for b in range(2)} | {(5, 8): 1, (7, 8): 1}
    for box in range(2):  # the CPU of the card, the other GPU over the link between the CPUs
        pair = (2 * box, 2 * box + 1)
        expected |= {pair: 20, (pair[0], 4 + 2 * box): 12, (pair[1], 4 + 2 * box): 10}
    assert slow.bandwidths == both_ways(expected)
    with pytest.raises(
        OptionError, match=r"names 'mlx5_0', .* its network cards: mlx5_70, mlx5_71"
    ):
        imported(text, boxes="2", cards="mlx5_0")


def test_network_cards_on_bridges_and_cpus() -> None:
    """With PCIe the cards are on it, also on a CPU without a GPU, by their own lanes."""
    text = system(bridge(1, gpu_xml(0) + gpu_xml(1) + card("70", 200_000)), card("71", speed=8))
    near = clustered(text, boxes="2")
    assert near.num_switches == 2 * 2 + 1  # the bridge, its card, and the network
    assert near.bandwidths[4, 5] == 24  # 16 lanes of 16 GT/s, slower than the card
    assert near.bandwidths[5, 8] == 25
    far = clustered(text, boxes="2", cards="mlx5_71", card="100GB/s")
    assert far.num_switches == 2 * 3 + 1  # the bridge, the other CPU, the card there
    names = imported(text, boxes="2", cards="mlx5_71").switch_names
    assert sorted(names[:3]) == ["CPU 1 of box 0", "PCIe 0000:01:01.0 of box 0", "mlx5_71 of box 0"]
    assert set(far.bandwidths.values()) == {12, 10, 100}


def test_boxes_of_several_hosts_are_refused() -> None:
    text = hosts([(SWITCH, 12)])
    assert "on several hosts already" in refusal(
        text.replace("</cpu>", card("70") + "</cpu>"), boxes="2"
    )
    assert "lists no network cards" in refusal(text, boxes="2")


# Several hosts ---------------------------------------------------------------------------------


def hosts(links: Sequence[tuple[Any, int]]) -> str:
    cpu = '<cpu host_hash="0x{0}" numaid="0" ' + INTEL + ">\n{1}</cpu>\n"
    return system(
        *(
            cpu.format(h, "".join(gpu_xml(g, links, rank=2 * h + g) for g in range(2)))
            for h in range(2)
        )
    )


def test_an_nvswitch_joins_hosts() -> None:
    result = imported(hosts([(SWITCH, 18)]))
    assert isinstance(result.machine, Fabric)
    assert result.machine.bandwidths == both_ways({(gpu, 4): 360 for gpu in range(4)})
    assert result.names[2] == "GPU 0 (0000:10:00.0 on 0x1)"


def test_hosts_without_a_link_between_them_are_refused() -> None:
    assert "the GPUs are on 2 hosts" in refusal(hosts([]))


# Refusals --------------------------------------------------------------------------------------


def test_a_cloud_file_is_an_error_with_a_remedy() -> None:
    device = '<pci busid="{}" class="0x030200" link_speed="16 GT/s" link_width="16"/>'
    text = system("".join(device.format(address(i)) for i in range(4)))
    message = refusal(text)
    assert "4 PCI devices, 4 of them GPUs by their class, but no <gpu>" in message
    assert "NCCL_TOPO_DUMP_FILE" in message
    assert "nvidia-smi topo -m" in message
    assert "network=pcie" in message
    assert fabric(text, network="pcie").bandwidths == both_ways({(g, 4): 24 for g in range(4)})
    without = text.replace(' class="0x030200"', "")
    assert "network=pcie" not in refusal(without)
    assert "no <gpu>" in refusal(without, network="pcie")


def test_links_of_a_gpu_to_itself_are_errors_without_pcie_only() -> None:
    text = mesh({0: [(0, 12)], 1: [(1, 12)]})
    assert "12 links to itself" in refusal(text)
    assert "12 links to itself" in refusal(text, network="all")
    assert fabric(text, network="pcie").num_nodes == 2


def test_one_sided_links_are_refused() -> None:
    assert "lists 2 links to" in refusal(mesh({0: [(1, 2)], 1: [(0, 1)]}))
    assert "lists 0 to it" in refusal(mesh({0: [(1, 2)], 1: []}))


def test_other_files_are_errors_with_their_kind() -> None:
    assert "rings and trees" in refusal('<graphs version="1"><graph id="0"/></graphs>')
    assert "root element is <topology>" in refusal("<topology/>")
    assert "MSCCL" in refusal('<algo name="x" ngpus="8"></algo>')
    assert "describes 1 GPU" in refusal(system(gpu_xml(0)))
    assert "lists no <cpu>" in refusal('<system version="1"></system>')


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('count="2"', 'count="0"', "count is 0"),
        ('count="2"', "", "count is missing"),
        ('count="2"', 'count="many"', "count is 'many'"),
        ('tclass="0x030200"', "", "tclass is missing"),
        ('tclass="0x030200"', 'tclass="0x0c"', "tclass is '0x0c'"),
        (f'busid="{address(1)}"', f'busid="{address(0)}"', "occurs twice"),
        (f'busid="{address(1)}"', 'busid="somewhere"', "a bus address"),
        (f'busid="{address(1)}"', "", "busid is missing"),
        (f'target="{address(1)}"', 'target="x"', "target is 'x'"),
        ('numaid="0"', "", "without numaid"),
        ('rank="1"', 'rank="1,2"', "share it"),
        ('link_width="16"', 'link_width="1600"', "link_width is 1600"),
        ("</gpu>", '</gpu><gpu dev="7" rank="7"/>', "2 ranks on one GPU"),
    ],
)
def test_a_broken_attribute_is_named(old: str, new: str, words: str) -> None:
    text = mesh(TRIANGLE)
    assert old in text
    assert words in refusal(text.replace(old, new, 1))


def test_a_truncated_file_is_refused_wherever_it_ends() -> None:
    text = mesh(TRIANGLE)
    for end in range(0, len(text.rstrip()) - 1, 7):
        assert "expected" in refusal(text[:end])


BOMB = """<!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>"""


@pytest.mark.parametrize(
    "declaration",
    [
        BOMB,
        '<!DOCTYPE system SYSTEM "file:///etc/hostname">',
        '<!DOCTYPE system [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE system [<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;]>',
        "<!DOCTYPE system>",
    ],
)
def test_entities_and_external_references_are_refused(declaration: str) -> None:
    message = refusal(declaration + mesh(TRIANGLE).replace('numaid="0"', 'numaid="&x;"'))
    assert "refused" in message
    assert "DOCTYPE" in message


def test_deep_and_long_files_are_refused_soon() -> None:
    assert "64 elements in one another" in refusal("<pci>" * 50_000 + "</pci>" * 50_000)
    nested = '<pci busid="0000:00:00.0">' * 100 + "</pci>" * 100
    assert "64 elements in one another" in refusal(system(nested))


def test_very_large_files_are_refused_or_read_soon() -> None:
    def far(number: int, inside: str) -> str:
        return f'<pci busid="{number:x}:01:01.0" class="0x060400">{inside}</pci>'

    cpus = "".join(f'<cpu numaid="{i}">{far(i, "")}</cpu>' for i in range(2000))
    assert "2000 CPUs" in refusal(f"<system>{cpus}</system>")
    many = 20_000
    chain = "".join(far(i, f'<pcilink target="{i + 1:x}:01:01.0"/>') for i in range(1, many))
    ends = far(many, gpu_xml(0)) + far(many + 1, gpu_xml(1))
    assert fabric(system(chain + ends)).num_nodes == 2


def test_comments_declarations_and_marks_are_fine() -> None:
    text = mesh(TRIANGLE)
    for around in ("<!-- a -->\n{}", '<?xml version="1.0"?>\n<!-- a -->{}', "\ufeff{}\n\n"):
        assert fabric(around.format(text)) == fabric(text)
        assert RECORD.recognises(around.format(text))


# Parts -----------------------------------------------------------------------------------------


def test_pcie_bandwidth_by_speed_and_width() -> None:
    for speed, per_lane in (("2.5", 15), ("5", 30), ("8", 60), ("16", 120), ("32", 240)):
        for words in (f"{speed} GT/s", f"{speed.partition('.')[0]}.0 GT/s PCIe"):
            if speed != "2.5" or "PCIe" not in words:
                assert pcie_bandwidth(words, 16) == Fraction(16 * per_lane, 80), words
    assert pcie_bandwidth("64.0 GT/s PCIe", 8) == 48
    assert pcie_bandwidth("", 0) == pcie_bandwidth("Unknown", 16) == 12


def test_bandwidths_of_unknown_hardware() -> None:
    assert nvlink_bandwidth(None) == nvlink_bandwidth(35) == nvlink_bandwidth(80) == 20
    assert xgmi_bandwidth("") == xgmi_bandwidth("gfx1100") == 24
    assert between_cpus("", "", 0, 0) is None
    got = [between_cpus("x86_64", "GenuineIntel", 6, m) for m in (0x4F, 0x55, 0x8F, 0xCF, 0xAD)]
    assert got == [6, 10, 22, 40, 40]
    assert [between_cpus("x86_64", "AuthenticAMD", f, 1) for f in (23, 25, 26)] == [16, 24, 32]


def test_thinning_changes_no_flow_between_nodes() -> None:
    generator = random.Random(3)
    for _ in range(40):
        count, switches = generator.randint(2, 4), generator.randint(1, 6)
        machine, whole = Machine(), nx.Graph()
        for vertex in range(count + switches):
            (machine.node if vertex < count else machine.switch)(vertex, f"vertex {vertex}")
        for a, b in itertools.combinations(range(count + switches), 2):
            if generator.random() < 0.35:
                capacity = generator.randint(1, 9)
                machine.join(a, b, Fraction(capacity))
                whole.add_edge(a, b, capacity=capacity)
        if machine.reached() < count:
            continue
        found = machine.imported(thin=True).machine
        assert isinstance(found, Fabric)
        assert found.num_switches <= switches
        thinned = nx.Graph()
        for (a, b), rate in found.bandwidths.items():
            thinned.add_edge(a, b, capacity=int(rate))
        for a, b in itertools.combinations(range(count), 2):
            assert nx.maximum_flow_value(thinned, a, b) == nx.maximum_flow_value(whole, a, b)


def test_the_documentation_names_every_option() -> None:
    page = (Path(__file__).parents[2] / "docs" / "topology-files.md").read_text()
    for option in RECORD.options:
        assert f"option `{option.name}`" in page
        assert all(f"`{choice}`" in page for choice in option.choices[1:])


# Dumps of others -------------------------------------------------------------------------------

DUMPS = Path(__file__).parents[3] / "shared" / "reference" / "topology-dumps"
REFUSED = {
    "aws-g5.48xl-topo.xml": "no <gpu>",
    "aws-p4d-24xl-topo.xml": "no <gpu>",
    "aws-p4de-24xl-topo.xml": "no <gpu>",
    "azure-ncv4-graph.xml": "rings and trees",
    "azure-ncv4-topo.xml": "links to itself",
    "azure-ndv2-topo.xml": "no <gpu>",
    "azure-ndv4-topo.xml": "no <gpu>",
}


@pytest.mark.skipif(not DUMPS.is_dir(), reason="the collected dumps are not here")
def test_collected_dumps_import_or_are_refused_with_the_reason() -> None:
    files = [*DUMPS.glob("nccl_xml/*.xml"), *DUMPS.glob("rccl_xml/*.xml")]
    assert len(files) > 30
    for file in files:
        if file.name in REFUSED:
            assert REFUSED[file.name] in refusal(file.read_text())
        else:
            assert 2 <= imported(file.read_text()).machine.num_nodes <= 16
