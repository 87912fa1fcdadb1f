"""Graphs: networkx's node-link JSON, and GraphML, which most graph libraries and editors write.

Neither defines the meaning of attributes.  These are read:

* edge ``bandwidth``: in each direction, a number in the graph's unit, or text with a unit of its
  own such as ``200 Gb/s``;
* edge ``label``: a description of the link, for people;
* node ``switch``: whether it is a switch: true or false;
* node ``type``, ``kind``: the same in words: ``switch``; ``gpu``, ``node``, ``compute``, ``host``;
* node ``label`` or ``name``: its name for people; else its id;
* graph ``unit``: of bandwidths, such as GB/s, Gb/s, Gbps or b/s; else chunks per round.

Other attributes are left out; the options choose others for bandwidth and unit.  An undirected edge
is two links, and parallel edges of a multigraph add up.  Compute nodes are numbered in the order of
the file, and so are switches.
"""

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
