"""Documents: reading and checking JSON before anything in it is believed.

Three layers, each with its own complaint: the text must be JSON (else line and column), its
``schema`` must be one of ours and not newer than this syncoll, and its shape must pass the JSON
Schema in the folder ``schemas``.  Only then do the numbers reach the model, which checks their
sense.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from math import isfinite
from pathlib import Path
from typing import Any

from syncoll.errors import FileFormatError

__all__ = ["KINDS", "VERSION", "digest", "parse_document", "read_document", "schema"]

KINDS = ("frontier", "outcome", "algorithm", "refutation")
"""The kinds of files; the schema of each has its name."""

VERSION = 1
"""The version of all kinds that this syncoll writes."""

_LARGEST_FILE = 1 << 30
_LARGEST_COUNT = 1_000_000_000
_DEEPEST = 16
_LONGEST_NUMBER = 40


def digest(document: Mapping[str, Any]) -> str:
    """The SHA-256 of a document without its entry ``digest``; finds what was changed by accident.

    Whoever changes a file on purpose can compute it anew: what is claimed must hold on its own.
    """
    rest = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@cache
def schema(kind: str) -> Mapping[str, Any]:
    """The JSON Schema of a kind, complete in itself: what all kinds share is embedded in it."""
    return {**_schema_file(kind), "$defs": {"common": _schema_file("common")}}


def _schema_file(name: str) -> dict[str, Any]:
    text = (resources.files("syncoll.documents") / "schemas" / f"{name}.json").read_text("utf-8")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def read_document(path: Path) -> tuple[str, dict[str, Any]]:
    """The kind and the content of a file of ours.

    Raises:
        FileFormatError: when it cannot be read or is no such file, with the reason.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileFormatError(f"cannot read {path}: {reason}") from None
    if len(content) > _LARGEST_FILE:
        raise FileFormatError(f"{path}: larger than {_LARGEST_FILE >> 20} MiB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: not a text file in UTF-8; expected JSON") from None
    return parse_document(text, str(path))


def parse_document(text: str, name: str) -> tuple[str, dict[str, Any]]:
    """The kind and the content of a text; `name` stands in errors.

    Raises:
        FileFormatError: see `read_document`.
    """
    if not text.strip():
        raise FileFormatError(f"{name}: the file is empty")
    try:
        document = json.loads(
            text,
            object_pairs_hook=_no_repeats,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_finite,
        )
    except json.JSONDecodeError as error:
        cut = " (is the file truncated?)" if error.pos >= len(text.rstrip()) else ""
        raise FileFormatError(
            f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}{cut}"
        ) from None
    except RecursionError:
        raise FileFormatError(f"{name}: nested too deeply to be one of syncoll's files") from None
    except ValueError as error:
        raise FileFormatError(f"{name}: {error}") from None
    kind = _kind(document, name)
    _check_shape(kind, document, name)
    return kind, document


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return result


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number in JSON")


def _integer(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"the number {text[:20]}… is too large")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def _kind(document: object, name: str) -> str:
    if not isinstance(document, dict) or not isinstance(document.get("schema"), str):
        raise FileFormatError(
            f'{name}: no file of syncoll\'s; expected an object with "schema": "syncoll/…"'
        )
    match = re.fullmatch(r"syncoll/([a-z]+)/([1-9][0-9]{0,8})", document["schema"])
    if match is None or match[1] not in KINDS:
        known = ", ".join(f"syncoll/{kind}/{VERSION}" for kind in KINDS)
        raise FileFormatError(
            f"{name}: unknown schema {document['schema'][:60]!r}; this syncoll reads {known}"
        )
    if int(match[2]) > VERSION:
        raise FileFormatError(
            f"{name}: written by a newer syncoll (schema {document['schema']}, this one reads "
            f"version {VERSION}); upgrade syncoll to read it"
        )
    return match[1]


@cache
def _validator(kind: str) -> Any:
    import jsonschema
    import referencing

    draft = jsonschema.Draft202012Validator
    # JSON Schema calls 1.0 an integer, which is no index into an array.
    strict = draft.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    extend: Any = jsonschema.validators.extend
    whole = schema(kind)
    # A registry that was not crawled is crawled anew for each reference, which takes longest.
    root = referencing.Resource.from_contents(whole)
    registry = referencing.Registry().with_resource(root.id() or "", root).crawl()
    resolver = registry.resolver(root.id() or "")
    return extend(draft, type_checker=strict)(whole, _resolver=resolver)


def _check_shape(kind: str, document: Mapping[str, Any], name: str) -> None:
    import jsonschema

    errors = _validator(kind).iter_errors(_light(document, name))
    error = jsonschema.exceptions.best_match(errors)
    if error is not None:
        message = error.message if len(error.message) < 200 else f"{error.message[:200]} …"
        raise FileFormatError(f"{name}: at {error.json_path}: {message}")


def _light(value: Any, name: str, depth: int = 0) -> Any:
    """The document with empty tables of sends, after a check of their rows by hand.

    They may have millions of rows, on each of which a general validator spends a tenth of a
    millisecond.
    """
    if depth > _DEEPEST:
        raise FileFormatError(f"{name}: nested too deeply to be one of syncoll's files")
    if isinstance(value, list):
        if any(isinstance(item, (dict, list)) for item in value):
            return [_light(item, name, depth + 1) for item in value]
        return value
    if not isinstance(value, dict):
        return value
    sends = value.get("sends")
    if isinstance(sends, list):
        for row in sends:
            good = type(row) is list and len(row) == 4
            if not good or not all(type(x) is int and 0 <= x <= _LARGEST_COUNT for x in row):
                text = repr(row) if len(repr(row)) < 60 else f"{repr(row)[:60]} …"
                raise FileFormatError(
                    f"{name}: {text} is no send; expected [chunk, source, destination, step], "
                    "whole numbers of at least 0"
                )
        value = {**value, "sends": []}
    return {key: _light(item, name, depth + 1) for key, item in value.items()}
