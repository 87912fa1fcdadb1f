"""SeedProcess: seeds that construct in a process of their own, while the search does other things.

On a large machine seeds find most of a frontier, and become better for as long as they are let run;
bounds take as long, and a search needs both.  What the process costs is its start and a copy of the
machine, so that a small machine has one only where its search takes long.
"""

from __future__ import annotations

import pickle
from typing import NamedTuple

from syncoll.model import Collective, Topology
from syncoll.plugins import Proposal, SeedLimits
from syncoll.processes import available_cores
from syncoll.results.family import Family
from syncoll.searching.chosen_seed import ChosenSeed
from syncoll.solving.connection import RESTING, WorkerConnection

__all__ = ["Failure", "Finished", "Proposed", "Refused", "SeedProcess", "SeedRequest"]


class SeedRequest(NamedTuple):
    """To the process, once: what to construct, in the time of all seeds together."""

    seeds: tuple[ChosenSeed, ...]
    topology: Topology
    collective: Collective
    limits: SeedLimits


class Proposed(NamedTuple):
    """From it: a seed's proposal, and the seconds that it took.

    Args:
        proposal: without its family, which has many members.
        family: it comes with the first proposal that has it; others have its number from 0.
    """

    seed: str
    proposal: Proposal
    seconds: float
    family: Family | int | None = None


class Failure(NamedTuple):
    """From it: what went wrong, in words."""

    text: str


class Refused(NamedTuple):
    """From it: why a seed that a user named has no idea."""

    seed: str
    why: str


class Finished(NamedTuple):
    """From it: these seeds have come to their end."""

    seeds: tuple[str, ...]


class SeedProcess(WorkerConnection):
    """Seeds at work.

    Raises:
        OSError: when no process can be started.
    """

    def __init__(self, request: SeedRequest) -> None:
        super().__init__("syncoll.searching.seed_worker")
        self.send(request)
        RESTING.keep(self)  # it may be ended where memory is short

    @staticmethod
    def is_possible(request: SeedRequest) -> bool:
        """Whether there is a core for it, and all that it needs can be passed on."""
        if available_cores() < 2:
            return False
        try:
            pickle.dumps(request)
        except Exception:  # a plugin's or a user's objects may raise anything
            return False
        return True

    def close(self) -> None:
        """Ends it, whatever it is doing."""
        RESTING.take(self)
        self.kill()
