"""The store's tables.

The ``application_id`` of a database marks a store of syncoll; its ``user_version`` is the version
of the tables.  A store of an older version is emptied: it is a cache.
"""

import sqlite3
import time
from pathlib import Path

from syncoll.errors import FileFormatError, SyncollError, UsageError

APPLICATION_ID = 0x53796E43
"""``SynC``, for `file` and SQLite's tools."""

_CHECKED_BYTES = 32 << 20
"""The largest store that is checked as a whole when it is opened (some 0.1 s)."""

_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID_AT = 68
"""The offset of the application id, four bytes, in the header of a SQLite database."""

_HEADER_BYTES = 100

_BESIDE = ("-wal", "-shm", "-journal")
"""The suffixes of SQLite's other files."""

VERSION = 3

_TABLES = (
    "answers (exact BLOB PRIMARY KEY NOT NULL, verdict TEXT NOT NULL, weight INTEGER NOT NULL, "
    "allowed REAL, algorithm BLOB, details TEXT NOT NULL, digest BLOB NOT NULL)",
    "certificates (exact BLOB PRIMARY KEY NOT NULL, allowed REAL, certificate BLOB NOT NULL, "
    "digest BLOB NOT NULL)",
)
"""``exact`` is the key of `syncoll.store.question`; ``weight`` is 2 for sat, 1 for unsat, 0 for
unknown; ``allowed`` has the seconds of an unknown."""

_CORRUPT = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
}


def prepare(connection: sqlite3.Connection, path: Path, patience: float) -> None:
    """Brings an open database, new or an older store, to this version; waits for other processes at
    most `patience` seconds.  Raises `FileFormatError` if the file is no store, is damaged, or is of
    a newer version, and `UsageError` if it cannot be written."""
    try:
        connection.execute("BEGIN")  # reads one snapshot
        try:
            _require_ours(connection, path)
        finally:
            connection.rollback()
        _write_ahead(connection, patience)
        # Answers survive the end of this process; a power cut may lose the last few.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")  # read again, now that no other can write
        with connection:
            if _require_ours(connection, path) < VERSION:
                for table in _TABLES:
                    connection.execute(f"DROP TABLE IF EXISTS {table.partition(' ')[0]}")
                    connection.execute(f"CREATE TABLE {table}")
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
        _require_sound(connection, path)
    except sqlite3.Error as error:
        raise explained(error, path) from error


def require_database(path: Path) -> None:
    """Raises `FileFormatError` unless a file is missing, empty, or begins like a database, since
    SQLite would overwrite any file of a few bytes; `OSError` if it cannot be read."""
    if path.exists():
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
        if head and head != _MAGIC:
            raise FileFormatError(
                f"{path} is not a store of syncoll's; delete it, or name another with --store"
            )


def explained(error: sqlite3.Error, path: Path) -> SyncollError:
    """An error of SQLite in words: the reason, the file, and the remedy."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the primary code
    if code in _CORRUPT:
        return FileFormatError(
            f"{path} is not a store of syncoll's, or a damaged one ({error}); delete it, as "
            "`syncoll store --clear` does, or name another with --store"
        )
    if code in _BUSY:
        return UsageError(
            f"the store {path} is locked by another process; try again when that has ended, or "
            "name another with --store"
        )
    if code in _UNWRITABLE:
        return UsageError(f"cannot write the store {path}: {error}; name another file with --store")
    if code == sqlite3.SQLITE_FULL:
        return UsageError(
            f"cannot write the store {path}: the disk is full; make room, or name another file "
            "with --store"
        )
    return UsageError(f"cannot use the store {path}: {error}; name another file with --store")


def _require_ours(connection: sqlite3.Connection, path: Path) -> int:
    """The version of a store, 0 for a new one."""
    application, version = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("application_id", "user_version")
    )
    tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION_ID and (application or version or tables):
        raise FileFormatError(
            f"{path} is a database of another program, not a store of syncoll's; name another "
            "file with --store"
        )
    if version > VERSION:
        raise FileFormatError(
            f"the store {path} has version {version}, written by a newer syncoll; this one knows "
            f"versions up to {VERSION}: update syncoll, or name another file with --store"
        )
    return version


def _write_ahead(connection: sqlite3.Connection, patience: float) -> None:
    """Sets WAL mode, in which readers and the one writer do not wait for each other.

    SQLite does not wait for the lock that this needs.  Some network file systems keep the old mode,
    which is slower with several processes, but as safe.
    """
    ends = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if (error.sqlite_errorcode & 0xFF) not in _BUSY or time.monotonic() > ends:
                raise
        time.sleep(0.02)


def _require_sound(connection: sqlite3.Connection, path: Path) -> None:
    for table, columns in (
        ("answers", "exact, verdict, weight, allowed, algorithm, details, digest"),
        ("certificates", "exact, allowed, certificate, digest"),
    ):
        try:
            connection.execute(f"SELECT {columns} FROM {table} LIMIT 0")
        except sqlite3.OperationalError as error:
            if (error.sqlite_errorcode & 0xFF) != sqlite3.SQLITE_ERROR:
                raise
            raise FileFormatError(
                f"{path} says that it is a store of syncoll's, but {error}; delete it, or name "
                "another with --store"
            ) from error
    if path.stat().st_size <= _CHECKED_BYTES:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            reason = " ".join(found.split())
            raise FileFormatError(
                f"the store {path} is damaged ({reason}); delete it, as `syncoll store --clear` "
                "does, or name another with --store"
            )


def delete_damaged(path: Path, *, is_default: bool) -> None:
    """Deletes a store that cannot be opened, and SQLite's other files; links are not followed.  A
    file that was no store, named by mistake, stays, except at syncoll's own path, with a
    `UsageError`."""
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
    """Whether a file has syncoll's mark, or is a database that ends before it."""
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
    mark = head[_APPLICATION_ID_AT : _APPLICATION_ID_AT + 4]
    return head.startswith(_MAGIC) and (
        len(head) < _HEADER_BYTES or mark == APPLICATION_ID.to_bytes(4, "big")
    )
