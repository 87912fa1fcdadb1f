"""Latencies that importers fill in: by kind of link; paths add up to the documented values."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import networkx as nx
import pytest

from syncoll.importing import import_machine
from syncoll.importing.latencies import with_latencies
from syncoll.importing.writer import spec_text
from syncoll.model import Fabric, FabricLink
from syncoll.plugins import Imported
from syncoll.session import Session
from syncoll.spec import SpecLibrary

NVLINK = """        GPU0    GPU1    GPU2    GPU3    CPU Affinity
GPU0     X      NV2     NV1     NV1     0-19
GPU1    NV2      X      NV1     NV1     0-19
GPU2    NV1     NV1      X      NV2     20-39
GPU3    NV1     NV1     NV2      X      20-39
"""
CARDS = """        GPU0    GPU1    NIC0    NIC1    CPU Affinity
GPU0     X      {}      PXB     SYS     0-19
GPU1    {}      X       SYS     PXB     20-39
NIC0    PXB     SYS      X      SYS
NIC1    SYS     PXB     SYS      X
"""
XGMI = """
============================ Hops between two GPUs =============================
       GPU0         GPU1
GPU0   0            1
GPU1   1            0
========================== Link Type between two GPUs ==========================
       GPU0         GPU1
GPU0   0            XGMI
GPU1   XGMI         0
"""


def fabric(text: str, importer: str, **options: object) -> Fabric:
    record = Session().plugins.importers[importer]
    machine = import_machine(record, text, "topo.txt", options).machine
    assert isinstance(machine, Fabric)
    return machine


def way(machine: Fabric, one: int, other: int) -> Fraction:
    """The latencies along the path of fewest links, added up, in nanoseconds."""
    graph = nx.DiGraph((link.source, link.destination) for link in machine.links)
    known = {(link.source, link.destination): link.latency for link in machine.links}
    total = Fraction(0)
    for link in pairwise(nx.shortest_path(graph, one, other)):
        latency = known[link]
        assert latency is not None
        total += latency
    return total * 10**9


def test_nvlink_and_nvswitches() -> None:
    assert way(fabric(NVLINK, "nvidia-smi"), 0, 3) == 470
    switched = fabric(NVLINK.replace("NV1", "NV12").replace("NV2", "NV12"), "nvidia-smi")
    assert switched.num_switches == 1
    assert way(switched, 0, 3) == 470


@pytest.mark.parametrize("rails", ["yes", "no"])
def test_boxes(rails: str) -> None:
    text = CARDS.format("NV4", "NV4")
    machine = fabric(text, "nvidia-smi", boxes=3, card="50GB/s", rails=rails)
    assert way(machine, 0, 1) == 470
    assert way(machine, 0, 2) == 2700
    assert machine.states_latencies


def test_pcie_counts_alike_at_any_distance() -> None:
    text = CARDS.format("SYS", "SYS")
    assert way(fabric(text, "nvidia-smi"), 0, 1) == 1000
    clusters = fabric(text, "nvidia-smi", boxes=2, card="50GB/s")
    assert way(clusters, 0, 1) == 1000
    assert way(clusters, 0, 2) == 2700


def test_xgmi() -> None:
    assert way(fabric(XGMI, "rocm-smi"), 0, 1) == 800
    assert way(fabric(XGMI.replace("XGMI", "PCIE"), "rocm-smi"), 0, 1) == 2200


@pytest.mark.parametrize("options", [{}, {"boxes": 3, "card": "50GB/s"}])
def test_the_spec_that_is_written_has_them(options: dict[str, object]) -> None:
    record = Session().plugins.importers["nvidia-smi"]
    imported = import_machine(record, CARDS.format("NV4", "NV4"), "topo.txt", options)
    written = spec_text(imported, "machine")
    assert "hwLat" in written
    again = Fabric.of(SpecLibrary((), {"text": lambda *_: written}).topology("text:x"))
    assert [x.latency for x in again.links] == [x.latency for x in imported.machine.links]
    assert again.states_latencies


@pytest.mark.parametrize(
    ("name", "inside", "between"),
    [
        ("a100(boxes=2)", 470, 2700),
        ("dgx_h100(boxes=2)", 470, 2700),
        ("mi250(boxes=2)", 800, 9500),
        ("mi300x(boxes=2)", 800, 9500),
    ],
)
def test_machines_of_the_library(name: str, inside: int, between: int) -> None:
    machine = Fabric.of(Session().topology(name))
    assert way(machine, 0, 1) == inside
    assert way(machine, 0, machine.num_nodes // 2) == between


def test_one_link_without_documentation_leaves_all_out() -> None:
    links = [FabricLink(a, b, Fraction(25), label) for a, b, label in (
        (0, 1, "2 NVLinks"), (0, 2, "1 C2C link"), (1, 0, "2 NVLinks"), (2, 0, "1 C2C link"),
    )]  # fmt: skip
    links.sort(key=lambda link: (link.source, link.destination))
    machine = Fabric("imported", 2, 1, tuple(links), measure="GB/s", unit=None)
    found = with_latencies(Imported(machine, interconnect="NVLink"))
    assert found.machine == machine
    assert not found.machine.states_latencies
    assert "none is documented for '1 C2C link'" in found.notes[-1]
    assert with_latencies(Imported(machine)) == Imported(machine)
