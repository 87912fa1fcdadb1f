"""Graph: places and the two-way links between them, thinned to what data between GPUs can use."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from syncoll.importing import Cables

__all__ = ["NcclGraph", "Vertex"]

Vertex = tuple[str, str]
"""A `Place`, or what stands for a switch that has none."""


class NcclGraph:
    """Two-way links, at most one between two vertices; `nodes` are the compute nodes in order."""

    def __init__(self, nodes: Iterable[Vertex]) -> None:
        self.nodes = tuple(nodes)
        self._links: dict[Vertex, dict[Vertex, tuple[Fraction, str]]] = {
            node: {} for node in self.nodes
        }

    def join(self, one: Vertex, other: Vertex, bandwidth: Fraction, label: str) -> None:
        """Links two vertices; several links between the same two add up."""
        known, labels = self._links.setdefault(one, {}).get(other, (Fraction(0), ""))
        link = (
            known + bandwidth,
            labels if label in labels.split(" + ") else f"{labels} + {label}".lstrip(" +"),
        )
        self._links[one][other] = self._links.setdefault(other, {})[one] = link

    def reached(self) -> set[Vertex]:
        """All that can be reached from node 0."""
        seen = {self.nodes[0]}
        todo = [self.nodes[0]]
        while todo:
            for neighbour in self._links[todo.pop()]:
                if neighbour not in seen:
                    seen.add(neighbour)
                    todo.append(neighbour)
        return seen

    @property
    def connects_nodes(self) -> bool:
        """Whether there is a way between any two compute nodes."""
        return self.reached().issuperset(self.nodes)

    def thin(self, kept: Iterable[Vertex] = ()) -> None:
        """Drops dead-end switches, and those between two unlinked neighbours, except `kept`.

        Neither changes what the nodes can send to one another.
        """
        nodes = {*self.nodes, *kept}
        todo = [vertex for vertex in self._links if vertex not in nodes]
        while todo:
            switch = todo.pop()
            around = self._links.get(switch)
            if around is None or len(around) > 2:
                continue
            ends = list(around)
            if len(ends) == 2 and ends[1] in self._links[ends[0]]:
                continue
            del self._links[switch]
            for end in ends:
                del self._links[end][switch]
            if len(ends) == 2:
                bandwidth, label = min(around[end] for end in ends)
                self.join(ends[0], ends[1], bandwidth, label)
            todo += [end for end in ends if end not in nodes]

    def cables(self) -> tuple[Cables, tuple[Vertex, ...]]:
        """The links with vertices numbered, and the switches in the order of their numbers."""
        known = set(self.nodes)
        switches = tuple(vertex for vertex in self._links if vertex not in known)
        number = {vertex: i for i, vertex in enumerate((*self.nodes, *switches))}
        cables = Cables(len(self.nodes), len(switches))
        for vertex, around in self._links.items():
            for other, (bandwidth, label) in around.items():
                cables.add(number[vertex], number[other], bandwidth, label, both_ways=False)
        return cables, switches
