"""A seed of algorithms that are known from elsewhere.

A repair knows those of the whole machine, a design those of machines with fewer links.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from syncoll.deadline import Deadline
from syncoll.model import Collective, Topology
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits, SeedRecord
from syncoll.results import Frontier
from syncoll.searching.heuristic_state import ChosenSeed

__all__ = ["Clock", "KnownAlgorithms", "Search", "known_seed"]

Search = Callable[[Topology, Collective, Deadline, Sequence[ChosenSeed]], Frontier]
"""Finds a frontier by a deadline, with known algorithms as seeds; it says if it was interrupted."""


@dataclass
class Clock:
    """The deadline of a seed's turn; each later turn sets it anew."""

    until: Deadline


@dataclass(frozen=True, eq=False)
class KnownAlgorithms:
    """What is known of a collective on a topology.

    Args:
        collective: its name.
        proposals: algorithms of it there, verified or not, as far as the clock allows.
    """

    topology: Topology
    collective: str
    proposals: Callable[[Clock], Iterable[Proposal]]

    def is_asked(self, topology: Topology, collective: Collective) -> bool:
        """Whether the question is about this collective on this topology."""
        return collective.name == self.collective and topology.same_as(self.topology)


def known_seed(
    name: str,
    summary: str,
    known: Sequence[KnownAlgorithms],
    *,
    first_seconds: float = 0.0,
    weight: float = 1.0,
) -> ChosenSeed:
    """The seed that proposes what is known of the question it is asked."""

    def fits(topology: Topology, collective: Collective) -> Answer:
        if any(one.is_asked(topology, collective) for one in known):
            return Answer(True)
        return Answer(False, "nothing is known of it")

    record = SeedRecord(
        name,
        summary,
        lambda: _Seed(known),
        fits=fits,
        first_seconds=first_seconds,
        weight=weight,
        counts_copies=True,
    )
    return ChosenSeed(record, {})


class _Seed:
    def __init__(self, known: Sequence[KnownAlgorithms]) -> None:
        self._known = known

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Generator[Proposal, SeedLimits | None, None]:
        clock = Clock(limits.deadline())
        for known in self._known:
            if known.is_asked(topology, collective):
                for proposal in known.proposals(clock):
                    sent = yield proposal
                    if sent is not None:
                        clock.until = sent.deadline()
                return
