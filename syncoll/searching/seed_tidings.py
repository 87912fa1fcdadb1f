"""What a search and the process in which its seeds work tell each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from syncoll.model import Collective, Topology
from syncoll.plugins import OptionValue, Proposal, SeedLimits, SeedRecord
from syncoll.results.family import Family
from syncoll.solving.worker import Failed

__all__ = ["ChosenSeed", "Ended", "Failed", "Grown", "Proposed", "Refused", "SeedRequest", "Told"]


@dataclass(frozen=True, eq=False)
class ChosenSeed:
    """A seed that a search starts from.

    Args:
        named: whether a user asked for it by name, and wants to know why it has no idea.
        known: what others may begin with (`SeedLimits.known`) for a collective on a topology; None
            for nothing.
    """

    record: SeedRecord
    options: Mapping[str, OptionValue]
    named: bool = False
    known: Callable[[Topology, Collective], Sequence[Proposal]] | None = None


@dataclass(frozen=True)
class SeedRequest:
    """To the process, once: what to construct.

    Args:
        limits: with the time of all seeds together, and what is known.
    """

    seeds: tuple[ChosenSeed, ...]
    topology: Topology
    collective: Collective
    limits: SeedLimits


@dataclass(frozen=True)
class Proposed:
    """From it: what a seed proposes, after so many seconds.

    Args:
        proposal: without its family: one has many members, and comes but once.
        family: the number of that, of those that came before; None where there is none.
    """

    seed: str
    proposal: Proposal
    seconds: float
    family: int | None = None


@dataclass(frozen=True)
class Told:
    """From it: what went wrong, in words."""

    text: str


@dataclass(frozen=True)
class Refused:
    """From it: why a seed that a user named has no idea."""

    seed: str
    why: str


@dataclass(frozen=True)
class Ended:
    """From it: these seeds have come to their end."""

    seeds: tuple[str, ...]


@dataclass(frozen=True)
class Grown:
    """From it: a family, the next in number from 0."""

    family: Family
