"""Turns of a seed: its present limits of time and size.

A seed that improves with time yields None at the end of a turn, and gets new limits if there is
more time (`syncoll.plugins.Seed.propose`).  `ResumingSeed` does that for a generator that reads
`Turn.until` and yields None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from syncoll.clock import worked
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError
from syncoll.model import Collective, Topology
from syncoll.plugins.guard import Answer
from syncoll.plugins.options import Options
from syncoll.plugins.records import Proposal, SeedLimits

Proposals = Iterator[Proposal | None]
"""None at the end of a turn."""


class Turn:
    """The turn of a seed, with its present limits, and its deadline `until`; without a limit of
    time it takes some seconds, or has no end."""

    def __init__(self, limits: SeedLimits, seconds: float | None = None) -> None:
        self._seconds, self._began = seconds, worked()
        self._begin(limits)

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return self.until.passed

    def own(self, seconds: float) -> Deadline:
        """Deadline after this much work of the seed itself, without the time of its caller."""
        return self.until.working(self._began + seconds - worked())

    def part(self, part: float, least: float = 0.0) -> Deadline:
        """A part of the remaining work, and at least `least` seconds; never without a limit."""
        if self.until.is_never:
            return self.until
        return self.until.working(max(least, self.until.left() * part))

    def run(self, proposals: Proposals) -> Generator[Proposal | None, SeedLimits | None]:
        """Passes proposals on, and new limits to `limits` and `until`; ends without new limits."""
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

    def begin_part(self, whole: Turn, count: int, most: int | None, spent: float = 0.0) -> Deadline:
        """Becomes one of `count` equal parts that are left of another turn, after `spent` seconds
        of work in it, with a limit on C or that of the whole; returns the deadline of the whole."""
        self.limits, self.until, left = whole.limits, whole.until, whole.until.left()
        if most is not None:
            self.limits = replace(self.limits, max_chunks=most)
        if not self.until.is_never:
            self.until = self.until.working(max(0.0, (spent + left) / count - spent))
        return whole.until


def shared(turn: Turn, run: Callable[[Turn], Proposals], limits: Sequence[int | None]) -> Proposals:
    """Divides each turn equally between runs, one for each limit on C; None for that of the turn.
    A run has a turn of its own.  One that ends leaves its part to those after it."""
    turns = [Turn(turn.limits) for _ in limits]
    parts = [(most, own, run(own)) for most, own in zip(limits, turns, strict=True)]
    while parts:
        for count, part in zip(range(len(parts), 0, -1), parts.copy(), strict=True):
            most, own, proposals = part
            if turn.is_over:
                break
            whole, spent, since = own.begin_part(turn, count, most), 0.0, worked()
            for one in proposals:
                if one is None:
                    break
                spent += worked() - since
                yield one
                if turn.until is not whole:
                    whole = own.begin_part(turn, count, most, spent)
                since = worked()
            else:
                parts.remove(part)
        if parts:
            yield None


@dataclass(frozen=True, eq=False)
class Question:
    """A request to a seed, and its present turn; options are checked and complete."""

    topology: Topology
    collective: Collective
    turn: Turn
    options: Options


class ResumingSeed(ABC):
    """A seed that works in turns, with a generator `proposals`; see `syncoll.plugins.Seed`.

    `turn_seconds` is the length of a turn without a limit of time, or the option that has it; None
    for no end.
    """

    turn_seconds: ClassVar[float | str | None] = None

    @staticmethod
    @abstractmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether it applies to the collective; its record asks the same."""

    @abstractmethod
    def proposals(self, asked: Question) -> Proposals:
        """Algorithms, and None at the end of each turn; it continues in the next turn."""

    def propose(
        self, topology: Topology, collective: Collective, limits: SeedLimits, options: Options
    ) -> Generator[Proposal | None, SeedLimits | None]:
        """See `syncoll.plugins.Seed`; raises `ModelError` if it does not fit."""
        answer = self.fits(topology, collective)
        if not answer.ok:
            raise ModelError(f"{collective.name} on {topology.name}: {answer.reason}")
        own = self.turn_seconds
        turn = Turn(limits, float(options[own]) if isinstance(own, str) else own)
        yield from turn.run(self.proposals(Question(topology, collective, turn, options)))
