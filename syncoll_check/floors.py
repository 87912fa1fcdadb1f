"""Checks bounds on times: docs/certificates.md, "Flows over time"."""

from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction

from .certificates import distinct
from .layout import Json, at, require
from .machine import Machine, Shape, ascending


class FloorsCheck:
    """Bounds on times that are all proved."""

    def __init__(self, document: Json) -> None:
        self.accepted: list[str] = []  # claims, in words
        self.nodes, self.lanes = document["nodes"], document["lanes"]
        for i, one in enumerate(self.lanes):
            with at("lanes", i):
                require(one["places"] >= self.nodes, "fewer places than nodes")
                for tail, head, lane, _ in one["passages"]:
                    known = max(tail, head) < one["places"] and lane < len(one["rates"])
                    require(known, "a passage of another place or lane")
        with at("shape"):
            self.shape = Shape(document["shape"], Machine(self.nodes, [], []))
        for i, one in enumerate(document["floors"]):
            with at("floors", i):
                self._floor(one)

    def _floor(self, floor: Json) -> None:
        times, lanes = floor["times"], self.lanes[floor["lanes"]]
        require(1 < len(times) <= 1025 and times[0] == 0 and ascending(times), "times")
        prices, room = distinct(floor["prices"]), Fraction(0)
        for (lane, i), price in prices.items():
            room += price * lanes["rates"][lane] * (times[i + 1] - times[i])
        parts: dict[int, dict[tuple[int, int], int]] = {}  # by payment, of (passage, interval)
        for (number, *place), price in distinct(floor.get("shares", [])).items():
            require(number < len(floor["payments"]), f"a share of payment {number}")
            require(place[0] < len(lanes["passages"]), f"passage {place[0]}")
            parts.setdefault(number, {})[place[0], place[1]] = price
        passages = []
        least = {one[2]: one[3] for one in sorted(lanes["passages"], key=lambda one: -one[3])}
        for tail, head, lane, seconds in lanes["passages"]:
            if floor["reading"] in ("inverse", "collect"):
                tail, head, seconds = head, tail, least[lane]
            after = [bisect_right(times, one + seconds) - 1 for one in times[:-1]]
            passages.append((tail, head, lane, after))
        demands = self.shape.demands(floor["reading"], floor["node"])
        paid, spent = 0, dict[int, dict[tuple[int, int], int]]()
        whole = {
            (n, i): prices.get((passage[2], i), 0)
            for n, passage in enumerate(passages)
            for i in range(len(times) - 1)
        }
        for number, (end, ks) in enumerate(floor["payments"]):
            require(end < self.nodes, f"node {end}")
            own = parts.get(number, {}) if parts else whole
            table = [[sum(prices.values())] * lanes["places"]]  # of the deadline
            for i in reversed(range(len(times) - 1)):
                table.insert(0, cost := table[0][:])
                before, cost[end] = None, 0
                while before != cost:
                    before = cost[:]
                    for n, (tail, head, _, after) in enumerate(passages):
                        over = table[after[i] - i][head] + own.get((n, i), 0)
                        cost[tail] = min(cost[tail], over)
            for k in ks:
                sources, destinations, count = demands[k]
                require(end in destinations, f"demand {k}")
                require(parts or k not in spent, f"demand {k} pays whole prices twice")
                sums = spent.setdefault(k, {})
                for place, price in own.items() if parts else ():
                    sums[place] = sums.get(place, 0) + price
                    require(sums[place] <= whole.get(place, 0), f"shares of demand {k}")
                paid += count * min(table[0][n] for n in sources)
        size = floor["bytes"]
        require(size * paid > room * self.shape.chunks, f"{size} bytes may be there in time")
        what = f"more than {float(times[-1])} s for {size} bytes of a node"
        self.accepted.append(f"{floor['protocol']}: {what}")

    def unchecked(self) -> Iterator[tuple[str, str]]:
        """The kind and the words of claims that no file can prove."""
        yield "lanes", "that the lanes, and the collective's chunks, are the ones of their names"
