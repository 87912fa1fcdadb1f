"""BandwidthBound: an element of the bandwidth relation B, and what it counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

__all__ = ["BandwidthBound", "Counting", "Link"]

Link = tuple[int, int]
"""A directed link: (source node, destination node)."""


class Counting(StrEnum):
    """What a bandwidth bound counts; see `syncoll.model.counting` for exactly what that is."""

    SENDS = "sends"
    """Every send over its links."""

    SOURCES = "sources"
    """What a node sends to several others in a step counts once: a switch behind the links copies
    it (multicast)."""

    DESTINATIONS = "destinations"
    """What several nodes send one in a step, for the sum, counts once: a switch before the links
    adds it up (reduction)."""

    @property
    def reversed(self) -> Counting:
        """What it is with every link turned round and time running backwards."""
        return _TURNED[self]


_TURNED = {
    Counting.SENDS: Counting.SENDS,
    Counting.SOURCES: Counting.DESTINATIONS,
    Counting.DESTINATIONS: Counting.SOURCES,
}


@dataclass(frozen=True)
class BandwidthBound:
    """One element (L, b) of the bandwidth relation B.

    In a step of ``r`` rounds at most ``b * r`` sends use the links of ``L`` together.

    Args:
        links: the set L, sorted and without repeats.
        chunks_per_round: b, a positive rational.
        label: what the bound models, for people ("egress of node 3"); may be empty.
        counts: what counts as one of the sends.
    """

    links: tuple[Link, ...]
    chunks_per_round: Fraction
    label: str = field(default="", compare=False)
    counts: Counting = Counting.SENDS

    @property
    def kind(self) -> tuple[Fraction, Counting]:
        """What two bounds have in common that differ in their links and labels alone."""
        return self.chunks_per_round, self.counts

    def capacity(self, rounds: int) -> int:
        """How many sends a step of so many rounds has room for."""
        return int(self.chunks_per_round * rounds)
