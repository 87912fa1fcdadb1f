"""Node-link JSON: what ``networkx.node_link_data`` makes of a graph.

::

    {"directed": false, "multigraph": false, "graph": {"unit": "GB/s"},
     "nodes": [{"id": 0}, {"id": "s", "switch": true}],
     "edges": [{"source": 0, "target": "s", "bandwidth": 25}]}

networkx before 3.4 writes ``links`` for ``edges``; both are read.  It is read here and not by
networkx, which makes new nodes of ids that are misspelt in an edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from syncoll.importing import complaint
from syncoll.importing.json_text import shown

__all__ = ["Edge", "ImportedGraph", "node_link_graph"]


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


def node_link_graph(data: Any, label: str) -> ImportedGraph:
    """Parses a JSON value.

    Raises:
        ImportFormatError: if it is no node-link data, or names a missing node.
    """
    if not isinstance(data, dict):
        raise complaint(label, "it is no JSON object", expected=_EXPECTED)
    nodes = data.get("nodes")
    keys = [key for key in ("edges", "links") if key in data]
    if not isinstance(nodes, list) or not nodes or len(keys) != 1:
        lacks = (
            "it has both edges and links"
            if len(keys) > 1
            else "it has no nodes"
            if not isinstance(nodes, list) or not nodes
            else "it has neither edges nor links"
        )
        raise complaint(label, lacks, expected=_EXPECTED)
    edges = data[keys[0]]
    if not isinstance(edges, list):
        raise complaint(label, f"its {keys[0]} are {shown(edges)}", expected=_EXPECTED)
    if len(nodes) > _MOST or len(edges) > _MOST:
        raise complaint(label, f"{len(nodes)} nodes and {len(edges)} edges; at most {_MOST} each")
    attributes = data.get("graph", {})
    if isinstance(attributes, list):  # networkx 1 wrote pairs
        pairs = [pair for pair in attributes if isinstance(pair, list) and len(pair) == 2]
        attributes = {key: value for key, value in pairs if isinstance(key, str)}
    if not isinstance(attributes, dict):
        raise complaint(label, f"its graph is {shown(attributes)}", expected="an object")
    number: dict[str, int] = {}
    found = []
    for i, node in enumerate(nodes):
        if not isinstance(node, dict) or "id" not in node:
            raise complaint(
                label,
                f"node {i} (counted from 0) is {shown(node)}",
                expected='an object with an "id"',
            )
        key = _key(node["id"])
        if key is None or key in number:
            raise complaint(
                label,
                f"node {i} (counted from 0) has the id {shown(node['id'])}"
                + ("" if key is None else f", as has node {number[key]}"),
                expected="a number or text of its own",
            )
        number[key] = i
        found.append((str(node["id"]), {k: v for k, v in node.items() if k != "id"}))
    return ImportedGraph(
        tuple(found),
        tuple(_edge(edge, i, number, label) for i, edge in enumerate(edges)),
        _flag(data, "directed", label),
        _flag(data, "multigraph", label),
        attributes,
    )


def _edge(edge: Any, i: int, number: dict[str, int], label: str) -> Edge:
    where = f"edge {i} (counted from 0)"
    if not isinstance(edge, dict):
        raise complaint(
            label, f"{where} is {shown(edge)}", expected='an object with "source" and "target"'
        )
    ends = []
    for side in ("source", "target"):
        key = _key(edge.get(side))
        if key is None or key not in number:
            what = shown(edge[side]) if side in edge else "missing"
            raise complaint(label, f"{where}: its {side} is {what}", expected="the id of a node")
        ends.append(number[key])
    where += f", from {shown(edge['source'])} to {shown(edge['target'])}"
    rest = {key: value for key, value in edge.items() if key not in ("source", "target", "key")}
    return Edge(ends[0], ends[1], rest, where)


def _key(value: Any) -> str | None:
    """What tells ids apart: the number 1 and the text ``1`` are two."""
    if isinstance(value, list):  # a tuple, once
        parts = [_key(part) for part in value]
        return None if None in parts else f"[{', '.join(map(str, parts))}]"
    if isinstance(value, dict | bool) or value is None:
        return None
    return repr(value)


def _flag(data: dict[str, Any], name: str, label: str) -> bool:
    value = data.get(name, False)
    if not isinstance(value, bool):
        raise complaint(label, f"its {name} is {shown(value)}", expected="true or false")
    return value
