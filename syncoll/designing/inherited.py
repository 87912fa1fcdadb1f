"""What one machine has from another: the algorithms of one whose links are all there.

With one more link a machine can do all that it could without; a search that is cut short must not
make it look worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from syncoll.errors import SyncollError
from syncoll.model import Collective, Topology
from syncoll.plugins import Answer, OptionValue, Proposal, SeedLimits, SeedRecord
from syncoll.results import Frontier
from syncoll.searching import ChosenSeed
from syncoll.trust import violations

__all__ = ["inherited"]


@dataclass(frozen=True, eq=False)
class _Inherited:
    """Proposes what was found on other machines.

    Args:
        topology: where they hold.
        collective: the name of that which they solve.
    """

    topology: Topology
    collective: str
    proposals: tuple[Proposal, ...]

    def fits(self, topology: Topology, collective: Collective) -> Answer:
        """Whether these are algorithms of what is asked for."""
        if collective.name == self.collective and topology.same_as(self.topology):
            return Answer(True)
        return Answer(False, "nothing is known of it")

    def propose(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        options: Mapping[str, OptionValue],
    ) -> Iterator[Proposal]:
        """All of them."""
        yield from self.proposals


def inherited(
    topology: Topology, collective: Collective, others: Iterable[Frontier]
) -> tuple[ChosenSeed, ...]:
    """A seed of what other machines have that is right here, too; none where there is nothing.

    Args:
        others: frontiers of the collective.
    """
    found = tuple(
        proposal
        for frontier in others
        if set(frontier.topology.links) <= set(topology.links)
        for proposal in _proposals(topology, collective, frontier)
    )
    if not found:
        return ()
    known = _Inherited(topology, collective.name, found)
    record = SeedRecord(
        "inherited",
        "algorithms of machines whose links are all there",
        lambda: known,
        fits=known.fits,
        first_seconds=0.0,
        counts_copies=True,
    )
    return (ChosenSeed(record, {}),)


def _proposals(
    topology: Topology, collective: Collective, frontier: Frontier
) -> Iterator[Proposal]:
    """Those of one frontier, with the rounds that they need here."""
    for point in frontier.points:
        try:
            algorithm = point.algorithm.tightened(topology)
            instance = collective.instantiate(
                topology, chunks=point.chunks, steps=algorithm.steps, rounds=algorithm.rounds
            )
        except SyncollError:  # of other nodes, or no such C there
            continue
        if not violations(instance, algorithm):
            yield Proposal(point.chunks, algorithm)
