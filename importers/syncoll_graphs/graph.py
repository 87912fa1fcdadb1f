"""Graph: nodes and edges with their attributes, whatever the file was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Edge", "ImportedGraph"]


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
