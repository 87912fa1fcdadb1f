"""Syntax trees of shipped files, kept for the next process, which then needs no parser."""

import contextlib
import os
import pickle
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path

from syncoll.spec.source import Source
from syncoll.spec.syntax import File

_MAKERS = "grammar.lark builder.py expressions.py keywords.py limits.py source.py syntax.py"
"""Files whose contents determine a tree, next to the text."""


def cache_folder() -> Path | None:
    """The folder for data that can be computed again; None if no folder can be used."""
    import platformdirs

    try:
        return platformdirs.user_cache_path("syncoll", appauthor=False, ensure_exists=True)
    except OSError:
        return None


def parse_once(source: Source, parse: Callable[[Source], File]) -> File:
    """The tree of a file: as an earlier process kept it, else as `parse` makes it.

    A tree is found by a digest of the file's name and text and of the parser's own code.  One that
    cannot be read is made anew; if none can be kept, this is not reported.
    """
    folder = cache_folder()
    if folder is None:
        return parse(source)
    parts = _makers(), os.fsencode(source.label), source.text.encode()
    digest = sha256(b"\0".join(parts)).hexdigest()[:32]
    path = folder / f"spec-{sys.version_info.minor}-{digest}.pickle"
    # A file that was cut off or written by other code may fail in any way.
    with contextlib.suppress(Exception):
        kept = pickle.loads(path.read_bytes())
        if isinstance(kept, File):
            return kept
    made = parse(source)
    with contextlib.suppress(OSError, RecursionError):
        begun = path.with_suffix(f".{os.getpid()}")
        begun.write_bytes(pickle.dumps(made))
        begun.replace(path)  # at once, since another process may be reading
    return made


@cache
def _makers() -> bytes:
    """The code that makes a tree."""
    folder = Path(__file__).parent
    return b"\0".join((folder / name).read_bytes() for name in _MAKERS.split())
