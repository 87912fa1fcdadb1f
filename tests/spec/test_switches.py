"""Switches, units, and the shipped networks: they are read as written."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from syncoll.cli.main import main
from syncoll.documents import read_file
from syncoll.errors import LocatedError
from syncoll.model import BandwidthBound, Fabric, Topology
from syncoll.routing import as_topology, bottleneck
from syncoll.spec import SpecLibrary, check_file
from tests.oracles.fabrics import a100, bigraph, fat_tree, leaf_spine, mi250, p2_16xlarge, torus

from .test_errors import ask, marked

SpecFile = Callable[..., Path]

# The same networks, built in Python from the papers.
NETWORKS = {
    "a100": a100(1),
    "a100(boxes=2)": a100(2),
    "a100(boxes=5)": a100(5),
    "mi250": mi250(1),
    "mi250(boxes=2)": mi250(2),
    "mi250(boxes=2, gpus=8)": mi250(2, 8),
    "mi250(boxes=3, gpus=1)": mi250(3, 1),
    "p2_16xlarge": p2_16xlarge(),
    "fat_tree(8)": fat_tree(8, 8),
    "fat_tree(4, 3, bandwidth=7/2)": fat_tree(4, 3, 7),
    "bigraph(4, 8)": bigraph(4, 8),
    "bigraph(4, 16)": bigraph(4, 16),
    "bigraph(6, 4)": bigraph(6, 4),
    "leaf_spine([[8, 8], [4], [1, 1]], cards=[25, 50, 10], "
    "uplinks=[[200, 200], [100, 100], [20, 0]])": leaf_spine(
        [[8, 8], [4], [1, 1]], [25, 50, 10], [[200, 200], [100, 100], [20, 0]]
    ),
    "leaf_spine([[4, 4], [4, 4]], spines=4, scale_up=100)": leaf_spine(
        [[4, 4], [4, 4]], [25, 25], [[50] * 4] * 2, scale_up=100
    ),
}


@pytest.mark.parametrize("reference", NETWORKS)
def test_shipped_networks(reference: str, library: SpecLibrary) -> None:
    fabric, expected = Fabric.of(library.topology(reference)), NETWORKS[reference]
    scale = Fraction(1, 2) if "7/2" in reference else 1
    assert (fabric.num_nodes, fabric.num_switches) == (expected.num_nodes, expected.num_switches)
    assert fabric.bandwidths == {ends: b * scale for ends, b in expected.bandwidths.items()}
    assert fabric.measure == ("chunks per round" if reference == "p2_16xlarge" else "GB/s")
    topology = as_topology(library.topology(reference))
    assert topology.fabric == fabric
    assert topology.num_nodes == fabric.num_nodes, "switches are no nodes"


def test_published_figures(library: SpecLibrary) -> None:
    """ForestColl paper, sections 5.2 and 5.3."""
    two, large = (
        Fabric.of(library.topology("a100(boxes=2)")),
        Fabric.of(library.topology("mi250(boxes=2)")),
    )
    assert bottleneck(two).algbw == Fraction(1040, 3)
    assert float(bottleneck(large).algbw) == pytest.approx(354.13, abs=0.005)
    assert bottleneck(large).k == 83


def test_a_box_with_one_switch_is_a_hub(library: SpecLibrary) -> None:
    assert set(bare(as_topology(library.topology("a100")))) == set(
        bare(as_topology(library.topology("hub(8)")))
    )
    assert set(bare(as_topology(library.topology("fat_tree(16, 1)")))) == set(
        bare(as_topology(library.topology("hub(16)")))
    )


def bare(topology: Topology) -> list[BandwidthBound]:
    return [BandwidthBound(b.links, b.chunks_per_round) for b in topology.bounds]


LARGE = {
    "mi250(boxes=64)": 1024,
    "a100(boxes=128)": 1024,
    "torus(32,32)": 1024,
    "fat_tree(32)": 1024,
    "leaf_spine([[8 - leaf mod 3, 8, 4 + leaf mod 5, 8, 1] for leaf in range(36)], spines=4, "
    "cards=[25 + 25 * (leaf mod 2) for leaf in range(36)])": 1078,
    "a100(boxes=512)": 4096,
}


@pytest.mark.parametrize("reference", LARGE)
def test_a_thousand_nodes_are_read_in_no_time(reference: str, library: SpecLibrary) -> None:
    began = time.process_time()
    assert Fabric.of(library.topology(reference)).num_nodes == LARGE[reference]
    assert time.process_time() - began < 20


def test_a_network_without_switches_is_its_own_fabric(library: SpecLibrary) -> None:
    fabric = Fabric.of(library.topology("torus(3,4,bandwidth=2)"))
    assert fabric.bandwidths == torus(4, 3, bandwidth=2).bandwidths
    assert fabric.measure == "chunks per round"
    assert fabric.chunk_bandwidth == 1


def test_shared_bounds_do_not_define_a_switch(library: SpecLibrary) -> None:
    with pytest.raises(LocatedError, match="3 links share bandwidth"):
        Fabric.of(library.topology("hub(4)"))


# Units --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "gigabytes"),
    [
        ("3 GB/s", 3),
        ("500 MB/s", Fraction(1, 2)),
        ("0.2 TB/s", 200),
        ("100 Gb/s", Fraction(25, 2)),
        ("1 Mb/s", Fraction(1, 8000)),
        ("1.6 Tb/s", 200),
        ("1/3 GB/s", Fraction(1, 3)),
    ],
)
def test_units_are_exact(
    text: str, gigabytes: Fraction, library: SpecLibrary, spec_file: SpecFile
) -> None:
    spec_file(f"topology t {{ nodes 2 link (0, 1) both ways bandwidth {text} }}")
    fabric = Fabric.of(library.topology("my.syncoll:t"))
    assert set(fabric.bandwidths.values()) == {Fraction(gigabytes)}
    assert fabric.chunk_bandwidth == gigabytes


@pytest.mark.parametrize(
    ("unit", "rates"),
    [
        ("", (1, 4)),
        ("unit 25 GB/s", (1, 4)),
        ("unit 100 GB/s", (Fraction(1, 4), 1)),
        ("unit 400 Gb/s", (Fraction(1, 2), 2)),
    ],
)
def test_the_unit_is_a_chunk_per_round(
    unit: str, rates: tuple[Fraction, Fraction], library: SpecLibrary, spec_file: SpecFile
) -> None:
    spec_file(
        f"topology t {{ nodes 3 switches 1 {unit} link (0, 1) both ways bandwidth 25 GB/s\n"
        "link (n, switch(0)) both ways for n in nodes if n != 0 bandwidth 100 GB/s }"
    )
    topology = as_topology(library.topology("my.syncoll:t"))
    assert {b.links: b.chunks_per_round for b in topology.bounds} == {
        ((0, 1),): rates[0],
        ((1, 0),): rates[0],
        ((1, 2),): rates[1],
        ((2, 1),): rates[1],
    }


def test_words_of_the_language_are_still_names(library: SpecLibrary, spec_file: SpecFile) -> None:
    spec_file(
        "topology t(unit = 2, switches = 1) { nodes 2 switches switches\n"
        "link (n, switch(0)) both ways for n in nodes bandwidth unit }"
    )
    assert Fabric.of(library.topology("my.syncoll:t(unit=3)")).bandwidths[0, 2] == 3


# Errors -------------------------------------------------------------------------------------------

# Each case: the text, the text under the caret, message and expectation.
WRONG = {
    "zero": (
        "nodes 2 switches 1\nlink (0, switch(0)) both ways bandwidth 0 GB/s",
        "0", "bandwidth 0", "above 0",
    ),
    "zero on one link": (
        "nodes 4 switches 1\nlink (n, switch(0)) for n in nodes bandwidth 2 - n GB/s",
        "2 - n", "bandwidth 0 on link (2, switch(0))", "above 0",
    ),
    "unknown switch": (
        "nodes 2 switches 3\nlink (0, switch(3)) bandwidth 1 GB/s",
        "3", "switch 3 does not exist", "switches 0 to 2",
    ),
    "no switches": (
        "nodes 2\nlink (0, switch(0)) bandwidth 1 GB/s",
        "switch(0)", "there are no switches here", "after `switches`",
    ),
    "unknown node": (
        "nodes 2 switches 1\nlink (0, 3) bandwidth 1 GB/s",
        "(0, 3)", "names node 3", "nodes 0 to 1 and `switch(0)`",
    ),
    "unit twice": (
        "nodes 2\nunit 1 GB/s\nunit 2 GB/s\nlink (0, 1) bandwidth 1 GB/s",
        "unit 2 GB/s", "`unit` occurs a second time; the first is in line 3", "one `unit`",
    ),
    "switches twice": (
        "nodes 2\nswitches 1\nswitches 1", "switches 1", "`switches` occurs a second", "one",
    ),
    "unit of zero": ("nodes 2\nunit 0 GB/s", "0", "a chunk per round at 0 GB/s", "above 0"),
    "unit without GB/s": (
        "nodes 2\nunit 5\nlink (0, 1) bandwidth 1 GB/s", "link", "unexpected `link`", "GB/s",
    ),
    "strange unit": (
        "nodes 2\nlink (0, 1) bandwidth 1 GiB/s", "GiB/s", "is not a unit of bandwidth", "GB/s",
    ),
    "unit here, none there": (
        "nodes 3\nlink (0, 1) bandwidth 1 GB/s\nlink (1, 2) bandwidth 7",
        "7", "without a unit, but the one in line 3 has one", "such as GB/s",
    ),
    "none there, unit here": (
        "nodes 3\nlink (1, 2) bandwidth 7\nlink (0, 1) bandwidth 1 GB/s",
        "GB/s", "with a unit, but the one in line 3 has none", "for all bandwidths",
    ),
    "switch to itself": (
        "nodes 2 switches 1\nlink (switch(0), switch(0)) bandwidth 1 GB/s",
        "(switch(0), switch(0))", "joins a switch to itself", "two different switches",
    ),
    "no bandwidth": (
        "nodes 2 switches 2\nlink (0, switch(1))",
        "(0, switch(1))", "link (0, switch(1)) has no bandwidth", "`bandwidth`",
    ),
    "twice": (
        "nodes 2 switches 1\nlink (0, switch(0)) bandwidth 1\nlink (0, switch(0)) bandwidth 2",
        "(0, switch(0))", "link (0, switch(0)) is already given in line 3", "the sum",
    ),
    "shared next to switches": (
        "nodes 2 switches 1\nlink (0, 1) bandwidth 1\nshared { links } bandwidth 1",
        "shared { links }", "a shared bound in a topology with switches", "a switch on the path",
    ),
    "shared with a unit": (
        "nodes 2\nlink (0, 1)\nshared { links } bandwidth 1 GB/s",
        "GB/s", "a unit after the bandwidth of a shared bound", "chunks per round",
    ),
    "switches before nodes": (
        "switches 1\nnodes 2", "switches 1", "`switches` before the number of nodes", "`nodes`",
    ),
    "switches behind links": (
        "nodes 2\nlink (0, 1) bandwidth 1\nswitches 1", "switches 1", "after a link", "before all",
    ),
    "half a switch": ("nodes 2\nswitches 1/2", "1/2", "this is 1/2", "a whole number"),
    "fewer than none": ("nodes 2\nswitches -1", "-1", "-1 switches", "at least 0"),
    "too many": ("nodes 2\nswitches 10 ** 9", "10 ** 9", "too many to expand", "at most"),
    "switches that copy": (
        "nodes 3 switches 2\nlink (n, switch(s)) for n in nodes, s in range(2) bandwidth 5 GB/s\n"
        "link (switch(s), n) for n in nodes, s in range(2) bandwidth 1 + n * s GB/s",
        "bad", "switch 0 receives 15 and sends 3", "as much bandwidth into each switch as out",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_networks(case: str, library: SpecLibrary, spec_file: SpecFile) -> None:
    text, mark, message, expected = WRONG[case]
    spec_file(f"topology bad {{\n{text}\n}}\n")
    error = ask(library, "my.syncoll:bad")
    assert message in error.message
    assert expected in (error.expected or "")
    assert marked(error) == mark


WRONG_ARGUMENTS = {
    "a100(boxes=0)": "at least 1 box",
    "mi250(gpus=17)": "1 to 16 GPUs",
    "fat_tree(4, 0)": "at least 1 leaf",
    "fat_tree(4, 2, 0)": "at least 1 root",
    "bigraph(3, 4)": "an even number of switches",
    "bigraph(4, 0)": "at least 1 node",
    "leaf_spine([])": "the boxes of at least one leaf",
    "leaf_spine([[4], []])": "at least one box for each leaf",
    "leaf_spine([[4], [0]])": "at least 1 GPU",
    "leaf_spine([[4], [4]], cards=[25])": "as many cards as leaves",
    "leaf_spine([[4], [4]], uplinks=[[1, 2], [3]])": "a bandwidth to each spine",
    "a100(boxes=2000)": "at most 8192 nodes",
}


@pytest.mark.parametrize("reference", WRONG_ARGUMENTS)
def test_wrong_arguments(reference: str, library: SpecLibrary) -> None:
    assert WRONG_ARGUMENTS[reference] in (ask(library, reference).expected or "")


def test_a_check_of_a_file_finds_networks_without_lowering(
    library: SpecLibrary, spec_file: SpecFile
) -> None:
    path = spec_file("topology bad { nodes 2 switches 1 link (0, switch(0)) bandwidth 0 GB/s }")
    (error,) = check_file(str(path), library).errors
    assert "bandwidth 0" in str(error)
    copies = f"topology bad {{\n{WRONG['switches that copy'][0]}\n}}\n"
    (error,) = check_file(str(spec_file(copies)), library, as_topology).errors
    assert "switch 0 receives 15 and sends 3" in str(error)
    assert not check_file(str(spec_file(POD)), library, as_topology).errors


def test_one_way_and_disconnected_networks_are_read(
    library: SpecLibrary, spec_file: SpecFile
) -> None:
    """A search decides which collectives are possible on them."""
    spec_file(
        "topology up { nodes 3 switches 1 link (n, switch(0)) for n in nodes bandwidth 1 GB/s }\n"
        "topology two { nodes 4 switches 2\n"
        "  link (n, switch(n div 2)) both ways for n in nodes bandwidth 1 GB/s }"
    )
    assert as_topology(library.topology("my.syncoll:up")).links == ()
    assert as_topology(library.topology("my.syncoll:two")).links == ((0, 1), (1, 0), (2, 3), (3, 2))


# From the text to a checked file ------------------------------------------------------------------

POD = """topology pod {
    nodes 4
    switches 3
    unit 25 GB/s
    link (n, switch(n div 2)) both ways for n in nodes bandwidth 50 GB/s
    link (switch(s), switch(2)) both ways for s in range(2) bandwidth 200 Gb/s
}
"""


@pytest.mark.parametrize("collective", ["allgather", "reducescatter", "allreduce"])
def test_a_frontier_is_found_saved_and_checked(
    collective: str, spec_file: SpecFile, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = str(spec_file(POD))
    asked = ["pareto", pod, collective, "--seeds", "none", "--max-chunks", "4", "-o", "f.json"]
    assert main([*asked, "--max-steps", "1", "--backend", "pysat"]) == 0
    assert main(["verify", "f.json"]) == 0
    assert main(["check", "f.json", "--collective", collective]) in (0, 4)  # 4: a solver's word
    stored = read_file(Path("f.json"))
    assert stored.topology.fabric is not None
    assert stored.topology.fabric.chunk_bandwidth == 25
    assert stored.topology.fabric.vertex_name(6) == "switch 2"
    capsys.readouterr()


@pytest.mark.parametrize("backend", ["cpsat", "pysat", "highs", "z3"])
def test_every_solver_takes_link_sets_of_any_bandwidth(
    backend: str, spec_file: SpecFile, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a unit of 30 GB/s the bounds are 5/3 and 5/6 of a chunk per round."""
    pod = str(spec_file(POD.replace("unit 25", "unit 30")))
    solve = ["solve", pod, "allgather", "-C", "1", "-S", "1", "--backend", backend]
    # Each uplink carries 2 * 2 chunks: 4 / (5/6) is 4.8.
    assert main([*solve, "-R", "4"]) == 1
    assert main([*solve, "-R", "5"]) == 0
    capsys.readouterr()


