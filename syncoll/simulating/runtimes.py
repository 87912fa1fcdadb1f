"""Runtimes: the costs of the libraries that run algorithms, as numbers in a file.

A runtime has protocols, and each message goes by the fastest of them.  A protocol turns a network
into another, on which the simulation runs unchanged::

    time(size) = least over protocols of  call + per_gpu * (GPUs of a process - 1) + simulation
    latency of a send = factor * latency of its link + extra
    bandwidth of a lane = share * bandwidth, at most `rate` for each cable

`wire` is the network without a library: no cost of a call, and links at their latency and
bandwidth.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

from syncoll import values
from syncoll.errors import FileFormatError, UsageError
from syncoll.model import Counting
from syncoll.planning import CostModel
from syncoll.plugins import Option
from syncoll.runtime import Kind
from syncoll.simulating.boxes import between_boxes
from syncoll.simulating.network import PhysicalNetwork
from syncoll.simulating.semantics import Semantics
from syncoll.units import format_bandwidth, format_time, parse_bandwidth, parse_time
from syncoll.wording import argument

__all__ = [
    "RUNTIMES",
    "WIRE",
    "Hop",
    "Protocol",
    "Reach",
    "Runtime",
    "Setting",
    "given_runtime",
    "runtime",
    "runtime_text",
]

FORMAT = "syncoll runtime/1"

RUNTIMES = ("wire", "nccl", "rccl", "msccl", "mscclpp", "mpi")
"""The shipped runtimes."""


class Reach(StrEnum):
    """Kinds of links."""

    BOX = "box"
    """Within a box."""
    NETWORK = "network"
    """Between boxes."""


@dataclass(frozen=True)
class Hop:
    """The latency of a send, by that of its link: ``factor * latency + extra``, in seconds."""

    factor: Fraction = Fraction(1)
    extra: Fraction = Fraction(0)


_ANY_HOP = dict.fromkeys(Reach, Hop())
_WHOLE = dict.fromkeys(Reach, Fraction(1))
_NO_LIMIT: dict[Reach, Fraction | None] = dict.fromkeys(Reach)


@dataclass(frozen=True)
class Protocol:
    """A way in which a runtime moves data.

    Args:
        name: such as ``LL`` or ``Simple``.
        call: seconds of each call.
        hops: the latency of a send.
        shares: of the bandwidth of a lane.
        rates: bytes per second of a cable of a lane, at most; None for no limit.
        block_rate: bytes per second that a thread block sends; None for no limit.
        blocks: number of thread blocks of a rank.
        message: seconds for which a message occupies its first lane, besides its bytes.
        summing: seconds of each step that reduces.
        reduction: seconds for each byte that a node reduces.
        collectives: for which this protocol replaces the protocols without collectives.
        in_switches: whether switches copy and add up in it; otherwise each send counts.
    """

    name: str
    call: Fraction = Fraction(0)
    hops: Mapping[Reach, Hop] = field(default_factory=lambda: _ANY_HOP)
    shares: Mapping[Reach, Fraction] = field(default_factory=lambda: _WHOLE)
    rates: Mapping[Reach, Fraction | None] = field(default_factory=lambda: _NO_LIMIT)
    block_rate: Fraction | None = None
    blocks: int = 1
    message: Fraction = Fraction(0)
    summing: Fraction = Fraction(0)
    reduction: Fraction = Fraction(0)
    collectives: tuple[Kind, ...] = ()
    in_switches: bool = True

    def network(self, network: PhysicalNetwork) -> PhysicalNetwork:
        """The latencies and bandwidths that sends meet in this protocol."""
        stated = [dict(lane.protocols).get(self.name) for lane in network.lanes]
        free = (self.hops, self.shares, self.rates) == (_ANY_HOP, _WHOLE, _NO_LIMIT)
        if free and self.in_switches and not any(time is not None for time in stated):
            return network
        apart = between_boxes(network)
        kinds = [Reach.NETWORK if one else Reach.BOX for one in apart]
        users: dict[int, set[Reach]] = {}
        for kind, strands in zip(kinds, network.routes, strict=True):
            for strand in strands:
                for on in strand.lanes:
                    users.setdefault(on, set()).add(kind)
        lanes, factors = [], []
        for index, lane in enumerate(network.lanes):
            reached = users.get(index, {Reach.BOX})
            # A lane of both kinds is in the box: its sends go on to a card.
            kind = Reach.BOX if Reach.BOX in reached else Reach.NETWORK
            factors.append(min(self.hops[one].factor for one in reached))
            if (latency := stated[index]) is None:
                latency = lane.latency * factors[-1]
            rate, most = lane.bandwidth * self.shares[kind], self.rates[kind]
            rate = rate if most is None else min(rate, most * lane.cables)
            counts = lane.counts if self.in_switches else Counting.SENDS
            lanes.append(replace(lane, bandwidth=rate, latency=latency, counts=counts))
        extra = []
        for kind, strands in zip(kinds, network.routes, strict=True):
            hop = self.hops[kind]
            rest = Fraction(0)
            for strand in strands:
                own = [i for i in strand.lanes if stated[i] is None]
                more = hop.extra if len(own) == len(strand.lanes) else Fraction(0)
                for i in own:
                    more += (hop.factor - factors[i]) * network.lanes[i].latency
                rest = max(rest, more)
            extra.append(hop.factor * network.alpha + rest)
        least = min(extra, default=network.alpha)
        pairs = zip(lanes, network.lanes, strict=True)
        unit = network.unit * max(
            (x.bandwidth / y.bandwidth for x, y in pairs), default=Fraction(1)
        )
        further = tuple(one - least for one in extra)
        return replace(network, lanes=tuple(lanes), alpha=least, unit=unit, extra=further)

    def semantics(
        self, semantics: Semantics, call: Fraction, network: PhysicalNetwork
    ) -> Semantics:
        """The semantics with the costs of this protocol, on its network; `call` is the runtime's
        own."""
        rate = None if self.block_rate is None else self.block_rate * self.blocks
        if rate is not None and rate >= network.widest_rank:
            rate = None
        return replace(
            semantics,
            overhead=semantics.overhead + self.call + call,
            message=semantics.message + self.message,
            summing=semantics.summing + self.summing,
            reduction=semantics.reduction or self.reduction,
            rank_rate=semantics.rank_rate or rate,
        )


@dataclass(frozen=True)
class Setting:
    """A protocol with its network, intact, and its semantics."""

    protocol: Protocol
    network: PhysicalNetwork
    semantics: Semantics


@dataclass(frozen=True)
class Runtime:
    """A library that runs algorithms.

    Args:
        source: of its numbers, in a sentence.
        error: the median of ``|time / measured time - 1|``; None if unknown.
        basis: the measurements of that error, such as ``calibrated on 40 tables of H100``.
        per_gpu: seconds of a call for each further GPU of a process.
        gpus: number of GPUs of a process.
    """

    name: str
    source: str
    protocols: tuple[Protocol, ...]
    error: Fraction | None = None
    basis: str = ""
    per_gpu: Fraction = Fraction(0)
    gpus: int = 1

    @property
    def accuracy(self) -> str:
        """The error of times in words, such as ``± 20 %, calibrated on 40 tables of H100``."""
        if self.name == WIRE.name:
            return ""
        if self.error is None:
            return self.basis or "not calibrated"
        return ", ".join(filter(None, (f"± {float(100 * self.error):.0f} %", self.basis)))

    @property
    def words(self) -> str:
        """The runtime and its accuracy, for a line with others; empty for the wire."""
        return f"runtime {self.name} ({self.accuracy})" if self.accuracy else ""

    def time(self, seconds: Fraction) -> str:
        """A time for people, with its error."""
        between = " " if self.error is not None else ", "
        return between.join(filter(None, (format_time(seconds), self.accuracy)))

    def settings(
        self, network: PhysicalNetwork, semantics: Semantics | None = None, kind: Kind | None = None
    ) -> list[Setting]:
        """Each protocol of a collective with its network and semantics.

        Args:
            network: intact.
            semantics: the behaviour of the network; a reduction in it replaces that of protocols,
                and its other costs come on top.
            kind: the collective; None for all protocols.
        """
        semantics, call = semantics or Semantics(), self.per_gpu * (self.gpus - 1)
        each = [(one, one.network(network)) for one in self.protocols_for(kind)]
        return [Setting(x, there, x.semantics(semantics, call, there)) for x, there in each]

    def protocols_for(self, kind: Kind | None) -> tuple[Protocol, ...]:
        """The protocols of a collective; all of them for None."""
        own = tuple(one for one in self.protocols if kind in one.collectives)
        usual = (one for one in self.protocols if kind is None or not one.collectives)
        return own or tuple(usual)

    def models(self, network: PhysicalNetwork, semantics: Semantics) -> list[CostModel]:
        """Times of steps and rounds in each protocol, for choices before a simulation."""
        return [
            CostModel(one.network.greatest_latency, one.network.unit, one.semantics.overhead)
            for one in self.settings(network, semantics)
        ]

    def named(self, options: Mapping[str, object], known: Iterable[Option] = ()) -> Runtime:
        """The runtime with the protocol that options of an exporter name, or its `known` options by
        default; itself without one."""
        options = {**{one.name: one.default for one in known}, **options}
        packets = {"yes": "LL", "no": "Simple"}.get(str(options.get("packets")))
        name = options.get("proto", packets)
        chosen = tuple(one for one in self.protocols if one.name == name)
        return replace(self, protocols=chosen) if chosen else self

    def without_calls(self) -> Runtime:
        """The runtime with no cost of a call, for one that is given otherwise."""
        free = tuple(replace(one, call=Fraction(0)) for one in self.protocols)
        return replace(self, protocols=free, per_gpu=Fraction(0))


WIRE = Runtime("wire", "the network without a library", (Protocol("wire"),))


def runtime(name: str | Path | Runtime) -> Runtime:
    """A shipped runtime, or that of a file, by name; ``nccl:LL`` has only one of its protocols.

    Raises:
        UsageError: if it does not exist.
        FileFormatError: if the file is not a runtime; the message has the line.
    """
    if isinstance(name, Runtime):
        return name
    text, _, wanted = str(name).partition(":")
    if text in RUNTIMES:
        content = (files(__package__) / "runtimes" / f"{text}.toml").read_text("utf-8")
        found = _File(f"{text}.toml", content).runtime()
    else:
        path = Path(name)
        if not path.is_file() and wanted:
            path = Path(text)
        else:
            wanted = ""
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
    if not wanted:
        return found
    chosen = tuple(one for one in found.protocols if one.name == wanted)
    if not chosen:
        known = ", ".join(one.name for one in found.protocols)
        raise UsageError(
            f"{argument('runtime')}: {found.name} has no protocol {wanted}; it has {known}"
        )
    return replace(found, protocols=chosen)


def given_runtime(
    name: str | Path | Runtime | None, overhead: float | str | None = None, to: str | None = None
) -> tuple[Runtime, Fraction]:
    """The runtime of an argument, and the seconds of a call in addition to its costs.

    Args:
        name: None for the runtime of the format `to`, if it has its name, and else the wire.
        overhead: replaces the cost of a call of the runtime.

    Raises:
        UsageError, FileFormatError: as `runtime`, and on an invalid overhead.
    """
    found = runtime(name or (to if to in RUNTIMES else WIRE.name))
    if overhead is None:
        return found, Fraction(0)
    return found.without_calls(), values.time_of("overhead", overhead)


def _number(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or value < 0:
        raise UsageError(f"{value!r} is not a number of at least 0")
    return Fraction(value)


def _share(value: object) -> Fraction:
    if not (found := _number(value)):
        raise UsageError("a share of 0 moves nothing; expected one above 0, such as 0.75")
    return found


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{value!r} is not a whole number of at least 1")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{value!r} is neither true nor false")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{value!r} is not a text")
    return value


def _kinds(value: object) -> tuple[Kind, ...]:
    if not isinstance(value, list) or not all(one in list(Kind) for one in value):
        known = ", ".join(Kind)
        raise UsageError(f"{value!r} is not a list of collectives: {known}")
    return tuple(map(Kind, value))


def _time(value: object) -> Fraction:
    return parse_time(_text(value))


def _rate(value: object) -> Fraction:
    return parse_bandwidth(_text(value))


_Readers = Mapping[str, Callable[[object], Any]]

_RUNTIME: _Readers = {
    "format": _text,
    "name": _text,
    "source": _text,
    "error": _number,
    "basis": _text,
    "per_gpu": _time,
    "gpus": _whole,
}
_PROTOCOL: _Readers = {
    "call": _time,
    "message": _time,
    "summing": _time,
    "block_rate": _rate,
    "blocks": _whole,
    "reduction": lambda value: 1 / _rate(value),
    "collectives": _kinds,
    "in_switches": _truth,
}
_REACH: _Readers = {"factor": _number, "extra": _time, "share": _share, "rate": _rate}


class _File:
    """The text of a runtime file, and its values."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text
        try:
            self._content = tomllib.loads(text, parse_float=Fraction)
        except (tomllib.TOMLDecodeError, ValueError) as error:
            place = re.search(r" \(at line ([0-9]+), .*\)", str(error))
            where, why = (f":{place[1]}", str(error)[: place.start()]) if place else ("", error)
            raise FileFormatError(f"{name}{where}: {why}") from error

    def runtime(self) -> Runtime:
        content, end = self._content, len(self._text.splitlines())
        if content.get("format") != FORMAT:
            there = content.get("format")
            raise self._error((), "format", f"{there!r} is not a known format; expected {FORMAT!r}")
        protocols = content.pop("protocol", None)
        if not isinstance(protocols, dict) or not protocols:
            raise FileFormatError(f"{self._name}:{end}: no protocol; expected [protocol.NAME]")
        given = self._values((), content, _RUNTIME)
        del given["format"]
        for key in ("name", "source"):
            if key not in given:
                raise FileFormatError(f"{self._name}:{end}: {key} is missing")
        made = tuple(self._protocol(name, one) for name, one in protocols.items())
        return Runtime(protocols=made, **given)

    def _protocol(self, name: str, table: object) -> Protocol:
        place = ("protocol", name)
        if not isinstance(table, dict):
            raise self._error(place[:1], name, f"{table!r} is not a table")
        reached = {reach: table.pop(reach, {}) for reach in Reach}
        given = self._values(place, table, _PROTOCOL)
        hops, shares, rates = {}, {}, {}
        for reach, one in reached.items():
            if not isinstance(one, dict):
                raise self._error(place, reach, f"{one!r} is not a table")
            costs = self._values((*place, reach), one, _REACH)
            shares[reach] = costs.pop("share", Fraction(1))
            rates[reach] = costs.pop("rate", None)
            hops[reach] = Hop(**costs)
        return Protocol(name, hops=hops, shares=shares, rates=rates, **given)

    def _values(
        self, place: tuple[str, ...], table: Mapping[str, object], readers: _Readers
    ) -> dict[str, Any]:
        found = {}
        for key, value in table.items():
            if (read := readers.get(key)) is None:
                raise self._error(place, key, f"unknown key {key}; known are {', '.join(readers)}")
            try:
                found[key] = read(value)
            except UsageError as error:
                raise self._error(place, key, f"{key}: {error}") from None
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


