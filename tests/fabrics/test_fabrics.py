"""InfiniBand fabrics of `ibnetdiscover`, and SLURM's `topology.conf`."""

from __future__ import annotations

from fractions import Fraction

import pytest

from syncoll.errors import ImportFormatError, OptionError
from syncoll.importing import TextError, import_machine
from syncoll.model import Fabric
from syncoll.plugins import Imported
from syncoll_fabrics import IBNETDISCOVER, SLURM
from syncoll_fabrics.slurm import hosts


def both(links: dict[tuple[int, int], object]) -> dict[tuple[int, int], object]:
    return links | {(b, a): rate for (a, b), rate in links.items()}


def infiniband(text: str, **options: str) -> tuple[Fabric, Imported]:
    found = import_machine(IBNETDISCOVER, text, "fabric.out", options)
    assert isinstance(found.machine, Fabric)
    return found.machine, found


def slurm(text: str, **options: str) -> tuple[Fabric, Imported]:
    found = import_machine(SLURM, text, "topology.conf", options)
    assert isinstance(found.machine, Fabric)
    return found.machine, found


# InfiniBand -------------------------------------------------------------------------------------


def discovered(leaves: int = 2, each: int = 2, trunks: int = 2, speed: str = "4xHDR") -> str:
    """Two levels: all leaves on one spine by some cables, adapters on each leaf."""
    ends: dict[str, list[tuple[int, str, int]]] = {"S-50": []}
    kinds = {"S-50": "Switch", **{f"S-1{leaf}": "Switch" for leaf in range(leaves)}}
    names = {"S-50": "spine"}
    for leaf in range(leaves):
        names[f"S-1{leaf}"] = f"MF0;leaf{leaf}:MQM9700/U1"
        ends[f"S-1{leaf}"] = []
        for trunk in range(trunks):
            port = leaf * trunks + trunk + 1
            ends[f"S-1{leaf}"].append((40 + trunk, "S-50", port))
            ends["S-50"].append((port, f"S-1{leaf}", 40 + trunk))
        for a in range(each):
            key = f"H-a{leaf}{a}"
            kinds[key], names[key] = "Ca", f"host{leaf}{a} mlx5_0"
            ends[key] = [(1, f"S-1{leaf}", a + 1)]
            ends[f"S-1{leaf}"].append((a + 1, key, 1))
    lines = ["#", "# Topology file: generated on Mon Jan  5 10:00:00 2026", "#"]
    for key, kind in kinds.items():
        lines += ["", "vendid=0x2c9", "devid=0xd2f2", f"sysimgguid=0x{key[2:]}"]
        lines.append(f'{kind}\t{len(ends[key])} "{key}"\t\t# "{names[key]}" lid 7 lmc 0')
        for port, other, there in sorted(ends[key]):
            lines.append(f'[{port}]({key[2:]}) \t"{other}"[{there}]\t\t# lid 3 "x 2xEDR" {speed}')
    return "\n".join(lines) + "\n"


def test_adapters_switches_and_parallel_cables() -> None:
    text = discovered()
    assert IBNETDISCOVER.recognises(text)
    machine, found = infiniband(text)
    assert found.names == tuple(f"host{n} mlx5_0" for n in ("00", "01", "10", "11"))
    assert found.switch_names == ("spine", "MF0;leaf0:MQM9700/U1", "MF0;leaf1:MQM9700/U1")
    links = {(0, 5): 25, (1, 5): 25, (2, 6): 25, (3, 6): 25, (4, 5): 50, (4, 6): 50}
    assert machine.bandwidths == both(links)


@pytest.mark.parametrize(
    ("speed", "rate"), [("4xNDR", 50), ("1xHDR", Fraction("6.25")), ("4xFDR", Fraction(75, 11))]
)
def test_speeds_by_lanes(speed: str, rate: Fraction) -> None:
    assert infiniband(discovered(speed=speed))[0].bandwidths[0, 5] == rate


def test_cables_without_a_speed() -> None:
    text = discovered(speed="")
    text = text.replace(' "x 2xEDR"', "")
    assert infiniband(text)[0].measure == "chunks per round"
    assert infiniband(text, link="100Gb/s")[0].bandwidths[0, 5] == 12.5
    mixed = text.replace('"H-a00"[1]\t\t# lid 3', '"H-a00"[1]\t\t# lid 3 4xEDR')
    assert infiniband(mixed, link="200Gb/s")[0].bandwidths[0, 5] == 12.5
    with pytest.raises(ImportFormatError, match=r"others have one\nexpected option link="):
        infiniband(mixed)
    with pytest.raises(OptionError, match="option link of importer ibnetdiscover is 'fast'"):
        infiniband(text, link="fast")


def test_aggregation_nodes_and_loose_adapters_are_named() -> None:
    text = discovered().replace("host00 mlx5_0", "Mellanox Technologies Aggregation Node")
    text += '\nCa\t2 "H-ff"\t\t# "spare mlx5_0"\n'
    machine, found = infiniband(text)
    assert machine.num_nodes == 3
    notes = " ".join(found.notes)
    assert "Left out: 1 aggregation node" in notes
    assert "Left out: 1 adapter without a cable" in notes


