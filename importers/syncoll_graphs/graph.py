"""Graph: nodes and edges with their attributes, whatever the file was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Edge", "ImportedGraph"]


@dataclass(frozen=True)
class Edge:
    """An edge between two nodes, by their positions in `ImportedGraph.nodes`.

    `where` names it in messages.
    """

    source: int
    destination: int
    attributes: Mapping[str, Any]
    where: str


@dataclass(frozen=True)
class ImportedGraph:
    """A graph as a file has it: each node's id as text with its attributes, the edges in the order
    of the file, whether they lead one way only and may repeat, and the attributes of the graph
    itself.
    """

    nodes: tuple[tuple[str, Mapping[str, Any]], ...]
    edges: tuple[Edge, ...]
    directed: bool
    multigraph: bool
    attributes: Mapping[str, Any]
