"""Fair sharing: sends that meet on lanes all continue, each at its max-min fair rate.

A connection takes its sends in the order of exports, and each send has one rate on all lanes of its
way.  Rates change whenever a send begins or ends, so the simulation jumps from one such event to
the next.

Max-min fair: no rate can grow without a decrease of a rate that is not larger.  Equivalently, each
flow has a bottleneck: a full lane on which no flow is faster (Bertsekas, Gallager: Data Networks,
section 6.5.2).  Rates are found by filling all lanes evenly until one is full, which fixes the
rates of its flows, and so on.
"""

import heapq
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.errors import UsageError
from syncoll.simulating.asynchronous import asynchronous
from syncoll.simulating.lanes import Movements, Passages
from syncoll.simulating.semantics import Semantics
from syncoll.simulating.workload import Workload

_CLOSE = 1e-9
"""Relative difference below which capacities of lanes are equal, and negligible share of a send's
bytes, so that rounding does not separate simultaneous ends."""


def fair(
    work: Workload, semantics: Semantics, sizes: Sequence[Fraction], *, in_detail: bool = False
) -> Movements:
    """Simulates all sends; see `syncoll.simulating.asynchronous`."""
    if work.together is not None:
        raise UsageError(
            f"fair sharing on {work.network.topology.name} is not supported, as its switches copy "
            "or reduce: each send would have to count alone; leave it out, and sends take turns"
        )
    ways = work.network.strand_lanes
    alone = semantics.rank_rate is None and ways.shape[1] == 1
    if alone and len(np.unique(ways)) == len(ways):  # no two sends meet
        return asynchronous(work, semantics, sizes, in_detail=in_detail)
    runs = [_Run(work, semantics, size) for size in sizes]
    for run in runs:
        run.run()
    return Movements(
        np.array([run.left for run in runs]),
        np.array([run.arrived for run in runs]),
        runs[0].passages() if in_detail else None,
    )


def max_min_rates(lanes: Ints, capacities: Floats) -> Floats:
    """The rate of each flow, given the lanes ``[F, H]`` of each, padded with the number of lanes,
    and the capacities of all lanes, with an infinite one at the end."""
    rates = np.zeros(len(lanes))
    flows, room = np.arange(len(lanes)), capacities.copy()
    count, hops = len(capacities), lanes.shape[1]
    while len(flows):
        mine = lanes[flows]
        users = np.bincount(mine.ravel(), minlength=count)
        parts = room / np.maximum(users, 1)
        parts[-1] = np.inf
        own = parts[mine].min(axis=1)
        # A lane that is the narrowest of every flow on it is full in any case.
        here = mine[own[:, None] >= parts[mine] * (1 - _CLOSE)]
        full = np.bincount(here, minlength=count) == users
        full[-1] = False
        fixed = full[mine].any(axis=1)
        rates[flows[fixed]] = own[fixed]
        used = np.bincount(mine[fixed].ravel(), np.repeat(own[fixed], hops), minlength=count)
        room[:-1] = np.maximum(room[:-1] - used[:-1], 0.0)
        flows = flows[~fixed]
    return rates


