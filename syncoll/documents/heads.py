"""What a file says of itself at its beginning: which kind it is, and which kinds a reader takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from syncoll.errors import FileFormatError

__all__ = ["WITH_ALGORITHMS", "holds_forest", "require_kind"]

WITH_ALGORITHMS = ("frontier", "outcome", "algorithm")
"""The kinds of files that may hold algorithms to run, export, simulate or report."""

_HEAD = 1 << 16
_SCHEMA = re.compile(r"syncoll/([a-z-]+)/[1-9][0-9]{0,8}")
_NOUNS = {
    "frontier": "a frontier",
    "outcome": "an outcome",
    "algorithm": "an algorithm",
    "refutation": "a refutation",
    "forest": "a forest",
    "plan": "a plan",
    "simulation": "a simulation",
}
_PRINTED_BY = {
    "bounds": "bounds",
    "check": "check",
    "collective": "show",
    "design": "design",
    "execution": "run",
    "explanation": "explain",
    "export": "export",
    "mpi-execution": "run",
    "ni-table": "show",
    "plugins": "plugins",
    "repair": "repair",
    "specs": "spec list",
    "store": "store",
    "survey": "repair",
    "symmetry": "show",
    "topology": "show",
    "verification": "verify",
}
"""For each kind that is only printed, with --format json, the command that prints it."""


def holds_forest(path: Path) -> bool:
    """Whether a file says of itself, at its beginning, that it is a forest's."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return False
    return re.search(rb'"schema"\s*:\s*"syncoll/forest/', head) is not None


def require_kind(schema: object, name: str, kinds: Sequence[str], taker: str = "") -> None:
    """Passes kinds that are taken, and schemas that are not ours.

    Args:
        schema: the entry of a document.
        name: of the file, for errors.
        kinds: that are taken.
        taker: the verb that takes them.

    Raises:
        FileFormatError: on another kind of ours, naming it and those that are taken.
    """
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if match is None or match[1] in kinds:
        return
    found = _NOUNS.get(match[1])
    if match[1] in _PRINTED_BY:
        found = f"what `syncoll {_PRINTED_BY[match[1]]} --format json` prints"
    if found is not None:
        *others, last = [_NOUNS[kind] for kind in kinds]
        words = f"{', '.join(others)} or {last}" if others else last
        raise FileFormatError(
            f"{name}: this is {found}; {f'{taker} takes' if taker else 'expected'} {words}"
        )