def runtime_text(one: Runtime, comments: Mapping[str, str] | None = None) -> str:
    """A runtime as the content of a file, with the sources of numbers as comments.

    Args:
        comments: by place, such as ``protocol.LL.box.factor``.
    """
    notes = comments or {}

    def lines(place: str, values: Mapping[str, object]) -> Iterator[str]:
        for key, value in values.items():
            note = notes.get(f"{place}{key}")
            yield f"{key} = {_written(value)}" + (f"  # {note}" if note else "")

    found = [*lines("", {"format": FORMAT, **_given(one, _RUNTIME)})]
    for protocol in one.protocols:
        place = f"protocol.{protocol.name}"
        found += ["", f"[{place}]"]
        given = _given(protocol, _PROTOCOL)
        if "reduction" in given:
            given["reduction"] = format_bandwidth(1 / protocol.reduction)
        found += lines(f"{place}.", given)
        for reach in Reach:
            costs = _given(protocol.hops[reach], _REACH)
            costs["share"] = protocol.shares[reach]
            if (rate := protocol.rates[reach]) is not None:
                costs["rate"] = format_bandwidth(rate)
            found += ["", f"[{place}.{reach}]", *lines(f"{place}.{reach}.", costs)]
    return "\n".join(found) + "\n"


def _given(one: Any, readers: _Readers) -> dict[str, object]:
    """The fields of a value that differ from their defaults, in the order of a file."""
    known = {each.name: (getattr(one, each.name), each.default) for each in fields(one)}
    found: dict[str, object] = {}
    for key, read in readers.items():
        if key in known and known[key][0] != known[key][1]:
            value = known[key][0]
            if read in (_time, _rate):
                value = format_time(value) if read is _time else format_bandwidth(value)
            found[key] = value
    return found


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, Fraction):
        return f"{float(value):.6g}"
    return str(value) if isinstance(value, int) else f'"{value}"'
