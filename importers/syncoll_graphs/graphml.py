"""GraphML, parsed by networkx once it is known to be harmless and to name only nodes that exist."""

from __future__ import annotations

import warnings
from typing import Any
from xml.etree.ElementTree import Element

import networkx as nx

from syncoll.importing import complaint
from syncoll.importing.json_text import shown
from syncoll.importing.xml_text import parse_xml
from syncoll_graphs.node_link import Edge, ImportedGraph

__all__ = ["graphml_graph"]

_SPACE = "{http://graphml.graphdrawing.org/xmlns}"


def graphml_graph(text: str, label: str) -> ImportedGraph:
    """Parses a GraphML text.

    Raises:
        ImportFormatError: if it is no GraphML, of a kind that networkx does not read (hyperedges,
            edges of both kinds), or an edge names a missing node.
    """
    root = parse_xml(text, label)
    if root.tag != f"{_SPACE}graphml":
        raise complaint(
            label,
            f"its root element is <{shown(root.tag)[1:-1]}>",
            expected=f'<graphml xmlns="{_SPACE[1:-1]}">',
        )
    graphs = root.findall(f"{_SPACE}graph")
    if len(graphs) != 1 or len(list(root.iter(f"{_SPACE}graph"))) != 1:
        found = len(list(root.iter(f"{_SPACE}graph")))
        raise complaint(label, f"it holds {found} graphs", expected="one graph, not nested")
    _check_ends(graphs[0], label)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of ports, which mean nothing here
            parsed: nx.Graph[Any] = nx.parse_graphml(text.removeprefix("\ufeff"), node_type=str)
    except Exception as error:  # whatever a stranger's file makes the library raise
        raise complaint(
            label,
            f"networkx cannot read it: {shown(str(error))[1:-1]}",
            expected="GraphML with keys that are declared and values of their types",
        ) from None
    number = {node: i for i, node in enumerate(parsed.nodes)}
    edges = tuple(
        Edge(number[u], number[v], dict(data), f"edge {i} (counted from 0), from {u} to {v}")
        for i, (u, v, data) in enumerate(parsed.edges(data=True))
    )
    nodes = tuple((str(node), dict(data)) for node, data in parsed.nodes(data=True))
    return ImportedGraph(
        nodes, edges, parsed.is_directed(), parsed.is_multigraph(), dict(parsed.graph)
    )


def _check_ends(graph: Element, label: str) -> None:
    """Refuses an edge to a node that is none: networkx would make a new node of it."""
    nodes: set[str] = set()
    for i, node in enumerate(graph.iter(f"{_SPACE}node")):
        name = node.get("id")
        if name is None or name in nodes:
            raise complaint(
                label,
                f"node {i} (counted from 0) has "
                + ("no id" if name is None else f"the id {shown(name)} of another"),
                expected="an id of its own",
            )
        nodes.add(name)
    for i, edge in enumerate(graph.iter(f"{_SPACE}edge")):
        for side in ("source", "target"):
            name = edge.get(side)
            if name not in nodes:
                raise complaint(
                    label,
                    f"edge {i} (counted from 0): its {side} is "
                    + ("missing" if name is None else shown(name)),
                    expected="the id of a node",
                )
