"""The rows of a store's tables: found by two keys, believed only after a look at them.

A question is looked up as it was asked; then among the rows that are alike, each of which has the
text of its own question, so that it can be seen whether that is the same under other numbers.  What
is found so is kept under the numbers that were asked about as well, and is there at once next time.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from syncoll.errors import FileFormatError, UsageError, VerificationError
from syncoll.store.canonical import MOST_WORK
from syncoll.store.packing import digest, pack_question, unpack_question
from syncoll.store.question import CanonicalQuestion, Numbering
from syncoll.store.schema import explained

__all__ = ["Row", "Rows", "Table"]

_MOST_ALIKE = 16
"""Rows that are looked at for one question."""

T = TypeVar("T")

Row = Sequence[Any]

Reading = Callable[[Row], Callable[[Numbering], T] | None]
"""What a row's contents say, once it is known how its numbers are those that were asked about; None
where that does not serve.  Both may raise `FileFormatError` and `VerificationError`."""


@dataclass(frozen=True)
class Table:
    """A table of the store.

    Args:
        contents: its columns that the digest covers.
        ranks: further columns.
        best_first: the order in which its rows are tried.
        better: when a new row takes the place of an old one.
    """

    name: str
    contents: tuple[str, ...]
    ranks: tuple[str, ...]
    best_first: str
    better: str


class Rows:
    """The open file of a `Store`; what is said there of its arguments holds here."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        on_trouble: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path
        self.trouble = ""
        """Why the store cannot be used any more, in words; empty while it can."""
        self.dropped = 0
        """How many rows were deleted because they were not to be believed."""
        self.lock = threading.RLock()
        self._connection: sqlite3.Connection | None = connection
        self._on_trouble = on_trouble

    def close(self) -> None:
        """Closes the file; what was kept is on the disk already."""
        with self.lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection; to be used under the lock.

        Raises:
            UsageError: when there is none any more.
        """
        if self._connection is None:
            raise UsageError(self.trouble or f"the store {self.path} is closed")
        return self._connection

    def find(
        self, table: Table, question: CanonicalQuestion, read: Reading[T]
    ) -> tuple[T, bool] | None:
        """What serves of the rows for a question, and whether it was kept under these numbers."""
        columns = ", ".join(("digest", "exact", *table.contents))
        select = f"SELECT {columns}, NULL FROM {table.name} WHERE exact = ?"
        for row in self._execute(select, question.key):
            found = self._believed(table, row, read, lambda _: question.numbering)
            if found is not None:
                return found, True
        if question.alike is None:
            return None
        left = MOST_WORK

        def renumbered(row: Row) -> Numbering | None:
            nonlocal left
            text = unpack_question(row[-1])
            if hashlib.sha256(text).digest() != row[1]:
                raise FileFormatError("a stored question was changed")
            way, work = question.renumbers(text, left)
            left -= work
            return way

        select = (
            f"SELECT {columns}, question FROM {table.name} WHERE alike = ? AND exact <> ?"
            f" ORDER BY {table.best_first} LIMIT {_MOST_ALIKE}"
        )
        for row in self._execute(select, question.alike, question.key):
            found = self._believed(table, row, read, renumbered)
            if found is not None:
                return found, False
        return None

    def put(
        self, table: Table, question: CanonicalQuestion, contents: Row, ranks: Row, *, repeats: bool
    ) -> bool:
        """Keeps a row, unless one as good is there; False where the store is in trouble.

        Args:
            contents: in the order of the question's text.
            ranks: values of the further columns.
            repeats: whether a row under other numbers says the same, so that this one need not be
                found by any but its own.
        """
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
        self,
        table: Table,
        row: Row,
        read: Reading[T],
        numbering: Callable[[Row], Numbering | None],
    ) -> T | None:
        """What a row says; one that is not to be believed is deleted."""
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
        """Runs a statement; nothing happens where the store is closed or in trouble."""
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