def test_the_meaning_of_a_chunk_per_round(
    spec_file: SpecFile, capsys: pytest.CaptureFixture[str], library: SpecLibrary
) -> None:
    pod = str(spec_file(POD))
    assert main(["show", pod]) == 0
    shown = capsys.readouterr().out
    assert "3 switches, 12 directed links; a chunk per round is 25 GB/s" in shown
    assert main(["show", pod, "--format", "json"]) == 0
    described: dict[str, Any] = json.loads(capsys.readouterr().out)
    fabric = described["interconnect"]["fabric"]
    assert (fabric["switches"], fabric["chunk_per_round"], fabric["measure"]) == (3, "25", "GB/s")
    assert {(a, b): Fraction(rate) for a, b, rate, _ in fabric["links"]} == Fabric.of(
        as_topology(library.topology(pod))
    ).bandwidths
    # The least R/C of allgather, turned into GB/s as docs/language.md says.
    ratio = 1 / (
        bottleneck(Fabric.of(library.topology(pod))).rate / Fraction(fabric["chunk_per_round"])
    )
    assert 4 * 25 / ratio == bottleneck(Fabric.of(library.topology(pod))).algbw == 50


def test_the_store_knows_a_network_under_other_numbers(
    spec_file: SpecFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pod, other = str(spec_file(POD)), POD.replace("n div 2", "n mod 2").replace("pod", "dop")
    turned = str(spec_file(other, "other.syncoll"))
    store = ["--store", str(tmp_path / "store"), "--seeds", "none", "--max-steps", "1"]
    assert main(["pareto", pod, "allgather", *store, "--format", "json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["pareto", turned, "allgather", *store, "--format", "json"]) == 0
    second = json.loads(capsys.readouterr().out)
    costs = [[(p["steps"], p["rounds"], p["chunks"]) for p in f["points"]] for f in (first, second)]
    assert costs[0] == costs[1] == [(1, 4, 1)]


def test_fabric_of_a_topology_is_kept(library: SpecLibrary) -> None:
    assert Fabric.of(library.topology("a100(boxes=2)")) == Fabric.of(
        as_topology(library.topology("a100(boxes=2)"))
    )
