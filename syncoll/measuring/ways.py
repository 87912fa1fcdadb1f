"""Ways: the use of a network by an algorithm, from which its time under any runtime is a short sum.

    seconds = call + latencies and hops of the longest path + bytes of the busiest lane / its rate

Sends are pipelined without end: their number and order do not matter, as in libraries that cut a
message into many pieces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from syncoll.documents import StoredAlgorithm
from syncoll.planning import MessageMeasure
from syncoll.simulating import PhysicalNetwork, Reach, Semantics
from syncoll.simulating.asynchronous import asynchronous
from syncoll.simulating.boxes import between_boxes
from syncoll.simulating.workload import workload_of

_MESSAGE = 1 << 40

_FARTHER = 2
"""The latency between boxes counts this many times when the longest path is chosen."""

_LINK = 1e-12
"""Seconds of each link there: of paths of one latency the one with the most links counts."""


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
        in_switches: whether switches add up.
    """

    name: str
    loads: Mapping[Reach, Load]
    messages: int = 0
    sent: float = 0.0
    in_switches: bool = False

    @property
    def algbw(self) -> float:
        """Bytes per second of a message for which latencies do not matter."""
        return 1 / max(one.share / one.rate for one in self.loads.values())


def way_of(stored: StoredAlgorithm, network: PhysicalNetwork, message: MessageMeasure) -> Way:
    """The way of an algorithm on an intact network, under the name of its place."""
    work = workload_of(stored.instance, stored.algorithm, network, symmetric=False)
    chunk = message.node_bytes(_MESSAGE) / stored.chunks
    passages = asynchronous(work, Semantics(), [chunk], in_detail=True).passages
    assert passages is not None
    rates = np.array([float(one.bandwidth) for one in network.lanes])
    bytes_of = np.bincount(passages.lane, weights=passages.size, minlength=len(rates)) / _MESSAGE
    apart = np.array(between_boxes(network))
    outside = np.zeros(len(rates), dtype=bool)
    for kind in (True, False):  # a lane of both kinds is in the box
        used = (network.routes[i] for i in np.flatnonzero(apart == kind).tolist())
        outside[[on for strands in used for one in strands for on in one.lanes]] = kind
    # By send, on its longest path: the total, then seconds and number of links by kind.
    far, link_seconds = apart[work.links], np.array([float(x) for x in network.link_latencies])
    seconds = link_seconds[work.links]
    each = [seconds * np.where(far, _FARTHER, 1) + _LINK]
    each += [amount * (far == kind) for kind in (False, True) for amount in (seconds, 1.0)]
    paths = np.stack(each, axis=1)
    for send, (first, last) in enumerate(pairwise(work.first_need.tolist())):
        if needs := work.needs[first:last].tolist():
            paths[send] += paths[max(needs, key=lambda one: paths[one, 0])]
    longest, loads = paths[paths[:, 0].argmax(), 1:].reshape(2, 2).tolist(), {}
    for reach, (latency, hops) in zip(Reach, longest, strict=True):
        own = np.flatnonzero(outside == (reach is Reach.NETWORK))
        if len(own):
            busy = int(own[(bytes_of / rates)[own].argmax()])
            most = float(bytes_of[busy]), float(rates[busy]), network.lanes[busy].cables
            loads[reach] = Load(latency, hops, *most)
    first_lanes = network.strand_lanes[network.first_strand[work.links], 0]
    sent = float(np.bincount(work.sends[:, 1]).max() * chunk / _MESSAGE)
    messages = int(np.bincount(first_lanes).max())
    return Way(stored.where, loads, messages, sent, network.topology.counts_copies)
