"""Documents: reading and checking JSON.

Three layers have errors of their own.  The text must be JSON (else line and column), its ``schema``
must be known and not newer than this syncoll, and its entries must be as in the kind's record.  The
model then checks whether the numbers make sense.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from syncoll.documents.json_text import JsonTextError, collected_later, compact_text, parse_json
from syncoll.documents.problem import VERSION as VERSION
from syncoll.documents.record import read_record
from syncoll.documents.versions import brought
from syncoll.errors import FileFormatError

KINDS = ("frontier", "outcome", "algorithm", "refutation")
"""The kinds of files that are read."""

WITH_ALGORITHMS = ("frontier", "outcome", "algorithm")
"""The kinds of files that may hold algorithms."""

_RECORDS = {
    "frontier": ("frontier", "FrontierFile"),
    "outcome": ("outcome", "OutcomeRecord"),
    "algorithm": ("outcome", "AlgorithmFileRecord"),
    "refutation": ("outcome", "RefutationRecord"),
    "forest": ("forest", "ForestRecord"),
    "plan": ("plan", "PlanRecord"),
    "simulation": ("simulation", "SimulationRecord"),
    "recommendation": ("recommendation", "RecommendationRecord"),
    "floors": ("floors", "FloorsRecord"),
}
"""The module of each kind's record, imported when needed, and its name."""

_LARGEST_FILE = 1 << 30
_DEEPEST = 16
_NESTING = frozenset({dict, list})


class Document(NamedTuple):
    """A file whose entries were checked.

    Args:
        kind: one of `KINDS`.
        entries: all entries as read, unknown ones included.
        record: the record of the kind.
    """

    kind: str
    entries: dict[str, Any]
    record: Any


def digest(document: Mapping[str, Any]) -> str:
    """The SHA-256 of a document without its entry ``digest``; it detects accidental changes."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return f"sha256:{hashlib.sha256(compact_text(rest).encode()).hexdigest()}"


@cache
def schema(kind: str) -> Mapping[str, Any]:
    """The JSON Schema of a kind, complete in itself."""
    from syncoll.documents.record_schema import record_schema

    return record_schema(kind, _record(kind))


def _record(kind: str) -> Any:
    module, name = _RECORDS[kind]
    return getattr(import_module(f"syncoll.documents.{module}"), name)


def read_document(path: Path, kinds: Sequence[str] = KINDS, taker: str = "") -> Document:
    """The content of a file of one of these kinds.  Raises `FileFormatError`, with the reason and
    the verb `taker`, if it cannot be read or has another kind."""
    return parse_document(read_text(path), str(path), kinds, taker)


def read_text(path: Path) -> str:
    """The text of a file; raises FileFormatError if it cannot be read."""
    content = read_bytes(path, _LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise FileFormatError(f"{path}: larger than {_LARGEST_FILE >> 20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: not a text file in UTF-8; expected JSON") from None


def read_bytes(path: Path, most: int) -> bytes:
    """At most this number of bytes of a file; raises FileFormatError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileFormatError(f"cannot read {path}: {reason}") from None


@collected_later()
def parse_document(text: str, name: str, kinds: Sequence[str] = KINDS, taker: str = "") -> Document:
    """The content of a text, as `read_document`; `name` stands in errors."""
    entries = parse_entries(text, name)
    kind, version = _kind(entries, name, kinds, taker)
    _require_shallow(entries, name)
    record = read_record(entries, _record(kind), name)
    newer = [one for one in brought(kind, record) if one[0] > version] if version < VERSION else []
    if newer:
        brings, what = min(newer, key=lambda one: one[0])
        raise FileFormatError(
            f"{name}: {what}, which files of version {version} do not have; expected schema "
            f"syncoll/{kind}/{brings}"
        )
    return Document(kind, entries, record)


def parse_entries(text: str, name: str) -> Any:
    """The value of a JSON text; FileFormatError with line and column otherwise."""
    if not text.strip():
        raise FileFormatError(f"{name}: the file is empty")
    try:
        return parse_json(text)
    except JsonTextError as error:
        place = f"{name}:{error.line}:{error.column}" if error.line else name
        raise FileFormatError(f"{place}: {error}") from None


def _kind(document: object, name: str, kinds: Sequence[str], taker: str) -> tuple[str, int]:
    if not isinstance(document, dict) or not isinstance(document.get("schema"), str):
        raise FileFormatError(
            f'{name}: not a file of syncoll\'s; expected an object with "schema": "syncoll/…"'
        )
    match = re.fullmatch(r"syncoll/([a-z]+)/([1-9][0-9]{0,8})", document["schema"])
    if match is None or match[1] not in kinds or match[1] not in KINDS:
        from syncoll.documents.sniff import refuse_kind

        refuse_kind(document["schema"], name, kinds, taker)
        known = ", ".join(f"syncoll/{kind}/{VERSION}" for kind in KINDS)
        raise FileFormatError(
            f"{name}: unknown schema {document['schema'][:60]!r}; this syncoll reads {known}"
        )
    if int(match[2]) > VERSION:
        raise FileFormatError(
            f"{name}: written by a newer syncoll (schema {document['schema']}, this one reads "
            f"version {VERSION}); upgrade syncoll to read it"
        )
    return match[1], int(match[2])


def _require_shallow(document: dict[str, Any], name: str) -> None:
    """Refuses nesting that would exhaust the stack; records are not as deep."""
    level: list[Any] = [document]
    for _ in range(_DEEPEST):
        inner = (one.values() if type(one) is dict else one for one in level)
        nested = (children for children in inner if not _NESTING.isdisjoint(map(type, children)))
        level = [child for children in nested for child in children if type(child) in _NESTING]
        if not level:
            return
    raise FileFormatError(f"{name}: nested too deeply to be one of syncoll's files")
