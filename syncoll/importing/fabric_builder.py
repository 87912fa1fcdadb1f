"""Cables: collects the links of an importer, one by one, and makes a `Fabric` of them."""

from __future__ import annotations

from fractions import Fraction

from syncoll.model import Fabric, FabricLink
from syncoll.model.fabric import Measure


def with_label(labels: str, label: str) -> str:
    """The labels of parallel links, with another."""
    if not label or label in labels.split(" + "):
        return labels
    return f"{labels} + {label}" if labels else label


class Cables:
    """The links of a machine while it is read; its vertices ``0 … nodes-1`` are compute nodes."""

    def __init__(self, nodes: int, switches: int = 0) -> None:
        self.nodes = nodes
        self.switches = switches
        self._links: dict[tuple[int, int], tuple[Fraction, str]] = {}

    def add(
        self,
        source: int,
        destination: int,
        bandwidth: int | Fraction,
        label: str = "",
        *,
        both_ways: bool = True,
    ) -> None:
        """Adds a link, or its bandwidth to an existing one.

        Args:
            bandwidth: that of each direction, above 0, in GB/s unless `fabric` gets another
                measure.
            label: a name for people; parallel links keep all different ones.
        """
        ends = (source, destination)
        for link in (ends, ends[::-1])[: 1 + both_ways]:
            total, labels = self._links.get(link, (Fraction(0), ""))
            self._links[link] = total + bandwidth, with_label(labels, label)

    def fabric(self, *, measure: Measure = "GB/s", unit: Fraction | None = None) -> Fabric:
        """The network of all links so far.

        Args:
            unit: the bandwidth that carries one chunk per round; by default the slowest link's.

        Raises:
            ModelError: see `Fabric`.
        """
        links = tuple(FabricLink(*ends, *what) for ends, what in sorted(self._links.items()))
        return Fabric("imported", self.nodes, self.switches, links, measure=measure, unit=unit)
