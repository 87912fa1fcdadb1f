"""Workers that nobody waits for: kept for the next question, and ended where memory is short.

A worker that answers is watched by whoever waits for it.  Between two questions nobody looks, and
it may be the largest process of all: a thread looks after those, in every process that keeps some.
"""

from __future__ import annotations

import threading
import time
import weakref

from syncoll.memory import budget
from syncoll.solving.connection import WorkerConnection

__all__ = ["RESTING", "Resting"]

_SECONDS = 0.5


class Resting:
    """The workers that this process keeps for later.  For any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: weakref.WeakSet[WorkerConnection] = weakref.WeakSet()
        self._any = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, connection: WorkerConnection) -> None:
        """From now on a worker rests, and may be ended."""
        with self._lock:
            self._kept.add(connection)
            self._any.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="syncoll resting workers", daemon=True
                )
                self._thread.start()

    def take(self, connection: WorkerConnection) -> bool:
        """From now on it does not; False where it was ended, or did not rest."""
        with self._lock:
            rested = connection in self._kept
            self._kept.discard(connection)
            return rested

    def make_room(self) -> bool:
        """Ends the largest that rests where the command has too much; whether it ended one."""
        with self._lock:
            kept = list(self._kept)
            if not kept:
                self._any.clear()
                return False
        largest = max(kept, key=WorkerConnection.memory)
        return budget().may_not_rest(largest.pid) and self._end(largest)

    def _end(self, connection: WorkerConnection) -> bool:
        with self._lock:
            if connection not in self._kept:  # it got a question meanwhile
                return False
            self._kept.discard(connection)
            connection.end()
        return True

    def _watch(self) -> None:
        while self._any.wait():
            time.sleep(_SECONDS)
            self.make_room()


RESTING = Resting()
"""Those of this process."""