def test_a_cable_that_stands_at_one_end() -> None:
    text = discovered()
    (line,) = [line for line in text.split("\n") if line.startswith("[1](a11)")]
    assert infiniband(text.replace(line, ""))[0].bandwidths == infiniband(text)[0].bandwidths


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('Ca\t1 "H-a11"', '# Ca\t1 "H-a11"', "port 1 given twice"),
        ('"S-50"[3]', '"S-50"[4]', "which ends at another port"),
        ('Ca\t1 "H-a11"', 'Ca\t1 "H-a10"', "a second entry of H-a10"),
        ("vendid=0x2c9", "oops", "5: neither a device nor a port"),
    ],
)
def test_a_fabric_that_contradicts_itself(old: str, new: str, words: str) -> None:
    with pytest.raises(ImportFormatError, match=words):
        infiniband(discovered().replace(old, new, 1))


def test_a_fabric_cut_off_anywhere() -> None:
    """It is refused, or nothing that matters is missing."""
    text = discovered(each=1)
    whole = infiniband(text)[0]
    for end in range(0, len(text), 7):
        try:
            machine = infiniband(text[:end])[0]
        except ImportFormatError:
            continue
        assert machine.num_nodes == whole.num_nodes
        assert {*machine.bandwidths} == {*whole.bandwidths}


# SLURM ------------------------------------------------------------------------------------------

TREE = """\
# a tree
SwitchName=leaf0 Nodes=n[0-2]
SwitchName=leaf1 Nodes=n[3-4],login LinkSpeed=100
switchname=top Switches=leaf[0-1]
"""


def test_a_tree() -> None:
    assert SLURM.recognises(TREE)
    machine, found = slurm(TREE, link="100Gb/s", uplink="50GB/s")
    assert found.names == ("n0", "n1", "n2", "n3", "n4", "login")
    assert found.switch_names == ("leaf0", "leaf1", "top")
    leaves = {(n, 6 + n // 3): 12.5 for n in range(6)}
    assert machine.bandwidths == both(leaves | {(6, 8): 50, (7, 8): 50})
    assert [note for note in found.notes if "LinkSpeed" in note] == [
        "Left out: LinkSpeed, a number without a unit (options link and uplink)."
    ]
    assert not any(
        "LinkSpeed" in note for note in slurm(TREE.replace(" LinkSpeed=100", ""))[1].notes
    )
    plain = slurm(TREE)[0]
    assert plain.measure == "chunks per round"
    assert set(plain.bandwidths.values()) == {1}
    with pytest.raises(ImportFormatError, match=r"from leaf0 to top, .*\nexpected option uplink="):
        slurm(TREE, link="25GB/s")


def test_blocks_and_continued_lines() -> None:
    text = "BlockName=b1 \\\n Nodes=n[01-02]\nBlockName=b2 Nodes=n[03-04]\nBlockSizes=2,4\n"
    assert SLURM.recognises(text)
    machine, found = slurm(text, link="900GB/s", uplink="100GB/s")
    assert found.names == ("n01", "n02", "n03", "n04")
    links = {(0, 4): 900, (1, 4): 900, (2, 5): 900, (3, 5): 900, (4, 6): 100, (5, 6): 100}
    assert machine.bandwidths == both(links)
    assert "The blocks are assumed to meet in one switch." in found.notes


def test_lists_of_hosts() -> None:
    assert hosts("a[1,03-05]x") == ["a1x", "a03x", "a04x", "a05x"]
    assert hosts("r[0-1]n[7-8],z") == ["r0n7", "r0n8", "r1n7", "r1n8", "z"]
    for wrong in ("a[5-2]", "a[]", "a[1", "a1]", "a,,b", "a,a", "a[0-99999999]", "a[0-99]b[0-99]"):
        with pytest.raises(TextError):
            hosts(wrong)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello\n", r"1: not a list of name=value\n1 \| hello"),
        ("Nodes=a\n", "no switch and no block"),
        ("SwitchName=s Nodes=a,b\nSwitchName=s Nodes=c\n", "2: a second entry of s"),
        ("SwitchName=s\n", "nothing is below s"),
        ("SwitchName=s Nodes=a,b Colour=red\n", "no switch and no block"),
        ("SwitchName=s Nodes=a,b\nBlockName=t Nodes=c\n", "switches and blocks in one"),
        ("SwitchName=t Switches=s\nSwitchName=u Nodes=a,b\n", "no line has SwitchName=s"),
        ("# nothing\n", "no line has SwitchName= or BlockName="),
        ("SwitchName=s Nodes=a,b\nSwitchName=t Nodes=c,d\n", "these parts are separate"),
    ],
)
def test_trees_that_are_refused(text: str, words: str) -> None:
    with pytest.raises(ImportFormatError, match=words):
        slurm(text)
