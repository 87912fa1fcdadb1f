"""Graph: places and the two-way links between them, reduced to links that GPUs can use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from syncoll.importing import Cables, used_cards
from syncoll.model.fabric import reached
from syncoll.plugins import NetworkCard, OptionValue
from syncoll_nccl_xml.system import Net, Place, System

__all__ = ["Cards", "NcclGraph", "Vertex"]

Vertex = tuple[str, str]
"""A `Place`, or the representative of a switch without one."""


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

    def reached(self) -> frozenset[Vertex]:
        """All that can be reached from node 0."""
        links = ((one, other) for one, around in self._links.items() for other in around)
        return reached(links, self.nodes[0])

    @property
    def connects_nodes(self) -> bool:
        """Whether a path leads from each compute node to each other."""
        return self.reached().issuperset(self.nodes)

    def thin(self, kept: Iterable[Vertex] = ()) -> None:
        """Drops dead-end switches, and those between two unlinked neighbours, except `kept`.

        Neither changes the data that nodes can exchange.
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


_SAME_CPU, _OTHER_CPU, _OTHER_HOST = 10_000, 20_000, 30_000


class Cards:
    """The interfaces that are PCI devices; without any, the others.

    For a cluster, raises OptionError if a chosen card is missing, ImportFormatError without any.
    `merged` has the representative of each bridge that is one switch with others.
    """

    def __init__(
        self,
        system: System,
        gpus: Sequence[Place],
        merged: Mapping[Place, Place],
        options: Mapping[str, OptionValue],
        label: str,
    ) -> None:
        self._above = {device.place: device.parent for device in system.devices}
        self._bandwidths = {device.place: device.bandwidth for device in system.devices}
        self._merged = merged
        on_pci = [net for net in system.nets if net.place in self._above]
        nets = on_pci or list(system.nets)
        self.others = tuple(net.name for net in system.nets if net not in nets)
        """Names of the interfaces that are not taken for cards, such as bridges of containers."""
        ways = [self._way(gpu) for gpu in gpus]
        self._cards: list[tuple[Net, NetworkCard]] = []
        for net in nets:
            own = self._way(net.place)
            far = tuple(_distance(way, own) for way in ways)
            self._cards.append((net, NetworkCard(net.name, far, net.bandwidth)))
        self.places: frozenset[Place] = frozenset()
        """The places of the cards that join boxes; empty for one box."""
        if int(options["boxes"]) > 1:
            every = [card for _, card in self._cards]
            used = used_cards(every, options, label, "importer nccl-xml")
            self.places = frozenset(net.place for net, card in self._cards if card in used)

    def hooks(self, reached: Collection[Vertex]) -> dict[Place, Vertex]:
        """For the cards that join boxes the bridge or CPU above, if it is among these vertices."""
        found = {}
        for place in self.places:
            above = self._above.get(place, place)
            above = self._merged.get(above, above)
            if above in reached:
                found[place] = above
        return found

    def told(self, switches: Mapping[Place, int]) -> tuple[NetworkCard, ...]:
        """All cards, in the order of the file; `switches` has the switch of each."""
        return tuple(
            replace(card, switch=switches[net.place], lanes=self._bandwidths.get(net.place))
            if net.place in switches
            else card
            for net, card in self._cards
        )

    def _way(self, place: Place) -> list[Place]:
        """The bridges above a place, with bridges of one switch as one, and its CPU."""
        way = [] if place in self._above else [place]
        while place in self._above:
            place = self._above[place]
            head = self._merged.get(place, place)
            if not way or way[-1] != head:
                way.append(head)
        return way


def _distance(one: Sequence[Place], other: Sequence[Place]) -> int:
    """The distance of two devices, by the places above them: bridges, CPUs, sockets."""
    if one[-1] != other[-1]:
        return _OTHER_HOST if one[-1][0] != other[-1][0] else _OTHER_CPU
    meet = next(place for place in one if place in other)
    return _SAME_CPU if meet == one[-1] else one.index(meet) + other.index(meet)
