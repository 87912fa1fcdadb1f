"""Checks packed trees and their cuts: docs/certificates.md, "Forests"."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from .layout import FileError, Json, at, require
from .machine import require_fabric


class ForestCheck:
    """Forests whose trees, cuts and throughputs are all correct."""

    def __init__(self, document: Json, version: int) -> None:
        self.accepted: list[str] = []  # claims, in words
        self.document, self.nodes = document, document["nodes"]
        if "network" not in document:
            raise FileError("it lacks the network of its trees, as files of version 1 do")
        require(version > 1, "a network in a file of version 1")
        with at("network"):
            network = document["network"]
            require_fabric(network, self.nodes)
        self.links = {(a, b): bandwidth for a, b, bandwidth in network["links"]}
        self.able = {key: set(network.get(key, [])) for key in ("multicast", "reduce")}
        phases = document.get("phases", ())
        names = [one["collective"] for one in phases]
        wanted = ["reducescatter", "allgather"] if document["collective"] == "allreduce" else []
        require(names == wanted, f"phases are {names}")
        parts = phases or (document,)
        for i, one in enumerate(parts):
            with at(*(("phases", i) if phases else ())):
                self._packed(one)
        for key in ("algbw", "bound"):
            total = 1 / sum(1 / one[key] for one in parts)
            require(document[key] == total, f"{key} is {total}")
        slowest = min(parts, key=lambda one: one["algbw"])
        for key in ("k", "cut", "max_height", "trees"):
            require(document[key] == slowest[key], f"{key} is not that of the slower phase")
        if "any_roots" in document:
            low, high = document["any_roots"]["at_least"], document["any_roots"]["at_most"]
            require(phases and document["algbw"] <= low <= high, "any_roots")

    def _packed(self, packed: Json) -> None:
        """One forest and its cut."""
        trees, inward = packed["trees"], packed["collective"] in ("reducescatter", "reduce")
        roots, load, highest = Counter[int](), Counter[tuple[int, int]](), 0
        for i, tree in enumerate(trees):
            with at("trees", i):
                roots[tree["root"]] += tree["weight"]
                links, height = self._tree(tree, inward)
                highest = max(highest, height)
                for link in links:
                    load[link] += tree["weight"]
        wanted = list(range(self.nodes))
        if packed["collective"] in ("broadcast", "reduce"):
            wanted = [trees[0]["root"]]
        require(roots == dict.fromkeys(wanted, packed["k"]), "other trees than k of each root")
        require(packed["max_height"] == highest, f"max_height is {highest}")
        require(packed["algbw"] > 0, "algbw is 0")
        scale = len(wanted) * packed["k"] / packed["algbw"]
        for link, n in load.items():
            room = scale * self.links[link]
            require(n <= room, f"{n} trees on link {link}, which has room for {room}")
        cut = set(packed["cut"])
        require(len(cut) == len(packed["cut"]), "a vertex of the cut twice")
        divides = 0 < sum(v in cut for v in range(self.nodes)) < self.nodes
        crossing = sum((root in cut) is not inward for root in wanted)
        require(divides and crossing, "nothing crosses the cut")
        leaving = sum(b for (u, v), b in self.links.items() if u in cut and v not in cut)
        bound = Fraction(len(wanted) * leaving, crossing)
        require(packed["bound"] == bound >= packed["algbw"], f"the cut proves {bound}")
        what = f"{len(trees)} trees of {packed['collective']} reach {packed['algbw']}"
        self.accepted.append(f"{what}; nothing exceeds {bound}")

    def _tree(self, tree: Json, inward: bool) -> tuple[list[tuple[int, int]], int]:
        """The links of a tree that spans the nodes, once for each edge over them; its height."""
        links: list[tuple[int, int]] = []
        depth = {tree["root"]: 0}
        for sender, receiver, path in tree["edges"]:
            require((path[0], path[-1]) == (sender, receiver), f"{path} is of another edge")
            near, far = (receiver, sender) if inward else (sender, receiver)
            require(near in depth, f"{near} is not reached before")
            require(far not in depth, f"{far} is reached twice")
            branches = far < self.nodes or far in self.able["reduce" if inward else "multicast"]
            require(branches, f"an edge ends at {far}, which does not branch")
            require(all(v >= self.nodes for v in path[1:-1]), f"{path} passes through a node")
            links += pairwise(path)
            depth[far] = depth[near] + (far < self.nodes)
        require(self.links.keys() >= set(links), "an edge over no link")
        require(depth.keys() >= set(range(self.nodes)), "a node that is not reached")
        return links, max(depth[node] for node in range(self.nodes))

    def unchecked(self) -> Iterator[tuple[str, str]]:
        """The kind and the words of claims that no file can prove."""
        if "any_roots" in self.document:
            yield "any roots", "the throughput of reductions to any roots along with broadcasts"
