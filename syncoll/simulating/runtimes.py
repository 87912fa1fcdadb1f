"""Runtimes: the costs of the libraries that run algorithms, as numbers in a file.

A runtime has protocols, and each message goes by the fastest of them.  A protocol turns a network
into another, on which the simulation runs unchanged::

    time(size) = least over protocols of  call + per_gpu * (GPUs of a process - 1) + simulation
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import chain

from syncoll.errors import UsageError
from syncoll.model import Counting
from syncoll.planning import CostModel
from syncoll.plugins import Option
from syncoll.runtime import Kind
from syncoll.simulating.boxes import between_boxes
from syncoll.simulating.network import PhysicalNetwork
from syncoll.simulating.semantics import Semantics
from syncoll.units import format_time
from syncoll.wording import argument


class Reach(StrEnum):
    """Kinds of links."""

    BOX = "box"
    """Within a box."""
    NETWORK = "network"
    """Between boxes."""


@dataclass(frozen=True)
class Hop:
    """Sends over links of a kind: their latency is ``factor * latency + extra`` in seconds, and
    their bandwidth a share of a lane's, at most `rate` bytes per second for each cable."""

    factor: Fraction = Fraction(1)
    extra: Fraction = Fraction(0)
    share: Fraction = Fraction(1)
    rate: Fraction | None = None


_PLAIN = dict.fromkeys(Reach, Hop())

PACKETS = "LL"
"""The protocol of packets that have flags among their data."""

_SIGNALS = "Simple"


@dataclass(frozen=True)
class Protocol:
    """A way in which a runtime moves data.

    Args:
        name: such as ``LL`` or ``Simple``.
        call: seconds of each call.
        block_rate: bytes per second that a thread block sends; None for no limit.
        blocks: number of thread blocks of a rank.
        message: seconds for which a message occupies its first lane, besides its bytes.
        summing: seconds of each step that reduces.
        reduction: seconds for each byte that a node reduces.
        collectives: for which this protocol replaces the protocols without collectives.
        in_switches: whether switches copy and add up in it; otherwise each send counts, and
            algorithms that count on switches take another protocol if there is one.
        only: classics that run in it; none for all algorithms.
        without: classics that do not run in it.
    """

    name: str
    call: Fraction = Fraction(0)
    hops: Mapping[Reach, Hop] = field(default_factory=lambda: _PLAIN)
    block_rate: Fraction | None = None
    blocks: int = 1
    message: Fraction = Fraction(0)
    summing: Fraction = Fraction(0)
    reduction: Fraction = Fraction(0)
    collectives: tuple[Kind, ...] = ()
    in_switches: bool = True
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def runs(self, classic: str) -> bool:
        """Whether a classic runs in it, or for "" any other algorithm."""
        return classic not in self.without and (not self.only or classic in self.only)

    def network(self, network: PhysicalNetwork) -> PhysicalNetwork:
        """The latencies and bandwidths that sends meet in this protocol."""
        stated = [dict(lane.protocols).get(self.name) for lane in network.lanes]
        if self.hops == _PLAIN and self.in_switches and stated == [None] * len(stated):
            return network
        kinds = [Reach.NETWORK if far else Reach.BOX for far in between_boxes(network)]
        users: list[set[Reach]] = [set() for _ in network.lanes]
        for kind, strands in zip(kinds, network.routes, strict=True):
            for i in chain(*(strand.lanes for strand in strands)):
                users[i].add(kind)
        lanes, factors, fastest = [], [], Fraction(0)
        for lane, time, used in zip(network.lanes, stated, users, strict=True):
            # A lane of both kinds is in the box: its sends go on to a card.
            hop = self.hops[Reach.NETWORK if used == {Reach.NETWORK} else Reach.BOX]
            factors.append(min((self.hops[one].factor for one in used), default=hop.factor))
            latency = lane.latency * factors[-1] if time is None else time
            rate = lane.bandwidth * hop.share
            rate = rate if hop.rate is None else min(rate, hop.rate * lane.cables)
            counts = lane.counts if self.in_switches else Counting.SENDS
            lanes.append(replace(lane, bandwidth=rate, latency=latency, counts=counts))
            fastest = max(fastest, rate / lane.bandwidth)
        extra = []
        for kind, strands in zip(kinds, network.routes, strict=True):
            hop, rest = self.hops[kind], Fraction(0)
            for strand in strands:
                own = [i for i in strand.lanes if stated[i] is None]
                more = hop.extra if len(own) == len(strand.lanes) else Fraction(0)
                more += sum((hop.factor - factors[i]) * network.lanes[i].latency for i in own)
                rest = max(rest, more)
            extra.append(hop.factor * network.alpha + rest)
        least = min(extra, default=network.alpha)
        return replace(
            network,
            lanes=tuple(lanes),
            alpha=least,
            unit=network.unit * (fastest or 1),
            extra=tuple(one - least for one in extra),
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
        semantics, found = semantics or Semantics(), []
        for one in self.protocols_for(kind):
            there, rate = one.network(network), semantics.rank_rate
            if one.block_rate is not None and one.block_rate * one.blocks < there.widest_rank:
                rate = rate or one.block_rate * one.blocks
            costs = replace(
                semantics,
                overhead=semantics.overhead + one.call + self.per_gpu * (self.gpus - 1),
                message=semantics.message + one.message,
                summing=semantics.summing + one.summing,
                reduction=semantics.reduction or one.reduction,
                rank_rate=rate,
            )
            found.append(Setting(one, there, costs))
        return found

    def protocols_for(self, kind: Kind | None, classic: str | None = None) -> tuple[Protocol, ...]:
        """The protocols of a collective, all of them for None.  A classic, or for "" any other
        algorithm, has only the protocols in which it runs, if there are any."""
        own = tuple(one for one in self.protocols if kind in one.collectives)
        usual = (one for one in self.protocols if kind is None or not one.collectives)
        found = own or tuple(usual)
        return tuple(one for one in found if classic is None or one.runs(classic)) or found

    def models(self, network: PhysicalNetwork, semantics: Semantics) -> list[CostModel]:
        """Times of steps and rounds in each protocol, for choices before a simulation."""
        return [
            CostModel(one.network.greatest_latency, one.network.unit, one.semantics.overhead)
            for one in self.settings(network, semantics)
        ]

    def written(self, options: Mapping[str, object], known: Iterable[Option] = ()) -> "Runtime":
        """The runtime with the protocols of an exporter's files, by its options and the defaults of
        its `known` ones; itself if they name none.  Raises `UsageError` if it has none of them."""
        options = {**{one.name: one.default for one in known}, **options}
        packets = {"yes": {PACKETS}, "no": {_SIGNALS}, "auto": {PACKETS, _SIGNALS}}
        names = packets.get(str(options.get("packets")), set[str]())
        if options.get("channel") == "switch":  # switches send no packets
            names = {_SIGNALS}
        if "proto" in options:
            names = {str(options["proto"])}
        if not names or self.name == WIRE.name:
            return self
        chosen = tuple(one for one in self.protocols if one.name in names)
        if not chosen:
            own = ", ".join(one.name for one in self.protocols)
            expected = " or ".join(sorted(names))
            raise UsageError(
                f"{argument('runtime')}: the exported files have the protocol {expected}, and "
                f"{self.name} only {own}"
            )
        return replace(self, protocols=chosen)


WIRE = Runtime("wire", "the network without a library", (Protocol("wire"),))
