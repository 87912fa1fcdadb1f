"""Cards: the network interfaces of a system, how near they are to its GPUs, and where they hang."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from syncoll.importing import used_cards
from syncoll.plugins import NetworkCard, OptionValue
from syncoll_nccl_xml.graph import Vertex
from syncoll_nccl_xml.system import Net, Place, System

__all__ = ["Cards"]

_SAME_CPU, _OTHER_CPU, _OTHER_HOST = 10_000, 20_000, 30_000


class Cards:
    """The interfaces that are PCI devices; only if there are none, the others.

    Args:
        gpus: places of the compute nodes.
        merged: for bridges that are one switch the vertex that stands for them.

    Raises:
        OptionError: if a cluster is asked for and a chosen card does not exist.
        ImportFormatError: if a cluster is asked for and there are no cards.
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
        """Names of the interfaces that are not taken for cards, as bridges of containers."""
        ways = [self._way(gpu) for gpu in gpus]
        self._cards: list[tuple[Net, NetworkCard]] = []
        for net in nets:
            own = self._way(net.place)
            far = tuple(_distance(way, own) for way in ways)
            self._cards.append((net, NetworkCard(net.name, far, net.bandwidth)))
        self.places: frozenset[Place] = frozenset()
        """Where the cards are that join boxes; empty for one box."""
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
        """All cards, in the order of the file; `switches` says which switch each hangs on."""
        return tuple(
            replace(card, switch=switches[net.place], lanes=self._bandwidths.get(net.place))
            if net.place in switches
            else card
            for net, card in self._cards
        )

    def _way(self, place: Place) -> list[Place]:
        """The bridges above a place, those of one switch as one, and its CPU."""
        way = [] if place in self._above else [place]
        while place in self._above:
            place = self._above[place]
            head = self._merged.get(place, place)
            if not way or way[-1] != head:
                way.append(head)
        return way


def _distance(one: Sequence[Place], other: Sequence[Place]) -> int:
    """How far two devices are apart, by the places above them: bridges, CPUs, sockets."""
    if one[-1] != other[-1]:
        return _OTHER_HOST if one[-1][0] != other[-1][0] else _OTHER_CPU
    meet = next(place for place in one if place in other)
    return _SAME_CPU if meet == one[-1] else one.index(meet) + other.index(meet)
