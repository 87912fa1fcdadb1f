"""The rows of a store's tables: found by two keys, and checked.

A question is looked up by its text, then among the rows of alike questions, which store their text
to be compared under renumbering.
"""

import hashlib
import sqlite3
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from syncoll.errors import FileFormatError, UsageError, VerificationError
from syncoll.store.packing import digest, pack_question, unpack_question
from syncoll.store.question import CanonicalQuestion, Numbering
from syncoll.store.schema import explained

_MOST_ALIKE = 16
"""The number of alike rows compared with a question."""

T = TypeVar("T")

Row = Sequence[Any]

Reading = Callable[[Row], Callable[[Numbering], T] | None]
"""A function from a row's contents to a function from its numbering to the result; None if the row
does not answer.  Both may raise `FileFormatError` and `VerificationError`."""


@dataclass(frozen=True)
class Table:
    """A table of the store.

    Args:
        contents: the columns that the digest covers.
        ranks: further columns.
        best_first: the order in which rows are tried.
        better: the condition for a new row to replace an old one.
    """

    name: str
    contents: tuple[str, ...]
    ranks: tuple[str, ...]
    best_first: str
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

    def find(
        self,
        table: Table,
        question: CanonicalQuestion,
        read: Reading[T],
        repeat: Callable[[T], object],
        *,
        alike: bool = True,
    ) -> T | None:
        """The answer of a row to a question; with `alike`, rows of the same question under other
        numbers count, and `repeat` keeps their answer under these."""
        columns = ", ".join(("digest", "exact", *table.contents))
        select = f"SELECT {columns}, NULL FROM {table.name} WHERE exact = ?"
        for row in self._execute(select, question.key):
            found = self._believed(table, row, read, lambda _: question.numbering)
            if found is not None:
                return found
        if not alike or question.alike is None:
            return None

        def renumbered(row: Row) -> Numbering | None:
            text = unpack_question(row[-1])
            if hashlib.sha256(text).digest() != row[1]:
                raise FileFormatError("a stored question was changed")
            return question.renumbers(text)

        select = (
            f"SELECT {columns}, question FROM {table.name} WHERE alike = ? AND exact <> ?"
            f" ORDER BY {table.best_first} LIMIT {_MOST_ALIKE}"
        )
        for row in self._execute(select, question.alike, question.key):
            found = self._believed(table, row, read, renumbered)
            if found is not None:
                repeat(found)
                return found
        return None

    def put(
        self, table: Table, question: CanonicalQuestion, contents: Row, ranks: Row, *, repeats: bool
    ) -> bool:
        """Keeps a row with its contents in the order of the question's text, unless one as good is
        there; False if the store is disabled.  A row that repeats another is found only by its own
        numbers."""
        alike = None if repeats else question.alike
        text = None if alike is None else pack_question(question.text)
        columns = ("alike", "question", *table.contents, *table.ranks, "digest")
        values = (alike, text, *contents, *ranks, digest(question.key, *contents))
        self._execute(
            f"INSERT INTO {table.name} (exact, {', '.join(columns)})"
            f" VALUES (?{', ?' * len(columns)}) ON CONFLICT (exact) DO UPDATE SET "
            + ", ".join(f"{column} = excluded.{column}" for column in columns)
            + f" WHERE {table.better}",
            question.key,
            *values,
        )
        return self._connection is not None

    def _believed(
        self, table: Table, row: Row, read: Reading[T], numbering: Callable[[Row], Numbering | None]
    ) -> T | None:
        """The answer of a row; a wrong row is deleted."""
        stored, exact, *contents, _ = row
        try:
            if digest(exact, *contents) != stored:
                raise FileFormatError("a row of the store was changed")
            serves = read(contents)
            way = None if serves is None else numbering(row)
            return None if serves is None or way is None else serves(way)
        except (FileFormatError, VerificationError):
            self.dropped += 1
            # Unless it was replaced meanwhile.
            delete = f"DELETE FROM {table.name} WHERE exact = ? AND digest IS ?"
            self._execute(delete, exact, stored)
            return None

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
