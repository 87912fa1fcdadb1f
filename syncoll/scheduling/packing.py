"""TreePacking: trees on a topology that share a collective's chunks.

Each class of chunks is divided among the trees from its start to all nodes that need it, in
proportion to their weights.  Branches of a tree on which no node needs the class are cut off, so a
broadcast's trees also serve a scatter.  Edges from one node through a switch that copies are one
entry of a stream and are sent together.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.errors import ModelError
from syncoll.model import Collective, Counting, RelationTable, Topology
from syncoll.model.counting import links_together
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.streams import StreamClass, Streams

_Kind = tuple[StreamClass, list[int], list[int]]
"""A class, the trees that can carry it, and their weights in lowest terms."""

_MOST_TRIED = 4096
"""Number of multiples among which an admissible one is sought."""


@dataclass(frozen=True)
class StepTree:
    """A directed tree of sends.

    Args:
        weight: number of equal parts of the root's data that use this tree; the weights of all
            trees of a root add up to the number of parts.
        edges: (parent, child) pairs of nodes, every parent before its children; each node but the
            root is a child once.

    Raises:
        ModelError: when the edges are not such a tree.
    """

    root: int
    weight: int
    edges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if self.weight < 1:
            raise ModelError(f"a tree of weight {self.weight}", None, "a weight of at least 1")
        reached = {self.root}
        for parent, child in self.edges:
            if parent not in reached:
                raise ModelError(f"a tree in which {parent} sends before it is reached")
            if child in reached:
                raise ModelError(f"a tree in which {child} is reached twice")
            reached.add(child)


class TreePacking:
    """Trees on a topology, ready to be dealt chunks.
    Raises `ModelError` if a tree has an edge that is not a link.

    Args:
        trees: their edges are links of it.
    """

    def __init__(self, topology: Topology, trees: Iterable[StepTree]) -> None:
        self._nodes = topology.num_nodes
        self._trees = tuple(trees)
        self._link: list[Ints] = []
        self._parent: list[Ints] = []
        self._entry = np.full((len(self._trees), self._nodes), -1, dtype=np.int32)
        self._topology = topology
        self._groups = (
            links_together(topology, Counting.SOURCES) if topology.counts_copies else None
        )
        self._copies: dict[tuple[int, ...], int] = {}
        self._at: dict[int, list[int]] = defaultdict(list)
        for i, tree in enumerate(self._trees):
            edges = np.array(tree.edges, dtype=np.int64).reshape(-1, 2)
            for node in (tree.root, *edges.min(axis=0, initial=0), *edges.max(axis=0, initial=0)):
                if not 0 <= node < self._nodes:
                    raise ModelError(
                        f"a tree of root {tree.root} names node {node}",
                        None,
                        f"nodes 0 to {self._nodes - 1} of {topology.name}",
                    )
            link = topology.links_of(edges[:, 0], edges[:, 1])
            if (link < 0).any():
                a, b = edges[np.flatnonzero(link < 0)[0]].tolist()
                raise ModelError(
                    f"a tree of root {tree.root} uses ({a}, {b}), which is not a link",
                    None,
                    f"links of {topology.name}",
                )
            self._entry[i, edges[:, 1]] = np.arange(len(edges))
            self._link.append(link)
            self._parent.append(self._entry[i, edges[:, 0]].astype(np.int64))
            self._at[tree.root].append(i)

    def _eligible(self, kind: StreamClass) -> tuple[list[int], list[int]]:
        """The trees that can carry a class, and their weights in lowest terms."""
        found = []
        for root in kind.starts.tolist():
            for i in self._at.get(root, ()):
                reached = self._entry[i, kind.needed] >= 0
                if reached.all():
                    found.append(i)
        if not found:
            raise ModelError(
                f"no tree carries chunk {kind.chunks[0]} from where it starts to all "
                f"{len(kind.needed)} nodes that need it",
                None,
                "at least one tree for every chunk",
            )
        weights = [self._trees[i].weight for i in found]
        common = gcd(*weights)
        return found, [weight // common for weight in weights]

    def chunk_counts(
        self, collective: Collective, segments: Sequence[int], most: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """For each number of segments the least C that gives every tree its whole share.
        Raises `ModelError` if there is no such C, or a class of chunks finds no tree.

        Args:
            segments: numbers of segments of each part.
            most: C at most; None for no limit.

        Yields:
            (segments, C).  If even the fewest segments need a larger C than `most`, instead 0 and
                the largest admissible C, whose chunks are divided unevenly.
        """
        nodes = self._nodes
        ceiling = _MOST_TRIED if most is None else most
        first = next((c for c in range(1, ceiling + 1) if collective.admits(nodes, c)), None)
        if first is None and most is not None:
            return
        if first is None:
            raise ModelError(
                f"{collective.name} is defined for no C up to {ceiling} on {nodes} nodes",
                None,
                "a collective that is defined for some small C",
            )
        unit = 1
        for kind in StreamClass.of(collective.tabulate(nodes, first)):
            share = Fraction(len(kind.chunks), first * sum(self._eligible(kind)[1]))
            unit = lcm(unit, share.denominator)
        if most is not None and unit * min(segments, default=1) > most:
            last = next((c for c in range(most, 0, -1) if collective.admits(nodes, c)), None)
            if last is not None:
                yield 0, last
            return
        for number in segments:
            step = unit * number
            times = _MOST_TRIED if most is None else min(_MOST_TRIED, most // step)
            for chunks in range(step, step * times + 1, step):
                if collective.admits(nodes, chunks):
                    yield number, chunks
                    break

    def deal(self, table: RelationTable) -> Streams:
        """Divides the chunks of a table among the trees.

        If shares are fractional, the odd chunks go one by one to the tree whose busiest link set is
        least busy.

        Raises `ModelError` if a class of chunks finds no tree.
        """
        kinds = [(kind, *self._eligible(kind)) for kind in StreamClass.of(table)]
        shares = [
            [len(kind.chunks) * weight // sum(weights) for weight in weights]
            for kind, _, weights in kinds
        ]
        if any(
            sum(part) < len(kind.chunks) for part, (kind, *_) in zip(shares, kinds, strict=True)
        ):
            self._deal_odd(kinds, shares)
        link: list[Ints] = []
        parent: list[Ints] = []
        chunks: list[Ints] = []
        tree: list[int] = []
        size = 0
        for (kind, trees, _), share in zip(kinds, shares, strict=True):
            for i, part in zip(trees, np.split(kind.chunks, np.cumsum(share)[:-1]), strict=True):
                if len(part):
                    kept, above = self._pruned(i, kind.needed)
                    link.append(kept)
                    parent.append(np.where(above >= 0, above + size, -1))
                    chunks.append(part)
                    tree.append(i)
                    size += len(kept)
        sizes = [len(array) for array in link]
        return Streams(
            np.concatenate(link) if link else np.zeros(0, dtype=np.int64),
            np.concatenate(parent) if parent else np.zeros(0, dtype=np.int64),
            np.repeat(np.arange(len(sizes)), sizes),
            tuple(chunks),
            tuple(tree),
            self._numbered,
        )

    @property
    def _numbered(self) -> dict[int, tuple[int, ...]]:
        """The links of copies, by number."""
        return {number: links for links, number in self._copies.items()}

    def _deal_odd(self, kinds: Sequence[_Kind], shares: list[list[int]]) -> None:
        """Raises shares until every chunk is assigned, each at most to the next whole number."""
        used = [[self._pruned(i, kind.needed)[0] for i in trees] for kind, trees, _ in kinds]
        sets = LinkSets(self._topology, 1, self._numbered)
        load = np.zeros(sets.size + 1)
        costs: list[list[tuple[Ints, Floats]]] = []
        for each, share in zip(used, shares, strict=True):
            costs.append([])
            for links, count in zip(each, share, strict=True):
                of_links, sends = np.unique(sets.of_link[links].ravel(), return_counts=True)
                costs[-1].append((of_links, sends * sets.rounds_per_send[of_links]))
                load[of_links] += count * costs[-1][-1][1]
        for (kind, _, weights), share, cost in zip(kinds, shares, costs, strict=True):
            size, total = len(kind.chunks), sum(weights)
            while sum(share) < size:
                open_ = [j for j, w in enumerate(weights) if share[j] < -(-size * w // total)]
                busiest = [float((load[cost[j][0]] + cost[j][1]).max(initial=0)) for j in open_]
                best = open_[busiest.index(min(busiest))]
                share[best] += 1
                load[cost[best][0]] += cost[best][1]

    def _pruned(self, tree: int, needed: Ints) -> tuple[Ints, Ints]:
        """The links of a tree that lead to a node of `needed`, and their parents among these."""
        link, parent = self._link[tree], self._parent[tree]
        if len(needed) == len(link):
            return self._at_once(link, parent)
        keep: Bools = np.zeros(len(link), dtype=bool)
        now = self._entry[tree, needed]
        while len(now):
            keep[now] = True
            now = np.unique(parent[now])
            now = now[now >= 0]
            now = now[~keep[now]]
        renumber = np.cumsum(keep) - 1
        above = parent[keep]
        return self._at_once(link[keep], np.where(above >= 0, renumber[above], -1))

    def _at_once(self, link: Ints, parent: Ints) -> tuple[Ints, Ints]:
        """Merges links from one node on which copies count once into one entry."""
        if self._groups is None:
            return link, parent
        group = self._groups[link]
        alone = len(self._groups) + np.arange(len(link))
        # A group has links of one node; the links of a tree in it become one entry.
        _, first, entry = np.unique(
            np.where(group < 0, alone, group), return_index=True, return_inverse=True
        )
        entry = np.argsort(np.argsort(first))[entry.reshape(-1)]
        members: list[list[int]] = [[] for _ in first]
        for one, number in zip(entry.tolist(), link.tolist(), strict=True):
            members[one].append(number)
        numbers = []
        for each in members:
            links = tuple(sorted(each))
            if len(links) > 1:
                known = len(self._topology.links) + len(self._copies)
                numbers.append(self._copies.setdefault(links, known))
            else:
                numbers += links
        above = parent[np.sort(first)]
        return np.array(numbers, dtype=np.int64), np.where(above >= 0, entry[above], -1)
