"""SeedProcess: seeds that construct in a process of their own, while the search does other things.

On a large machine seeds find most of a frontier, and become better for as long as they are let run;
bounds take as long, and a search needs both.  What the process costs is its start and a copy of the
machine, so that a small machine has one only where its search takes long.
"""

from __future__ import annotations

import pickle

from syncoll.processes import available_cores
from syncoll.searching.worker_messages import SeedRequest
from syncoll.solving.connection import RESTING, WorkerConnection

__all__ = ["SeedProcess"]


class SeedProcess(WorkerConnection):
    """Seeds at work.

    Args:
        request: what they construct.

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
