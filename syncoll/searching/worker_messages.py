"""The messages between a search and the process in which its seeds work."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.model import Collective, Topology
from syncoll.plugins import Proposal, SeedLimits
from syncoll.results.family import Family
from syncoll.searching.heuristic_state import ChosenSeed
from syncoll.solving.worker import Failed

__all__ = ["Failed", "FamilyFound", "Finished", "Message", "Proposed", "Refused", "SeedRequest"]


@dataclass(frozen=True)
class SeedRequest:
    """To the process, once: what to construct.

    Args:
        limits: with the time of all seeds together, and their warm starts.
    """

    seeds: tuple[ChosenSeed, ...]
    topology: Topology
    collective: Collective
    limits: SeedLimits


@dataclass(frozen=True)
class Proposed:
    """From it: a seed's proposal, after so many seconds.

    Args:
        proposal: without its family, which has many members and is sent once.
        family: the number of that among those sent before; None for no family.
    """

    seed: str
    proposal: Proposal
    seconds: float
    family: int | None = None


@dataclass(frozen=True)
class FamilyFound:
    """From it: a family, the next in number from 0."""

    family: Family


@dataclass(frozen=True)
class Message:
    """From it: what went wrong, in words."""

    text: str


@dataclass(frozen=True)
class Refused:
    """From it: why a seed that a user named has no idea."""

    seed: str
    why: str


@dataclass(frozen=True)
class Finished:
    """From it: these seeds have come to their end."""

    seeds: tuple[str, ...]
