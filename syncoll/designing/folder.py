"""A folder of proofs: for each machine and collective a frontier's file, which may have no points.

Each is written as soon as it is found and is checked when it is read, so that a design that was
stopped goes on where it was, and `syncoll check` needs nothing but the folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from syncoll.designing.candidates import Candidate
from syncoll.designing.design import Proved
from syncoll.documents import frontier_document, read_file, require_writable, write_document
from syncoll.errors import FileFormatError, UsageError, VerificationError
from syncoll.model import Collective
from syncoll.trust.claims import check_claims

__all__ = ["INDEX", "DesignFolder"]

INDEX = "index.json"
"""Where the table is; all other files are frontiers."""


class DesignFolder:
    """Where what is proved is kept.

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
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
        require_writable(path / INDEX)

    def file(self, topology: str, collective: str) -> Path:
        """Where the bounds of a collective on a topology are."""
        name = re.sub(r"[^A-Za-z0-9.+-]+", "_", f"{collective}-{topology}").strip("_.")
        return self.path / f"{name[:120]}.json"

    def known(self, candidate: Candidate, collective: Collective) -> Proved | None:
        """What was found before, checked; None where that is nothing, or not all."""
        file = self.file(candidate.name, collective.name)
        if not file.exists():
            return None
        try:
            frontier = read_file(file).claims()
            check_claims(frontier, topology=candidate.topology, collective=collective)
        except (FileFormatError, VerificationError) as error:
            self._tell(f"proved anew, as {file} is of no use: {error}")
            return None
        if not (frontier.complete or frontier.points):
            return None
        return Proved(frontier.least_steps, frontier.least_bandwidth, frontier)

    def keep(self, candidate: Candidate, proved: Proved) -> None:
        """Writes what was found, where there is a file for it.

        Points of a search that proved less than is known have a file beside that of the bounds.

        Raises:
            UsageError: when it cannot be written.
        """
        found = proved.frontier
        if found is None:
            return
        proves = found.least_steps >= proved.steps and found.least_bandwidth >= proved.bandwidth
        file = self.file(candidate.name, found.collective)
        if not proves:
            file = file.with_stem(f"{file.stem}-found")
        write_document(file, frontier_document(found))

    def finish(self, table: Mapping[str, object]) -> None:
        """Writes the table; raises as `keep` does."""
        write_document(self.path / INDEX, table)
