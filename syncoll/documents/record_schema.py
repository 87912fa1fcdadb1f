"""The JSON Schema of records, and errors of files in words."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from syncoll.documents.record import Record, ratio_pattern

Json = dict[str, Any]

# The schema ---------------------------------------------------------------------------------------

_USUAL = {"nodes": "P.", "steps": "S.", "rounds": "R.", "chunks": "C.", "bandwidth": "R/C."} | {
    "version": "version of the syncoll that wrote it.",
    "interconnect": "the topology.",
}
"""The descriptions of entries without one of their own."""

_ENTRY = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


@cache
def record_schema(name: str, kind: Any) -> Json:
    """The self-contained JSON Schema (draft 2020-12) of a record or union for a kind of file."""
    ratio = {"type": "string", "pattern": ratio_pattern(30)}
    # Each entry has a copy, for its own description.
    (top,), definitions = msgspec.json.schema_components([kind], schema_hook=lambda _: {**ratio})
    texts = {cls.__name__: _documented(cls) for cls in _records(Record)}
    for own, definition in definitions.items():
        if own not in texts:  # an enumeration
            definition.pop("description", None)
            continue
        definition["description"], entries = texts[own]
        for entry, text in entries.items():
            definition["properties"][entry]["description"] = text
        for entry in definition.get("properties", {}).values():
            if isinstance(entry.get("default"), tuple):  # JSON has only lists
                entry["default"] = list(entry["default"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:syncoll:{name}:1",
        "title": f"Files of kind {name}",
        **top,
        "$defs": definitions,
    }


def _records(cls: type[Record]) -> Iterator[type[Record]]:
    for one in cls.__subclasses__():
        yield one
        yield from _records(one)


def _documented(record: type[Record]) -> tuple[str, Mapping[str, str]]:
    """The descriptions in a docstring of a record, and of each entry by its name in files."""
    texts = dict(_USUAL)
    for cls in reversed(record.__mro__):
        if issubclass(cls, Record):
            doc = inspect.cleandoc(cls.__doc__ or "")
            head, _, arguments = doc.partition("\n\nArgs:\n")
            texts |= {name: " ".join(text.split()) for name, text in _ENTRY.findall(arguments)}
    names = dict(zip(record.__struct_fields__, record.__struct_encode_fields__, strict=True))
    return " ".join(head.split()), {names[key]: text for key, text in texts.items() if key in names}


# Errors -------------------------------------------------------------------------------------------

_AT = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_STEP = re.compile(r"[^.\[\]]+")
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


def explained(message: str, value: Any, kind: Any) -> str:
    """An error of msgspec in words: the place, the value, and the expected value."""
    match = _AT.fullmatch(message)
    assert match is not None
    what, place = match[1], match[2] or ""
    there, schemas, meaning = _walked(value, kind, place)
    colon = f"{place}: " if place else ""
    if what.startswith("Object missing"):
        return f"{colon}the entry {what.split('`')[1]!r} is missing"
    if what.startswith("Object contains unknown"):
        known = ", ".join(sorted({name for one in schemas for name in one.get("properties", ())}))
        return f"{colon}unknown entry {what.split('`')[1]!r}; expected {known}"
    choices = dict.fromkeys(json.dumps(c) for one in schemas for c in one.get("enum", ()))
    if choices:
        expected = " or ".join(choices)
    elif what.startswith("Expected "):
        expected = re.sub(
            r"`([^`]*)`",
            lambda types: " or ".join(_TYPES.get(one, one) for one in types[1].split(" | ")),
            what.removeprefix("Expected ").split(", got")[0],
        )
        expected = expected.replace(" >= ", " of at least ").replace(" <= ", " of at most ")
    else:
        return f"{colon}{what}"
    meaning = f" ({meaning.rstrip('.')})" if meaning else ""
    return f"{place or 'the whole'} is {_json(there)}; expected {expected}{meaning}"


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _walked(value: Any, kind: Any, place: str) -> tuple[Any, list[Json], str]:
    """The value at a place, its possible schemas, and its description."""
    whole = record_schema("", kind)
    schemas, meaning = list(_alternatives(whole, value, whole)), ""
    for step in _STEP.findall(place):
        if step == "...":  # some value of an object that may have any keys
            return value, [], meaning
        if step.isdigit() and isinstance(value, list):
            value = value[int(step)]
            found = [_item(one, int(step)) for one in schemas]
        else:
            value = value[step]
            found = [one.get("properties", {}).get(step) for one in schemas]
            meaning = next(
                (one["description"] for one in found if one and "description" in one), ""
            )
        schemas = [b for one in found if one for b in _alternatives(one, value, whole)]
    return value, schemas, meaning


def _item(schema: Json, position: int) -> Json | None:
    tuples = schema.get("prefixItems", ())
    return tuples[position] if position < len(tuples) else schema.get("items") or None


def _alternatives(schema: Json, value: Any, whole: Json) -> Iterator[Json]:
    """The schemas of a value without references; only that of its tag, if any."""
    if "$ref" in schema:
        yield from _alternatives(whole["$defs"][schema["$ref"].split("/")[-1]], value, whole)
    elif "anyOf" not in schema:
        yield schema
    else:
        tagged = schema.get("discriminator", {})
        tag = value.get(tagged.get("propertyName")) if isinstance(value, dict) else None
        chosen = tagged.get("mapping", {}).get(tag) if isinstance(tag, str) else None
        for one in [{"$ref": chosen}] if chosen else schema["anyOf"]:
            yield from _alternatives(one, value, whole)
