"""BandwidthBound: an element of the bandwidth relation B, and how it counts sends."""

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from syncoll.model.grains import Rounds

Link = tuple[int, int]
"""A directed link: (source node, destination node)."""


class Counting(StrEnum):
    """How a bandwidth bound counts sends; `syncoll.model.counting` defines it exactly."""

    SENDS = "sends"
    """Every send over its links."""

    SOURCES = "sources"
    """Sends of one value by one node in a step count once: a switch behind the links copies it."""

    DESTINATIONS = "destinations"
    """Sends of parts of one sum count once: a switch before the links adds them up."""

    @property
    def reversed(self) -> "Counting":
        """The counting with every link reversed and time running backwards."""
        turned = {Counting.SOURCES: Counting.DESTINATIONS, Counting.DESTINATIONS: Counting.SOURCES}
        return turned.get(self, self)


@dataclass(frozen=True)
class BandwidthBound:
    """One element (L, b) of the bandwidth relation B.

    In a step of ``r`` rounds at most ``b * r`` sends use the links of ``L`` together.

    Args:
        links: the set L, sorted and distinct.
        chunks_per_round: b, a positive rational.
        label: a name for people, such as "egress of node 3"; may be empty.
    """

    links: tuple[Link, ...]
    chunks_per_round: Fraction
    label: str = field(default="", compare=False)
    counts: Counting = Counting.SENDS

    @property
    def kind(self) -> tuple[Fraction, Counting]:
        """Equal for bounds that differ only in links and labels."""
        return self.chunks_per_round, self.counts

    def capacity(self, rounds: Rounds) -> int:
        """The number of sends that a step has room for."""
        return int(self.chunks_per_round * rounds)
