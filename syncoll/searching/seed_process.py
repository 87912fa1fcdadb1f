"""SeedProcess: seeds that construct in a process of their own, while the search does other things.

On a large machine seeds find most of a frontier, and become better for as long as they are let run;
bounds take as long, and a search needs both.  What the process costs is its start and a copy of the
machine, so that a small machine has one only where its search takes long.
"""

from __future__ import annotations

import pickle
from typing import Final

from syncoll.cores import available_cores
from syncoll.searching.worker_messages import SeedRequest
from syncoll.solving.connection import RESTING, WorkerConnection

__all__ = ["SeedProcess"]


class SeedProcess:
    """Seeds at work.

    Args:
        request: what they construct.

    Raises:
        OSError: when no process can be started.
    """

    NOTHING: Final = WorkerConnection.NOTHING
    """What `next` returns when nothing has come."""

    def __init__(self, request: SeedRequest) -> None:
        self._connection = WorkerConnection("syncoll.searching.seed_worker")
        self._connection.send(request)
        RESTING.keep(self._connection)  # it may be ended where memory is short

    @staticmethod
    def is_possible(request: SeedRequest) -> bool:
        """Whether there is a core for it, and all that it needs can be passed on."""
        if available_cores() < 2:
            return False
        try:
            pickle.dumps(request)
        except Exception:  # what a plugin or a user's program defines may raise anything
            return False
        return True

    @property
    def has_message(self) -> bool:
        """Whether a message has come."""
        return self._connection.has_message

    def next(self, seconds: float) -> object:
        """The next message; `NOTHING` when none comes in time, None when the process is gone."""
        return self._connection.poll(seconds)

    def ending(self) -> str:
        """How the process ended, in words."""
        return self._connection.exit_description()

    def close(self) -> None:
        """Ends it, whatever it is doing."""
        RESTING.take(self._connection)
        self._connection.kill()
