"""Topology: nodes, directed links, and the bandwidth relation B (SCCL paper, section 3.2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from operator import lt
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Ints, frozen
from syncoll.errors import ModelError, Origin
from syncoll.lazy import displays
from syncoll.model.bandwidth import BandwidthBound, Counting, Link
from syncoll.model.distances import UNREACHABLE, distances
from syncoll.model.fabric import Fabric, rational_bandwidth, require_network, reversed_name
from syncoll.wording import counted

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["MOST_GRAINS", "UNREACHABLE", "BandwidthBound", "Counting", "Link", "Topology"]

_MOST_PAIRS = 1 << 22
"""Pairs of nodes in the largest table of links by ends: 32 MiB."""

MOST_GRAINS = 1_000_000
"""Most grains in a round; the claims of a file are checked for each number of grains."""


@dataclass(frozen=True)
class Topology:
    """An interconnect: P nodes, directed links, and bounds on the load of links.

    Every link must be in at least one bound; otherwise its bandwidth would be infinite.

    Args:
        name: its name as people write it, arguments included: ``torus(4,4)``.
        num_nodes: P; the nodes are ``0 … P-1``.
        links: directed links, sorted and distinct.
        bounds: the bandwidth relation B.
        origin: where a spec file defines it.
        fabric: the physical network that the links and bounds were made from, if it is known;
            topologies that differ only here are equal.
        grains: D, the grains in a round: the rounds of every step are a multiple of 1/D.

    Raises:
        ModelError: if a link is invalid, repeated or unbounded, a bound covers a pair that is no
            link, or a bandwidth is not positive; if a fabric has another number of nodes; if grains
            are out of range.
    """

    name: str
    num_nodes: int
    links: tuple[Link, ...]
    bounds: tuple[BandwidthBound, ...]
    origin: Origin | None = field(default=None, compare=False)
    fabric: Fabric | None = field(default=None, compare=False, repr=False)
    grains: int = field(default=1, kw_only=True)

    def __repr__(self) -> str:
        return (
            f"<topology {self.name}: {counted(self.num_nodes, 'node')}, "
            f"{counted(len(self.links), 'link')}>"
        )

    def _repr_html_(self) -> str:
        return str(displays().html_of(self))

    def plot(self) -> Any:
        """A `Picture` of nodes and links; a wider link has a higher bandwidth.

        Raises:
            UsageError: when matplotlib is not installed.
        """
        return displays().drawing_of(self)

    def __post_init__(self) -> None:
        owner, known = f"topology {self.name}", f"nodes 0 to {self.num_nodes - 1}"
        nodes = self.num_nodes
        require_network(owner, self.origin, nodes, self.links, (nodes, "node", known))
        if self.fabric is not None and self.fabric.num_nodes != nodes:
            raise ModelError(
                f"{owner} has {counted(nodes, 'node')} and its fabric {self.fabric.num_nodes}",
                self.origin,
                "as many nodes as the fabric's compute nodes",
            )
        if type(self.grains) is not int or not 1 <= self.grains <= MOST_GRAINS:
            raise ModelError(
                f"{owner} has {self.grains!r} grains in a round",
                self.origin,
                f"a whole number from 1 to {MOST_GRAINS:,}",
            )
        covered = set[Link]().union(*(bound.links for bound in self.bounds))
        unknown = covered.difference(self.links)
        for bound in self.bounds:
            wrong = expected = ""
            if bound.chunks_per_round <= 0:
                wrong = f"bandwidth {bound.chunks_per_round} on {bound.links}"
                expected = "a bandwidth above 0; leave out links that carry nothing"
            elif not bound.links:
                wrong, expected = "a bandwidth bound over no links", "at least one link"
            elif not all(map(lt, bound.links, bound.links[1:])):
                wrong = f"the links {bound.links} of a bandwidth bound are not sorted and distinct"
                expected = "each link once, in order"
            elif not unknown.isdisjoint(bound.links):
                link = next(link for link in bound.links if link in unknown)
                wrong = f"a bandwidth bound covers {link}, which is not a link"
                expected = "pairs that are links of the topology"
            if wrong:
                raise ModelError(f"{owner}: {wrong}", self.origin, expected)
        for link in sorted(set(self.links) - covered):
            raise ModelError(
                f"{owner}: no bandwidth bound covers link {link}",
                self.origin,
                "a bandwidth for the link, or a shared bound that contains it",
            )

    @classmethod
    def from_links(
        cls,
        name: str,
        num_nodes: int,
        bandwidth: Mapping[Link, int | Fraction] | Iterable[Link],
        shared: Iterable[tuple[Iterable[Link], int | Fraction]] = (),
        *,
        unbounded: Iterable[Link] = (),
        grains: int = 1,
    ) -> Topology:
        """Builds a topology from per-link bandwidths and shared bounds.

        Args:
            bandwidth: chunks per round of each directed link; a list of links gives each of them 1.
            shared: further elements of B: (links, chunks per round).
            unbounded: links without a bandwidth of their own; a shared bound must contain each.
            grains: D, see the class.

        Raises:
            ModelError: see the class; also if a list has a link twice or an invalid entry.

        Examples:
            >>> from syncoll.api import Topology
            >>> Topology.from_links("line", 2, [(0, 1), (1, 0)]).links
            ((0, 1), (1, 0))
            >>> wires = {(0, 1): 2, (1, 2): 2, (0, 2): 1}
            >>> triangle = Topology.from_links("triangle", 3, wires, [(wires, 3)])
            >>> triangle.links
            ((0, 1), (0, 2), (1, 2))
            >>> [(len(bound.links), str(bound.chunks_per_round)) for bound in triangle.bounds]
            [(1, '2'), (1, '1'), (1, '2'), (3, '3')]
        """
        if not isinstance(bandwidth, Mapping):
            bandwidth = _one_each(name, bandwidth)
        links = tuple(sorted({*bandwidth, *unbounded}))
        bounds = [
            BandwidthBound((link,), rational_bandwidth(name, bandwidth[link]))
            for link in links
            if link in bandwidth
        ]
        bounds += [
            BandwidthBound(tuple(sorted(set(group))), rational_bandwidth(name, b))
            for group, b in shared
        ]
        return cls(name, num_nodes, links, tuple(bounds), grains=grains)

    @classmethod
    def from_matrix(
        cls, name: str | npt.ArrayLike, matrix: npt.ArrayLike | str, *, grains: int = 1
    ) -> Topology:
        """Builds a topology from bandwidths ``matrix[source, destination]``, 0 for no link.

        The name may come before or after the matrix.

        Raises:
            ModelError: if the matrix is not square, or see the class.
        """
        if not isinstance(name, str):
            name, matrix = str(matrix), name
        array = np.asarray(matrix)
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            raise ModelError(
                f"topology {name}: a bandwidth matrix of shape {array.shape}",
                None,
                "a square matrix [source, destination]",
            )
        bandwidth = {
            (int(a), int(b)): rational_bandwidth(name, array[a, b])
            for a, b in zip(*np.nonzero(array), strict=True)
        }
        return cls.from_links(name, array.shape[0], bandwidth, grains=grains)

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph[Any] | str,
        name: str | nx.Graph[Any] = "",
        *,
        bandwidth: str = "bandwidth",
    ) -> Topology:
        """Builds a topology from a networkx graph; its nodes are numbered in iteration order.

        An undirected edge becomes two links.  Parallel edges of a multigraph add up.  The name may
        come before or after the graph.  Shared bounds come from `to_networkx`.

        Args:
            name: the graph's own name when empty.
            bandwidth: the edge attribute with the chunks per round, 1 if it is missing; None for a
                link that only shared bounds limit.

        Raises:
            ModelError: see the class; also without a graph.
        """
        if isinstance(graph, str):
            graph, name = name, graph
        if isinstance(graph, str) or not hasattr(graph, "edges") or not isinstance(name, str):
            raise ModelError(
                f"{graph!r} and {name!r} are not a networkx graph and its name",
                None,
                'Topology.from_networkx(graph, "name")',
            )
        name = name or str(graph.name) or "graph"
        number = {node: i for i, node in enumerate(graph.nodes)}
        total: dict[Link, Fraction] = {}
        for u, v, data in graph.edges(data=True):
            a, b = number[u], number[v]
            rate = data.get(bandwidth, 1)
            for link in ((a, b),) if graph.is_directed() else ((a, b), (b, a)):
                total[link] = total.get(link, Fraction(0))
                total[link] += 0 if rate is None else rational_bandwidth(name, rate)
        shared = []
        for bound in graph.graph.get("bandwidth_bounds", ()):
            links = sorted((number.get(a, -1), number.get(b, -1)) for a, b in bound.links)
            shared.append(replace(bound, links=tuple(links)))
        inner = {link for bound in shared for link in bound.links}
        own = [link for link in sorted(total) if total[link] or link not in inner]
        bounds = (*(BandwidthBound((link,), total[link]) for link in own), *shared)
        grains = graph.graph.get("grains", 1)
        return cls(name, len(number), tuple(sorted(total)), bounds, grains=grains)

    def to_networkx(self, *, bandwidth: str = "bandwidth") -> nx.DiGraph[Any]:
        """The directed graph from which `from_networkx` builds the same links and bounds.

        The graph's attribute ``bandwidth_bounds`` has the bounds over several links, and ``grains``
        the grains in a round, if there are several.

        Args:
            bandwidth: the edge attribute for chunks per round, None if only shared bounds limit it.
        """
        import networkx as nx

        rates: dict[Link, Fraction] = {}
        shared = []
        for bound in self.bounds:
            if len(bound.links) > 1 or bound.counts is not Counting.SENDS:
                shared.append(bound)
                continue
            link = bound.links[0]
            rates[link] = min(bound.chunks_per_round, rates.get(link, bound.chunks_per_round))
        graph: nx.DiGraph[Any] = nx.DiGraph(name=self.name, bandwidth_bounds=shared)
        if self.grains > 1:
            graph.graph["grains"] = self.grains
        graph.add_nodes_from(range(self.num_nodes))
        graph.add_edges_from((a, b, {bandwidth: rates.get((a, b))}) for a, b in self.links)
        return graph

    @cached_property
    def link_index(self) -> dict[Link, int]:
        """The position of each link in `links`."""
        return {link: i for i, link in enumerate(self.links)}

    @cached_property
    def _link_codes(self) -> Ints:
        """``[L]``: source * P + destination, ascending as links are sorted."""
        return np.array([a * self.num_nodes + b for a, b in self.links], dtype=np.int64)

    @cached_property
    def _link_table(self) -> Ints | None:
        """``[P * P]``: for each code the position of its link, -1 without one; None if large."""
        if self.num_nodes**2 > _MOST_PAIRS:
            return None
        table = np.full(self.num_nodes**2, -1, dtype=np.int64)
        table[self._link_codes] = np.arange(len(self.links))
        return table

    def links_of(self, sources: Ints, destinations: Ints) -> Ints:
        """The positions of links between pairs of nodes; -1 for a missing link."""
        if not self.links:
            return np.full(sources.shape, -1, dtype=np.int64)
        codes = sources * self.num_nodes + destinations
        if self._link_table is not None:  # for millions of sends
            return self._link_table.take(codes, mode="clip")  # the ends are no links
        found = np.minimum(np.searchsorted(self._link_codes, codes), len(self.links) - 1)
        return np.where(self._link_codes[found] == codes, found, -1)

    @cached_property
    def bound_links(self) -> tuple[Ints, ...]:
        """For each bound the positions of its links in `links`."""
        index = self.link_index
        return tuple(frozen(np.array([index[x] for x in bound.links])) for bound in self.bounds)

    @cached_property
    def link_bounds(self) -> tuple[tuple[int, ...], ...]:
        """For each link the positions of the bounds that contain it."""
        found: list[list[int]] = [[] for _ in self.links]
        for i, members in enumerate(self.bound_links):
            for link in members.tolist():
                found[link].append(i)
        return tuple(map(tuple, found))

    @cached_property
    def out_links(self) -> tuple[tuple[int, ...], ...]:
        """For each node the positions of the links that leave it."""
        return self._links_at(0)

    @cached_property
    def in_links(self) -> tuple[tuple[int, ...], ...]:
        """For each node the positions of the links that enter it."""
        return self._links_at(1)

    def _links_at(self, end: int) -> tuple[tuple[int, ...], ...]:
        at: list[list[int]] = [[] for _ in range(self.num_nodes)]
        for i, link in enumerate(self.links):
            at[link[end]].append(i)
        return tuple(tuple(positions) for positions in at)

    @cached_property
    def ends(self) -> Ints:
        """``[L, 2]``: source and destination of each link."""
        return frozen(np.array(self.links, dtype=np.int64).reshape(-1, 2))

    @cached_property
    def distances(self) -> Ints:
        """Links on a shortest path ``[source, destination]``, or `UNREACHABLE`."""
        return frozen(distances(self.num_nodes, self.ends))

    @cached_property
    def counts_copies(self) -> bool:
        """Whether switches copy or add up: some bounds do not count every send."""
        return any(bound.counts is not Counting.SENDS for bound in self.bounds)

    @cached_property
    def conservative(self) -> Topology:
        """The same with every send counted, for algorithms without copies by switches.  An
        algorithm that is valid on it is valid here; an impossibility there proves nothing here."""
        if not self.counts_copies:
            return self
        plain = tuple(replace(bound, counts=Counting.SENDS) for bound in self.bounds)
        fabric = None if self.fabric is None else self.fabric.without_copies()
        return replace(self, bounds=plain, fabric=fabric)

    @cached_property
    def in_grains(self) -> Topology:
        """The same with a grain as its round: the bandwidths of a grain, and whole rounds."""
        if self.grains == 1:
            return self
        return self._slower(self.grains, 1)

    def in_rounds(self, grains: int) -> Topology:
        """The topology whose `in_grains` this is, with some grains in a round."""
        return self if grains == 1 else self._slower(Fraction(1, grains), grains)

    def in_whole_rounds(self, grains: int) -> Topology:
        """The topology with some of its rounds as one round, which cannot be divided."""
        return self if grains == 1 else self._slower(Fraction(1, grains), 1)

    def _slower(self, factor: int | Fraction, grains: int) -> Topology:
        rates = (replace(x, chunks_per_round=x.chunks_per_round / factor) for x in self.bounds)
        fabric = None if self.fabric is None else self.fabric.slower(factor, grains)
        found = replace(self, bounds=tuple(rates), fabric=fabric, grains=grains)
        found.__dict__["distances"] = self.distances
        return found

    def same_as(self, other: Topology) -> bool:
        """Whether it has the same nodes, links, bandwidths and grains, under any names."""
        ours, theirs = (
            (
                one.num_nodes,
                one.links,
                one.grains,
                sorted((b.links, b.chunks_per_round, b.counts) for b in one.bounds),
            )
            for one in (self, other)
        )
        return ours == theirs

    def reversed(self) -> Topology:
        """The same interconnect with every link reversed, B included."""
        found = self._reversed
        known = self.__dict__.get("distances")
        if known is not None and "distances" not in found.__dict__:
            same = found.links == self.links
            found.__dict__["distances"] = known if same else frozen(known.T.copy())
        return found

    @cached_property
    def _reversed(self) -> Topology:
        return replace(
            self,
            name=reversed_name(self.name),
            links=tuple(sorted((b, a) for a, b in self.links)),
            bounds=tuple(
                replace(
                    bound,
                    links=tuple(sorted((b, a) for a, b in bound.links)),
                    counts=bound.counts.reversed,
                )
                for bound in self.bounds
            ),
            fabric=None if self.fabric is None else self.fabric.reversed(),
        )

    def __getstate__(self) -> dict[str, Any]:
        """All but cached topologies and a large table, which are cheap to make."""
        made_anew = ("_reversed", "conservative", "in_grains", "_link_table")
        return {name: value for name, value in self.__dict__.items() if name not in made_anew}


def _one_each(name: str, links: Iterable[Link]) -> dict[Link, int | Fraction]:
    """A bandwidth of 1 chunk per round for each link of a list."""
    found: dict[Link, int | Fraction] = {}
    for link in links:
        pair = isinstance(link, tuple | list) and len(link) == 2
        if not pair or tuple(link) in found:
            what = "is listed twice" if pair else "is not (source, destination)"
            raise ModelError(
                f"topology {name}: link {link!r} {what}",
                None,
                "each link once as (source, destination), or a mapping "
                "{(source, destination): chunks per round}",
            )
        found[link[0], link[1]] = 1
    return found
