"""A checker of the frontiers, bounds, forests and floors that syncoll writes, small enough to read.

It imports only the standard library and follows docs/certificates.md, which specifies the files.
``python -m syncoll_check FILE...`` checks files; `check` does it from Python.

Modules, to be read in this order: `layout` (the entries of files), `machine`, `algorithms` and
`families` (replays), `certificates` (bounds), `frontier` (claims), `forest` (trees and cuts),
`floors` (bounds on times).
"""

from .floors import FloorsCheck
from .forest import ForestCheck
from .frontier import FrontierCheck, digest
from .layout import FileError, WrongError, at, parse, read, require

__all__ = ["FileError", "FloorsCheck", "ForestCheck", "FrontierCheck", "WrongError", "check"]


def check(content: bytes) -> FrontierCheck | ForestCheck | FloorsCheck:
    """Checks the content of a file.

    Raises:
        FileError: if it is neither a frontier, nor a forest, nor floors.
        WrongError: if a claim is wrong, or an entry is not as specified.
    """
    document, name, version = parse(content)
    with at():
        found = read(document, name, version)
        if name == "forest":
            return ForestCheck(found, version)
        if name == "floors":
            return FloorsCheck(found)
        changed = document.get("digest") not in (None, digest(document))
        require(not changed, "the file was changed after it was written: its digest differs")
        return FrontierCheck(found, version)
