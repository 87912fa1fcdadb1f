"""What a file says of itself at its beginning: of which kind it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from syncoll.errors import FileFormatError

__all__ = ["holds_forest", "kind_in", "noun_of", "refuse_kind"]

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


def kind_in(path: Path) -> str:
    """The kind that a file says, at its beginning, that it is; empty for one that is not ours."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return ""
    match = re.search(rb'"schema"\s*:\s*"syncoll/([a-z-]+)/', head)
    return match[1].decode() if match else ""


def holds_forest(path: Path) -> bool:
    """Whether a file says of itself, at its beginning, that it is a forest's."""
    return kind_in(path) == "forest"


def noun_of(kind: str) -> str:
    """A file of a kind in words; empty for a kind that there is not."""
    if kind in _PRINTED_BY:
        return f"what `syncoll {_PRINTED_BY[kind]} --format json` prints"
    return _NOUNS.get(kind, "")


def refuse_kind(schema: object, name: str, kinds: Sequence[str], taker: str = "") -> None:
    """Says of a kind of ours which it is, and which are taken.

    Args:
        schema: the entry of a document.
        name: of the file, for errors.
        kinds: that are taken.
        taker: the verb that takes them.

    Raises:
        FileFormatError: unless the kind is taken, or none of ours.
    """
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    found = "" if match is None or match[1] in kinds else noun_of(match[1])
    if found:
        *others, last = [_NOUNS[kind] for kind in kinds]
        words = f"{', '.join(others)} or {last}" if others else last
        raise FileFormatError(
            f"{name}: this is {found}; {f'{taker} takes' if taker else 'expected'} {words}"
        )
