"""Round trip: the text that is written for a machine reads as the same machine."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from syncoll.errors import SpecError
from syncoll.importing import spec_text, topology_name
from syncoll.model import BandwidthBound, Fabric, FabricLink, Topology
from syncoll.plugins import Imported
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary

RATES = st.one_of(
    st.fractions(min_value=Fraction(1, 9), max_value=900, max_denominator=90),
    st.sampled_from([Fraction(25), Fraction("20.6"), Fraction("0.000000001"), Fraction(10**12)]),
)
PLAIN = st.text(alphabet="ab {}\"\\#/ä→'", max_size=8)
ANYTHING = st.text(max_size=30)
PAIR = Fabric.from_links("pair", 2, 0, [(0, 1, 1)], both_ways=True)


def library_of(text: str) -> SpecLibrary:
    return SpecLibrary((), {"text": lambda *_: text})


@st.composite
def fabrics(draw: st.DrawFn) -> Fabric:
    nodes, switches = draw(st.integers(1, 7)), draw(st.integers(0, 3))
    vertices = range(nodes + switches)
    pairs = [(a, b) for a in vertices for b in vertices if a != b]
    few = draw(st.lists(RATES, min_size=1, max_size=3))
    labels = draw(st.lists(PLAIN, min_size=1, max_size=2))
    chosen = set(draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))) if pairs else []
    chosen = set(chosen) | (set() if draw(st.booleans()) else {(b, a) for a, b in chosen})
    if draw(st.booleans()):  # links that are written with `for`
        chosen |= {(a, b) for a, b in pairs if max(a, b) < nodes}
    if switches and draw(st.booleans()):
        chosen |= {(a, b) for a, b in pairs if nodes in (a, b) and min(a, b) < nodes}
    if not chosen:
        switches, chosen = 1, {(0, 1)}
        nodes = 1
    links = tuple(
        FabricLink(a, b, draw(st.sampled_from(few)), draw(st.sampled_from(labels)))
        for a, b in sorted(chosen)
    )
    if draw(st.booleans()):
        return Fabric("some", nodes, switches, links, measure="chunks per round")
    return Fabric("some", nodes, switches, links, unit=draw(st.one_of(st.none(), RATES)))


@settings(max_examples=70, deadline=None)
@given(fabric=fabrics(), notes=st.lists(ANYTHING, max_size=3), name=ANYTHING)
def test_a_fabric(fabric: Fabric, notes: list[str], name: str) -> None:
    names = tuple(f"{name}{n}" for n in range(fabric.num_nodes))
    switches = tuple(f"{name}-{n}" for n in range(fabric.num_switches))
    text = spec_text(Imported(fabric, tuple(notes), names, switches), "made", name)
    again = Fabric.of(library_of(text).topology("text:x"))
    assert again == replace(fabric, name="made")
    if fabric.num_switches or fabric.measure == "GB/s":  # else it is read as a topology first
        assert [link.label for link in again.links] == [link.label for link in fabric.links]


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    nodes = draw(st.integers(1, 6))
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    links = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    groups = [[link] for link in links if draw(st.integers(0, 3))]
    if links:
        groups += draw(
            st.lists(st.lists(st.sampled_from(links), min_size=1, unique=True), max_size=4)
        )
    covered = {link for group in groups for link in group}
    rest = [link for link in links if link not in covered]
    groups += [rest] if rest else []
    bounds = [
        BandwidthBound(tuple(sorted(group)), draw(RATES), draw(ANYTHING))
        for group in draw(st.permutations(groups))
    ]
    return Topology("some", nodes, tuple(sorted(links)), tuple(bounds))


@settings(max_examples=100, deadline=None)
@given(topology=topologies(), notes=st.lists(ANYTHING, max_size=3))
def test_a_topology(topology: Topology, notes: list[str]) -> None:
    text = spec_text(Imported(topology, tuple(notes)), "made")
    assert library_of(text).topology("text:x") == replace(topology, name="made")


def test_a_topology_with_its_fabric_is_written_as_a_fabric() -> None:
    fabric = Fabric.from_links("made", 3, 1, [(n, 3, 5) for n in range(3)], both_ways=True)
    lowered = as_topology(library_of(spec_text(Imported(fabric), "made")).topology("text:x"))
    assert lowered.fabric == fabric
    assert Fabric.of(library_of(spec_text(Imported(lowered), "made")).topology("text:x")) == fabric


def test_the_text_is_readable() -> None:
    pairs = {(node, 8): (Fraction("247.2"), "12 NVLinks") for node in range(8)}
    pairs |= {(node, 9 + node // 4): (Fraction(63, 2), "PCIe") for node in range(8)}
    pairs |= {(other, node): (Fraction(1, 3), "") for node in range(8) for other in range(node)}
    both = pairs | {(b, a): what for (a, b), what in pairs.items()}
    both[0, 9] = Fraction(65, 2), "PCIe"
    links = tuple(FabricLink(*ends, *what) for ends, what in sorted(both.items()))
    imported = Imported(
        Fabric("made", 8, 3, links, unit=Fraction(25)),
        ("Something was\nassumed.", "word " * 30),
        tuple(f"GPU{n}" for n in range(8)),
        ("NVSwitch", "CPU0", "CPU1"),
    )
    text = spec_text(imported, "made", "Imported from somewhere.")
    assert text == (
        "# Imported from somewhere.\n"
        "#\n"
        "# Assumptions and omissions:\n"
        "# * Something was assumed.\n"
        f"# * {'word ' * 17}word\n"
        f"#   {'word ' * 11}word\n"
        "#\n"
        "# Nodes: 0 to 7 are GPU0 to GPU7.\n"
        "# Switches: 0 is NVSwitch, 1 is CPU0, 2 is CPU1.\n"
        "topology made {\n"
        "    nodes 8\n"
        "    switches 3\n"
        "    unit 25 GB/s\n"
        "    link (a, b) both ways for a in nodes, b in nodes if a < b bandwidth 1/3 GB/s\n"
        "    link (n, switch(0)) both ways for n in nodes bandwidth 247.2 GB/s "
        'label "12 NVLinks"\n'
        '    link (0, switch(1)) bandwidth 32.5 GB/s label "PCIe"\n'
        "    link (n, switch(1)) both ways for n in range(1, 4) bandwidth 31.5 GB/s "
        'label "PCIe"\n'
        "    link (n, switch(2)) both ways for n in range(4, 8) bandwidth 31.5 GB/s "
        'label "PCIe"\n'
        '    link (switch(1), 0) bandwidth 31.5 GB/s label "PCIe"\n'
        "}\n"
    )


@pytest.mark.parametrize("name", ["", "1x", "a b", "topology", "a-b", "ä"])
def test_a_name_that_the_language_refuses(name: str) -> None:
    with pytest.raises(SpecError, match="cannot be the name"):
        spec_text(Imported(PAIR), name)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("topo.txt", "topo"),
        ("dumps/dgx-1 (new).txt", "dgx_1_new"),
        ("8gpus.xml", "machine_8gpus"),
        ("topology.txt", "topology_machine"),
        ("standard input", "standard_input"),
        ("é.txt", "machine"),
        ("", "machine"),
    ],
)
def test_the_name_of_a_file(label: str, name: str) -> None:
    assert topology_name(label) == name


@given(ANYTHING)
def test_every_file_has_a_name(label: str) -> None:
    name = topology_name(label)
    assert library_of(spec_text(Imported(PAIR), name)).topology("text:x").name == name
