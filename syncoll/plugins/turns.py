"""Turns of a seed: how long it may go on now, and what it may do then.

A seed that becomes better for as long as it runs yields None when its time is over, and gets new
limits if there is more (`syncoll.plugins.Seed.propose`).  `ResumingSeed` does that for a generator
that looks at `Turn.until` and yields None: it goes on after that, in more time, or never.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping

from syncoll.clock import worked
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError
from syncoll.model import Collective, Topology
from syncoll.plugins.guard import Answer
from syncoll.plugins.options import OptionValue
from syncoll.plugins.records import Proposal, SeedLimits

__all__ = ["Proposals", "ResumingSeed", "Turn"]


Proposals = Iterator[Proposal | None]
"""None where a turn is over."""


class Turn:
    """The turn of a seed.

    Args:
        limits: of the first turn.
        seconds: a turn ends after these where it has no limit of time; None for no end.

    Attributes:
        limits: of this turn.
        until: its deadline.
    """

    def __init__(self, limits: SeedLimits, seconds: float | None = None) -> None:
        self._seconds, self._began = seconds, worked()
        self._begin(limits)

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return self.until.passed

    def own(self, seconds: float) -> Deadline:
        """When it has worked for so long itself, not counting who uses its proposals."""
        return self.until.working(self._began + seconds - worked())

    def part(self, part: float, least: float = 0.0) -> Deadline:
        """A part of the work that is left, and at least `least` seconds; never without a limit."""
        if self.until.is_never:
            return self.until
        return self.until.working(max(least, self.until.left() * part))

    def run(self, proposals: Proposals) -> Generator[Proposal | None, SeedLimits | None]:
        """Passes proposals on, and new limits to `limits` and `until`; ends when there are none."""
        for one in proposals:
            since = worked()
            limits = yield one
            self._began += worked() - since
            if limits is not None:
                self._begin(limits)
            elif one is None:
                return

    def _begin(self, limits: SeedLimits) -> None:
        self.limits, self.until = limits, limits.deadline()
        if self.until.is_never and self._seconds is not None:
            self.until = NEVER.sooner(self._seconds)


class ResumingSeed(ABC):
    """A seed that works in turns, `proposals` by `proposals`; see `syncoll.plugins.Seed`."""

    @staticmethod
    @abstractmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether it has an idea for the collective, as its record says, too."""

    @abstractmethod
    def proposals(
        self,
        topology: Topology,
        collective: Collective,
        turn: Turn,
        options: Mapping[str, OptionValue],
    ) -> Proposals:
        """Algorithms, and None whenever the turn is over; it goes on in the next one."""

    def seconds(self, options: Mapping[str, OptionValue]) -> float | None:
        """After how long a turn without a limit of time ends; None for no end."""
        return None

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Generator[Proposal | None, SeedLimits | None]:
        """See `syncoll.plugins.Seed`.

        Raises:
            ModelError: where it does not fit.
        """
        answer = self.fits(topology, collective)
        if not answer.ok:
            raise ModelError(f"{collective.name} on {topology.name}: {answer.reason}")
        turn = Turn(limits, self.seconds(options))
        yield from turn.run(self.proposals(topology, collective, turn, options))
