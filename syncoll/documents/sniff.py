"""The kind of a file, from the schema at its beginning."""

import re
from collections.abc import Sequence
from pathlib import Path

from syncoll.errors import FileFormatError

_HEAD = 1 << 16
_SCHEMA = re.compile(r"syncoll/([a-z-]+)/[1-9][0-9]{0,8}")
_NOUNS = {"outcome": "an outcome", "algorithm": "an algorithm", "floors": "bounds on times"} | {
    kind: f"a {kind}"
    for kind in ("frontier", "refutation", "forest", "plan", "simulation", "recommendation")
}
_PRINTED_BY = {
    **{
        verb: verb for verb in ("bounds", "check", "design", "export", "plugins", "repair", "store")
    },
    **dict.fromkeys(("collective", "symmetry", "topology"), "show"),
    **dict.fromkeys(("execution", "mpi-execution"), "run"),
    "explanation": "explain",
    "specs": "spec list",
    "survey": "repair",
    "verification": "verify",
}
"""For each kind that is only printed, with --format json, the command that prints it."""


def kind_in(path: Path) -> str:
    """The kind in a file's schema; empty for a file of another program."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError):
        return ""
    match = re.search(rb'"schema"\s*:\s*"syncoll/([a-z-]+)/', head)
    return match[1].decode() if match else ""


def noun_of(kind: str) -> str:
    """A file of a kind in words; empty for an unknown kind."""
    if kind in _PRINTED_BY:
        return f"the output of `syncoll {_PRINTED_BY[kind]} --format json`"
    return _NOUNS.get(kind, "")


def refuse_kind(schema: object, name: str, kinds: Sequence[str], taker: str = "") -> None:
    """Raises `FileFormatError` for a file whose schema is of another known kind than the expected
    ones; the verb `taker` takes these."""
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    found = "" if match is None or match[1] in kinds else noun_of(match[1])
    if found:
        *others, last = [_NOUNS[kind] for kind in kinds]
        words = f"{', '.join(others)} or {last}" if others else last
        raise FileFormatError(
            f"{name}: this is {found}; {f'{taker} takes' if taker else 'expected'} {words}"
        )
