"""A simulator of events, with network interfaces that count steps and connections that fill up.

All events happen in order of time: a node opens its next step, a send becomes ready, the first byte
of a passage comes to a lane, a send has arrived.  Nothing is computed for a step at once, and
nothing is looked for again.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

from syncoll.documents import StoredAlgorithm
from syncoll.simulating import Injection, PhysicalNetwork, Semantics, Switching
from tests.oracles.export_order import export_order

Turn = tuple[int, int, int]
"""Step, turn of its connection in that step, hop: the smaller one goes first on a lane."""

Passage = tuple[int, int, int]
"""Send, strand of its link, hop."""

INFINITE = float("inf")


class _Lane:
    """Passages in groups, each group in the order of exports or, beyond the first hop, as they
    come, to the femtosecond."""

    def __init__(self) -> None:
        self.groups: dict[Turn, list[Passage]] = defaultdict(list)
        self.here: dict[Passage, float] = {}
        self.free = 0.0

    def next(self) -> Passage | None:
        """The next passage among the ones that are here."""
        if not self.groups:
            return None
        turn = min(self.groups)
        rest = self.groups[turn]
        if turn[2]:
            come = [one for one in rest if one in self.here]
            chosen = min(come, key=lambda one: (round(self.here[one] * 1e15), one), default=None)
        else:
            chosen = rest[0] if rest[0] in self.here else None
        if chosen is not None:
            rest.remove(chosen)
            if not rest:
                del self.groups[turn]
        return chosen


class EventByEvent:
    """When each send leaves and arrives, for L bytes; for lanes of one cable with latencies."""

    def __init__(
        self, stored: StoredAlgorithm, network: PhysicalNetwork, semantics: Semantics, size: int
    ) -> None:
        self.network, self.semantics = network, semantics
        order = export_order(stored.algorithm, stored.instance.topology.num_nodes)
        self.sends = stored.algorithm.sends[order].tolist()
        self.chunk = Fraction(size, stored.chunks)
        carried, self.pre = stored.algorithm.contributions, stored.instance.pre
        self.carried = None if carried is None else carried[order]
        index = {link: i for i, link in enumerate(stored.instance.topology.links)}
        self.links = [index[a, b] for _, a, b, _ in self.sends]
        self.ways = [network.routes[link] for link in self.links]
        self.nodes, self.steps = stored.instance.topology.num_nodes, stored.algorithm.steps
        count = len(self.sends)
        self.left, self.arrived = [INFINITE] * count, [INFINITE] * count
        self.tails: dict[Passage, float] = {}
        self.sent: dict[int, list[float]] = defaultdict(list)
        self.ended: dict[int, list[float]] = defaultdict(list)
        self.missing = [set(self._needs(number)) for number in range(count)]
        self.waiting: dict[int, set[int]] = defaultdict(set)
        for number, needs in enumerate(self.missing):
            for need in needs:
                self.waiting[need].add(number)
        self.mine: dict[tuple[int, int], set[int]] = defaultdict(set)
        for number, (_, source, _, step) in enumerate(self.sends):
            self.mine[source, step].add(number)
        self.opened = [False] * count
        self.lanes = [_Lane() for _ in network.lanes]
        self._line_up()
        self.queue: list[tuple[float, int, Callable[[float], None]]] = []
        self.pushed = 0

    def _needs(self, number: int) -> list[int]:
        chunk, source, _, step = self.sends[number]
        came = [
            i
            for i, (c, _, to, when) in enumerate(self.sends)
            if (c, to) == (chunk, source) and when < step
        ]
        if self.carried is not None:
            came = [i for i in came if not (self.carried[i] & ~self.carried[number]).any()]
        else:
            came = [] if self.pre[chunk, source] else came[:1]
        same = [i for i in range(number) if self.links[i] == self.links[number]]
        depth = self.semantics.depth
        if depth is not None and len(same) >= depth:
            came.append(same[-depth])
        return came

    def _line_up(self) -> None:
        for number, (_, _, _, step) in enumerate(self.sends):
            before = sum(
                self.links[i] == self.links[number] and self.sends[i][3] == step
                for i in range(number)
            )
            turn = 0 if self.semantics.depth is None else before // self.semantics.depth
            for i, strand in enumerate(self.ways[number]):
                for hop, lane in enumerate(strand.lanes):
                    self.lanes[lane].groups[step, turn, hop].append((number, i, hop))

    def _at(self, time: float, what: Callable[[float], None]) -> None:
        self.pushed += 1
        heapq.heappush(self.queue, (time, self.pushed, what))

    def run(self) -> EventByEvent:
        """Runs all sends."""
        begins = [0.0] * self.nodes
        for one in self.semantics.late:
            begins[one.node] = max(begins[one.node], float(one.seconds))
        for node, begin in enumerate(begins):
            self._at(begin, self._opener(node, 0))
        while self.queue:
            now = self.queue[0][0]
            at_once = []
            while self.queue and round(self.queue[0][0] * 1e15) == round(now * 1e15):
                at_once.append(heapq.heappop(self.queue))
            for time, _, what in at_once:
                what(time)
            for lane in range(len(self.lanes)):
                while (passage := self.lanes[lane].next()) is not None:
                    self._carry(lane, passage)
        assert max(self.arrived) < INFINITE, "a deadlock"
        return self

    def _opener(self, node: int, step: int) -> Callable[[float], None]:
        def opened(now: float) -> None:
            """Opens the node's sends of this step."""
            if step >= self.steps:
                return
            if self.semantics.injection is Injection.FREE:
                self._at(now, self._opener(node, step + 1))
            elif not self.mine[node, step]:
                self._at(now + self._estimate(step), self._opener(node, step + 1))
            for number in sorted(self.mine[node, step]):
                self.opened[number] = True
                self._ready(number, now)

        return opened

    def _estimate(self, step: int) -> float:
        """The time of a step's bytes if one lane of a node carries most of them."""
        loads: dict[int, float] = defaultdict(float)
        for number, send in enumerate(self.sends):
            if send[3] == step:
                for strand in self.ways[number]:
                    wire = self.semantics.wire_bytes(self.chunk * strand.share)
                    rate = self.network.lanes[strand.lanes[0]].bandwidth
                    loads[strand.lanes[0]] += float(wire / rate)
        return max(loads.values(), default=0.0)

    def _ready(self, number: int, now: float) -> None:
        if self.opened[number] and not self.missing[number]:
            for i, strand in enumerate(self.ways[number]):
                self.lanes[strand.lanes[0]].here[number, i, 0] = now

    def _carry(self, lane: int, passage: Passage) -> None:
        number, i, hop = passage
        strand, state = self.ways[number][i], self.lanes[lane]
        part, rate = self.chunk * strand.share, float(self.network.lanes[lane].bandwidth)
        takes = float(self.semantics.wire_bytes(part)) / rate
        first, last = (float(one) for one in self.semantics.packet_bytes(part))
        whole = self.semantics.switching is Switching.STORE_AND_FORWARD
        tail = self.tails.pop(passage, -INFINITE)
        begin = max(state.here.pop(passage), state.free)
        end = max(begin + takes, tail + (last / rate if whole else 0.0))
        state.free = end
        latency = float(self.network.lanes[lane].latency)
        if hop == 0:
            self._left(number, begin, end)
        if hop + 1 < len(strand.lanes):
            onward, after = strand.lanes[hop + 1], (number, i, hop + 1)
            self.tails[after] = end + latency
            comes = begin + latency + (first / rate if whole else 0.0)
            self._at(comes, lambda now: self.lanes[onward].here.__setitem__(after, now))
            return
        self.ended[number].append(end + latency)
        if len(self.ended[number]) == len(self.ways[number]):
            adds = self.carried is not None and bool(
                (self.carried[number] != self.pre[self.sends[number][0]]).any()
            )
            extra = float(self.semantics.reduction * self.chunk) if adds else 0.0
            there = max(self.ended[number]) + float(self.network.alpha) + extra
            self._at(there, lambda now: self._arrived(number, now))

    def _left(self, number: int, begin: float, end: float) -> None:
        self.left[number] = min(self.left[number], begin)
        self.sent[number].append(end)
        source, step = self.sends[number][1], self.sends[number][3]
        mine = self.mine[source, step]
        if self.semantics.injection is Injection.LOCKSTEP and all(
            len(self.sent[one]) == len(self.ways[one]) for one in mine
        ):
            out = max(max(self.sent[one]) for one in mine)
            self._at(out, self._opener(source, step + 1))

    def _arrived(self, number: int, now: float) -> None:
        self.arrived[number] = now
        for other in sorted(self.waiting[number]):
            self.missing[other].discard(number)
            self._ready(other, now)
