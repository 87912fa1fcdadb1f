"""Store: answers and certificates of searches in one SQLite file, shared by processes.

Every answer is a transaction of its own, durable once `keep_answer` has returned.  A row that is
read passes the check of its digest, and the verifier or the check of the certificate; one that does
not is deleted and treated as absent.

An error in use (a full disk, a held lock, a damaged page) ends the store's work, not the search: it
is reported once, and from then on the store finds and keeps nothing.
"""

import sqlite3
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from syncoll.certificates import Demand, DemandList, Priced, RoundsBound
from syncoll.errors import FileFormatError, UsageError, VerificationError
from syncoll.formula import Limits, Verdict
from syncoll.model import Instance, Topology
from syncoll.store.answers import StoredAnswer, StoreDescription, no_more_than
from syncoll.store.packing import (
    answer_details,
    answer_from_row,
    digest,
    pack_algorithm,
    pack_certificate,
    unpack_algorithm,
    unpack_certificate,
)
from syncoll.store.question import answer_key, bound_key
from syncoll.store.schema import VERSION, explained, prepare, require_database
from syncoll.trust import require_valid

_PATIENCE = 10.0
"""Seconds to wait for another writer, whose transactions take milliseconds."""

_WEIGHT = {Verdict.UNKNOWN: 0, Verdict.UNSAT: 1, Verdict.SAT: 2}

T = TypeVar("T")

_Row = Sequence[Any]


@dataclass(frozen=True)
class _Table:
    """A table of the store.

    Args:
        contents: the columns that the digest covers.
        ranks: further columns.
        better: the condition for a new row to replace an old one.
    """

    name: str
    contents: tuple[str, ...]
    ranks: tuple[str, ...]
    better: str


_ANSWERS = _Table(
    "answers",
    ("verdict", "algorithm", "details"),
    ("weight", "allowed"),
    "excluded.weight > answers.weight OR"
    " (excluded.weight = 0 AND answers.weight = 0 AND excluded.allowed >= answers.allowed)",
)

_CERTIFICATES = _Table(
    "certificates",
    ("allowed", "certificate"),
    (),
    "excluded.allowed IS NULL OR excluded.allowed >= certificates.allowed",
)


def default_path() -> Path:
    """The default path of the store, in the user's cache folder."""
    return platformdirs.user_cache_path("syncoll") / "store.sqlite"


