"""Plays all ranks together, as a simulator does, but without time.

A node starts when all nodes of `waits` are done and all of `starts_after` have started.  A send
starts its message and is done, or, by rendezvous, is done when its message is received.  A receive
is done when a message of the same source, destination, tag and size has arrived, in the order of
sending.  A computation is done when it has started.  No node can disable another, so if one order
ends all do.

Simulators leave with exit status 0 when ranks hang; here it is an error, with the reason.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from syncoll.errors import VerificationError


class NodeKind(StrEnum):
    """The kind of a node."""

    COMPUTE = "compute"
    SEND = "send"
    RECEIVE = "receive"


@dataclass(frozen=True)
class MessageNode:
    """A send, receive or computation of a rank.

    Args:
        number: its identifier among the nodes of the rank.
        name: shown in errors; may be empty.
        waits: the nodes that must be done before it starts.
        data_waits: the nodes among them that are done in any case before it reads data.
        peer: the other rank of a send or receive; otherwise -1.
        tag: of a message; otherwise -1.
        size: of a message, in bytes; otherwise 0.
        reads: nodes whose results it reads, if stated in the file.
        inputs: chunks of the rank's own data that it reads, if stated in the file.
        starts_after: the nodes that must have started before it starts.
        chunks: the chunks of a send or of a result, if stated in the file.
    """

    number: int
    name: str
    kind: NodeKind
    waits: tuple[int, ...]
    data_waits: tuple[int, ...]
    peer: int
    tag: int
    size: int
    reads: tuple[int, ...]
    inputs: tuple[int, ...]
    starts_after: tuple[int, ...] = ()
    chunks: tuple[int, ...] | None = None


@dataclass(frozen=True)
class RankGraph:
    """The nodes of one rank by number, in the order of the file `where`."""

    rank: int
    where: str
    nodes: dict[int, MessageNode]

    def place(self, number: int) -> str:
        """The place of a node, for errors."""
        node = self.nodes[number]
        label = f" ({node.name})" if node.name else ""
        return f"{self.where}: rank {self.rank}, node {number}{label}"

    def wrong(self, number: int, message: str) -> VerificationError:
        """The error that a node causes."""
        return VerificationError(f"{self.place(number)}: {message}")


Place = tuple[int, int]
"""Rank and id of a node."""

Key = tuple[int, int, int, int]
"""Source, destination, tag and size of a message."""


@dataclass
class Played:
    """Nodes, each after its predecessors; senders of receives; equal messages in their order."""

    order: list[Place] = field(default_factory=list)
    senders: dict[Place, Place] = field(default_factory=dict)
    together: dict[Key, tuple[list[Place], list[Place]]] = field(default_factory=dict)


def play(graphs: Sequence[RankGraph], *, rendezvous: bool = False) -> Played:
    """Plays all ranks to the end; by rendezvous a send is done when its message is received.

    Ranks that end with rendezvous end without it as well.  Raises VerificationError on nodes that
    wait for each other, and on receives and messages without a counterpart.
    """
    return _Run(graphs, rendezvous).to_the_end()


def waits_for(graph: RankGraph, later: int, earlier: int) -> bool:
    """Whether data dependencies make a node wait until another node of its rank is done."""
    seen, front = {later}, [later]
    while front:
        for other in graph.nodes[front.pop()].data_waits:
            if other == earlier:
                return True
            if other not in seen:
                seen.add(other)
                front.append(other)
    return False


def _key(rank: int, node: MessageNode) -> Key:
    ends = (rank, node.peer) if node.kind is NodeKind.SEND else (node.peer, rank)
    return (*ends, node.tag, node.size)


class _Run:
    def __init__(self, graphs: Sequence[RankGraph], rendezvous: bool) -> None:
        self.graphs = graphs
        self.rendezvous = rendezvous
        self.played = Played()
        self.started: set[Place] = set()
        self.done: set[Place] = set()
        self.missing: dict[Place, int] = {}
        self.children: dict[Place, list[Place]] = defaultdict(list)
        self.followers: dict[Place, list[Place]] = defaultdict(list)
        self.under_way: dict[Key, deque[Place]] = defaultdict(deque)
        self.posted: dict[Key, deque[Place]] = defaultdict(deque)
        for graph in graphs:
            for number, node in graph.nodes.items():
                place = (graph.rank, number)
                self.missing[place] = len(node.waits) + len(node.starts_after)
                for other in node.waits:
                    self.children[graph.rank, other].append(place)
                for other in node.starts_after:
                    self.followers[graph.rank, other].append(place)
        self.ready = deque(place for place, count in self.missing.items() if not count)

    def node(self, place: Place) -> MessageNode:
        return self.graphs[place[0]].nodes[place[1]]

    def words(self, place: Place) -> str:
        return self.graphs[place[0]].place(place[1])

    def to_the_end(self) -> Played:
        while self.ready:
            self.start(self.ready.popleft())
        if len(self.done) < len(self.missing):
            self.complain()
        for waiting in self.under_way.values():
            if waiting:
                raise self.unreceived(waiting[0])
        return self.played

    def start(self, place: Place) -> None:
        node = self.node(place)
        self.started.add(place)
        self.release(self.followers[place])
        if node.kind is NodeKind.COMPUTE:
            self.finish(place)
            return
        key = _key(place[0], node)
        sends = node.kind is NodeKind.SEND
        self.played.together.setdefault(key, ([], []))[not sends].append(place)
        if sends and not self.rendezvous:
            self.finish(place)
        here, there = self.under_way[key], self.posted[key]
        (here if sends else there).append(place)
        if here and there:
            send, receive = here.popleft(), there.popleft()
            self.played.senders[receive] = send
            if self.rendezvous:
                self.finish(send)
            self.finish(receive)

    def finish(self, place: Place) -> None:
        self.done.add(place)
        self.played.order.append(place)
        self.release(self.children[place])

    def release(self, places: Sequence[Place]) -> None:
        """Removes one obstacle of each node."""
        for place in places:
            self.missing[place] -= 1
            if not self.missing[place]:
                self.ready.append(place)

    def complain(self) -> None:
        """Raises an error with the reason why some nodes are never done."""
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
                others = [(place[0], other) for other in node.starts_after]
                late = next((other for other in others if other not in self.started), None)
            if late is None:
                key = _key(place[0], node)
                if node.kind is NodeKind.SEND:
                    late = self.receiver(place)
                    if late is None:
                        raise self.unreceived(place)
                elif not coming[key]:
                    raise VerificationError(
                        f"{self.words(place)}: no message arrives for it, so rank {place[0]} "
                        f"never ends; {self.near(key, NodeKind.SEND)}"
                    )
                else:
                    late = coming[key][0]
            blockers[place] = late
        raise VerificationError(f"deadlock: {self.circle(blockers, stuck[0])}")

    def unreceived(self, send: Place) -> VerificationError:
        near = self.near(_key(send[0], self.node(send)), NodeKind.RECEIVE)
        return VerificationError(f"{self.words(send)}: its message is never received; {near}")

    def receiver(self, send: Place) -> Place | None:
        """A receive that has not started and would take a waiting message."""
        key = _key(send[0], self.node(send))
        for number, node in self.graphs[key[1]].nodes.items():
            place = (key[1], number)
            receives = node.kind is NodeKind.RECEIVE and _key(key[1], node) == key
            if receives and place not in self.started:
                return place
        return None

    def circle(self, blockers: dict[Place, Place], start: Place) -> str:
        """Describes nodes that wait for each other."""
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
        """Describes similar messages if the other end of a message is missing."""
        source, destination, tag, size = key
        rank, other = (source, destination) if kind is NodeKind.SEND else (destination, source)
        what = "sends" if kind is NodeKind.SEND else "receives"
        nodes = [
            node
            for node in self.graphs[rank].nodes.values()
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
