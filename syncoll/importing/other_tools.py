"""Inputs of other tools that look like topologies and do not hold one, told in words."""

from __future__ import annotations

import re
from typing import Any

from syncoll.errors import ImportFormatError
from syncoll.importing.errors import complaint
from syncoll.importing.json_text import parse_json

__all__ = ["foreign_json", "foreign_text", "parse_topology"]

_IN_CODE = (
    "; write the machine in a .syncoll file, or as a graph with its links (importers node-link and "
    "graphml)"
)


def parse_topology(text: str, label: str) -> Any:
    """Parses JSON; raises ImportFormatError also for the input of another tool."""
    try:
        data = parse_json(text, label)
    except ImportFormatError:
        if other := foreign_text(text):
            raise complaint(label, f"it is {other}") from None
        raise
    if other := foreign_json(data):
        raise complaint(label, f"it is {other}")
    return data


def foreign_json(data: Any) -> str:
    """What a JSON value is an input of, and why it cannot be imported; empty when unknown."""
    if not isinstance(data, dict):
        return ""
    if "TopologyParams" in data:
        return (
            "an input of TE-CCL: it names a topology whose links and bandwidths TE-CCL has in its "
            "program, not in this file" + _IN_CODE
        )
    if "node_betas_list" in data or "node_invbws_list" in data or "invbws" in data:
        return (
            "a topology of TACCL: it holds latencies and inverse bandwidths for messages of one "
            "size; which GPUs they join TACCL has in its program" + _IN_CODE
        )
    if "intranode_sketch" in data or "internode_sketch" in data:
        return "a sketch of TACCL: it restricts a search and describes no links" + _IN_CODE
    if "logical-dims" in data:
        return (
            "the logical shape that ASTRA-sim gives its nodes: it holds no links; their network is "
            "in another file" + _IN_CODE
        )
    return ""


def foreign_text(text: str) -> str:
    """What a text that is no JSON is an input of, in words; empty when unknown."""
    head = text[:4000]
    if re.search(r"^\s*npus_count\s*:", head, re.MULTILINE):
        return (
            "a network of ASTRA-sim's analytical backend: it names shapes, not links; hub(8), "
            "ring(8), fully_connected(8) and the like are in the library (syncoll spec list)"
        )
    if re.search(r"^\s*Tiers\s+[0-9]+\s*$", head, re.MULTILINE) and "Radix_Down" in head:
        return (
            "a fat tree of htsim: it gives radices and speeds of its tiers, not links; "
            "fat_tree(…) is in the library (syncoll spec list)"
        )
    if re.match(r"\s*(<!--((?!-->).)*-->\s*)*<algo[\s>]", head, re.DOTALL):
        return "an algorithm in MSCCL XML, which `syncoll verify` reads; it describes no machine"
    return ""