class _Run:
    def __init__(self, work: Workload, semantics: Semantics, size: Fraction) -> None:
        self.work, network = work, work.network
        wires = np.array([float(semantics.wire_bytes(size * share)) for share in network.shares])
        self.bytes, ways = wires[network.strand_share], network.strand_lanes
        room = [float(lane.bandwidth) for lane in network.lanes]
        if semantics.rank_rate is not None:  # the thread blocks of each node are a lane
            counts = np.diff(network.first_strand)
            sources = np.repeat([a for a, _ in network.topology.links], counts)
            ways = np.column_stack([ways, len(room) + sources])
            room += [float(semantics.rank_rate)] * network.topology.num_nodes
        self.lanes = np.where(ways < 0, len(room), ways)
        self.room = np.append(room, np.inf)
        self.latency = np.append(network.latencies, 0.0)[network.strand_lanes].sum(axis=1).tolist()
        adding = float(semantics.reduction * size + semantics.summing)
        added = np.array(network.added, float)[work.links]
        self.after = (added + np.where(work.adds, adding, 0.0)).tolist()
        self.setup = (float(semantics.message) * work.begins).tolist()
        self.starts = [float(x) for x in semantics.starts(network.topology.num_nodes)]
        count = len(work)
        self.left, self.arrived = [np.nan] * count, [-np.inf] * count
        # Dependencies between sends.
        self.missing = np.diff(work.first_need).tolist()
        owners = np.repeat(np.arange(count), self.missing)
        order = np.argsort(work.needs, kind="stable")
        self.waiting = owners[order].tolist()
        self.first_waiting = np.searchsorted(work.needs[order], np.arange(count + 1)).tolist()
        self.links, self.first_strand = work.links.tolist(), network.first_strand.tolist()
        next_on_link = np.full(count, -1, dtype=np.int64)
        by, links = work.by_connection, work.connections[work.by_connection]
        follows = links[1:] == links[:-1]
        next_on_link[by[:-1][follows]] = by[1:][follows]
        self.next_on_link = next_on_link.tolist()
        self.at_head = (work.rank_on_connection == 0).tolist()
        # The flow of each strand, at most one, since connections take one send after the other:
        # the send, its rate, and its end at this rate; infinite without a flow.
        self.sending = [-1] * len(ways)
        self.rate, self.end = np.zeros(len(ways)), np.full(len(ways), np.inf)
        self.flows_left, self.flows = [0] * count, np.zeros(0, dtype=np.int64)
        self.flowing, self.rated, self.fresh = np.zeros((3, len(ways)), dtype=bool)
        # Arrivals of sends, which reduce the needs of waiting sends; as -1 - i, when the nodes of
        # ``starters[i]`` begin; or, as M + i, when send i has set up its message.
        self.coming: list[tuple[float, int]] = []
        self.starters: list[list[int]] = []
        self.log: list[tuple[int, int, float]] = []

    def run(self) -> None:
        """Simulates all sends from first to last."""
        begins = np.array(self.starts)[self.work.sends[:, 1]]
        for i, start in enumerate(np.unique(begins).tolist()):
            self.starters.append(np.flatnonzero(begins == start).tolist())
            self.coming.append((start, -1 - i))
        for starters in self.starters:
            for send in starters:
                self.missing[send] += 1
        coming, now = self.coming, 0.0
        while coming or len(self.flows):
            now = max(now, min(float(self.end.min()), coming[0][0] if coming else np.inf))
            new: list[int] = []
            ready: list[int] = []
            while coming and coming[0][0] <= now * (1 + 1e-15):
                event = heapq.heappop(coming)[1]
                if event < len(self.setup):
                    new += self._arrive(event)
                else:
                    ready.append(event - len(self.setup))
            # Rounding separates simultaneous ends.
            flows = self.flows
            rest = (self.end[flows] - now) * self.rate[flows]
            ended = flows[rest <= self.bytes[flows] * _CLOSE].tolist()
            for strand in ended:
                new += self._end(strand, now)
            for send in new:
                self.left[send] = now
                if self.setup[send]:
                    heapq.heappush(coming, (now + self.setup[send], len(self.setup) + send))
                else:
                    ready.append(send)
            for send in ready:
                self._begin(send, now)
            if ready or ended:
                self._settle(now)

    def _arrive(self, send: int) -> list[int]:
        """The sends that are ready after an arrival."""
        first, last = self.first_waiting[send : send + 2] if send >= 0 else (0, 0)
        waiting = self.waiting[first:last] if send >= 0 else self.starters[-1 - send]
        missing, new = self.missing, []
        for one in waiting:
            missing[one] -= 1
            if not missing[one] and self.at_head[one]:
                new.append(one)
        return new

    def _begin(self, send: int, now: float) -> None:
        first, last = self.first_strand[self.links[send] : self.links[send] + 2]
        self.flows_left[send] = last - first
        self.sending[first:last] = [send] * (last - first)
        self.flowing[first:last] = self.fresh[first:last] = True
        self.end[first:last] = now  # set by `_settle`

    def _settle(self, now: float) -> None:
        """Updates the rates, and the ends of flows that begin or change."""
        flows = self.flows = np.flatnonzero(self.flowing)
        before, fresh = self.rate[flows], self.fresh[flows]
        rates = before
        if not np.array_equal(self.flowing, self.rated):
            rates = max_min_rates(self.lanes[flows], self.room)
            self.rated = self.flowing.copy()
        rest = np.where(fresh, self.bytes[flows], (self.end[flows] - now) * before)
        ends = now + np.maximum(rest, 0.0) / rates
        self.end[flows] = np.where(fresh | (rates != before), ends, self.end[flows])
        self.rate[flows], self.fresh[:] = rates, False

    def _end(self, strand: int, now: float) -> list[int]:
        """Ends a flow; returns the sends that may follow on its connection."""
        send = self.sending[strand]
        self.flowing[strand], self.end[strand] = False, np.inf
        self.log.append((send, strand, now))
        self.arrived[send] = max(self.arrived[send], now + self.latency[strand] + self.after[send])
        self.flows_left[send] -= 1
        if self.flows_left[send]:
            return []
        if self.first_waiting[send] < self.first_waiting[send + 1]:
            heapq.heappush(self.coming, (self.arrived[send], send))
        following = self.next_on_link[send]
        if following < 0:
            return []
        self.at_head[following] = True
        return [] if self.missing[following] else [following]

    def passages(self) -> Passages:
        """The passages over each lane; concurrent passages have different places."""
        if not self.log:
            return Passages.of([])
        send, strand = (np.array([one[i] for one in self.log]) for i in (0, 1))
        end = np.array([one[2] for one in self.log])
        lanes = self.work.network.strand_lanes[strand]
        lane = lanes.ravel()
        keep = lane >= 0
        columns = (send, end, self.bytes[strand])
        send, end, size = (np.repeat(x, lanes.shape[1])[keep] for x in columns)
        start, lane = np.array(self.left)[send], lane[keep]
        return Passages.of([(send, lane, _beside(lane, start, end), start, end, size)])


def _beside(lane: Ints, start: Floats, end: Floats) -> Ints:
    """For each passage the first place that is free from start to end on its lane."""
    found = np.zeros(len(lane), dtype=np.int64)
    free: dict[int, list[float]] = {}
    for i in np.lexsort((end, start, lane)).tolist():
        places = free.setdefault(int(lane[i]), [])
        place = next((k for k, until in enumerate(places) if until <= start[i]), len(places))
        if place == len(places):
            places.append(0.0)
        places[place] = end[i]
        found[i] = place
    return found
