"""The file of a frontier that grows during a search."""

from collections.abc import Callable
from pathlib import Path

from syncoll import documents
from syncoll.clock import now
from syncoll.deadline import Deadline, Reserve
from syncoll.documents.written_problem import rows_written
from syncoll.errors import UsageError
from syncoll.model import Algorithm
from syncoll.results import Frontier

_TIMES_A_SAVE, _SECONDS_A_SEND = 10.0, 1e-5
"""After a save that took t seconds, the next one comes at least 10 t later.  A save is skipped if
it would take more than a tenth of the elapsed or remaining time.  The first save is estimated by
its number of sends, later ones by the time of the last one."""

_SECONDS_AT_THE_END, _SECONDS_A_ROW, _MOST_AT_THE_END = 5e-7, 2e-6, 0.3
"""Seconds kept free for the last save, for each listed send and each written row, as on a slow
machine, and the largest share of the remaining time."""

_FEW_SENDS = 100_000
"""Smaller files are not used to estimate the time for each send."""


class GrowingFile:
    """A file that has the frontier of a search, and is written again as the frontier grows.

    Args:
        path: of the file; None for no file.
        until: the deadline of the search.
        tell: receives an error of writing, once.

    `reserve` has the seconds for the last save, and `failure` the error of the last one, or "".
    """

    def __init__(self, path: Path | None, until: Deadline, tell: Callable[[str], None]) -> None:
        self.reserve, self.failure = Reserve(), ""
        self._path, self._until, self._tell = path, until, tell
        self._most = 0.0 if until.is_never else _MOST_AT_THE_END * max(0.0, until.left())
        self._rows: dict[int, tuple[Algorithm, int]] = {}
        self._seen = {""}
        self._began, self._next, self._rate = now(), Deadline.after(0.0), _SECONDS_A_SEND

    def offer(self, frontier: Frontier) -> None:
        """Saves if that takes a small part of the time: files may have millions of sends."""
        if self._path is None:
            return
        began, sends = now(), sum(p.algorithm.num_listed for p in frontier.points)
        if not self._until.is_never:
            needed = _SECONDS_AT_THE_END * sends + _SECONDS_A_ROW * self._num_rows(frontier)
            self.reserve.seconds = min(needed, self._most)
        expected = _TIMES_A_SAVE * self._rate * sends
        if self._next.passed and expected <= min(began - self._began, self._until.left()):
            self.save(frontier)
            spent = now() - began
            self._rate = max(self._rate, spent / (sends + _FEW_SENDS))
            self._next = Deadline.after(_TIMES_A_SAVE * spent)

    def save(self, frontier: Frontier) -> None:
        """Saves; an error costs no result."""
        if self._path is None:
            return
        self.failure = ""
        try:
            documents.write_document(self._path, documents.frontier_document(frontier))
        except UsageError as error:
            self.failure = str(error)
            if self.failure not in self._seen:
                self._tell(self.failure)
            self._seen.add(self.failure)

    def _num_rows(self, frontier: Frontier) -> int:
        """Number of rows in the file; each algorithm is counted once."""
        for point in frontier.points:
            one = point.algorithm
            if id(one) not in self._rows:
                self._rows[id(one)] = one, rows_written(one)
        return sum(self._rows[id(point.algorithm)][1] for point in frontier.points)
