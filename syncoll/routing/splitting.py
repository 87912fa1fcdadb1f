"""Removes one switch exactly, by edge splitting (ForestColl paper, section C.2, Theorem 8).

A unit of (u, w) and a unit of (w, t) become one of (u, t). That lowers exactly the cuts that have u
and t on one side and the switch w on the other.  So the number of units that can be replaced at
once is the least slack over those cuts: two maximum flows for each terminal.  The theorem of
Bang-Jensen, Frank and Jackson promises that every unit finds a partner when the switch receives as
much as it sends.  Terminals may be unbalanced, because each could return all its trees to the
common source.
"""

from collections.abc import Callable, Mapping

from syncoll.routing.network import FlowNetwork, Network, Pieces


def split_switch(network: Network, w: int, avoid: Callable[[int, int], bool]) -> Pieces:
    """Removes a switch in place; no cut becomes worse than the trees need.  Pairs (u, t) to `avoid`
    are replaced only when no other pair is left.  Returns the units that had to turn round in w."""
    slack = _Slack(network, w)
    loops: Pieces = []
    for t in sorted(network.out[w], key=lambda t: (network.out[w][t], t)):
        entries = sorted(
            network.into[w], key=lambda u: (u == t, avoid(u, t), -network.into[w][u], u)
        )
        for u in entries:
            units = slack.units(u, t)
            if units:
                loops += network.split(u, w, t, units)
                slack.update(u, t)
            if t not in network.out[w]:
                break
        if t in network.out[w]:
            raise AssertionError(f"switch {w} keeps {network.out[w][t]} units towards {t}")
    return loops


def split_transit(
    network: Network, w: int, wanted: Mapping[tuple[int, int], int]
) -> dict[tuple[int, int], int]:
    """Replaces units through a switch by direct links, in place, and returns them.  No cut becomes
    worse than the trees need."""
    slack = _Slack(network, w)
    done: dict[tuple[int, int], int] = {}
    for (u, t), most in wanted.items():
        units = min(most, slack.units(u, t))
        if units:
            network.split(u, w, t, units)
            slack.update(u, t)
        done[u, t] = units
    return done


class _Slack:
    """The maximum flows around one switch, on one flow network that is updated in place."""

    def __init__(self, network: Network, w: int) -> None:
        self.network, self.w = network, w
        ports = sorted({*network.into[w], *network.out[w]})
        n = network.num_vertices
        root, self.source, gate, self.sink = n, n + 1, n + 2, n + 3
        tails: list[int] = []
        heads: list[int] = []
        capacities: list[int] = []

        def arc(u: int, v: int, capacity: int) -> int:
            tails.append(u)
            heads.append(v)
            capacities.append(capacity)
            return len(tails) - 1

        # No cut needs more than all trees and the most that one pair could take from it.
        self.wide = network.total + max(*network.into[w].values(), *network.out[w].values())
        self.link: dict[tuple[int, int], int] = {}
        for u, v, capacity in network.links():
            self.link[u, v] = arc(u, v, min(capacity, self.wide))
        for u in ports:
            for t in ports:
                if u != t and (u, t) not in self.link:
                    self.link[u, t] = arc(u, t, 0)
        for v, demand in enumerate(network.demand):
            if demand:
                arc(root, v, demand)
        self.gate = arc(self.source, gate, 0)
        self.big = 4 * self.wide
        arc(gate, root, self.big)
        self.enter = {v: arc(gate, v, 0) for v in (*ports, w)}
        self.leave = {v: arc(v, self.sink, 0) for v in {*ports, w, *network.terminals}}
        self.flow = FlowNetwork(n + 4, tails, heads, capacities)
        self.order = list(network.terminals)

    def update(self, u: int, t: int) -> None:
        """Copies the three links that a replacement has changed."""
        out = self.network.out
        for a, b in ((u, self.w), (self.w, t), (u, t)):
            if a != b:
                self.flow.set_capacity(self.link[a, b], min(out[a].get(b, 0), self.wide))

    def units(self, u: int, t: int) -> int:
        """Number of units of (u, w), (w, t) that may be replaced."""
        units = min(self.network.into[self.w].get(u, 0), self.network.out[self.w].get(t, 0))
        for inside, outside in (((u, t), (self.w,)), ((self.w,), (u, t))):
            units = self._least(inside, outside, units)
        return units

    def _least(self, inside: tuple[int, ...], outside: tuple[int, ...], units: int) -> int:
        """The least slack over cuts with the source and `inside` on one side, or `units`."""
        flow, total = self.flow, self.network.total
        for v in set(inside):
            flow.set_capacity(self.enter[v], self.big)
        for v in set(outside):
            flow.set_capacity(self.leave[v], self.big)
        for place, v in enumerate(self.order):
            if not units:
                break
            if v in inside:
                continue
            if v not in outside:
                flow.set_capacity(self.leave[v], self.big)
            flow.set_capacity(self.gate, total + units)
            left = flow.maximum(self.source, self.sink) - total
            if v not in outside:
                flow.set_capacity(self.leave[v], 0)
            if left < units:
                units = left
                # A node without slack now probably has none for the next pair.
                self.order.insert(0, self.order.pop(place))
        for v in set(inside):
            flow.set_capacity(self.enter[v], 0)
        for v in set(outside):
            flow.set_capacity(self.leave[v], 0)
        return units
