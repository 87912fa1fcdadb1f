"""A simulator without arrays, independent of the real one except for its documentation.

Each lane has a list of its passages, step by step, and takes the next one as soon as it is known to
have come.  First passages of sends come in the order of exports, the later ones of a step as they
come, to the femtosecond.  Ready sends are searched for again and again.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import frexp, ldexp

from syncoll.documents import StoredAlgorithm
from syncoll.simulating import PhysicalNetwork, Semantics, Switching
from tests.oracles.export_order import export_order

Passage = tuple[int, int, int]
"""Send, strand of its link, hop."""


class LaneByLane:
    """When each send leaves and arrives, for L bytes.

    For lanes of one cable; depths where each link is a lane.
    """

    def __init__(
        self, stored: StoredAlgorithm, network: PhysicalNetwork, semantics: Semantics, size: int
    ) -> None:
        self.stored, self.network, self.semantics = stored, network, semantics
        assert all(lane.cables == 1 for lane in network.lanes)
        nodes = stored.instance.topology.num_nodes
        order = export_order(stored.algorithm, nodes)
        self.sends = stored.algorithm.sends[order].tolist()
        carried = stored.algorithm.contributions
        self.carried = None if carried is None else carried[order]
        self.chunk = Fraction(size, stored.chunks)
        self.begins = [0.0] * nodes
        for one in semantics.late:
            self.begins[one.node] = float(one.seconds)
        index = {link: i for i, link in enumerate(stored.instance.topology.links)}
        self.links = [index[source, destination] for _, source, destination, _ in self.sends]
        self.left = [float("inf")] * len(self.sends)
        self.arrived: dict[int, float] = {}
        self.heads: dict[Passage, float] = {}
        self.tails: dict[Passage, float] = {}
        self.free = [0.0] * len(network.lanes)
        self.ends: dict[int, list[float]] = defaultdict(list)

    def run(self) -> LaneByLane:
        """Runs all sends."""
        groups: dict[int, dict[tuple[int, int], list[Passage]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for number, link in enumerate(self.links):
            for i, strand in enumerate(self.network.routes[link]):
                for hop, lane in enumerate(strand.lanes):
                    groups[lane][self.sends[number][3], hop].append((number, i, hop))
        waiting = {lane: [each[key] for key in sorted(each)] for lane, each in groups.items()}
        moved = True
        while moved:
            moved = False
            for lane, rest in waiting.items():
                while rest and (chosen := self._next(rest[0])) is not None:
                    self._carry(lane, chosen)
                    rest[0].remove(chosen)
                    if not rest[0]:
                        rest.pop(0)
                    moved = True
        assert not any(waiting.values()), "a deadlock"
        return self

    def _next(self, group: list[Passage]) -> Passage | None:
        """The next passage of a lane; None while it is unknown."""
        if group[0][2] == 0:
            ready = self._ready(group[0][0])
            if ready is None:
                return None
            self.heads[group[0]], self.tails[group[0]] = ready, float("-inf")
            return group[0]
        if any(one not in self.heads for one in group):
            return None

        def came(one: Passage) -> float:
            mantissa, exponent = frexp(self.heads[one])
            return ldexp(round(mantissa * 2**40), exponent)

        return min(group, key=lambda one: (came(one), one))

    def _ready(self, number: int) -> float | None:
        """The time at which a send may leave; None while it is unknown."""
        chunk, source, _, step = self.sends[number]
        carried = self.carried
        needs = [
            i for i, (c, _, to, when) in enumerate(self.sends)
            if c == chunk and to == source and when < step
        ]  # fmt: skip
        if carried is not None:
            needs = [i for i in needs if not (carried[i] & ~carried[number]).any()]
        elif self.stored.instance.pre[chunk, source]:
            needs = []
        else:
            needs = needs[:1]
        if self.semantics.depth is not None:
            before = [i for i in range(number) if self.links[i] == self.links[number]]
            if len(before) >= self.semantics.depth:
                needs.append(before[-self.semantics.depth])
        if any(need not in self.arrived for need in needs):
            return None
        return max([self.begins[source], *(self.arrived[need] for need in needs)])

    def _carry(self, lane: int, passage: Passage) -> None:
        number, i, hop = passage
        strand = self.network.routes[self.links[number]][i]
        part = self.chunk * strand.share
        rate = float(self.network.lanes[lane].bandwidth)
        takes = float(self.semantics.wire_bytes(part)) / rate
        first, last = (float(x) for x in self.semantics.packet_bytes(part))
        forward = self.semantics.switching is Switching.STORE_AND_FORWARD
        head, tail = self.heads[passage], self.tails[passage]
        if hop and forward:
            tail += last / rate
        begin = max(head, self.free[lane])
        self.free[lane] = end = max(begin + takes, tail)
        if not hop:
            self.left[number] = min(self.left[number], begin)
        latency = float(self.network.lanes[lane].latency)
        if hop + 1 < len(strand.lanes):
            onward = (number, i, hop + 1)
            self.heads[onward], self.tails[onward] = begin + latency, end + latency
            if forward:  # when a switch has a packet it may go on
                self.heads[onward] += first / rate
            return
        self.ends[number].append(end + latency)
        if len(self.ends[number]) == len(self.network.routes[self.links[number]]):
            adds = self.carried
            pre = self.stored.instance.pre[self.sends[number][0]]
            reduces = adds is not None and (adds[number] != pre).any()
            extra = float(self.semantics.reduction * self.chunk) if reduces else 0.0
            self.arrived[number] = max(self.ends[number]) + float(self.network.alpha) + extra
