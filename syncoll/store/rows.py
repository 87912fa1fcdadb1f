"""The rows of a store's tables: found by their keys, and checked."""

import sqlite3
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from syncoll.errors import FileFormatError, UsageError, VerificationError
from syncoll.store.packing import digest
from syncoll.store.schema import explained

T = TypeVar("T")

Row = Sequence[Any]


@dataclass(frozen=True)
class Table:
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


class Rows:
    """The open file of a `Store`, with the same arguments."""

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

    def find(self, table: Table, key: bytes, read: Callable[[Row], T | None]) -> T | None:
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

    def put(self, table: Table, key: bytes, contents: Row, ranks: Row) -> bool:
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

    def _execute(self, statement: str, *values: object) -> list[Row]:
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
