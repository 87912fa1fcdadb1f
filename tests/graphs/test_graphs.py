"""Graphs from node-link JSON and GraphML: attributes, units, switches, and errors."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from syncoll.errors import ImportFormatError, OptionError
from syncoll.importing import import_machine, import_spec
from syncoll.model import Fabric, Topology
from syncoll.plugins import Imported, ImporterRecord
from syncoll_graphs import GRAPHML, NODE_LINK


def imported(record: ImporterRecord, text: str, **options: str) -> Imported:
    """Imports a text, and checks that its spec reads as the same machine."""
    import_spec(record, text, "graph", options)
    return import_machine(record, text, "graph", options)


def refusal(record: ImporterRecord, text: str, **options: str) -> str:
    with pytest.raises(ImportFormatError) as caught:
        import_machine(record, text, "graph", options)
    assert str(caught.value).startswith("graph")
    return str(caught.value)


def written(graph: nx.Graph[Any], record: ImporterRecord) -> str:
    if record is NODE_LINK:
        return json.dumps(nx.node_link_data(graph, edges="edges"))
    return "\n".join(nx.generate_graphml(graph))


def fabric_of(graph: nx.Graph[Any], record: ImporterRecord, **options: str) -> Fabric:
    machine = imported(record, written(graph, record), **options).machine
    assert isinstance(machine, Fabric)
    return machine


BOTH = pytest.mark.parametrize("record", [NODE_LINK, GRAPHML], ids=lambda record: record.name)


@BOTH
def test_networkx_graphs_of_all_kinds_come_out_as_from_networkx(record: ImporterRecord) -> None:
    generator = random.Random(5)
    kinds = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
    for trial in range(40):
        kind = kinds[trial % 4]
        graph = kind(nx.cycle_graph(generator.randint(3, 7)).to_directed())
        for _ in range(5):
            a, b = generator.sample(sorted(graph), 2)
            graph.add_edge(a, b)
        for *_, data in graph.edges(data=True):
            data["bandwidth"] = generator.choice([1, 2, 3, 0.5])
        # GraphML distinguishes a multigraph only by its parallel edges.
        got = imported(record, written(graph, record)).machine
        assert isinstance(got, Topology)
        expected = Topology.from_networkx(graph, got.name)
        assert got == expected


@BOTH
def test_switches_units_labels_and_names(record: ImporterRecord) -> None:
    graph: nx.Graph[Any] = nx.Graph(name="pod", unit="Gb/s")
    graph.add_node("leaf", switch=True, label="Leaf switch")
    for gpu in range(3):
        graph.add_node(f"g{gpu}", switch=False, name=f"GPU {gpu}")
        graph.add_edge("leaf", f"g{gpu}", bandwidth=200 * (1 + gpu), label="cable")
    result = imported(record, written(graph, record))
    machine = result.machine
    assert isinstance(machine, Fabric)
    assert (machine.num_nodes, machine.num_switches, machine.measure) == (3, 1, "GB/s")
    assert machine.bandwidths == {
        ends: Fraction(25 * (1 + gpu)) for gpu in range(3) for ends in ((gpu, 3), (3, gpu))
    }
    assert {link.label for link in machine.links} == {"cable"}
    assert result.names == ("GPU 0", "GPU 1", "GPU 2")
    assert result.switch_names == ("Leaf switch",)
    assert fabric_of(graph, record, unit="GB/s").bandwidths[0, 3] == 200
    chunks = fabric_of(graph, record, unit="chunks")
    assert (chunks.measure, chunks.bandwidths[0, 3]) == ("chunks per round", 200)


@BOTH
def test_units_in_the_values(record: ImporterRecord) -> None:
    graph: nx.Graph[Any] = nx.path_graph(3)
    graph.edges[0, 1]["speed"] = "25 GB/s"
    graph.edges[1, 2]["speed"] = "400Gb/s"
    assert fabric_of(graph, record, bandwidth="speed").bandwidths == {
        (0, 1): 25,
        (1, 0): 25,
        (1, 2): 50,
        (2, 1): 50,
    }
    assert "option bandwidth=NAME" in " ".join(imported(record, written(graph, record)).notes)
    graph.edges[1, 2]["speed"] = "3/2"
    assert "others have units" in refusal(record, written(graph, record), bandwidth="speed")
    assert fabric_of(graph, record, bandwidth="speed", unit="GB/s").bandwidths[1, 2] == 1.5


@BOTH
@pytest.mark.parametrize(
    ("unit", "written_as", "rate"),
    [("Gbps", 200, 25), ("b/s", 10**11, Fraction("12.5")), ("Tb/s", 1, 125), ("GBps", 7, 7)],
)
def test_units_of_all_spellings(
    record: ImporterRecord, unit: str, written_as: int, rate: Fraction
) -> None:
    graph: nx.Graph[Any] = nx.path_graph(2)
    graph.edges[0, 1]["bandwidth"] = written_as
    assert fabric_of(graph, record, unit=unit).bandwidths[0, 1] == rate
    graph.graph["unit"] = unit
    assert fabric_of(graph, record).bandwidths[0, 1] == rate
    with pytest.raises(OptionError, match="option unit is 'ells'; it must be chunks, or a unit"):
        fabric_of(graph, record, unit="ells")


@BOTH
def test_kinds_of_nodes(record: ImporterRecord) -> None:
    graph: nx.Graph[Any] = nx.star_graph(3)
    for node in graph:
        graph.nodes[node]["type"] = "GPU" if node else "Switch"
    assert fabric_of(graph, record).num_switches == 1
    graph.nodes[1]["type"] = "toaster"
    assert "type is 'toaster'" in refusal(record, written(graph, record))
    for node in graph:
        graph.nodes[node]["switch"] = "perhaps"
    assert "switch is 'perhaps'" in refusal(record, written(graph, record))
    for node in graph:
        graph.nodes[node]["switch"] = True
    assert "all its nodes are switches" in refusal(record, written(graph, record))


@BOTH
def test_without_bandwidths_each_edge_carries_one_chunk(record: ImporterRecord) -> None:
    graph: nx.Graph[Any] = nx.cycle_graph(4)
    result = imported(record, written(graph, record))
    assert isinstance(result.machine, Topology)
    assert {bound.chunks_per_round for bound in result.machine.bounds} == {1}
    assert "one chunk per round on each edge" in result.notes[0]
    text = written(graph, record)
    assert "no edge has the attribute 'weight'" in refusal(record, text, bandwidth="weight")
    assert "no edge has the attribute" in refusal(record, text, unit="GB/s")
    graph.edges[0, 1]["bandwidth"] = 2
    assert "has no attribute 'bandwidth', but others have" in refusal(
        record, written(graph, record)
    )


@BOTH
@pytest.mark.parametrize("value", [0, -1, "fast", "0 GB/s", "1e99", 1e300])
def test_invalid_bandwidths_are_errors(record: ImporterRecord, value: Any) -> None:
    graph: nx.Graph[Any] = nx.path_graph(2)
    graph.edges[0, 1]["bandwidth"] = value
    assert "expected a number above 0" in refusal(record, written(graph, record))


@BOTH
def test_loops_and_pieces_are_refused(record: ImporterRecord) -> None:
    graph: nx.Graph[Any] = nx.path_graph(3)
    graph.add_edge(1, 1)
    assert "two different nodes" in refusal(record, written(graph, record))
    pieces: nx.Graph[Any] = nx.disjoint_union(nx.path_graph(2), nx.path_graph(2))
    assert "separate" in refusal(record, written(pieces, record))
    one_way: nx.DiGraph[Any] = nx.DiGraph([(0, 1), (1, 2)])
    assert "separate" in refusal(record, written(one_way, record))


def data(**changes: Any) -> str:
    result = {
        "directed": False,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": 0}, {"id": 1}],
        "edges": [{"source": 0, "target": 1}],
    }
    result |= changes
    return json.dumps({key: value for key, value in result.items() if value is not None})


def test_links_are_edges_too() -> None:
    old = data(edges=None, links=[{"source": 0, "target": 1}])
    assert imported(NODE_LINK, old).machine == imported(NODE_LINK, data()).machine
    assert NODE_LINK.recognises(old)
    assert NODE_LINK.recognises(data())


def test_ids_of_different_types_differ() -> None:
    mixed = data(nodes=[{"id": 1}, {"id": "1"}], edges=[{"source": 1, "target": "1"}])
    assert imported(NODE_LINK, mixed).machine.num_nodes == 2
    grid: nx.Graph[Any] = nx.grid_2d_graph(2, 3)
    assert imported(NODE_LINK, written(grid, NODE_LINK)).machine.num_nodes == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "not JSON"),
        ("[]", "no JSON object"),
        (data(nodes=None), "it has no nodes"),
        (data(nodes=[]), "it has no nodes"),
        (data(edges=None), "neither edges nor links"),
        (data(links=[]), "both edges and links"),
        (data(edges={}), "its edges are {}"),
        (data(graph=3), "its graph is 3"),
        (data(directed="no"), "its directed is 'no'"),
        (data(nodes=[{"id": 0}, 1]), "node 1 (counted from 0) is 1"),
        (data(nodes=[{"id": 0}, {}]), "expected an object with an"),
        (data(nodes=[{"id": 0}, {"id": 0}]), "as has node 0"),
        (data(nodes=[{"id": 0}, {"id": {}}]), "a number or text of its own"),
        (data(edges=[3]), "edge 0 (counted from 0) is 3"),
        (data(edges=[{"source": 0}]), "its target is missing"),
        (data(edges=[{"source": 0, "target": "O"}]), "its target is 'O'"),
        (data(edges=[{"source": 0, "target": 1}, {"source": 1, "target": 0}]), "repeats another"),
        (data(graph={"unit": "furlongs"}), "its unit is 'furlongs'"),
        (data(graph={"unit": []}), "its unit is []"),
        ('{"TopologyParams": {}}', "TE-CCL"),
    ],
)
def test_node_link_data_that_makes_no_sense(text: str, words: str) -> None:
    assert words in refusal(NODE_LINK, text)


HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
NODES = '<node id="a"/><node id="b"/>'
EDGE = '<edge source="a" target="b"/>'


def graphml(inside: str = NODES + EDGE, keys: str = "") -> str:
    return f'{HEAD}{keys}<graph edgedefault="undirected">{inside}</graph></graphml>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "not XML"),
        (graphml()[:-9], "not XML"),
        ("<graphml/>", "root element is <graphml>"),
        (f"{HEAD}</graphml>", "it holds 0 graphs"),
        (graphml().replace("</graphml>", "<graph/></graphml>"), "it holds 2 graphs"),
        (graphml('<node id="a"/><node id="a"/>'), "the id 'a', as has node 0"),
        (graphml("<node/>"), "has no id"),
        (graphml(NODES + '<edge source="a" target="c"/>'), "its target is 'c'"),
        (graphml(NODES + '<edge source="a"/>'), "its target is missing"),
        (graphml(NODES + EDGE.replace("/>", '><data key="k">1</data></edge>')), "networkx cannot"),
        (graphml(NODES + "<hyperedge/>" + EDGE), "networkx cannot"),
        (
            graphml(
                NODES + '<edge source="a" target="b"><data key="k">much</data></edge>',
                '<key id="k" for="edge" attr.name="bandwidth" attr.type="int"/>',
            ),
            "networkx cannot read it",
        ),
        ('<!DOCTYPE x [<!ENTITY e "x">]>' + graphml(), "refused"),
        ('<!DOCTYPE graphml SYSTEM "file:///etc/hostname">' + graphml(), "refused"),
    ],
)
def test_graphml_that_makes_no_sense(text: str, words: str) -> None:
    assert words in refusal(GRAPHML, text)


def test_ports_mean_nothing(recwarn: pytest.WarningsRecorder) -> None:
    ports = graphml().replace('<node id="a"/>', '<node id="a"><port name="p"/></node>')
    assert imported(GRAPHML, ports).machine == imported(GRAPHML, graphml()).machine
    assert not recwarn.list


def test_the_example_of_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "topology-files.md").read_text()
    example = page.partition("```json\n")[2].partition("```")[0]
    machine = imported(NODE_LINK, example).machine
    assert isinstance(machine, Fabric)
    assert (machine.num_nodes, machine.num_switches, machine.measure) == (3, 1, "GB/s")
    assert [machine.bandwidths[gpu, 3] for gpu in range(3)] == [50, 50, 25]
    for record in (NODE_LINK, GRAPHML):
        assert all(f"`{option.name}`" in page for option in record.options)


def test_another_importer_is_named() -> None:
    others = {record.name: record for record in (NODE_LINK, GRAPHML)}
    with pytest.raises(ImportFormatError, match="importer graphml"):
        import_machine(NODE_LINK, graphml(), "graph", others=others)
    with pytest.raises(ImportFormatError, match="importer node-link"):
        import_machine(GRAPHML, data(), "graph", others=others)
