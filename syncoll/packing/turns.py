"""Turns of a seed: how long it may go on now, and what it may do then.

A seed that becomes better for as long as it runs yields None when its time is over, and gets new
limits if there is more (`syncoll.plugins.Seed.propose`).  `Turn.run` does that for a generator
that looks at `until` and yields None: it goes on after that, in more time, or never.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Generic, Protocol, TypeVar

from syncoll.clock import worked
from syncoll.deadline import NEVER, Deadline

__all__ = ["Turn"]


class Limits(Protocol):
    """Limits of a turn, such as `syncoll.plugins.SeedLimits`."""

    def deadline(self) -> Deadline:
        """When it is over."""


L = TypeVar("L", bound=Limits)
P = TypeVar("P")


class Turn(Generic[L]):
    """The turn of a seed.

    Args:
        limits: of the first turn.
        seconds: a turn ends after these where it has no limit of time; None for no end.

    Attributes:
        limits: of this turn.
        until: its deadline.
    """

    def __init__(self, limits: L, seconds: float | None = None) -> None:
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
        """A part of the work that is left, and at least so many seconds; never without a limit."""
        if self.until.is_never:
            return self.until
        return self.until.working(max(least, self.until.left() * part))

    def run(self, proposals: Iterator[P | None]) -> Generator[P | None, L | None]:
        """Passes proposals on, and new limits to `limits` and `until`; ends when there are none."""
        for one in proposals:
            since = worked()
            limits = yield one
            self._began += worked() - since
            if limits is not None:
                self._begin(limits)
            elif one is None:
                return

    def _begin(self, limits: L) -> None:
        self.limits, self.until = limits, limits.deadline()
        if self.until.is_never and self._seconds is not None:
            self.until = NEVER.sooner(self._seconds)
