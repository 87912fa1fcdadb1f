"""Graphs: networkx's node-link JSON, and GraphML; docs/topology-files.md has their attributes."""

import re

from syncoll.plugins import ImporterRecord, Option

_OPTIONS = (
    Option("bandwidth", "bandwidth", "the edge attribute that holds the bandwidth"),
    Option(
        "unit",
        "",
        "of bandwidths, such as GB/s, Gbps or b/s, or chunks (per round); by default the graph's "
        "attribute unit, or chunks",
    ),
)
_NODES = re.compile(r'"nodes"\s*:\s*\[')
_EDGES = re.compile(r'"(links|edges)"\s*:\s*\[')
_GRAPHML = re.compile(r"<graphml[\s>]")


NODE_LINK = ImporterRecord(
    name="node-link",
    summary="node-link JSON of networkx (node_link_data): edges with a bandwidth, nodes that are "
    "switches",
    load="syncoll_graphs.importers:NodeLinkImporter",
    recognises=lambda text: None not in (_NODES.search(text), _EDGES.search(text)),
    options=_OPTIONS,
)
GRAPHML = ImporterRecord(
    name="graphml",
    summary="GraphML of networkx and others: edges with a bandwidth, nodes that are switches",
    load="syncoll_graphs.importers:GraphmlImporter",
    recognises=lambda text: _GRAPHML.search(text, 0, 20_000) is not None,
    options=_OPTIONS,
)
RECORDS = (NODE_LINK, GRAPHML)
