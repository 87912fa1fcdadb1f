"""Files of runtimes: TOML with a table for each protocol, and for its links of each kind."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from json import dumps
from pathlib import Path
from typing import Any

from syncoll import values
from syncoll.errors import FileFormatError, UsageError
from syncoll.plugins import ExporterRecord
from syncoll.runtime import Kind
from syncoll.simulating.runtimes import WIRE, Hop, Protocol, Reach, Runtime
from syncoll.units import format_bandwidth, format_time, parse_bandwidth, parse_time
from syncoll.wording import argument

FORMAT = "syncoll runtime/1"

RUNTIMES = ("wire", "nccl", "rccl", "msccl", "mscclpp", "mpi")
"""The shipped runtimes."""

_FOLDER = Path(__file__).with_name("runtimes")


def runtime(name: str | Path | Runtime) -> Runtime:
    """A shipped runtime, or that of a file, by name; ``nccl:LL`` has only one of its protocols.

    Raises:
        UsageError: if it does not exist.
        FileFormatError: if the file is not a runtime; the message has the line.
    """
    if isinstance(name, Runtime):
        return name
    path, wanted = Path(name), ""
    if str(name) in RUNTIMES or not path.is_file():
        text, _, wanted = str(name).partition(":")
        path = _FOLDER / f"{text}.toml" if text in RUNTIMES else Path(text)
    if not path.is_file():
        raise UsageError(
            f"{argument('runtime')}: {name} is neither a runtime nor a file; the runtimes are "
            f"{', '.join(RUNTIMES)}"
        )
    try:
        content = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path}: cannot be read as text: {error}") from error
    found = _File(str(path), content).runtime()
    chosen = tuple(one for one in found.protocols if wanted in ("", one.name))
    if not chosen:
        known = ", ".join(one.name for one in found.protocols)
        raise UsageError(
            f"{argument('runtime')}: {found.name} has no protocol {wanted}; it has {known}"
        )
    return replace(found, protocols=chosen)


def given_runtime(
    name: str | Path | Runtime | None,
    overhead: float | str | None = None,
    record: ExporterRecord | None = None,
    options: Mapping[str, object] | None = None,
) -> tuple[Runtime, Fraction]:
    """The runtime of an argument, and the seconds of a call in addition to its costs.

    Args:
        name: None for the runtime with the name of the exporter, and else the wire.
        overhead: replaces the cost of a call of the runtime.
        record: the exporter whose files have the runtime's protocols, if any.
        options: of the exporter.

    Raises:
        UsageError, FileFormatError: as `runtime` and `Runtime.written`, and on an invalid overhead.
    """
    usual = record.name if record is not None and record.name in RUNTIMES else WIRE.name
    found = runtime(name or usual)
    if record is not None:
        found = found.written(options or {}, record.options)
    if overhead is None:
        return found, Fraction(0)
    free = tuple(replace(one, call=Fraction(0)) for one in found.protocols)
    return replace(found, protocols=free, per_gpu=Fraction(0)), values.time_of("overhead", overhead)


_Kinds = Mapping[str, Any]
"""By key of a table the kind of its values, or the kinds of a table in it."""

_REAL = int, Fraction


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _rate(rate: Fraction) -> str:
    return dumps(format_bandwidth(rate))


_KINDS: Mapping[str, tuple[str, Any, Callable[[Any], Any], Callable[[Any], str]]] = {
    "text": ("a text", str, lambda x: x or None, dumps),
    "time": ("a text such as '5 us'", str, parse_time, lambda x: dumps(format_time(x))),
    "rate": ("a text such as '300 GB/s'", str, parse_bandwidth, _rate),
    "cost": (
        "a text such as '300 GB/s'",
        str,
        lambda x: 1 / parse_bandwidth(x),
        lambda x: _rate(1 / x),
    ),
    "number": ("a number of at least 0", _REAL, lambda x: Fraction(x) if x >= 0 else None, _short),
    "share": ("a number above 0", _REAL, lambda x: Fraction(x) if x > 0 else None, _short),
    "whole": ("a whole number of at least 1", int, lambda x: x if x > 0 else None, str),
    "truth": ("true or false", bool, bool, dumps),
    "kinds": (
        f"a list of collectives: {', '.join(Kind)}",
        list,
        lambda x: tuple(map(Kind, x)),
        dumps,
    ),
    "names": (
        "a list of texts",
        list,
        lambda x: tuple(x) if all(isinstance(one, str) for one in x) else None,
        dumps,
    ),
}
"""By kind of a value: the values of a file in words, their type, a reader, which returns None for
another value, and a writer."""

_REACH: _Kinds = {"factor": "number", "extra": "time", "share": "share", "rate": "rate"}
_RUNTIME: _Kinds = {
    **dict.fromkeys(("format", "name", "source"), "text"),
    "error": "number",
    "basis": "text",
    "per_gpu": "time",
    "gpus": "whole",
}
_PROTOCOL: _Kinds = {
    **dict.fromkeys(("call", "message", "summing"), "time"),
    "block_rate": "rate",
    "blocks": "whole",
    "reduction": "cost",
    "collectives": "kinds",
    "in_switches": "truth",
    "only": "names",
    "without": "names",
    **dict.fromkeys(Reach, _REACH),
}


class _File:
    """The text of a file, and its values."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text
        try:
            self._content = tomllib.loads(text, parse_float=Fraction)
        except ValueError as error:
            place = re.search(r" \(at line ([0-9]+), .*\)", str(error))
            where, why = (f":{place[1]}", str(error)[: place.start()]) if place else ("", error)
            raise FileFormatError(f"{name}{where}: {why}") from error

    def runtime(self) -> Runtime:
        content = self._content
        if (there := content.get("format")) != FORMAT:
            raise self._error((), "format", f"{there!r} is not a known format; expected {FORMAT!r}")
        protocols = content.pop("protocol", {})
        given = self._values((), content, _RUNTIME)
        del given["format"]
        for key in ("name", "source"):
            if key not in given:
                raise self._error((), "format", f"{key} is missing")
        if not isinstance(protocols, dict) or not protocols:
            raise self._error((), "protocol", "no protocol; expected [protocol.NAME]")
        made = []
        for name, table in protocols.items():
            costs = self._values(("protocol", name), table, _PROTOCOL)
            hops = {reach: Hop(**costs.pop(reach, {})) for reach in Reach}
            made.append(Protocol(name, hops=hops, **costs))
        return Runtime(protocols=tuple(made), **given)

    def _values(self, place: tuple[str, ...], table: object, kinds: _Kinds) -> dict[str, Any]:
        if not isinstance(table, dict):
            raise self._error(place[:-1], place[-1], f"{table!r} is not a table")
        found: dict[str, Any] = {}
        for key, value in table.items():
            if (kind := kinds.get(key)) is None:
                raise self._error(place, key, f"unknown key {key}; known are {', '.join(kinds)}")
            if not isinstance(kind, str):
                found[key] = self._values((*place, key), value, kind)
                continue
            expected, types, read, _ = _KINDS[kind]
            usual = isinstance(value, types) and isinstance(value, bool) is (kind == "truth")
            shown = float(value) if isinstance(value, Fraction) else value
            why = f"{shown!r} is not {expected}"
            try:
                found[key] = read(value) if usual else None
            except ValueError:
                found[key] = None
            except UsageError as error:
                found[key], why = None, str(error)
            if found[key] is None:
                raise self._error(place, key, f"{key}: {why}")
        return found

    def _error(self, place: tuple[str, ...], key: str, why: str) -> FileFormatError:
        """An error with the line of a key in a table, or of the table."""
        section, line = "", 1
        for number, text in enumerate(self._text.splitlines(), 1):
            if header := re.match(r"\s*\[([^\]]*)\]", text):
                section = header[1].replace('"', "").replace(" ", "")
                line = number if section == ".".join((*place, key)) else line
            elif section == ".".join(place) and re.match(rf'\s*"?{re.escape(key)}"?\s*[.=]', text):
                line = number
        return FileFormatError(f"{self._name}:{line}: {why}")


def runtime_text(one: Runtime) -> str:
    """A runtime as the content of a file."""

    def lines(value: object, kinds: _Kinds, **more: Any) -> Iterator[str]:
        """The fields that differ from their defaults."""
        given = more | {
            each.name: getattr(value, each.name)
            for each in fields(value)  # type: ignore[arg-type]
            if getattr(value, each.name) != each.default
        }
        for key, kind in kinds.items():
            if given.get(key) is not None:
                yield f"{key} = {_KINDS[kind][-1](given[key])}"

    found = [*lines(one, _RUNTIME, format=FORMAT)]
    for protocol in one.protocols:
        place = f"protocol.{protocol.name}"
        found += ["", f"[{place}]", *lines(protocol, _PROTOCOL)]
        for reach in Reach:
            found += ["", f"[{place}.{reach}]", *lines(protocol.hops[reach], _REACH)]
    return "\n".join(found) + "\n"