class Store(AbstractContextManager["Store"]):
    """An open store; several threads may share it, and several processes one file.  A forked
    process must open the file itself."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        on_trouble: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path
        self.trouble = ""
        """Why the store is disabled, in words; empty while it works."""
        self.dropped = 0
        """The number of deleted wrong rows."""
        self.lock = threading.RLock()
        self._connection: sqlite3.Connection | None = connection
        self._on_trouble = on_trouble

    @classmethod
    def open(
        cls,
        path: Path | None = None,
        *,
        on_trouble: Callable[[str], None] | None = None,
        patience: float = _PATIENCE,
    ) -> "Store":
        """Opens a store, and creates a missing file.

        Args:
            path: the file; None for `default_path`, whose folder is created.
            on_trouble: called once, with the reason, when the store is disabled; a `RuntimeWarning`
                by default.
            patience: seconds to wait for other processes, each time.

        Raises:
            UsageError: if the file cannot be written there.
            FileFormatError: if it is no store, is damaged, or is of a newer version.
        """
        if path is None:
            path = default_path()
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(
                    f"cannot make the folder {path.parent} for the store: "
                    f"{error.strerror or error}; name another file with --store"
                ) from error
        try:
            if path.is_dir():
                raise UsageError(f"the store {path} is a folder; name a file in it with --store")
            if path.exists() and not path.is_file():  # reading from a pipe may never end
                raise UsageError(f"the store {path} is not a file; name another with --store")
            if not path.parent.is_dir():
                raise UsageError(
                    f"cannot write the store {path}: there is no folder {path.parent}; create it "
                    "first, or name another file with --store"
                )
            require_database(path)
        except OSError as error:
            raise UsageError(f"cannot read the store {path}: {error.strerror or error}") from error
        return cls(_prepared(path, patience), path, on_trouble)

    def close(self) -> None:
        """Closes the file; all kept rows are on the disk."""
        with self.lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection, to be used under the lock; raises `UsageError` if it is closed."""
        if self._connection is None:
            raise UsageError(self.trouble or f"the store {self.path} is closed")
        return self._connection

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(
        self, instance: Instance, asked: str, limits: Limits | None = None
    ) -> StoredAnswer | None:
        """The answer to a question; None without one.  An algorithm has passed the verifier.

        Args:
            asked: see `syncoll.solving.Solver.asked`.
            limits: limits of a new run: an unknown answers if they are no wider than its own.  None
                for no limits; no unknown answers then.
        """

        def read(row: _Row) -> StoredAnswer | None:
            verdict, data, details = row
            algorithm = None if data is None else unpack_algorithm(data)
            answer = answer_from_row(verdict, algorithm, details)
            if not answer.lasting:
                raise FileFormatError(f"a stored answer {answer.verdict} after {answer.reason}")
            if not answer.answers(limits or Limits()):
                return None
            if algorithm is not None:
                require_valid(instance, algorithm)
            return answer

        return self._find(_ANSWERS, answer_key(instance, asked), read)

    def keep_answer(self, instance: Instance, asked: str, answer: StoredAnswer) -> bool:
        """Keeps an answer, unless as good a one is there; whether the store now holds one as good
        as this.

        An unknown gives way to any other answer, and to an unknown after more time; unsat gives way
        to an algorithm, which can be verified.  An answer that is not lasting is not kept.
        """
        if not answer.lasting:
            return False
        data = None if answer.algorithm is None else pack_algorithm(answer.algorithm)
        contents = str(answer.verdict), data, answer_details(answer)
        ranks = _WEIGHT[answer.verdict], answer.limits.seconds
        return self._put(_ANSWERS, answer_key(instance, asked), contents, ranks)

    def certificate(
        self,
        topology: Topology,
        demands: Sequence[Demand],
        steps: int | None,
        effort: str,
        seconds: float | None = None,
    ) -> RoundsBound | None:
        """A stored lower bound on R, whose certificate has been checked, if any.

        Args:
            steps: S, or None for any number of steps.
            effort: the kind of bound, in one text.
            seconds: the time limit of a new run; None for no limit.
        """
        demands = DemandList.of(demands)  # certificates name them by position

        def read(row: _Row) -> RoundsBound | None:
            allowed, data = row
            certificate = unpack_certificate(data)
            if certificate.steps not in (None, steps):
                raise FileFormatError(f"a stored certificate is about {certificate.steps} steps")
            if not no_more_than(seconds, allowed):
                return None
            rounds = certificate.check(topology, demands)
            return RoundsBound(rounds, certificate.steps, certificate)

        return self._find(_CERTIFICATES, bound_key(topology, demands, steps, effort), read)

    def keep_certificate(
        self,
        topology: Topology,
        demands: Sequence[Demand],
        steps: int | None,
        effort: str,
        certificate: Priced,
        seconds: float | None = None,
    ) -> bool:
        """Keeps a certificate in place of one found within no more time; False if the store is
        disabled.  A run that its limit cut short has the seconds of that limit."""
        demands = DemandList.of(demands)  # certificates name them by position
        key = bound_key(topology, demands, steps, effort)
        allowed = None if seconds is None else float(seconds)
        return self._put(_CERTIFICATES, key, (allowed, pack_certificate(certificate)), ())

    def describe(self) -> StoreDescription:
        """The contents of the store.  Raises `UsageError` if it cannot be read, or is closed, and
        `FileFormatError` if it is damaged."""
        with self.lock:
            connection = self.connection
            try:
                counts = dict(
                    connection.execute("SELECT verdict, COUNT(*) FROM answers GROUP BY verdict")
                )
                (certificates,) = connection.execute("SELECT COUNT(*) FROM certificates").fetchone()
            except sqlite3.Error as error:
                raise explained(error, self.path) from error
        beside = [self.path, *(self.path.with_name(self.path.name + e) for e in ("-wal", "-shm"))]
        return StoreDescription(
            path=self.path,
            bytes=sum(file.stat().st_size for file in beside if file.exists()),
            version=VERSION,
            sat=counts.get("sat", 0),
            unsat=counts.get("unsat", 0),
            unknown=counts.get("unknown", 0),
            certificates=certificates,
        )

    def clear(self) -> None:
        """Deletes all rows, and frees the space on the disk.  Raises `UsageError` if the store
        cannot be written, or is closed, and `FileFormatError` if it is damaged."""
        with self.lock:
            connection = self.connection
            try:
                connection.execute("BEGIN IMMEDIATE")
                with connection:
                    connection.execute("DELETE FROM answers")
                    connection.execute("DELETE FROM certificates")
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                raise explained(error, self.path) from error

    def _find(self, table: _Table, key: bytes, read: Callable[[_Row], T | None]) -> T | None:
        """The answer of a row, as `read` has it from its contents; None if it does not answer.  A
        row for which this raises `FileFormatError` or `VerificationError`, or which was changed,
        is deleted."""
        columns = ", ".join(("digest", *table.contents))
        for stored, *contents in self._execute(
            f"SELECT {columns} FROM {table.name} WHERE exact = ?", key
        ):
            try:
                if digest(key, *contents) != stored:
                    raise FileFormatError("a row of the store was changed")
                return read(contents)
            except (FileFormatError, VerificationError):
                self.dropped += 1
                # Unless it was replaced meanwhile.
                delete = f"DELETE FROM {table.name} WHERE exact = ? AND digest IS ?"
                self._execute(delete, key, stored)
        return None

    def _put(self, table: _Table, key: bytes, contents: _Row, ranks: _Row) -> bool:
        """Keeps a row, unless one as good is there; False if the store is disabled."""
        columns = (*table.contents, *table.ranks, "digest")
        self._execute(
            f"INSERT INTO {table.name} (exact, {', '.join(columns)})"
            f" VALUES (?{', ?' * len(columns)}) ON CONFLICT (exact) DO UPDATE SET "
            + ", ".join(f"{column} = excluded.{column}" for column in columns)
            + f" WHERE {table.better}",
            key,
            *contents,
            *ranks,
            digest(key, *contents),
        )
        return self._connection is not None

    def _execute(self, statement: str, *values: object) -> list[_Row]:
        with self.lock:
            if self._connection is None:
                return []
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                self.trouble = f"going on without the store: {explained(error, self.path)}"
                self.close()
                if self._on_trouble is not None:
                    self._on_trouble(self.trouble)
                else:
                    warnings.warn(self.trouble, RuntimeWarning, stacklevel=2)
                return []


def _prepared(path: Path, patience: float) -> sqlite3.Connection:
    """A connection to a store of this version; see `Store.open`."""
    try:
        # Autocommit: transactions are explicit.  The lock makes threads take turns.
        connection = sqlite3.connect(
            path, timeout=patience, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise explained(error, path) from error
    try:
        prepare(connection, path, patience)
    except BaseException:
        connection.close()
        raise
    return connection
