"""A seed of known algorithms.

A repair takes them from the whole machine, a design from machines with fewer links.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass

from syncoll.deadline import Deadline
from syncoll.model import Collective, Topology
from syncoll.plugins import Answer, Options, Proposal, SeedLimits, SeedRecord
from syncoll.plugins.turns import Turn
from syncoll.results import Frontier
from syncoll.searching.chosen_seed import ChosenSeed

Search = Callable[[Topology, Collective, Deadline, Sequence[ChosenSeed]], Frontier]
"""Finds a frontier by a deadline, with known algorithms as seeds; it marks an interrupted one."""


@dataclass(frozen=True, eq=False)
class KnownAlgorithms:
    """Known algorithms of a collective on a topology.
    The `proposals`, verified or not, come within the time of a turn."""

    topology: Topology
    collective: str
    proposals: Callable[[Turn], Iterable[Proposal]]

    def is_asked(self, topology: Topology, collective: Collective) -> bool:
        """Whether this is the collective and the topology of the question."""
        return collective.name == self.collective and topology.same_as(self.topology)


def known_seed(
    name: str,
    summary: str,
    known: Sequence[KnownAlgorithms],
    *,
    first_seconds: float = 0.0,
    weight: float = 1.0,
) -> ChosenSeed:
    """The seed that proposes the known algorithms for its question."""
    seed = _Seed(known)
    record = SeedRecord(
        name,
        summary,
        lambda: seed,
        fits=seed.fits,
        first_seconds=first_seconds,
        weight=weight,
        counts_copies=True,
    )
    return ChosenSeed(record, {})


@dataclass(frozen=True)
class _Seed:
    known: Sequence[KnownAlgorithms]

    def fits(self, topology: Topology, collective: Collective) -> Answer:
        if any(one.is_asked(topology, collective) for one in self.known):
            return Answer(True)
        return Answer(False, "no algorithm of it is known")

    def propose(
        self, topology: Topology, collective: Collective, limits: SeedLimits, options: Options
    ) -> Generator[Proposal | None, SeedLimits | None]:
        turn = Turn(limits)
        asked = (one for one in self.known if one.is_asked(topology, collective))
        yield from turn.run(proposal for one in asked for proposal in one.proposals(turn))
