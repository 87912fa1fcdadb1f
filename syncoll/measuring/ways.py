"""Ways: the use of a network by an algorithm, from which its time under any runtime is a short sum.

    seconds = call + latencies and hops of the longest path + bytes of the busiest lane / its rate

Sends are pipelined without end: their number and order do not matter, as in libraries that cut a
message into many pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.documents import StoredAlgorithm
from syncoll.planning import MessageMeasure
from syncoll.simulating import (
    Hop,
    Order,
    PhysicalNetwork,
    Protocol,
    Reach,
    Semantics,
    simulate_algorithm,
    simulated_seconds,
)

__all__ = ["Load", "Way", "way_of"]

_MESSAGE, _STEP = 1 << 40, Fraction(1, 16)
_USUAL = {Reach.BOX: Fraction(1), Reach.NETWORK: Fraction(2)}
"""The factors of hops by which the longest path is chosen."""


@dataclass(frozen=True)
class Load:
    """The use of links of one kind.

    Args:
        latency: seconds of the links on the longest path.
        hops: their number there.
        share: bytes of the busiest lane for each byte of the message.
        rate: of that lane, in bytes per second.
        cables: of that lane.
    """

    latency: float = 0.0
    hops: float = 0.0
    share: float = 0.0
    rate: float = 1.0
    cables: int = 1


@dataclass(frozen=True)
class Way:
    """The use of a network by an algorithm.

    Args:
        loads: by the kind of links.
        messages: sends that leave a node over the busiest lane.
        sent: bytes that leave the busiest node for each byte of the message.
    """

    name: str
    loads: Mapping[Reach, Load]
    messages: int = 0
    sent: float = 0.0

    @property
    def algbw(self) -> float:
        """Bytes per second of a message for which latencies do not matter."""
        return 1 / max(one.share / one.rate for one in self.loads.values())


def way_of(stored: StoredAlgorithm, network: PhysicalNetwork, message: MessageMeasure) -> Way:
    """The way of an algorithm on an intact network, under the name of its place."""
    simulated = simulate_algorithm(stored, network, Semantics(), message.node_bytes(_MESSAGE))
    passages, rates = simulated.passages, np.array([float(one.bandwidth) for one in network.lanes])
    bytes_of = np.bincount(passages.lane, weights=passages.size, minlength=len(rates)) / _MESSAGE

    def path(**hops: Hop) -> float:
        """Seconds of an empty message, if some hops cost more than usual."""
        costs = {reach: hops.get(reach, Hop(_USUAL[reach])) for reach in Reach}
        changed = Protocol("", hops=costs).network(network)
        free = Semantics(order=Order.ARRIVALS)
        return float(simulated_seconds(stored, changed, free, [Fraction(1, _MESSAGE)])[0])

    halved = Protocol("", shares={Reach.BOX: Fraction(1), Reach.NETWORK: Fraction(1, 2)})
    lanes = zip(halved.network(network).lanes, network.lanes, strict=True)
    far = np.array([changed.bandwidth != lane.bandwidth for changed, lane in lanes])
    plain, loads = path(), {}
    for reach in Reach:
        own = np.flatnonzero(far == (reach is Reach.NETWORK))
        if len(own):
            busy = int(own[(bytes_of / rates)[own].argmax()])
            loads[reach] = Load(
                (path(**{reach: Hop(_USUAL[reach] + _STEP)}) - plain) / float(_STEP),
                round((path(**{reach: Hop(_USUAL[reach], _STEP)}) - plain) / float(_STEP), 6),
                float(bytes_of[busy]),
                float(rates[busy]),
                network.lanes[busy].cables,
            )
    senders, receivers = simulated.sends[:, 1:3].T
    links = network.topology.links_of(senders, receivers)
    most = np.bincount(network.strand_lanes[network.first_strand[links], 0]).max()
    chunk = float(message.node_bytes(_MESSAGE)) / stored.chunks / _MESSAGE
    return Way(stored.where, loads, int(most), float(np.bincount(senders).max()) * chunk)
