"""ChosenSeed: a seed that a search starts from, and how far it has come."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass

from syncoll.model import Collective, Topology
from syncoll.plugins import OptionValue, Proposal, SeedLimits, SeedRecord

__all__ = ["ChosenSeed", "HeuristicState", "Proposals"]

Proposals = Generator[Proposal | None, SeedLimits | None, None]
"""Every seed's `propose` as its guard hands it on, see `syncoll.plugins.guard`."""


@dataclass(frozen=True, eq=False)
class ChosenSeed:
    """A seed that a search starts from.

    Args:
        named: whether a user asked for it by name, and wants to know why it has no idea.
        known: gives the warm starts (`SeedLimits.known`) of all seeds for a collective on a
            topology; None for none.
    """

    record: SeedRecord
    options: Mapping[str, OptionValue]
    named: bool = False
    known: Callable[[Topology, Collective], Sequence[Proposal]] | None = None


@dataclass(eq=False)
class HeuristicState:
    """A seed at work on one collective.

    Attributes:
        where: the topology as it knows it.
        turns: its proposals; None before its first turn.
        begun: whether it has been asked for the first of them.
        ended: whether it has come to its end, or failed.
        stopped_after: seconds of the turn in which it was stopped; None where it was not.
        in_background: whether it works in a process of its own.
    """

    seed: ChosenSeed
    where: Topology
    turns: Proposals | None = None
    begun: bool = False
    ended: bool = False
    stopped_after: float | None = None
    in_background: bool = False

    def stop(self, seconds: float) -> None:
        """Ends its turn at once: its work is lost, and one that resumes may begin anew, once."""
        self.turns, self.begun = None, False
        self.ended = not self.seed.record.resumes or self.stopped_after is not None
        self.stopped_after = seconds
