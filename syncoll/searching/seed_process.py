"""SeedProcess: seeds that construct in a process of their own, while the search continues.

On a large machine seeds find most of a frontier, and improve with time; bounds take as long, and a
search needs both.  The process costs its start and a copy of the machine, so a small machine has
one only if its search takes long.
"""

import pickle
from typing import NamedTuple

from syncoll.model import Collective, Topology
from syncoll.plugins import Proposal, SeedLimits
from syncoll.processes import available_cores
from syncoll.results.family import Family
from syncoll.searching.chosen_seed import ChosenSeed
from syncoll.solving.connection import RESTING, WorkerConnection


class SeedRequest(NamedTuple):
    """To the process, once: the seeds, their question and the time of all of them together."""

    seeds: tuple[ChosenSeed, ...]
    topology: Topology
    collective: Collective
    limits: SeedLimits


class Proposed(NamedTuple):
    """From it: a seed's proposal, and the seconds that it took.

    Args:
        proposal: without its family, which has many members.
        family: the family itself with its first proposal, later its number from 0.
    """

    seed: str
    proposal: Proposal
    seconds: float
    family: Family | int | None = None


class Failure(NamedTuple):
    """From it: a failure, in words."""

    text: str


class Refused(NamedTuple):
    """From it: the reason why a named seed does not apply."""

    seed: str
    why: str


class Finished(NamedTuple):
    """From it: these seeds have ended."""

    seeds: tuple[str, ...]


class SeedProcess(WorkerConnection):
    """Seeds at work; an `OSError` when no process can be started."""

    def __init__(self, request: SeedRequest) -> None:
        super().__init__("syncoll.searching.seed_worker")
        self.send(request)
        RESTING.keep(self)  # it may be ended when memory is short

    @staticmethod
    def is_possible(request: SeedRequest) -> bool:
        """Whether there is a core for it, and its request can be pickled."""
        if available_cores() < 2:
            return False
        try:
            pickle.dumps(request)
        except Exception:  # a plugin's or a user's objects may raise anything
            return False
        return True

    def close(self) -> None:
        """Ends the process at once."""
        RESTING.take(self)
        self.kill()
