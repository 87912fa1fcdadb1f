"""Writes files atomically: a reader sees the old content or the new."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from syncoll.documents.json_text import to_text
from syncoll.errors import UsageError


def write_document(path: Path, document: Mapping[str, object]) -> None:
    """Writes a document as JSON.  Raises `UsageError` if the file cannot be written there."""
    write_atomically(path, to_text(dict(document)) + "\n")


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replaces the file by one with this content; on any failure the old file stays.  Raises
    `UsageError` if the file cannot be written there.

    The target of a symbolic link is replaced, not the link.  Streams, such as ``/dev/stdout`` or a
    pipe, are written to.
    """
    raw = content.encode("utf-8") if isinstance(content, str) else content
    with _writing(path):
        if _is_stream(path):
            with path.open("ab") as stream:
                stream.write(raw)
            return
        target = _target(path)
        with _beside(target) as (temporary, handle):
            _write(handle, raw)
            temporary.replace(target)


def _write(handle: int | Path, content: bytes) -> None:
    with open(handle, "xb" if isinstance(handle, Path) else "wb") as file:  # noqa: PTH123
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files, by name, into a folder, created if missing in an existing folder.  Raises
    `UsageError` if they cannot be written there.

    A new folder appears complete or not at all.  In an existing folder each file is replaced by
    itself, and other files stay.
    """
    if folder.is_dir():
        for name, content in files.items():
            write_atomically(folder / name, content)
        return
    write_new_folder(folder, files)


def require_new_folder(folder: Path) -> None:
    """Raises `UsageError` unless a folder of this name can be made, or exists and is empty."""
    with _writing(folder):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise UsageError(f"cannot write {folder}: it is not a folder; name a new one")
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(
                f"cannot write {folder}: the folder is not empty, and its files would mix with "
                "the new ones; name a new folder"
            )
        _require_parent(folder.absolute(), folder)


def write_new_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files, whose names may have folders, into a new folder, all or none of
    them.  Raises `UsageError` when they cannot be written there."""
    require_new_folder(folder)
    target = folder.absolute()
    temporary = target.with_name(f".{secrets.token_hex(8)}.part")
    with _writing(folder), contextlib.ExitStack() as last:
        last.callback(shutil.rmtree, temporary, ignore_errors=True)
        temporary.mkdir()
        for name, content in files.items():
            path = temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, content)
        if target.is_dir():
            target.rmdir()  # not every system replaces an empty folder
        temporary.rename(target)


def remove_empty(folder: Path) -> None:
    """Removes a folder if it is empty."""
    with contextlib.suppress(OSError):
        folder.rmdir()


def require_writable(path: Path) -> None:
    """Checks before hours of work that a file can be written there.  Raises `UsageError` when it
    cannot, with the reason."""
    with _writing(path):
        if not _is_stream(path):
            with _beside(_target(path)) as (_, handle):
                os.close(handle)


def _is_stream(path: Path) -> bool:
    """Whether the path is a stream; ``/dev/stdout`` is one even if it is a regular file."""
    if path.absolute().parts[:2] in {("/", "dev"), ("/", "proc")}:
        return path.exists() and not path.is_dir()
    return path.exists() and not path.is_file() and not path.is_dir()


def _target(path: Path) -> Path:
    """The target of a path, if a file can be written there."""
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
    """A temporary file in the same folder, with the permissions of any new file."""
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
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot write {path}: {reason}") from error
