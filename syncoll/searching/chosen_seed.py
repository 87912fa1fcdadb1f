"""ChosenSeed: a seed of a search and its options; and the state of its work."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from syncoll.model import Collective, Topology
from syncoll.plugins import Options, Proposal, SeedLimits, SeedRecord

Proposals = Generator[Proposal | None, SeedLimits | None, None]
"""Every seed's `propose` as its guard hands it on, see `syncoll.plugins.guard`."""


@dataclass(frozen=True, eq=False)
class ChosenSeed:
    """A seed from which a search starts.

    Args:
        named: whether a user named it; then the search reports why it proposes nothing.
        known: returns the warm starts (`SeedLimits.known`) of all seeds for a collective on a
            topology; None without any.
    """

    record: SeedRecord
    options: Options
    named: bool = False
    known: Callable[[Topology, Collective], Sequence[Proposal]] | None = None


@dataclass(eq=False)
class HeuristicState:
    """A seed at work on one collective.

    Attributes:
        where: the topology as the seed sees it.
        turns: its proposals; None before its first turn.
        begun: whether its first proposal was requested.
        ended: whether it finished or failed.
        stopped_after: seconds of the turn in which it was stopped; None if it was not.
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
        """Ends its turn at once: its work is lost, and a seed that resumes may begin anew, once."""
        self.turns, self.begun = None, False
        self.ended = not self.seed.record.resumes or self.stopped_after is not None
        self.stopped_after = seconds
