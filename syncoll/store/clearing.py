"""Clearing a store that cannot be opened any more: its file is deleted.

That is done only to what was a store.  A file that somebody named by mistake stays, whatever it is.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from syncoll.errors import UsageError
from syncoll.store.schema import APPLICATION_ID

__all__ = ["delete_damaged"]

_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID_AT = 68
"""Where the header of a SQLite database has its application id, four bytes."""

_HEADER_BYTES = 100

_TRACES = (b"CREATE TABLE answers (exact BLOB", b"CREATE TABLE certificates (exact BLOB")
_SEARCHED_BYTES = 1 << 20

_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps in files of their own, by the ends of their names."""


def delete_damaged(path: Path, *, is_default: bool) -> None:
    """Deletes the file of a store that cannot be opened, and what SQLite has put beside it.

    Args:
        path: the file; what it leads to is not followed.
        is_default: whether the place is syncoll's own, so that whatever is there was a store.

    Raises:
        UsageError: when it cannot be deleted, or is not to be taken for a store.
    """
    try:
        if not is_default and not _was_a_store(path):
            raise UsageError(
                f"{path} does not look like a store of syncoll's, not even a damaged one, so it is "
                "not deleted; delete it yourself, or name another with --store"
            )
        path.unlink(missing_ok=True)
        for end in _BESIDE:
            path.with_name(path.name + end).unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot delete the damaged store {path}: {error.strerror or error}"
        ) from error


def _was_a_store(path: Path) -> bool:
    """Whether a file has syncoll's mark or its tables."""
    with path.open("rb") as file:
        head = file.read(_SEARCHED_BYTES)
    if head.startswith(_MAGIC):
        if len(head) < _HEADER_BYTES:
            return True  # no database has so little
        mark = head[_APPLICATION_ID_AT : _APPLICATION_ID_AT + 4]
        return mark == APPLICATION_ID.to_bytes(4, "big") or _has_only_traces(path, head)
    return any(trace in head for trace in _TRACES)


def _has_only_traces(path: Path, head: bytes) -> bool:
    """Whether a database without the mark has syncoll's tables, and no program can read it."""
    try:
        opened = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        with contextlib.closing(opened) as connection:
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError:
        return any(trace in head for trace in _TRACES)
    return False
