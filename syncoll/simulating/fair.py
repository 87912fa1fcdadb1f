"""Fair sharing: sends that meet on lanes all continue, each at its max-min fair rate.

A connection takes its sends in the order of exports, and each send flows at one rate over all lanes
of its way (`syncoll.simulating.rates`).  Rates change whenever a send begins or ends, so the
simulation jumps from one such event to the next.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.errors import UsageError
from syncoll.simulating.movements import Movements, Passages
from syncoll.simulating.rates import FairRates
from syncoll.simulating.semantics import Semantics
from syncoll.simulating.workload import Workload

__all__ = ["fair"]

_CLOSE = 1e-9
"""Share of a send's bytes that is negligible, so that rounding does not separate simultaneous ends.
"""


def fair(
    work: Workload, semantics: Semantics, sizes: Sequence[Fraction], *, in_detail: bool = False
) -> Movements:
    """Simulates all sends; see `syncoll.simulating.asynchronous`."""
    if work.together is not None:
        raise UsageError(
            f"fair sharing of bandwidth on {work.network.topology.name}, whose switches copy or "
            "add up: it knows of sends that count one by one; leave it out, and sends take turns"
        )
    runs = [_Run(work, semantics, size) for size in sizes]
    for run in runs:
        run.run()
    return Movements(
        np.array([run.left for run in runs]),
        np.array([run.arrived for run in runs]),
        runs[0].passages() if in_detail else None,
    )


class _Run:
    """The simulation of one size."""

    def __init__(self, work: Workload, semantics: Semantics, size: Fraction) -> None:
        self.work, self.network = work, work.network
        network = work.network
        wires = [float(semantics.wire_bytes(size * share)) for share in network.shares]
        self.bytes: list[float] = np.array(wires)[network.strand_share].tolist()
        rows = network.strand_lanes.tolist()
        self.lanes = [tuple(lane for lane in row if lane >= 0) for row in rows]
        self.rates = FairRates([float(lane.bandwidth) for lane in network.lanes])
        latencies = np.append(network.latencies, 0.0)
        self.latency = latencies[network.strand_lanes].sum(axis=1).tolist()
        adding = float(semantics.reduction * size)
        self.after = (float(network.alpha) + np.where(work.adds, adding, 0.0)).tolist()
        self.starts = [float(x) for x in semantics.starts(network.topology.num_nodes)]
        count = len(work)
        self.left, self.arrived = [np.nan] * count, [-np.inf] * count
        # Who waits for whom.
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
        # What flows: of each flow its send, its strand, and when it ends if nothing changes.
        self.flows: dict[int, tuple[int, int]] = {}
        self.ends: dict[int, float] = {}
        self.ending: list[tuple[float, int]] = []
        self.flows_left = [0] * count
        self.begun = 0
        # When a send arrives, so that those that wait for it have one need less; or, as
        # -1 - i, when the nodes of ``starters[i]`` begin.
        self.coming: list[tuple[float, int]] = []
        self.starters: list[list[int]] = []
        self.log: list[tuple[int, int, float]] = []

    def run(self) -> None:
        """From the first moment to the last."""
        begins = np.array(self.starts)[self.work.sends[:, 1]]
        for i, start in enumerate(np.unique(begins).tolist()):
            self.starters.append(np.flatnonzero(begins == start).tolist())
            self.coming.append((start, -1 - i))
        for starters in self.starters:
            for send in starters:
                self.missing[send] += 1
        coming, ending, ends = self.coming, self.ending, self.ends
        now = 0.0
        while coming or self.flows:
            while ending and ends.get(ending[0][1]) != ending[0][0]:
                heapq.heappop(ending)  # another end is known since
            soonest = ending[0][0] if ending else np.inf
            now = max(now, min(soonest, coming[0][0] if coming else np.inf))
            new: list[int] = []
            while coming and coming[0][0] <= now * (1 + 1e-15):
                new += self._arrive(heapq.heappop(coming)[1])
            while ending:
                end, flow = ending[0]
                if ends.get(flow) == end:
                    if end > now and end - now > self._slack(flow):
                        break
                    new += self._end(flow, now)
                heapq.heappop(ending)
            for send in new:
                self._begin(send, now)
            self._settle(now)

    def _slack(self, flow: int) -> float:
        """How much earlier than its end a flow may end together with others, due to rounding."""
        return self.bytes[self.flows[flow][1]] * _CLOSE / self.rates.rates[flow]

    def _arrive(self, send: int) -> list[int]:
        """The sends that an arrival makes ready."""
        first, last = self.first_waiting[send : send + 2] if send >= 0 else (0, 0)
        waiting = self.waiting[first:last] if send >= 0 else self.starters[-1 - send]
        missing, new = self.missing, []
        for one in waiting:
            missing[one] -= 1
            if not missing[one] and self.at_head[one]:
                new.append(one)
        return new

    def _begin(self, send: int, now: float) -> None:
        self.left[send] = now
        first, last = self.first_strand[self.links[send] : self.links[send] + 2]
        self.flows_left[send] = last - first
        for strand in range(first, last):
            flow = self.begun
            self.begun += 1
            self.flows[flow] = send, strand
            self.rates.add(flow, self.lanes[strand])

    def _settle(self, now: float) -> None:
        """Updates the ends of the flows whose rates changed."""
        ends, rates = self.ends, self.rates.rates
        for flow, before in self.rates.settle().items():
            rest = (ends[flow] - now) * before if before else self.bytes[self.flows[flow][1]]
            end = ends[flow] = now + max(rest, 0.0) / rates[flow]
            heapq.heappush(self.ending, (end, flow))

    def _end(self, flow: int, now: float) -> list[int]:
        """Ends a flow; returns the sends that may follow on its connection."""
        send, strand = self.flows.pop(flow)
        del self.ends[flow]
        self.rates.remove(flow)
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
        """The passages over each lane, concurrent ones in different places."""
        if not self.log:
            return Passages.of([])
        send, strand = (np.array([one[i] for one in self.log]) for i in (0, 1))
        end = np.array([one[2] for one in self.log])
        lanes = self.network.strand_lanes[strand]
        lane = lanes.ravel()
        keep = lane >= 0
        sizes = np.array(self.bytes)[strand]
        send, end, size = (np.repeat(x, lanes.shape[1])[keep] for x in (send, end, sizes))
        start, lane = np.array(self.left)[send], lane[keep]
        return Passages.of([(send, lane, _beside(lane, start, end), start, end, size)])


def _beside(lane: IntArray, start: FloatArray, end: FloatArray) -> IntArray:
    """For each passage the first place of its lane that is free from start to end."""
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
