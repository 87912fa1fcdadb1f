"""Graph: nodes and edges with their attributes, whatever the file was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Edge", "Graph"]


@dataclass(frozen=True)
class Edge:
    """An edge.

    Args:
        source: position of a node in `Graph.nodes`.
        destination: position of another.
        attributes: by name.
        where: what a message calls it: ``edge 3 (counted from 0), from a to b``.
    """

    source: int
    destination: int
    attributes: Mapping[str, Any]
    where: str


@dataclass(frozen=True)
class Graph:
    """A graph as a file has it.

    Args:
        nodes: each node's id as text, and its attributes.
        edges: in the order of the file.
        directed: whether an edge leads one way only.
        multigraph: whether edges may repeat.
        attributes: of the graph itself.
    """

    nodes: tuple[tuple[str, Mapping[str, Any]], ...]
    edges: tuple[Edge, ...]
    directed: bool
    multigraph: bool
    attributes: Mapping[str, Any]
