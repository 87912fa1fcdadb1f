"""Reads files: JSON, and the entries that `entries.txt` lists (docs/certificates.md).

A *kind* is a function from a JSON value to the checked value, with exact ratios in place of texts
such as "7/6", and without unknown entries.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from math import isfinite, lcm
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Kind = Callable[[Any], Any]

NEWEST = {"frontier": 11, "forest": 2, "floors": 2}
DEEPEST = 16
MOST_GRAINS, MOST_ROUNDS = 1_000_000, 1_000_000_000


class FileError(Exception):
    """Neither a frontier, nor a forest, nor floors."""


class WrongError(Exception):
    """A wrong claim: the error, and its place in the file."""

    def __init__(self, what: str, *place: object) -> None:
        super().__init__(what)
        self.what, self.place = what, place

    def __str__(self) -> str:
        parts = [f"[{one}]" if type(one) is int else f".{one}" for one in self.place]
        return f"{''.join(parts).lstrip('.')}: {self.what}" if parts else self.what


def require(holds: object, what: str) -> None:
    """Raises `WrongError` unless a condition holds."""
    if not holds:
        raise WrongError(what)


@contextmanager
def at(*place: object) -> Iterator[None]:
    """Adds a place to errors; a missing position or name becomes an error."""
    try:
        yield
    except WrongError as error:
        raise WrongError(error.what, *place, *error.place) from None
    except LookupError as error:
        raise WrongError(f"a position of nothing ({error})", *place) from error


def parse(content: bytes) -> tuple[Json, str, int]:
    """The object in a file, its kind and its version; raises `FileError`."""

    def distinct(pairs: list[tuple[str, Any]]) -> Json:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("an object has a key twice")
        return found

    def finite(text: str) -> float:
        if not isfinite(value := float(text)):
            raise ValueError(f"the number {text[:20]}")
        return value

    decoder = json.JSONDecoder(
        object_pairs_hook=distinct, parse_constant=finite, parse_float=finite
    )
    try:
        document = decoder.decode(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FileError(f"not JSON in UTF-8: {error}") from None
    level = [document]
    for _ in range(DEEPEST):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for each in inner for one in each if isinstance(one, dict | list)]
    schema = document.get("schema") if isinstance(document, dict) and not level else None
    match = re.fullmatch(r"syncoll/(frontier|forest|floors)/([1-9][0-9]{0,8})", str(schema))
    if not isinstance(schema, str) or match is None:
        raise FileError("neither a frontier nor bounds nor a forest of syncoll")
    if int(match[2]) > NEWEST[match[1]]:
        raise FileError(f"{schema} is newer than version {NEWEST[match[1]]}, the last known one")
    return document, match[1], int(match[2])


def read(document: Json, name: str, version: int) -> Json:
    """The entries that claims are about; raises `WrongError`."""
    layout = _Layout()
    found: Json = layout.kinds[name](document)
    grains = found.get("interconnect", {}).get("grains", 1)
    require(grains % layout.parts == 0, f"rounds that are no multiples of 1/{grains}")
    require(
        layout.needed <= version or name == "floors",
        f"it has entries that files have from version {layout.needed} on",
    )
    return found


class _Layout:
    """The kinds of `entries.txt`, by name."""

    def __init__(self) -> None:
        self.needed = 1  # the least version with all entries that were read
        self.parts = 1  # the least common denominator of all rounds that were read
        self.kinds: dict[str, Kind] = {
            "text": _one(lambda value: isinstance(value, str), "a text"),
            "flag": _one(lambda value: type(value) is bool, "true or false"),
            "true": _one(lambda value: value is True, "true"),
            "number": _one(_is_number, "a number of at least 0"),
            "seconds": _one(_are_seconds, "seconds by name"),
            "ratio": _ratio,
            "rounds": partial(self._rounds, 0),
            "positive_rounds": partial(self._rounds, Fraction(1, MOST_GRAINS)),
            "signed_rounds": partial(self._rounds, -MOST_ROUNDS),
        }
        common = ""
        text = Path(__file__).with_name("entries.txt").read_text("utf-8")
        for line in text.replace(",\n ", ",").splitlines():
            name, colon, entries = line.partition(":")
            kind, _, method = name.partition(".")
            if " = " in name:
                alias, _, meant = line.partition(" = ")
                self.kinds[alias] = self._kind(meant)
            elif name == "certificate":
                common, self.kinds[name] = f"{entries}, ", self._certificate
            elif method:
                self.kinds[name] = self._record(common + entries, closed=True)
            elif colon:
                self.kinds[kind.rstrip("*")] = self._record(entries, closed=kind[-1] != "*")

    def _kind(self, text: str) -> Kind:
        """The kind of a type; records may come later in the list."""
        if text.endswith("|null"):
            inner = self._kind(text.removesuffix("|null"))
            return lambda value: None if value is None else inner(value)
        if text.startswith("["):
            inner, least = self._kind(text.rstrip("+")[1:-1]), int(text.endswith("+"))
            return lambda value: _some(value, inner, least)
        if text.startswith("("):
            kinds = [self._kind(one) for one in text[1:-1].split()]
            return lambda value: _row(value, kinds)
        if text.startswith('"'):
            words = json.loads(f"[{text.replace('|', ',')}]")
            return _one(lambda value: isinstance(value, str) and value in words, text)
        if run := re.fullmatch(r"run of (\w+) @(\d+)", text):
            return self._run(run[1], int(run[2]))
        if ".." in text:
            low, high = map(int, text.split(".."))
            return _one(lambda value: type(value) is int and low <= value <= high, text)
        return lambda value: self.kinds[text](value)

    def _record(self, text: str, *, closed: bool) -> Kind:
        entries = re.findall(r"(\w+)(\??) ([^,@]+?)(?: @(\d+))?(?:,|$)", text)
        known = {key: (self._kind(kind), int(version or 1)) for key, _, kind, version in entries}
        optional = {key: bool(mark) for key, mark, _, _ in entries}

        def read(value: Any) -> Json:
            require(isinstance(value, dict), f"{value!r:.60}; expected an object")
            for key, may_lack in optional.items():
                require(may_lack or key in value, f"the entry {key!r} is missing")
            found = {}
            for key, one in value.items():
                require(key in known or not closed, f"the unknown entry {key!r:.60}")
                if key in known:
                    kind, version = known[key]
                    with at(key):
                        found[key] = kind(one)
                    self.needed = max(self.needed, version if one else 1)
            return found

        return read

    def _certificate(self, value: Any) -> Any:
        method = value.get("method") if isinstance(value, dict) else None
        kind: Any = self.kinds.get(f"certificate.{method}")
        require(kind and isinstance(method, str), f"the method {method!r:.60}")
        return kind(value)

    def _rounds(self, least: int | Fraction, value: Any) -> int | Fraction:
        """A whole number, or a ratio as text."""
        found: int | Fraction = value
        if type(value) is not int:
            is_ratio = isinstance(value, str) and "/" in value
            require(is_ratio, f"{value!r:.60}; expected rounds: a number, or a ratio such as 7/6")
            found = _ratio(value.removeprefix("-")) * (-1 if value[0] == "-" else 1)
            self.parts = lcm(self.parts, found.denominator)
        require(least <= found <= MOST_ROUNDS, f"{value!r:.60} rounds")
        return found

    def _run(self, name: str, version: int) -> Kind:
        """A number, or the first and the last of a run, which needs a version."""

        def read(value: Any) -> tuple[int, int]:
            if not isinstance(value, list):
                return (self.kinds[name](value),) * 2
            self.needed = max(self.needed, version)
            first, last = _row(value, [self.kinds[name]] * 2)
            require(first <= last, f"a run from {first} to {last}")
            return first, last

        return read


def _one(holds: Callable[[Any], bool], what: str) -> Kind:
    def read(value: Any) -> Any:
        if not holds(value):
            raise WrongError(f"{value!r:.60}; expected {what}")
        return value

    return read


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and value >= 0


def _are_seconds(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


def _ratio(value: Any) -> Fraction:
    match = re.fullmatch(r"([0-9]{1,30})(?:/([0-9]{1,30}))?", value) if type(value) is str else None
    if match is None or not int(match[2] or 1):
        raise WrongError(f"{value!r:.60}; expected an exact ratio such as 7/6")
    return Fraction(value)


def _some(value: Any, kind: Kind, least: int) -> list[Any]:
    require(isinstance(value, list) and len(value) >= least, f"{value!r:.60}; expected a list")
    found: list[Any] = []
    try:
        found.extend(map(kind, value))
    except WrongError as error:
        raise WrongError(error.what, len(found), *error.place) from None
    return found


def _row(value: Any, kinds: list[Kind]) -> tuple[Any, ...]:
    if not isinstance(value, list) or len(value) != len(kinds):
        raise WrongError(f"{value!r:.60}; expected {len(kinds)} entries")
    return tuple([kind(one) for kind, one in zip(kinds, value, strict=True)])
