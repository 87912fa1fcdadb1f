"""Seat: one seed of a search, with what it has begun."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from syncoll.plugins import Proposal, SeedLimits
from syncoll.searching.seed_tidings import ChosenSeed

__all__ = ["Proposals", "Seat"]

Proposals = Generator[Proposal | None, SeedLimits, None]
"""What stands before every seed's `propose`, see `syncoll.plugins.guard`."""


@dataclass(eq=False)
class Seat:
    """One seed in a run.

    Attributes:
        turns: its proposals; None before its first turn.
        ended: whether it has come to its end, or to grief.
        stopped_after: seconds of the round in which it was stopped; 0 where it was not.
        aside: whether it works in a process of its own.
    """

    seed: ChosenSeed
    turns: Proposals | None = None
    ended: bool = False
    stopped_after: float = 0.0
    aside: bool = False
    _begun: bool = False

    def stop(self, seconds: float) -> None:
        """What a seed was at is lost when it is stopped; one that resumes may have another try."""
        self.turns, self._begun = None, False
        self.ended = not self.seed.record.resumes or self.stopped_after > 0
        self.stopped_after = seconds

    def next(self, limits: SeedLimits) -> Proposal | None:
        """Its next proposal; None when its turn is over, or all of it (`ended`)."""
        assert self.turns is not None
        try:
            if self._begun:
                return self.turns.send(limits)
            self._begun = True
            return next(self.turns)
        except StopIteration:
            self.ended = True
            return None
