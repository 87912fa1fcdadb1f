"""Graphs of files, with the attributes of nodes and edges; docs/topology-files.md has an example.

networkx before 3.4 writes ``links`` for ``edges``; both are read.  JSON is read here and not by
networkx, which makes new nodes of ids that are misspelt in an edge.  GraphML is parsed by networkx
once it is known to be harmless and to name only nodes that exist.
"""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx

from syncoll.importing import TextError
from syncoll.importing.json_text import shown
from syncoll.importing.xml_text import parse_xml


@dataclass(frozen=True)
class Edge:
    """An edge between two positions in `ImportedGraph.nodes`; `where` names it in messages."""

    source: int
    destination: int
    attributes: Mapping[str, Any]
    where: str


@dataclass(frozen=True)
class ImportedGraph:
    """A graph as read: node ids as text with attributes, edges in file order, graph attributes."""

    nodes: tuple[tuple[str, Mapping[str, Any]], ...]
    edges: tuple[Edge, ...]
    directed: bool
    multigraph: bool
    attributes: Mapping[str, Any]


_EXPECTED = '{"directed": …, "graph": {…}, "nodes": [{"id": …}, …], "edges": [{"source": …, …}, …]}'
_MOST = 1 << 20


def node_link_graph(data: Any) -> ImportedGraph:
    """Parses a JSON value; ImportFormatError if it is no node-link data, or a node is missing."""
    if not isinstance(data, dict):
        raise TextError("it is no JSON object", _EXPECTED)
    nodes = data.get("nodes")
    keys = [key for key in ("edges", "links") if key in data]
    if not isinstance(nodes, list) or not nodes:
        raise TextError("it has no nodes", _EXPECTED)
    if len(keys) != 1:
        both = "both edges and" if keys else "neither edges nor"
        raise TextError(f"it has {both} links", _EXPECTED)
    edges = data[keys[0]]
    if not isinstance(edges, list):
        raise TextError(f"its {keys[0]} are {shown(edges)}", _EXPECTED)
    if len(nodes) > _MOST or len(edges) > _MOST:
        raise TextError(f"{len(nodes)} nodes and {len(edges)} edges; at most {_MOST} each")
    attributes = data.get("graph", {})
    if isinstance(attributes, list):  # networkx 1 wrote pairs
        pairs = [pair for pair in attributes if isinstance(pair, list) and len(pair) == 2]
        attributes = {key: value for key, value in pairs if isinstance(key, str)}
    if not isinstance(attributes, dict):
        raise TextError(f"its graph is {shown(attributes)}", "an object")
    for i, node in enumerate(nodes):
        if not isinstance(node, dict) or "id" not in node:
            raise TextError(f"node {i} (counted from 0) is {shown(node)}", 'an object with an "id"')
    number = _numbered(node["id"] for node in nodes)
    return ImportedGraph(
        tuple((str(node["id"]), {k: v for k, v in node.items() if k != "id"}) for node in nodes),
        tuple(_edge(edge, i, number) for i, edge in enumerate(edges)),
        _flag(data, "directed"),
        _flag(data, "multigraph"),
        attributes,
    )


def _edge(edge: Any, i: int, number: dict[str, int]) -> Edge:
    where = f"edge {i} (counted from 0)"
    if not isinstance(edge, dict):
        raise TextError(f"{where} is {shown(edge)}", 'an object with "source" and "target"')
    ends = _ends(edge, where, number)
    where += f", from {shown(edge['source'])} to {shown(edge['target'])}"
    rest = {key: value for key, value in edge.items() if key not in ("source", "target", "key")}
    return Edge(*ends, rest, where)


def _numbered(ids: Iterable[Any]) -> dict[str, int]:
    """The numbers of nodes by the keys of their ids, which differ."""
    number: dict[str, int] = {}
    for i, one in enumerate(ids):
        key = _key(one)
        if key is None or key in number:
            has = "no id" if one is None else f"the id {shown(one)}"
            raise TextError(
                f"node {i} (counted from 0) has {has}"
                + ("" if key is None else f", as has node {number[key]}"),
                "a number or text of its own",
            )
        number[key] = i
    return number


def _ends(edge: Mapping[str, Any], where: str, number: Mapping[str, int]) -> tuple[int, int]:
    """The numbers of an edge's source and target."""
    source, target = (number.get(_key(edge.get(side)) or "") for side in ("source", "target"))
    if source is None or target is None:
        side = "source" if source is None else "target"
        what = shown(edge[side]) if side in edge else "missing"
        raise TextError(f"{where}: its {side} is {what}", "the id of a node")
    return source, target


def _key(value: Any) -> str | None:
    """A key that distinguishes ids: the number 1 and the text ``1`` are two."""
    if isinstance(value, list):  # a tuple, once
        parts = [_key(part) for part in value]
        return None if None in parts else f"[{', '.join(map(str, parts))}]"
    if isinstance(value, dict | bool) or value is None:
        return None
    return repr(value)


def _flag(data: dict[str, Any], name: str) -> bool:
    value = data.get(name, False)
    if not isinstance(value, bool):
        raise TextError(f"its {name} is {shown(value)}", "true or false")
    return value


_SPACE = "{http://graphml.graphdrawing.org/xmlns}"


def graphml_graph(text: str) -> ImportedGraph:
    """Parses a GraphML text.  Raises `ImportFormatError` if it is no GraphML, of a kind that
    networkx does not read (hyperedges, edges of both kinds), or an edge names a missing node."""
    root = parse_xml(text)
    if root.tag != f"{_SPACE}graphml":
        raise TextError(
            f"its root element is <{shown(root.tag)[1:-1]}>", f'<graphml xmlns="{_SPACE[1:-1]}">'
        )
    graphs = root.findall(f"{_SPACE}graph")
    found = len(list(root.iter(f"{_SPACE}graph")))
    if len(graphs) != 1 or found != 1:
        raise TextError(f"it holds {found} graphs", "one graph, not nested")
    # networkx would make a new node for an edge to a missing one.
    ids = _numbered(node.get("id") for node in graphs[0].iter(f"{_SPACE}node"))
    for i, edge in enumerate(graphs[0].iter(f"{_SPACE}edge")):
        _ends(edge.attrib, f"edge {i} (counted from 0)", ids)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of ports, which mean nothing here
            parsed: nx.Graph[Any] = nx.parse_graphml(text.removeprefix("\ufeff"), node_type=str)
    except Exception as error:  # networkx may raise any error for a file from outside
        raise TextError(
            f"networkx cannot read it: {shown(str(error))[1:-1]}",
            "GraphML with keys that are declared and values of their types",
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
