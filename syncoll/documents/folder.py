"""A folder of frontiers: for each machine and collective a file, which may have no points.

Each is written as soon as it is found and is checked when it is read, so that what was stopped goes
on where it was, and `syncoll check` needs nothing but the folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from syncoll.documents.atomic import require_writable, write_document
from syncoll.documents.stored import read_file
from syncoll.documents.written_frontier import frontier_document
from syncoll.errors import FileFormatError, UsageError, VerificationError
from syncoll.model import Collective, Topology
from syncoll.results import Frontier
from syncoll.trust.claims import check_claims

__all__ = ["INDEX", "FrontierFolder"]

INDEX = "index.json"
"""Where the table is; all other files are frontiers."""

_LONGEST_NAME = 120
"""Characters, without those that tell long names apart."""


class FrontierFolder:
    """Where frontiers are kept.

    Args:
        path: of the folder, made if need be.
        tell: is told, in words, which files are not what they should be.

    Raises:
        UsageError: when nothing can be written there.
    """

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self.path, self._tell = path, tell
        try:
            path.mkdir(exist_ok=True)
        except FileExistsError:
            raise UsageError(
                f"cannot write into {path}: it is a file, and a folder is wanted; name a new one"
            ) from None
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
        require_writable(path / INDEX)

    def file(self, topology: str, collective: str) -> Path:
        """Where the frontier of a collective on a topology is."""
        name = re.sub(r"[^A-Za-z0-9.+-]+", "_", f"{collective}-{topology}").strip("_.")
        if len(name) > _LONGEST_NAME:  # the ends of long names may be all that differs
            known = hashlib.sha256(f"{collective}-{topology}".encode()).hexdigest()[:12]
            name = f"{name[:_LONGEST_NAME]}-{known}"
        return self.path / f"{name}.json"

    def require_same(self, index: Mapping[str, str], words: str) -> None:
        """Passes when the table that is there, if any, is about the same.

        Args:
            index: what it must say.
            words: what it is about, for people.

        Raises:
            UsageError: when it says something else.
        """
        found = self.table()
        if found is not None and any(found.get(k) != v for k, v in index.items()):
            self.refuse(words)

    def table(self) -> Mapping[str, Any] | None:
        """The table that is there; empty where it is none, None where there is nothing."""
        file = self.path / INDEX
        if not file.exists():
            return None
        try:
            found = json.loads(file.read_bytes())
        except (OSError, ValueError):
            found = None
        return found if isinstance(found, dict) else {}

    def refuse(self, words: str) -> NoReturn:
        """Raises a `UsageError`: what is there is something else."""
        raise UsageError(
            f"{self.path} holds something else than {words}; name another folder, or remove this "
            "one"
        )

    def read(self, topology: Topology, collective: Collective) -> Frontier | None:
        """What was found before, checked; None where that is nothing."""
        file = self.file(topology.name, collective.name)
        if not file.exists():
            return None
        try:
            frontier = read_file(file).claims()
            check_claims(frontier, topology=topology, collective=collective)
        except (FileFormatError, VerificationError) as error:
            self._tell(f"proved anew, as {file} is of no use: {error}")
            return None
        return frontier

    def write(self, frontier: Frontier, file: Path | None = None) -> None:
        """Writes a frontier, where there is a file for it unless another is said.

        Raises:
            UsageError: when it cannot be written.
        """
        if file is None:
            file = self.file(frontier.topology.name, frontier.collective)
        write_document(file, frontier_document(frontier))

    def finish(self, table: Mapping[str, object]) -> None:
        """Writes the table; raises as `write` does."""
        write_document(self.path / INDEX, table)
