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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction

from syncoll.model import Counting
from syncoll.planning import CostModel
from syncoll.plugins import Option
from syncoll.runtime import Kind
from syncoll.simulating.boxes import between_boxes
from syncoll.simulating.network import PhysicalNetwork
from syncoll.simulating.semantics import Semantics
from syncoll.units import format_time

__all__ = ["WIRE", "Hop", "Protocol", "Reach", "Runtime", "Setting"]


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
        without: classics that do not run in it.
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
    without: tuple[str, ...] = ()

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

    def protocols_for(self, kind: Kind | None, classic: str = "") -> tuple[Protocol, ...]:
        """The protocols of a collective, all of them for None; those in which a classic runs, if
        there are any."""
        own = tuple(one for one in self.protocols if kind in one.collectives)
        usual = (one for one in self.protocols if kind is None or not one.collectives)
        found = own or tuple(usual)
        return tuple(one for one in found if classic not in one.without) or found

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
