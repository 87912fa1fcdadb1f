"""A folder of frontiers: for each topology and collective a file, which may have no points.

Each file is written as soon as its frontier is found and checked when it is read.  An interrupted
run can continue, and `syncoll check` needs only the folder.
"""

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

INDEX = "index.json"
"""The file of the table; all other files are frontiers."""

_LONGEST_NAME = 120
"""Characters, without the hash that long names end with."""


class FrontierFolder:
    """A folder of frontiers.

    Args:
        path: the folder, created if missing.
        tell: receives messages about unusable files.

    Raises:
        UsageError: if the folder is not writable.
    """

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self.path, self._tell = path, tell
        try:
            path.mkdir(exist_ok=True)
        except FileExistsError:
            raise UsageError(f"cannot write into {path}: it is a file; name a new folder") from None
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
        require_writable(path / INDEX)

    def file(self, topology: str, collective: str) -> Path:
        """The file of the frontier of a collective on a topology."""
        name = re.sub(r"[^A-Za-z0-9.+-]+", "_", f"{collective}-{topology}").strip("_.")
        if len(name) > _LONGEST_NAME:  # long names may differ only in their ends
            known = hashlib.sha256(f"{collective}-{topology}".encode()).hexdigest()[:12]
            name = f"{name[:_LONGEST_NAME]}-{known}"
        return self.path / f"{name}.json"

    def require_same(self, index: Mapping[str, str], words: str) -> None:
        """Raises `UsageError`, with the subject in words, if an existing table has another
        entry."""
        found = self.table()
        if found is not None and any(found.get(k) != v for k, v in index.items()):
            self.refuse(words)

    def table(self) -> Mapping[str, Any] | None:
        """The existing table; empty when unreadable, None when missing."""
        file = self.path / INDEX
        if not file.exists():
            return None
        try:
            found = json.loads(file.read_bytes())
        except (OSError, ValueError):
            found = None
        return found if isinstance(found, dict) else {}

    def refuse(self, words: str) -> NoReturn:
        """Raises a `UsageError`: the folder has another table."""
        raise UsageError(
            f"{self.path} holds other results than {words}; name another folder, or remove this one"
        )

    def read(self, topology: Topology, collective: Collective) -> Frontier | None:
        """The checked frontier of an earlier run; None without one."""
        file = self.file(topology.name, collective.name)
        if not file.exists():
            return None
        try:
            frontier = read_file(file).claims()
            check_claims(frontier, topology=topology, collective=collective)
        except (FileFormatError, VerificationError) as error:
            self._tell(f"proved anew, because {file} is unusable: {error}")
            return None
        return frontier

    def write(self, frontier: Frontier, file: Path | None = None) -> None:
        """Writes a frontier to its file or another one; raises `UsageError` if it cannot."""
        if file is None:
            file = self.file(frontier.topology.name, frontier.collective)
        write_document(file, frontier_document(frontier))

    def finish(self, table: Mapping[str, object]) -> None:
        """Writes the table; raises as `write` does."""
        write_document(self.path / INDEX, table)
