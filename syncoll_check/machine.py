"""Machines, and the shapes: how many chunks have each pre and post."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

from .layout import Json, at, require

Nodes = tuple[int, ...]
Link = tuple[int, int]
Demand = tuple[Nodes, Nodes, int]  # sources, destinations, count


def ascending(values: Sequence[Any]) -> bool:
    """Whether values ascend strictly."""
    return all(a < b for a, b in pairwise(values))


def in_runs(runs: Sequence[Link], most: int) -> list[int]:
    """The numbers of runs."""
    require(sum(last - first + 1 for first, last in runs) <= most, "too many to check")
    return [i for first, last in runs for i in range(first, last + 1)]


def mask_of(runs: Iterable[Link], end: int) -> int:
    """A set of nodes as an integer; bit n is node n."""
    found = 0
    for first, last in runs:
        require(last < end, f"node {last}, of {end} nodes")
        own = (1 << last + 1) - (1 << first)
        require(not found & own, f"a node from {first} to {last} twice")
        found |= own
    return found


def _require_network(links: Sequence[Link], vertices: int) -> None:
    require(ascending(links), "links that are not in ascending order, none twice")
    for a, b in links:
        require(a != b and a < vertices > b, f"the link {a} to {b}, of {vertices} vertices")


def require_fabric(fabric: Json, nodes: int) -> None:
    """Checks that a physical network makes sense."""
    links, vertices = fabric["links"], nodes + fabric["switches"]
    _require_network([link[:2] for link in links], vertices)
    require(all(link[2] > 0 for link in links), "a bandwidth of 0")
    for key in ("multicast", "reduce"):
        own = fabric.get(key, [])
        require(ascending(own) and all(nodes <= one < vertices for one in own), key)
    require(len(fabric.get("latencies") or links) == len(links), "latencies")
    in_gb = fabric.get("measure") == "GB/s"
    require(not in_gb or fabric["chunk_per_round"] > 0, "chunk_per_round is 0")


class Machine:
    """Nodes, links, and the bandwidth relation."""

    def __init__(
        self, nodes: int, links: list[Link], bounds: Sequence[Json], grains: int = 1
    ) -> None:
        self.nodes, self.links, self.bounds, self.grains = nodes, links, bounds, grains
        self.number = {link: i for i, link in enumerate(links)}
        # For each bound the numbers of its links, b, and the sends that count as one (None: none).
        self.members = [[self.number[link] for link in one["links"]] for one in bounds]
        self.room: list[Fraction] = [one["chunks_per_round"] for one in bounds]
        self.counting: list[str | None] = [one.get("counts") for one in bounds]
        self.counts = any(self.counting)
        self._far: dict[Nodes, list[float]] = {}

    @classmethod
    def read(cls, document: Json) -> "Machine":
        """The machine of a frontier's file."""
        nodes, written = document["nodes"], document["interconnect"]
        with at("interconnect"):
            links = written["links"]
            _require_network(links, nodes)
            known, bounded = set(links), set[Link]()
            for i, one in enumerate(written["bounds"]):
                with at("bounds", i):
                    own = one["links"]
                    require(own and ascending(own) and known.issuperset(own), "its links")
                    require(one["chunks_per_round"] > 0, "no bandwidth")
                    bounded.update(own)
            require(bounded == known, "a link without a bound")
            if "fabric" in written:
                with at("fabric"):
                    require_fabric(written["fabric"], nodes)
        return cls(nodes, links, written["bounds"], written.get("grains", 1))

    @cached_property
    def reversed(self) -> "Machine":
        """The machine with all links reversed, which renumbers them."""

        def turned(links: list[Link]) -> list[Link]:
            return sorted((b, a) for a, b in links)

        other = {"sources": "destinations", "destinations": "sources", None: None}
        bounds = [
            {**one, "links": turned(one["links"]), "counts": other[one.get("counts")]}
            for one in self.bounds
        ]
        return Machine(self.nodes, turned(self.links), bounds)

    @cached_property
    def onward(self) -> list[list[Link]]:
        """For each node the numbers and the ends of its outgoing links."""
        found: list[list[Link]] = [[] for _ in range(self.nodes)]
        for i, (a, b) in enumerate(self.links):
            found[a].append((i, b))
        return found

    def distances(self, sources: Nodes) -> list[float]:
        """To each node from the nearest of the sources."""
        if sources not in self._far:
            far, front = [inf] * self.nodes, list(sources)
            for n in front:
                far[n] = 0
            for n in front:
                for _, b in self.onward[n]:
                    if far[b] == inf:
                        far[b] = far[n] + 1
                        front.append(b)
            self._far[sources] = far
        return self._far[sources]


class Shape:
    """The number of chunks with each pre and post, for one C."""

    def __init__(self, written: Json, machine: Machine) -> None:
        self.chunks, self.combining = written["chunks"], written["combining"]
        self.compared, self.scales = written["compared"], written["scales"]
        self.counts: dict[tuple[Nodes, Nodes], int] = {}
        for i, one in enumerate(written["classes"]):
            with at("classes", i):
                pre, post = (tuple(in_runs(one[key], machine.nodes)) for key in ("pre", "post"))
                inside = all(nodes[-1:] < (machine.nodes,) for nodes in (pre, post))
                require(ascending(pre) and ascending(post) and inside, "nodes of pre or post")
                for own in [(n,) for n in post] if "each" in one else [post]:
                    require((pre, own) not in self.counts, "a class twice")
                    self.counts[pre, own] = one["count"]
        require(ascending(list(self.counts)), "classes that do not ascend")
        self.steps: float = 0  # the least of an algorithm
        for pre, post in self.counts:
            for start in self._starts(pre) if post else ():
                require(start, f"a chunk for node {post[0]} that starts nowhere")
                far = machine.distances(start)
                self.steps = max(self.steps, *(far[n] for n in post))

    def _starts(self, pre: Nodes) -> list[Nodes]:
        """The sources of each post: all nodes of pre for a copy, each node for contributions."""
        return [(n,) for n in pre] if self.combining else [pre]

    def is_journey(self, start: Nodes, to: int) -> bool:
        """Whether a copy, or a contribution, must get to a node from the nearest of some."""
        return any(to in post and start in self._starts(pre) for pre, post in self.counts)

    def allows(self, chunks: int) -> bool:
        """Whether counts in proportion to another C are whole."""
        return all(n * chunks % self.chunks == 0 for n in self.counts.values())

    def scaled(self, chunks: int) -> dict[tuple[Nodes, Nodes], int]:
        """The counts for another C."""
        require(self.allows(chunks), f"C = {chunks} is not allowed")
        return {key: n * chunks // self.chunks for key, n in self.counts.items()}

    def demands(self, reading: str, node: int | None) -> list[Demand]:
        """The demands of a certificate, in order."""
        require((reading == "moving") != self.combining, "a reading of another kind")
        require((node is not None) == (reading in ("spread", "collect")), "a reading's node")
        found: Counter[tuple[Nodes, Nodes]] = Counter()
        for (pre, post), n in self.counts.items():
            sources, destinations = (pre, post) if reading in ("moving", "spread") else (post, pre)
            require(reading != "inverse" or len(post) <= 1, "a post of several nodes")
            if node is not None and sources:
                sources = (node if node in sources else sources[0],)
            missing = tuple(d for d in destinations if d not in sources)
            if missing and (sources or reading == "moving"):
                found[sources, missing] += n
        return sorted((a, b, n) for (a, b), n in found.items())
