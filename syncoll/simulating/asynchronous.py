"""Asynchronous simulation of sends that take turns: a max-plus pass, without a queue of events.

A send leaves when its data has arrived and its lane is free.  The order of sends on a lane is
fixed, so the sends of a step are computed together, for all sizes at once.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats, Ints
from syncoll.model import ranges
from syncoll.model.rows import ranks_among
from syncoll.simulating.lanes import LaneState, Movements, Passages
from syncoll.simulating.semantics import Injection, Semantics, Switching
from syncoll.simulating.workload import Workload


def asynchronous(
    work: Workload, semantics: Semantics, sizes: Sequence[Fraction], *, in_detail: bool = False
) -> Movements:
    """Simulates all sends, for sizes in bytes of a chunk; `in_detail` lists passages over lanes, of
    a single size."""
    return _Run(work, semantics, sizes, in_detail).run()


class _Run:
    """The state between batches of sends; its arrays have a row for each send, which is much
    faster to look up than a column."""

    def __init__(
        self, work: Workload, semantics: Semantics, sizes: Sequence[Fraction], in_detail: bool
    ) -> None:
        network = work.network
        self.work, self.network, self.semantics = work, network, semantics
        self.in_detail = in_detail
        kinds, self.kind = network.shares, network.strand_share
        # ``[shares, sizes]``: bytes on the wire of a strand's part of a send.
        self.wire = self._table(sizes, kinds, semantics.wire_bytes)
        self.first_packet = self._table(sizes, kinds, lambda x: semantics.packet_bytes(x)[0])
        self.last_packet = self._table(sizes, kinds, lambda x: semantics.packet_bytes(x)[1])
        adding = [semantics.reduction * size + semantics.summing for size in sizes]
        self.adding = np.array([float(one) for one in adding])
        self.added = np.array(network.added, float)[:, None]
        self.message = float(semantics.message)
        self.lanes = LaneState(network, len(sizes), work.lane_of)
        nodes = network.topology.num_nodes
        self.starts = np.array([float(x) for x in semantics.starts(nodes)])
        self.turn = np.repeat(self.starts[:, None], len(sizes), axis=1)
        self.left = np.empty((len(work), len(sizes)))
        # When the last byte left the source, for interfaces that wait for it.
        counting = semantics.injection is Injection.LOCKSTEP
        self.sent = np.empty((len(work) if counting else 0, len(sizes)))
        self.arrived = np.empty((len(work), len(sizes)))
        self.sizes = sizes
        self.passages: list[tuple[npt.NDArray[Any], ...]] = []

    @staticmethod
    def _table(
        sizes: Sequence[Fraction], shares: Sequence[Fraction], of: Callable[[Fraction], Fraction]
    ) -> Floats:
        return np.array([[float(of(size * share)) for size in sizes] for share in shares])

    def run(self) -> Movements:
        for step in range(len(self.work.first_step) - 1):
            low, high = (int(x) for x in self.work.first_step[step : step + 2])
            for batch in self._batches(low, high):
                self._go(batch)
            if self.semantics.injection is Injection.LOCKSTEP:
                self._next_turn(low, high)
        passages = Passages.of(self.passages) if self.in_detail else None
        return Movements(self.left.T, self.arrived.T, passages)

    def _batches(self, low: int, high: int) -> Iterator[Ints]:
        """The sends of a step; with a depth, at most that many of each connection at once."""
        sends = np.arange(low, high)
        if self.semantics.depth is None:
            if high > low:
                yield sends
            return
        number = ranks_among(self.work.connections[low:high]) // self.semantics.depth
        for one in np.unique(number).tolist():
            yield sends[number == one]

    def _ready(self, batch: Ints) -> Floats:
        """``[n, sizes]``: when the data of each send has arrived and the sender may send."""
        work, source = self.work, self.work.sends[batch, 1]
        ready: Floats = self.turn[source]
        first, last = work.first_need[batch], work.first_need[batch + 1]
        counts = last - first
        some = np.flatnonzero(counts)
        if len(some):
            starts = np.cumsum(counts[some]) - counts[some]
            needs = work.needs[ranges(first[some], counts[some])]
            there = np.maximum.reduceat(self.arrived[needs], starts, axis=0)
            ready[some] = np.maximum(ready[some], there)
        depth = self.semantics.depth
        if depth is not None:
            place = work.place_on_connection[batch] - depth
            later = np.flatnonzero(work.rank_on_connection[batch] >= depth)
            gone = work.by_connection[place[later]]
            ready[later] = np.maximum(ready[later], self.arrived[gone])
        return ready

    def _go(self, batch: Ints) -> None:
        """Sends independent sends along their strands, hop by hop."""
        network, links = self.network, self.work.links[batch]
        ready = self._ready(batch)
        owner, strand = network.strands_of(links)
        head = ready if len(owner) == len(batch) else ready[owner]
        tail, own = np.full_like(head, -np.inf), batch[owner]
        left = sent = arrived = head
        for hop, lanes in enumerate(network.strand_lanes[strand].T):
            active: Any = np.flatnonzero(lanes >= 0)
            if not len(active):
                break
            if len(active) == len(lanes):
                active = slice(None)  # a view, and no copy
            kind = self.kind[strand[active]]
            on, wire = lanes[active], self.wire[kind]
            rate = network.cable_bandwidths[on][:, None]
            takes = wire / rate
            if not hop and self.semantics.rank_rate is not None:
                # The thread blocks of a node serve the cables that it uses in a step evenly.
                part = float(self.semantics.rank_rate) / self.work.concurrent[own[active]]
                takes = np.maximum(takes, wire / part[:, None])
            if not hop and self.message:
                takes = takes + self.message * self.work.begins[own[active], None]
            came, enough = head[active], tail[active] - takes if hop else None
            if enough is not None and self.semantics.switching is Switching.STORE_AND_FORWARD:
                before = network.cable_bandwidths[network.strand_lanes[strand[active], hop - 1]]
                came += self.first_packet[kind] / before[:, None]
                enough += self.last_packet[kind] / rate
            sends = own[active]
            one = self.work.passing(sends, on, kind)
            first_of = slice(None) if one is None else one[0]
            if one is not None:  # sends that pass as one begin when all have arrived
                came = _latest(came, one[1], len(one[0]))
                enough = None if enough is None else _latest(enough, one[1], len(one[0]))
            begin, end, cables = self.lanes.take(
                on[first_of], came, enough, takes[first_of], ordered=hop == 0
            )
            if self.in_detail:
                passing = sends[first_of], on[first_of], cables
                times = begin[:, 0], end[:, 0], wire[first_of, 0]
                self.passages.append((*passing, *times))
            if one is not None:
                begin, end = begin[one[1]], end[one[1]]
            latency = network.latencies[on][:, None]
            if not hop:
                left, sent = begin, end
            head[active] = begin + latency
            tail[active] = end + latency
            arrived = tail
        if len(owner) > len(batch):
            starts = np.searchsorted(owner, np.arange(len(batch)))
            left = np.minimum.reduceat(left, starts, axis=0)
            sent = np.maximum.reduceat(sent, starts, axis=0)
            arrived = np.maximum.reduceat(arrived, starts, axis=0)
        self.left[batch] = left
        if self.sent.size:
            self.sent[batch] = sent
        self.arrived[batch] = arrived + self.added[links]
        added = batch[self.work.adds[batch]]
        self.arrived[added] += self.adding

    def _next_turn(self, low: int, high: int) -> None:
        """When each node may begin the next step (MultiTree paper, section IV-A).  A node that
        sends nothing waits as long as a step takes without contention: the time of the busiest lane
        out of a node, without latencies."""
        work, network = self.work, self.network
        owner, strand = network.strands_of(work.links[low:high])
        lanes = network.strand_lanes[strand, 0]
        takes = self.wire[self.kind[strand]] / network.cable_bandwidths[lanes][:, None]
        if (one := self.work.passing(owner + low, lanes, self.kind[strand])) is not None:
            lanes, takes = lanes[one[0]], takes[one[0]]
        load = np.zeros((len(network.lanes), len(self.sizes)))
        np.add.at(load, work.lane_of[lanes], takes / network.cables[lanes][:, None])
        stalled = self.turn + load.max(axis=0, initial=0.0)
        source = work.sends[low:high, 1]
        sending = np.zeros(network.topology.num_nodes, dtype=bool)
        sending[source] = True
        done = np.full_like(self.turn, -np.inf)
        np.maximum.at(done, source, self.sent[low:high])
        self.turn = np.where(sending[:, None], np.maximum(self.turn, done), stalled)


def _latest(times: Floats, place: Ints, count: int) -> Floats:
    """``[count, sizes]``: the latest time at each place."""
    found = np.full((count, times.shape[1]), -np.inf)
    np.maximum.at(found, place, times)
    return found
