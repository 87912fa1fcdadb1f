"""Writes files so that a reader sees the old content or the new, never a part."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from syncoll.documents.indented import to_text
from syncoll.errors import UsageError

__all__ = [
    "remove_empty",
    "require_writable",
    "write_atomically",
    "write_document",
    "write_folder",
]


def write_document(path: Path, document: Mapping[str, object]) -> None:
    """Writes a document as JSON.

    Raises:
        UsageError: when the file cannot be written there.
    """
    write_atomically(path, to_text(dict(document)) + "\n")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replaces the file by one with this content; on any failure the old one stays as it was.

    The target of a symbolic link is replaced, not the link.  What is no regular file, such as
    ``/dev/stdout`` or a pipe, is written to.

    Raises:
        UsageError: when the file cannot be written there.
    """
    raw = content.encode("utf-8") if isinstance(content, str) else content
    with _writing(path):
        if _is_stream(path):
            with path.open("ab") as stream:
                stream.write(raw)
            return
        target = _target(path)
        with _beside(target) as (temporary, handle):
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files that belong together into a folder.

    A new folder appears with all of them or not at all.  In one that is there already each file is
    replaced by itself; what else is in it stays.

    Args:
        folder: made if need be, in a folder that exists.
        files: content by name.

    Raises:
        UsageError: when they cannot be written there.
    """
    if folder.is_dir():
        for name, content in files.items():
            write_atomically(folder / name, content)
        return
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"cannot write {folder}: it is not a folder")
    _require_parent(folder, folder)
    temporary = folder.with_name(f".{secrets.token_hex(8)}.part")
    with _writing(folder), contextlib.ExitStack() as last:
        last.callback(shutil.rmtree, temporary, ignore_errors=True)
        temporary.mkdir()
        for name, content in files.items():
            (temporary / name).write_bytes(content)
        temporary.replace(folder)


def remove_empty(folder: Path) -> None:
    """Removes a folder that was made for what could not be written, unless something is in it."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def require_writable(path: Path) -> None:
    """Passes when a file can be written there, so that hours of work are not lost for a typo.

    Raises:
        UsageError: when it cannot, with the reason.
    """
    with _writing(path):
        if not _is_stream(path):
            with _beside(_target(path)) as (_, handle):
                os.close(handle)


def _is_stream(path: Path) -> bool:
    """Whether the path names something to write to, rather than a file to be replaced.

    ``/dev/stdout`` is one even where it leads to a regular file.
    """
    if path.absolute().parts[:2] in {("/", "dev"), ("/", "proc")}:
        return path.exists() and not path.is_dir()
    return path.exists() and not path.is_file() and not path.is_dir()


def _target(path: Path) -> Path:
    """Where a path leads, if a file can be written there."""
    target = path.resolve()
    if target.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder; give the name of a file in it")
    _require_parent(target, path)
    if target.is_file() and not os.access(target, os.W_OK):
        raise UsageError(f"cannot write {path}: the file is write-protected")
    return target


def _require_parent(target: Path, path: Path) -> None:
    if not target.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}; create it first")


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[tuple[Path, int]]:
    """A new file in the same folder, with the permissions of any new file; removed in the end."""
    temporary = target.with_name(f".{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(temporary, flags, 0o666)
    try:
        yield temporary, handle
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
