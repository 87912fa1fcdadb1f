"""MSCCL topology JSON: the direction of links, switches as caps of sums, and errors."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from syncoll.errors import ImportFormatError
from syncoll.importing import import_machine, import_spec
from syncoll.model import BandwidthBound, Topology
from syncoll.plugins import Imported, PluginManager
from syncoll.spec import SpecLibrary
from syncoll_msccl_topology import RECORD


def description(links: Any, switches: Any = (), **more: Any) -> str:
    return json.dumps(
        {"msccl_type": "topology", "name": "x", "switches": switches, "links": links} | more
    )


def imported(text: str) -> Imported:
    """Imports a text, and checks that its spec reads as the same machine."""
    import_spec(RECORD, text, "topo.json")
    return import_machine(RECORD, text, "topo.json")


def topology(text: str) -> Topology:
    machine = imported(text).machine
    assert isinstance(machine, Topology)
    return machine


def refusal(text: str) -> str:
    with pytest.raises(ImportFormatError) as caught:
        import_machine(RECORD, text, "topo.json")
    assert str(caught.value).startswith("topo.json")
    return str(caught.value)


def test_rows_are_destinations() -> None:
    got = topology(description([[0, 0, 3], [1, 0, 0], [0, 2, 0]]))
    assert {bound.links: bound.chunks_per_round for bound in got.bounds} == {
        ((0, 1),): 1,
        ((1, 2),): 2,
        ((2, 0),): 3,
    }


def test_switches_cap_sums_over_links_that_exist() -> None:
    full = [[int(a != b) for a in range(3)] for b in range(3)]
    full[0][2] = 0
    switches = [[[0], [1, 2], 1, "out of 0"], [[1, 2, 2], [0], 2, "into 0"], [[2], [0], 1, "none"]]
    result = imported(description(full, switches))
    machine = result.machine
    assert isinstance(machine, Topology)
    shared = [bound for bound in machine.bounds if bound.label]
    assert shared == [
        BandwidthBound(((0, 1), (0, 2)), Fraction(1)),
        BandwidthBound(((1, 0),), Fraction(2)),
    ]
    assert [bound.label for bound in shared] == ["out of 0", "into 0"]
    assert (2, 0) not in machine.links
    assert "switch 2 (counted from 0) 'none'" in " ".join(result.notes)


def test_it_is_the_librarys_dgx1_under_other_numbers() -> None:
    rows = 0o2112000, 0o20120100, 0o11020020, 0o12200001, 0o20000211, 0o1002012, 0o201102, 0o11220
    got = topology(description([[int(digit) for digit in f"{row:08o}"] for row in rows]))
    library = SpecLibrary([PluginManager.discover().spec_libraries["syncoll"].folder])
    graphs = []
    for each in (got, library.topology("dgx1")):
        graph: nx.DiGraph[int] = nx.DiGraph()
        for bound in each.bounds:
            graph.add_edge(*bound.links[0], b=bound.chunks_per_round)
        graphs.append(graph)
    assert nx.is_isomorphic(*graphs, edge_match=lambda one, other: one["b"] == other["b"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "no msccl_type"),
        ('{"msccl_type": "algorithm"}', "it is an algorithm of SCCL"),
        ('{"msccl_type": "topology"}', "no links"),
        (description([]), "no links"),
        (description(7), "links are 7"),
        (description([[0, 1], [1]]), "row 1 of its links (counted from 0) has 1 entries"),
        (description([[0, 1], "x"]), "row 1 of its links (counted from 0) has 'x'"),
        (description([[0, 1], [-1, 0]]), "links[1][0], from node 0 to node 1, is -1"),
        (description([[0, "1"], [1, 0]]), "links[0][1], from node 1 to node 0, is '1'"),
        (description([[0, True], [1, 0]]), "is True"),
        (description([[0, None], [1, 0]]), "is None"),
        (description([[0, 1e40], [1, 0]]), "is 1"),
        (description([[1, 1], [1, 0]]), "no node is linked to itself"),
        (description([[0, 1], [1, 0]], 5), "switches are 5"),
        (description([[0, 1], [1, 0]], [[[0], [1]]]), "switch 0 (counted from 0) is"),
        (description([[0, 1], [1, 0]], [[[0], [2], 1, ""]]), "its destinations are [2]"),
        (description([[0, 1], [1, 0]], [[[], [1], 1, ""]]), "its sources are []"),
        (description([[0, 1], [1, 0]], [[0, [1], 1, ""]]), "its sources are 0"),
        (description([[0, 1], [1, 0]], [[[0], [1], 0, ""]]), "its bandwidth is 0"),
        (description([[0, 1], [1, 0]], [[[0], [1], 1, 5]]), "its name is 5"),
        (description([[0, 1], [0, 0]]), "separate"),
        ("[" * 100_000, "nested too deeply"),
        (description([[0, 1], [1, 0]]).replace("1]", "NaN]", 1), "NaN is not a number in JSON"),
        (
            description([[0, 1], [1, 0]]).replace("1]", "9" * 9999 + "]", 1),
            "thousands of digits is too large",
        ),
        ('{"msccl_type": "topology", "links": [], "links": []}', "'links' occurs twice"),
    ],
)
def test_senseless_files_are_errors(text: str, words: str) -> None:
    assert words in refusal(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": "x", "node_betas_list": [1], "node_invbws_list": [3]}', "a topology of TACCL"),
        ('{"TopologyParams": {"name": "NDv2"}}', "an input of TE-CCL"),
        ("topology: [ Ring ]\nnpus_count: [ 8 ]\n", "ASTRA-sim"),
        ('{"logical-dims": ["8"]}', "ASTRA-sim"),
        ("Nodes 8\nTiers 3\n\nTier 0\nRadix_Down 2\n", "htsim"),
    ],
)
def test_inputs_of_other_tools_are_errors_with_a_reason(text: str, words: str) -> None:
    message = refusal(text)
    assert words in message
    assert ".syncoll" in message or "syncoll spec list" in message


DUMPS = Path(__file__).parents[3] / "shared" / "reference" / "topology-dumps"


@pytest.mark.skipif(not DUMPS.is_dir(), reason="the collected dumps are not here")
def test_collected_dumps_import() -> None:
    files = sorted(DUMPS.glob("msccl/*.json"))
    assert len(files) >= 6
    for file in files:
        text = file.read_text()
        got, matrix = topology(text), json.loads(text)["links"]
        own = {b.links[0]: b.chunks_per_round for b in got.bounds if not b.label}
        assert own == {
            (source, destination): bandwidth
            for destination, row in enumerate(matrix)
            for source, bandwidth in enumerate(row)
            if bandwidth
        }
