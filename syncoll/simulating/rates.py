"""Max-min fair rates of flows, updated as flows come and go.

No flow's rate can grow without that of a flow that has no more being reduced.  That is so exactly
when each flow has a bottleneck: a full lane on which no flow has more (Bertsekas, Gallager: Data
Networks, section 6.5.2).  Rates are found by filling all lanes evenly until one is full, which
fixes its flows, and so on.

When a few flows come or go, most rates stay.  So only flows on the changed lanes are filled anew,
with the other rates fixed; then flows are added that have lost their bottleneck, or take more from
one of the first than that has, until there are no more.  Then every flow has a bottleneck.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from syncoll.arrays import FloatArray, IntArray

__all__ = ["FairRates", "max_min_rates"]

_CLOSE = 1e-9
"""Relative difference below which rates, and rooms of lanes, are equal."""
_MOST_ONE_BY_ONE = 200
"""Beyond this number of flows arrays are faster."""


def max_min_rates(lanes: IntArray, capacities: FloatArray) -> FloatArray:
    """The rate of each flow.

    Args:
        lanes: ``[F, H]``: the lanes of each flow, padded with the number of lanes.
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


class FairRates:
    """Flows with their rates; `capacities`: of each lane, in bytes a second."""

    def __init__(self, capacities: Sequence[float]) -> None:
        self._capacities = list(capacities)
        self._on: list[set[int]] = [set() for _ in capacities]
        self._lanes: dict[int, tuple[int, ...]] = {}
        self._bottlenecks: dict[int, int] = {}
        self._touched: set[int] = set()
        self._gone: dict[tuple[int, ...], list[tuple[float, int]]] = {}
        self._new: list[int] = []
        self.rates: dict[int, float] = {}
        """Bytes a second of each flow, as of the last `settle`."""

    def add(self, flow: int, lanes: tuple[int, ...]) -> None:
        """Adds a flow, on at least one lane."""
        self._lanes[flow] = lanes
        self.rates[flow] = 0.0
        for lane in lanes:
            self._on[lane].add(flow)
        self._new.append(flow)

    def remove(self, flow: int) -> None:
        """Removes a flow."""
        lanes = self._lanes.pop(flow)
        left = self.rates.pop(flow), self._bottlenecks.pop(flow)
        for lane in lanes:
            self._on[lane].discard(flow)
        self._gone.setdefault(lanes, []).append(left)

    def settle(self) -> dict[int, float]:
        """Updates all rates; returns the former rates of the flows that changed."""
        rates = self.rates
        heirs = self._pass_on()
        flows: set[int] = set()
        for lane in self._touched:
            flows |= self._on[lane]
        self._touched.clear()
        found: dict[int, float] = {}
        while flows:
            if len(flows) > _MOST_ONE_BY_ONE:
                found = self._all()
                break
            found, bottlenecks = self._fill(flows)
            self._bottlenecks.update(bottlenecks)
            more = self._disturbed(found)
            if not more:
                break
            flows |= more
        changed = {f: rates[f] for f, rate in found.items() if rate != rates[f]}
        rates.update(found)
        changed.update(dict.fromkeys(heirs, 0.0))
        return changed

    def _pass_on(self) -> list[int]:
        """New flows that take over the rate of a removed one on the same lanes.

        That changes no other flow.  All other lanes of new and removed flows are touched.
        """
        heirs = []
        for flow in self._new:
            lanes = self._lanes[flow]
            if left := self._gone.get(lanes):
                self.rates[flow], self._bottlenecks[flow] = left.pop()
                heirs.append(flow)
            else:
                self._touched.update(lanes)
        for lanes, left in self._gone.items():
            if left:
                self._touched.update(lanes)
        self._new.clear()
        self._gone.clear()
        return heirs

    def _all(self) -> dict[int, float]:
        """The rates of all flows, by arrays."""
        hops = max(map(len, self._lanes.values()))
        none = len(self._capacities)
        padded = np.array(
            [(*lanes, *(none,) * (hops - len(lanes))) for lanes in self._lanes.values()]
        )
        capacities = np.append(self._capacities, np.inf)
        rates = max_min_rates(padded, capacities)
        load = np.bincount(padded.ravel(), np.repeat(rates, hops), minlength=none + 1)
        top = np.zeros(none + 1)
        np.maximum.at(top, padded.ravel(), np.repeat(rates, hops))
        full = load >= capacities * (1 - _CLOSE)
        mine = full[padded] & (rates[:, None] >= top[padded] * (1 - _CLOSE))
        places = padded[np.arange(len(padded)), mine.argmax(axis=1)]
        self._bottlenecks = dict(zip(self._lanes, places.tolist(), strict=True))
        return dict(zip(self._lanes, rates.tolist(), strict=True))

    def _fill(self, flows: Iterable[int]) -> tuple[dict[int, float], dict[int, int]]:
        """Rates of some flows with the others fixed, and the bottleneck lane of each."""
        users: dict[int, set[int]] = {}
        for flow in flows:
            for lane in self._lanes[flow]:
                if lane in users:
                    users[lane].add(flow)
                else:
                    users[lane] = {flow}
        rates = self.rates
        room = {
            lane: self._capacities[lane] - sum([rates[f] for f in self._on[lane] - mine])
            for lane, mine in users.items()
        }
        found: dict[int, float] = {}
        bottlenecks: dict[int, int] = {}
        while users:
            least = max(min([room[lane] / len(mine) for lane, mine in users.items()]), 0.0)
            most = least * (1 + _CLOSE)
            for lane in [x for x, mine in users.items() if room[x] <= most * len(mine)]:
                for flow in users.pop(lane, ()):
                    found[flow] = least
                    bottlenecks[flow] = lane
                    for other in self._lanes[flow]:
                        if other in users:
                            room[other] -= least
                            users[other].discard(flow)
                            if not users[other]:
                                del users[other]
        return found, bottlenecks

    def _disturbed(self, found: Mapping[int, float]) -> set[int]:
        """Other flows whose rates must change after some were filled."""
        rates, more = self.rates, set[int]()
        state: dict[int, tuple[bool, float]] = {}

        def full_and_top(lane: int) -> tuple[bool, float]:
            """Whether a lane is full, and the highest rate on it."""
            known = state.get(lane)
            if known is None:
                mine = [found[f] if f in found else rates[f] for f in self._on[lane]]
                full = sum(mine) >= self._capacities[lane] * (1 - _CLOSE)
                known = state[lane] = full, max(mine) * (1 - _CLOSE)
            return known

        affected = {lane for flow in found for lane in self._lanes[flow]}
        # Filled ones that have less than others on the lane that holds them down.
        for flow, rate in found.items():
            lane = self._bottlenecks[flow]
            if rate < full_and_top(lane)[1]:
                most = rate * (1 + _CLOSE)
                more.update(f for f in self._on[lane] if f not in found and rates[f] > most)
        for lane in affected:
            for flow in self._on[lane]:
                if flow in found or self._bottlenecks[flow] not in affected:
                    continue
                for own in self._lanes[flow]:
                    full, top = full_and_top(own)
                    if full and rates[flow] >= top:
                        self._bottlenecks[flow] = own
                        break
                else:
                    more.add(flow)
        return more
