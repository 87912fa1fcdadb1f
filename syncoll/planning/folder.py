"""A new folder that appears with everything in it, or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from syncoll.errors import UsageError

__all__ = ["require_new_folder", "write_new_folder"]


def require_new_folder(folder: Path) -> None:
    """Passes when a folder of this name can be made; an empty one may be there.

    Raises:
        UsageError: when it cannot, with the reason.
    """
    try:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise UsageError(f"cannot write {folder}: it is no folder; name a new one")
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(
                f"cannot write {folder}: the folder is not empty, and what is in it would get "
                "mixed up with what is written; name a new one"
            )
        if not folder.absolute().parent.is_dir():
            raise UsageError(
                f"cannot write {folder}: there is no folder {folder.parent}; create it first"
            )
    except (OSError, ValueError) as error:
        raise _cannot_write(folder, error) from error


def write_new_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files into a new folder, which appears when the last of them is on the disk.

    Args:
        folder: see `require_new_folder`.
        files: content by name; ``/`` in a name stands for a folder within.

    Raises:
        UsageError: when they cannot be written there; nothing is left behind.
    """
    require_new_folder(folder)
    target = folder.absolute()
    temporary = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        temporary.mkdir()
        for name, content in files.items():
            path = temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        if target.is_dir():
            target.rmdir()  # not every system puts a folder in the place of an empty one
        temporary.rename(target)
    except (OSError, ValueError) as error:
        raise _cannot_write(folder, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _cannot_write(folder: Path, error: Exception) -> UsageError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return UsageError(f"cannot write {folder}: {reason}")
