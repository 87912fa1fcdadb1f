"""Writes files so that a reader sees the old content or the new, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from syncoll.errors import UsageError

__all__ = ["write_atomically"]


def write_atomically(path: Path, text: str) -> None:
    """Replaces the file by one with this text; on any failure the old one stays as it was.

    Raises:
        UsageError: when the file cannot be written there.
    """
    name = ""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # A temporary file is private; the result gets the permissions that a new file would have.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if name:
            with contextlib.suppress(OSError):
                Path(name).unlink(missing_ok=True)
