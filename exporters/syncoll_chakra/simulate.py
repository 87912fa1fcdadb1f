"""Plays the traces of all ranks, as ASTRA-sim does, but without time.

A node starts when all that it waits for is done.  A send puts its message under way and is done
when it is delivered, which needs no receive; a receive is done when a message of the same source,
destination, tag and size is there, in the order in which they were sent; a computation is done when
it has started.  Nothing can be overtaken, so that what ends in one order ends in all.

ASTRA-sim itself leaves with exit status 0 when ranks hang; here it is an error, with the reason.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from syncoll.errors import VerificationError
from syncoll_chakra.reading import Node, NodeKind, Trace

__all__ = ["Simulation", "simulate", "waits_for"]

Place = tuple[int, int]
"""Rank and id of a node."""

Key = tuple[int, int, int, int]
"""Source, destination, tag, size: what a message is recognised by."""


@dataclass
class Simulation:
    """What happened.

    Args:
        order: all nodes, each after those that it needed.
        senders: of each receive, the send whose message it got.
        together: sends, and receives, of messages that cannot be told apart, in order.
    """

    order: list[Place] = field(default_factory=list)
    senders: dict[Place, Place] = field(default_factory=dict)
    together: dict[Key, tuple[list[Place], list[Place]]] = field(default_factory=dict)


def simulate(traces: Sequence[Trace]) -> Simulation:
    """Plays all ranks to the end.

    Raises:
        VerificationError: on nodes that wait for each other, receives that no message is for, and
            messages that nobody receives.
    """
    return _Run(traces).to_the_end()


def waits_for(trace: Trace, later: int, earlier: int) -> bool:
    """Whether a node starts only when another of its rank is done, by data dependencies alone."""
    seen, front = {later}, [later]
    while front:
        for other in trace.nodes[front.pop()].data_waits:
            if other == earlier:
                return True
            if other not in seen:
                seen.add(other)
                front.append(other)
    return False


def _key(rank: int, node: Node) -> Key:
    ends = (rank, node.peer) if node.kind is NodeKind.SEND else (node.peer, rank)
    return (*ends, node.tag, node.size)


class _Run:
    """The state of all ranks."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self.traces = traces
        self.played = Simulation()
        self.done: set[Place] = set()
        self.missing: dict[Place, int] = {}
        self.children: dict[Place, list[Place]] = defaultdict(list)
        self.under_way: dict[Key, deque[Place]] = defaultdict(deque)
        self.posted: dict[Key, deque[Place]] = defaultdict(deque)
        for trace in traces:
            for number, node in trace.nodes.items():
                place = (trace.rank, number)
                self.missing[place] = len(node.waits)
                for other in node.waits:
                    self.children[trace.rank, other].append(place)
        self.ready = deque(place for place, count in self.missing.items() if not count)

    def node(self, place: Place) -> Node:
        return self.traces[place[0]].nodes[place[1]]

    def words(self, place: Place) -> str:
        return self.traces[place[0]].place(place[1])

    def to_the_end(self) -> Simulation:
        while self.ready:
            self.start(self.ready.popleft())
        if len(self.done) < len(self.missing):
            self.complain()
        for key, waiting in self.under_way.items():
            if waiting:
                raise VerificationError(
                    f"{self.words(waiting[0])}: nobody receives its message; "
                    f"{self.near(key, NodeKind.RECEIVE)}"
                )
        return self.played

    def start(self, place: Place) -> None:
        node = self.node(place)
        if node.kind is NodeKind.COMPUTE:
            self.finish(place)
            return
        key = _key(place[0], node)
        sends, receives = self.played.together.setdefault(key, ([], []))
        if node.kind is NodeKind.SEND:
            sends.append(place)
            self.finish(place)
            if self.posted[key]:
                self.deliver(place, self.posted[key].popleft())
            else:
                self.under_way[key].append(place)
        else:
            receives.append(place)
            if self.under_way[key]:
                self.deliver(self.under_way[key].popleft(), place)
            else:
                self.posted[key].append(place)

    def deliver(self, send: Place, receive: Place) -> None:
        self.played.senders[receive] = send
        self.finish(receive)

    def finish(self, place: Place) -> None:
        self.done.add(place)
        self.played.order.append(place)
        for child in self.children[place]:
            self.missing[child] -= 1
            if not self.missing[child]:
                self.ready.append(child)

    def complain(self) -> None:
        """Says why some nodes were never done."""
        coming: dict[Key, list[Place]] = defaultdict(list)
        stuck = [place for place in self.missing if place not in self.done]
        for place in stuck:
            if self.node(place).kind is NodeKind.SEND:
                coming[_key(place[0], self.node(place))].append(place)
        blockers: dict[Place, Place] = {}
        for place in stuck:
            node = self.node(place)
            waits = [(place[0], other) for other in node.waits]
            late = next((other for other in waits if other not in self.done), None)
            if late is None:
                key = _key(place[0], node)
                if not coming[key]:
                    raise VerificationError(
                        f"{self.words(place)}: no message comes for it, so that rank {place[0]} "
                        f"never ends; {self.near(key, NodeKind.SEND)}"
                    )
                late = coming[key][0]
            blockers[place] = late
        raise VerificationError(f"deadlock: {self.circle(blockers, stuck[0])}")

    def circle(self, blockers: dict[Place, Place], start: Place) -> str:
        """Nodes that wait for each other, in words."""
        seen: dict[Place, int] = {}
        path: list[Place] = []
        while start not in seen:
            seen[start] = len(path)
            path.append(start)
            start = blockers[start]
        circle = path[seen[start] :]
        shown = [self.words(place) for place in circle[:6]] + ["…"] * (len(circle) > 6)
        return " waits for ".join([*shown, "the first"])

    def near(self, key: Key, kind: NodeKind) -> str:
        """What there is instead of the other end of a message."""
        source, destination, tag, size = key
        rank, other = (source, destination) if kind is NodeKind.SEND else (destination, source)
        what = "sends" if kind is NodeKind.SEND else "receives"
        nodes = [
            node
            for node in self.traces[rank].nodes.values()
            if node.kind is kind and node.peer == other
        ]
        same_tag = [node for node in nodes if node.tag == tag]
        start = f"rank {rank} {what} "
        link = f"{'to' if kind is NodeKind.SEND else 'from'} rank {other}"
        if not nodes:
            return f"{start}nothing {link}"
        if not same_tag:
            return f"{start}nothing with tag {tag} {link}"
        if wrong := sorted({node.size for node in same_tag} - {size}):
            return f"{start}{wrong[0]} bytes with tag {tag} {link}, not {size}"
        return f"{start}fewer messages of tag {tag} {link} than rank {other} expects"
