"""A fabric from a graph with attributes; a topology if it has no switch and no unit."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from syncoll.errors import OptionError
from syncoll.importing import Machine, TextError, parse_rate
from syncoll.importing.json_text import exact_number, parse_topology, shown
from syncoll.model import Topology
from syncoll.plugins import Imported, Options
from syncoll.wording import few
from syncoll_graphs.graphs import Edge, ImportedGraph, graphml_graph, node_link_graph

_LONGEST = 40
"""Characters of a bandwidth with its unit."""

_COMPUTE = ("gpu", "node", "compute", "host")
_CHUNKS = ("chunks", "chunks per round", "chunks/round")


class NodeLinkImporter:
    """Reads node-link JSON."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        data = parse_topology(text)
        return _imported(node_link_graph(data), options)


class GraphmlImporter:
    """Reads GraphML."""

    def read(self, text: str, label: str, options: Options) -> Imported:
        """See `syncoll.plugins.Importer`."""
        return _imported(graphml_graph(text), options)


def _imported(graph: ImportedGraph, options: Options) -> Imported:
    machine = Machine()
    for i, (name, attributes) in enumerate(graph.nodes):
        add = machine.switch if _is_switch(name, attributes) else machine.node
        add(i, _name(name, attributes))
    nodes, switches = machine.size
    if not nodes:
        raise TextError("all its nodes are switches", "compute nodes too")
    bandwidths, unit, machine.notes = _bandwidths(graph, options)
    machine.in_chunks = not unit
    seen: set[tuple[int, int]] = set()
    for edge, bandwidth in zip(graph.edges, bandwidths, strict=True):
        ends = edge.source, edge.destination
        if ends[0] == ends[1]:
            raise TextError(edge.where, "an edge between two different nodes")
        pairs = {ends} if graph.directed else {ends, ends[::-1]}
        if not graph.multigraph and pairs & seen:
            raise TextError(
                f"{edge.where} repeats another",
                "each edge once, or a multigraph, in which parallel edges add up",
            )
        seen |= pairs
        machine.join(*ends, bandwidth, _label(edge), both_ways=not graph.directed)
    if not graph.directed:
        machine.note("Its edges are undirected: each is a link of its bandwidth in each direction.")
    found = machine.imported()
    if switches or unit:
        return found
    rates = found.machine.bandwidths  # type: ignore[union-attr]
    return replace(found, machine=Topology.from_links("imported", nodes, rates))


def _is_switch(name: str, attributes: Mapping[str, Any]) -> bool:
    """By the attribute ``switch``, else by ``type`` or ``kind``; a node without any computes."""
    if "switch" in attributes:
        value = attributes["switch"]
        word = str(value).strip().lower()
        if word in ("true", "1", "yes"):
            return True
        if word in ("false", "0", "no"):
            return False
        raise TextError(f"node {shown(name)}: switch is {shown(value)}", "true or false")
    for key in ("type", "kind"):
        if key in attributes:
            word = str(attributes[key]).strip().lower()
            if word != "switch" and word not in _COMPUTE:
                raise TextError(
                    f"node {shown(name)}: {key} is {shown(attributes[key])}",
                    f"switch, or {', '.join(_COMPUTE)}; the attribute switch, true or "
                    "false, goes before it",
                )
            return word == "switch"
    return False


def _bandwidths(graph: ImportedGraph, options: Options) -> tuple[list[Fraction], bool, list[str]]:
    """Bandwidths of all edges; whether they are in GB/s, not in chunks per round; notes."""
    attribute = str(options["bandwidth"])
    given = [edge for edge in graph.edges if attribute in edge.attributes]
    unit = _unit(graph, options)
    if not given:
        if unit or attribute != "bandwidth":
            raise TextError(
                f"no edge has the attribute {shown(attribute)}",
                "a bandwidth of each edge; " + _others(graph),
            )
        notes = [
            "Assumed: one chunk per round on each edge, since none has an attribute bandwidth; "
            + _others(graph)
            + "."
        ]
        return [Fraction(1)] * len(graph.edges), False, notes
    if len(given) < len(graph.edges):
        without = next(edge for edge in graph.edges if attribute not in edge.attributes)
        raise TextError(
            f"{without.where} has no attribute {shown(attribute)}, but others have",
            "a bandwidth of each edge",
        )
    found = [_bandwidth(edge, attribute, unit) for edge in given]
    if len({has_unit for _, has_unit in found}) > 1:
        odd = next(edge for edge, (_, own) in zip(given, found, strict=True) if own != found[0][1])
        raise TextError(
            f"{odd.where}: {attribute} is {shown(odd.attributes[attribute])}, but others "
            + ("have units" if found[0][1] else "have none"),
            "a unit for all or for none; the option unit gives those without one",
        )
    note = "Bandwidths are the file's" + (", in chunks per round." if not found[0][1] else ".")
    return [bandwidth for bandwidth, _ in found], found[0][1], [note]


def _unit(graph: ImportedGraph, options: Options) -> str:
    """The unit of bandwidths without one of their own; empty for chunks per round."""
    given = str(options["unit"]).strip()
    unit = given or graph.attributes.get("unit", "chunks")
    if unit in _CHUNKS:
        return ""
    if not isinstance(unit, str) or len(unit) > _LONGEST or parse_rate(f"1{unit}") is None:
        expected = "chunks, or a unit such as GB/s, Gb/s, Gbps or b/s"
        if given:
            raise OptionError(f"option unit is {given!r}; it must be {expected}")
        raise TextError(f"its unit is {shown(unit)}", expected)
    return unit


def _bandwidth(edge: Edge, attribute: str, unit: str) -> tuple[Fraction, bool]:
    """The bandwidth of an edge, and whether it is in GB/s."""
    value = edge.attributes[attribute]
    number = exact_number(value)
    if number is not None and number > 0:
        scale = parse_rate(f"1{unit}") if unit else None
        return (number * scale, True) if scale else (number, False)
    is_text = isinstance(value, str) and number is None and len(value) <= _LONGEST
    rate = parse_rate(value) if is_text else None
    if rate is None:
        raise TextError(
            f"{edge.where}: {attribute} is {shown(value)}",
            "a number above 0, or text with a unit such as 25 GB/s or 200 Gb/s",
        )
    return rate, True


def _others(graph: ImportedGraph) -> str:
    """Attributes of edges that might hold a bandwidth, in words."""
    names = sorted({key for edge in graph.edges for key in edge.attributes} - {"label", "id"})
    if not names:
        return "edges have no other attributes"
    there = few([shown(name)[1:-1] for name in names])
    return f"edges have {there}: the option bandwidth=NAME chooses one"


def _label(edge: Edge) -> str:
    label = edge.attributes.get("label", "")
    return label[:80] if isinstance(label, str) else ""


def _name(identity: str, attributes: Mapping[str, Any]) -> str:
    for key in ("label", "name"):
        if isinstance(attributes.get(key), str) and attributes[key].strip():
            return str(attributes[key])[:80]
    return identity[:80]
