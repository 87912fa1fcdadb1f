"""Fair sharing: sends that meet on lanes all go on, each at its max-min fair rate.

A connection sends one after the other in the order of the algorithm, and each send flows at one
rate over all lanes of its way.  Rates are max-min fair: no flow's could be higher without that of
another flow that has no more being lower.  They are found by filling all lanes evenly until one is
full, which fixes what passes there, and so on (Bertsekas, Gallager: Data Networks, section 6.5.2).

What shares a lane changes whenever a send begins or ends, so time goes from one such moment to the
next; between them everything is an array.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.model import ranges
from syncoll.simulating.movements import Movements, Passages
from syncoll.simulating.network import PhysicalNetwork
from syncoll.simulating.semantics import Semantics
from syncoll.simulating.workload import Workload

__all__ = ["fair", "max_min_rates"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_CLOSE = 1e-9
"""Of a send's bytes so small a part counts as nothing: rounding must not end two sends apart that
end together."""


def fair(
    work: Workload,
    network: PhysicalNetwork,
    semantics: Semantics,
    sizes: Sequence[Fraction],
    *,
    in_detail: bool = False,
) -> Movements:
    """Lets all sends go; see `syncoll.simulating.asynchronous`."""
    runs = [_Run(work, network, semantics, size) for size in sizes]
    for run in runs:
        run.run()
    return Movements(
        np.array([run.left for run in runs]),
        np.array([run.arrived for run in runs]),
        runs[0].passages() if in_detail else None,
    )


def max_min_rates(lanes: IntArray, capacities: FloatArray) -> FloatArray:
    """The rate of each flow.

    Args:
        lanes: ``[F, H]``: the lanes of each flow, then the number behind the last lane.
        capacities: ``[lanes + 1]``: of each lane; the last one's is infinite.
    """
    rates = np.zeros(len(lanes))
    flows, room = np.arange(len(lanes)), capacities.copy()
    count, hops = len(capacities), lanes.shape[1]
    while len(flows):
        mine = lanes[flows]
        users = np.bincount(mine.ravel(), minlength=count)
        parts = room / np.maximum(users, 1)
        parts[-1] = np.inf
        own = parts[mine].min(axis=1)
        # A lane that is the narrowest of every flow on it is full, whatever the other lanes do.
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
    """One size."""

    def __init__(
        self, work: Workload, network: PhysicalNetwork, semantics: Semantics, size: Fraction
    ) -> None:
        self.work, self.network = work, network
        shares = [x.share for strands in network.routes for x in strands]
        wires = {share: float(semantics.wire_bytes(size * share)) for share in set(shares)}
        self.bytes = np.array([wires[share] for share in shares])
        count = len(network.lanes)
        self.lanes = np.where(network.strand_lanes < 0, count, network.strand_lanes)
        self.capacities = np.append([float(lane.bandwidth) for lane in network.lanes], np.inf)
        self.latency = np.append(network.latencies, 0.0)[self.lanes].sum(axis=1)
        adding = float(semantics.reduction * size)
        self.after = float(network.alpha) + np.where(work.adds, adding, 0.0)
        self.starts = np.array([float(x) for x in semantics.starts(network.topology.num_nodes)])
        self.left = np.full(len(work), np.nan)
        self.arrived = np.full(len(work), -np.inf)
        self.ended = np.zeros(0)
        # Who waits for whom.
        self.missing = np.diff(work.first_need)
        owners = np.repeat(np.arange(len(work)), self.missing)
        order = np.argsort(work.needs, kind="stable")
        self.waiting = owners[order]
        self.first_waiting = np.searchsorted(work.needs[order], np.arange(len(work) + 1))
        self.waiting_counts = np.diff(self.first_waiting)
        self.strand_counts = np.diff(network.first_strand)
        self.next_on_link = np.full(len(work), -1, dtype=np.int64)
        by, links = work.by_connection, work.connections[work.by_connection]
        follows = links[1:] == links[:-1]
        self.next_on_link[by[:-1][follows]] = by[1:][follows]
        self.at_head = work.rank_on_connection == 0
        # What flows: of each flow its send, its strand, the bytes that are left, and its begin.
        self.send = np.zeros(0, dtype=np.int64)
        self.strand = np.zeros(0, dtype=np.int64)
        self.rest = np.zeros(0)
        self.flows_left = np.zeros(len(work), dtype=np.int64)
        self.log: list[tuple[IntArray, IntArray, FloatArray]] = []

    def run(self) -> None:
        """From the first moment to the last."""
        coming: list[tuple[float, int, IntArray]] = []  # times at which data is there
        ticket = 0
        for late in np.unique(self.starts[self.work.sends[:, 1]]).tolist():
            ready = np.flatnonzero(self.starts[self.work.sends[:, 1]] == late)
            self.missing[ready] += 1
            heapq.heappush(coming, (late, ticket, ready))
            ticket += 1
        now, rates = 0.0, np.zeros(0)
        while coming or len(self.send):
            ends = self.rest / rates if len(rates) else np.zeros(0)
            soonest = now + ends.min() if len(ends) else np.inf
            then = min(soonest, coming[0][0] if coming else np.inf)
            self.rest -= rates * (then - now)
            now = then
            begun: list[IntArray] = []
            while coming and coming[0][0] <= now * (1 + 1e-15):
                _, _, sends = heapq.heappop(coming)
                np.subtract.at(self.missing, sends, 1)
                begun.append(sends[(self.missing[sends] == 0) & self.at_head[sends]])
            done = self.rest <= self.bytes[self.strand] * _CLOSE
            if done.any():
                for time, sends in self._end(done, now, begun):
                    heapq.heappush(coming, (time, ticket, sends))
                    ticket += 1
            new = np.unique(np.concatenate(begun)) if begun else np.zeros(0, dtype=np.int64)
            if len(new):
                self._begin(new, now)
            if len(new) or done.any():
                rates = max_min_rates(self.lanes[self.strand], self.capacities)

    def _begin(self, sends: IntArray, now: float) -> None:
        self.left[sends] = now
        links = self.work.links[sends]
        counts = self.strand_counts[links]
        self.flows_left[sends] = counts
        owner = np.repeat(sends, counts)
        strand = ranges(self.network.first_strand[links], counts)
        self.send = np.append(self.send, owner)
        self.strand = np.append(self.strand, strand)
        self.rest = np.append(self.rest, self.bytes[strand])

    def _end(
        self, done: npt.NDArray[np.bool_], now: float, begun: list[IntArray]
    ) -> list[tuple[float, IntArray]]:
        """Flows that have ended; adds to `begun` what may follow on their connections.

        Returns:
            When which sends have one need less.
        """
        sends, strands = self.send[done], self.strand[done]
        self.log.append((sends, strands, np.full(len(sends), now)))
        np.maximum.at(self.arrived, sends, now + self.latency[strands] + self.after[sends])
        np.subtract.at(self.flows_left, sends, 1)
        self.send, self.strand, self.rest = self.send[~done], self.strand[~done], self.rest[~done]
        whole = np.unique(sends)
        whole = whole[self.flows_left[whole] == 0]
        following = self.next_on_link[whole]
        following = following[following >= 0]
        self.at_head[following] = True
        begun.append(following[self.missing[following] == 0])
        found = []
        first, counts = self.first_waiting[whole], self.waiting_counts[whole]
        waiting = self.waiting[ranges(first, counts)]
        times = np.repeat(self.arrived[whole], counts)
        for time in np.unique(times).tolist():
            found.append((time, waiting[times == time]))
        return found

    def passages(self) -> Passages:
        """What each lane carried when, those at the same time beside each other."""
        if not self.log:
            return Passages.of([])
        send, strand = (np.concatenate([one[i] for one in self.log]) for i in (0, 1))
        end = np.concatenate([one[2] for one in self.log])
        hops = self.lanes.shape[1]
        lane = self.lanes[strand].ravel()
        keep = lane < len(self.network.lanes)
        send, end, size = (np.repeat(x, hops)[keep] for x in (send, end, self.bytes[strand]))
        start, lane = self.left[send], lane[keep]
        return Passages.of([(send, lane, _beside(lane, start, end), start, end, size)])


def _beside(lane: IntArray, start: FloatArray, end: FloatArray) -> IntArray:
    """The first place of each lane that is free from start to end."""
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
