"""Exported files get names and are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from syncoll.documents import StoredAlgorithm, write_atomically, write_folder
from syncoll.errors import UsageError
from syncoll.runtime.verified import HandedOut

__all__ = ["SavedExport", "label", "save"]


@dataclass(frozen=True)
class SavedExport:
    """Files of a runtime that are there now.

    Args:
        files: where they are.
        export: what they were found to do.
    """

    files: tuple[Path, ...]
    export: HandedOut


def label(one: StoredAlgorithm, collective: str, *, in_place: bool = False) -> str:
    """A name for an algorithm, of letters, digits and ``._-``: ``dgx1-allgather-C6-S3-R7``."""
    instance = one.instance
    costs = f"C{instance.chunks}-S{instance.steps}-R{instance.rounds}"
    plain = [
        re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")
        for text in (instance.topology.name, collective)
    ]
    return "-".join([*(text for text in plain if text), costs, *(["in-place"] if in_place else [])])


def save(out: Path, files: Mapping[str, bytes], *, folder: bool) -> list[Path]:
    """Writes the files of one algorithm; nothing of them appears when it fails.

    Args:
        out: the file to write, or a folder for it; for a format of several files the folder.
        files: content by name.
        folder: whether the format is one of several files.

    Returns:
        The files that are there now.

    Raises:
        UsageError: when they cannot be written.
    """
    if folder:
        others = sorted({p.name for p in out.iterdir()} - set(files)) if out.is_dir() else []
        if others:
            raise UsageError(
                f"{out} has other files ({others[0]}), which would be taken for part of the "
                "export; name a folder that is new, empty or of this algorithm"
            )
        write_folder(out, files)
        return [out / name for name in files]
    if len(files) != 1:
        raise UsageError(
            f"the exporter wrote {len(files)} files, but its record says that it writes one"
        )
    ((name, content),) = files.items()
    path = out / name if out.is_dir() else out
    write_atomically(path, content)
    return [path]
