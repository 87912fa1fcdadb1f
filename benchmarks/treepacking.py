"""Spanning-tree packing: the paper's figures and ours side by side, and how far the packing scales.

::

    python benchmarks/treepacking.py          # results/treepacking.md

After "Optimal Message Scheduling for Aggregation" (SysML 2018).  C is the time for one unit of data
where a unit of bandwidth carries one in a unit of time.  The trees' loads give C, the cheapest tree
at the last prices proves a bound; both are floating point numbers here, shown as fractions.  The
benchmark fails where a figure of the paper is not met, or C and the bound differ.  The schedules
are verified algorithms for allreduce in (S, R, C).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from benchmarks.tables import made_at
from syncoll.arrays import Floats, Ints
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Topology
from syncoll.model.fabric import Fabric
from syncoll.packing.column_generation import TINY, Packing, Tuning
from syncoll.packing.trees import TimedTree
from syncoll.plugins import PluginManager, SeedLimits
from syncoll.spec import SpecLibrary
from syncoll.symmetry import FreeGroup, free_symmetry
from syncoll.trust import require_valid
from syncoll_treepacking import RECORD
from syncoll_treepacking.oracle import SpanningTrees
from tests.oracles.fabrics import a100, bigraph, fat_tree, mi250, p2_16xlarge

_TUNING = Tuning(kept=0.0, gain=0.0, patience=40, near=TINY)
_TREES = 12  # for each program

# P3.16xlarge (paper, figure 1): the pairs with two NVLinks, and with one.
_DOUBLE = ((0, 1), (1, 4), (4, 5), (5, 7), (7, 6), (6, 3), (3, 2), (2, 0))
_SINGLE = ((0, 3), (3, 1), (1, 2), (2, 7), (7, 4), (4, 6), (6, 5), (5, 0))


class Table:
    """Prints rows as they come, and remembers whether all figures were met."""

    def __init__(self) -> None:
        self.met = True

    def head(self, title: str, *cells: str) -> None:
        print(f"\n## {title}\n")
        self.row(*cells)
        self.row(*["---"] * len(cells))

    def row(self, *cells: object) -> None:
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)

    def figure(self, what: str, paper: object, ours: object, why: str, seconds: float) -> None:
        met = paper == ours
        self.met &= met
        self.row(what, paper, ours if met else f"**{ours}**", why, f"{seconds:.3f}")


def p3(gpus: int) -> Topology:
    """P3.16xlarge, or with 4 GPUs P3.8xlarge, the half of it."""
    links: dict[tuple[int, int], int] = {}
    for pairs, count in ((_DOUBLE, 2), (_SINGLE, 1)):
        for a, b in pairs:
            if max(a, b) < gpus:
                links[a, b] = links[b, a] = count
    return Topology.from_links(f"P3 with {gpus} GPUs", gpus, links)


def ring(gpus: int) -> Topology:
    """The dual NVLinks alone."""
    links = dict.fromkeys((*_DOUBLE, *((b, a) for a, b in _DOUBLE)), 2)
    return Topology.from_links("the dual NVLinks of P3.16xlarge", gpus, links)


def p2_8xlarge() -> Fabric:
    """Half of P2.16xlarge: four cards of two GPUs on one central switch."""
    links = [(gpu, 8 + gpu // 2, 1) for gpu in range(8)]
    links += [(8 + card, 12, 1) for card in range(4)]
    return Fabric.from_links("p2_8xlarge", 8, 5, links, both_ways=True)


class SwitchTrees:
    """Spanning trees of compute nodes over switches: the network and the oracle of a packing.

    A tree joins nodes by shortest routes, so it is the cheapest spanning tree of the graph of all
    shortest routes.  Its links are the physical links of its routes, with repeats, each used both
    ways and as fast as the slower way.

    Args:
        fewest: whether trees have the fewest links.
    """

    def __init__(self, fabric: Fabric, *, fewest: bool) -> None:
        b, self.num_nodes, self._fewest = fabric.bandwidths, fabric.num_nodes, fewest
        self.ends = [(u, v) for u, v in sorted(b) if u < v and (v, u) in b]
        self.rate = np.array([float(min(b[u, v], b[v, u])) for u, v in self.ends])
        self._graph: nx.Graph[int] = nx.Graph()
        self._graph.add_edges_from((u, v, {"link": i}) for i, (u, v) in enumerate(self.ends))
        self._random = np.random.default_rng(7)

    def load(self, links: Ints, steps: Ints, count: int) -> Ints:
        return np.bincount(links, minlength=len(self.ends))[:, None]

    def cheap(
        self, prices: Floats, pays: Floats, shared: Sequence[Sequence[TimedTree]], until: Deadline
    ) -> tuple[list[tuple[int, TimedTree]], Floats]:
        found, raised = [], np.zeros(len(self.ends))
        for turn in range(_TREES):
            noise = self._random.random(len(self.ends)) if turn else 0.0
            tree = self._cheapest(prices[:, 0] + prices.mean() * 0.02 * (raised + noise))
            np.add.at(raised, tree.links, 1.0)
            found.append((0, tree))
        return found, np.array([prices[found[0][1].links, 0].sum()])

    def _cheapest(self, costs: Floats) -> TimedTree:
        costs = costs + self._fewest * 100 * costs.max()
        price = costs.tolist()
        found: Any = nx.multi_source_dijkstra(
            self._graph, {*range(self.num_nodes)}, weight=lambda u, v, edge: price[edge["link"]]
        )
        far, ways = found
        # Links between the regions nearest to two nodes suffice (Mehlhorn 1988).
        routes: nx.Graph[int] = nx.Graph()
        for link, (u, v) in enumerate(self.ends):
            a, b, cost = ways[u][0], ways[v][0], far[u] + costs[link] + far[v]
            if a != b and cost < routes.get_edge_data(a, b, {"weight": np.inf})["weight"]:
                routes.add_edge(a, b, weight=cost, route=(*ways[u], *reversed(ways[v])))
        used = [
            self._graph.edges[edge]["link"]
            for _, _, data in nx.minimum_spanning_edges(routes)
            for edge in pairwise(data["route"])
        ]
        return TimedTree(tuple((link, 0) for link in sorted(used)))


@dataclass(frozen=True)
class Packed:
    """A packing: C, the bound that prices prove, the number of trees with a share, and the load of
    each row of the network for one unit of data."""

    cost: Fraction
    bound: Fraction
    trees: int
    loads: list[Fraction]

    @property
    def is_optimal(self) -> bool:
        return self.cost == self.bound

    @property
    def reason(self) -> str:
        return f"prices on {len(self.loads)} capacities"


def fraction(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10_000)


def pack(oracle: SpanningTrees | SwitchTrees, until: Deadline = NEVER) -> Packed:
    network = oracle if isinstance(oracle, SwitchTrees) else oracle.network
    counts = [1] if isinstance(oracle, SwitchTrees) else oracle.counts
    packing = Packing(network, counts, 1, oracle, _TUNING, timeless=True)
    for turn in [] if isinstance(oracle, SwitchTrees) else oracle.greedy(64, 1, until):
        for demand, tree in enumerate(turn):
            packing.add(demand, tree)
    while not packing.rested and not until.passed:
        packing.improve(until)
    # Of all data, which the chunks of all images are.
    images = 1 if isinstance(oracle, SwitchTrees) else oracle.network.group.order
    total = sum(counts) * images
    load = np.zeros(len(network.rate))
    for i, share in packing.shared():
        load += share * packing.master.loads[i][:, 0]
    return Packed(
        fraction(packing.value / total),
        fraction(packing.estimate / total),
        len(packing.shared()),
        [fraction(one / total) for one in load.tolist()],
    )


def undirected(topology: Topology) -> SpanningTrees:
    return SpanningTrees(topology, {}, FreeGroup.trivial(topology.num_nodes), low=False)


def utilisation(fabric: Fabric, packing: Packed, levels: tuple[int, ...]) -> str:
    """Mean loads of the links of each level, as the least whole numbers in their ratio.

    Args:
        packing: of a tree of switches.
        levels: where the vertices below each level's links end.
    """
    sums = [Fraction(0)] * len(levels)
    counts = [0] * len(levels)
    for (u, _), load in zip(SwitchTrees(fabric, fewest=True).ends, packing.loads, strict=True):
        level = next(i for i, end in enumerate(levels) if u < end)
        sums[level] += load
        counts[level] += 1
    means = [total / count for total, count in zip(sums, counts, strict=True)]
    scale = min(s for s in range(1, 1000) if all((mean * s).denominator == 1 for mean in means))
    return " : ".join(str(mean * scale) for mean in means)


def figures(table: Table) -> None:
    table.head("The paper's figures", "what", "paper", "ours", "why not less", "seconds")
    packings = {}
    for gpus, paper in ((8, Fraction(7, 24)), (4, Fraction(1, 3))):
        began = time.perf_counter()
        packing = pack(undirected(p3(gpus)))
        spent = time.perf_counter() - began
        packings[gpus] = packing
        table.met &= packing.is_optimal
        table.figure(f"C(G) of P3.{2 * gpus}xlarge", paper, packing.cost, packing.reason, spent)
    began = time.perf_counter()
    graph: Any = nx.Graph()
    for pairs, count in ((_DOUBLE, 2), (_SINGLE, 1)):
        graph.add_edges_from((a, b, {"capacity": count}) for a, b in pairs)
    # The best single tree is a spanning tree whose slowest link is fastest.
    chain: Any = nx.maximum_spanning_tree(graph, weight="capacity")
    capacities = [capacity for *_, capacity in graph.edges.data("capacity")]
    single = Fraction(1, min(capacity for *_, capacity in chain.edges.data("capacity")))
    every = Fraction(len(graph) - 1, sum(capacities))
    spent = time.perf_counter() - began
    is_chain = max(degree for _, degree in chain.degree) == 2 and chain.number_of_edges() == 7
    table.figure(
        "best single tree of P3.16xlarge: all dual links but one", True,
        single == Fraction(1, 2) and is_chain, "no tree has a faster slowest link", spent,
    )  # fmt: skip
    began = time.perf_counter()
    chains = pack(undirected(ring(8)))
    spent = time.perf_counter() - began
    table.met &= chains.is_optimal
    table.figure(
        "8 chains over the dual links, of one chain's time", Fraction(7, 8),
        chains.cost / single, chains.reason, spent,
    )  # fmt: skip
    table.figure(
        "inequality (3) on P3.16xlarge", "1 >= 1/2 >= 7/24 >= 7/24",
        f"{Fraction(1, min(capacities))} >= {single} >= {packings[8].cost} >= {every}", "-", 0.0,
    )  # fmt: skip
    for name, fabric, levels, paper_ratio in (
        ("P2.16xlarge, within cards : between cards : between halves", p2_16xlarge(),
         (16, 24, 26), "15 : 14 : 8"),
        ("P2.8xlarge, within cards : between cards", p2_8xlarge(), (8, 12), "7 : 6"),
    ):  # fmt: skip
        began = time.perf_counter()
        packing = pack(SwitchTrees(fabric, fewest=True))
        bound = pack(SwitchTrees(fabric, fewest=False)).bound
        spent = time.perf_counter() - began
        # No tree has fewer links, and no trees cost less: the loads cannot be lighter in all.
        table.met &= packing.cost == bound
        why = f"C = {packing.cost} by {packing.reason}; {sum(packing.loads)} links in each tree"
        ratio = utilisation(fabric, packing, levels)
        table.figure(f"links in use on {name}", paper_ratio, ratio, why, spent)


def networks() -> Iterator[tuple[str, str, int, SpanningTrees | SwitchTrees]]:
    """Kind, name, links and oracle."""
    for name, graph in (
        ("hypercube of 64", nx.hypercube_graph(6)),
        ("hypercube of 128", nx.hypercube_graph(7)),
        ("mesh 8x8", nx.grid_2d_graph(8, 8)),
        ("torus 8x8", nx.grid_2d_graph(8, 8, periodic=True)),
        ("torus 16x16", nx.grid_2d_graph(16, 16, periodic=True)),
        ("random, 60 nodes, density 0.3", nx.gnp_random_graph(60, 0.3, seed=1)),
    ):
        topology = Topology.from_networkx(graph, name)
        yield "spanning trees", name, graph.number_of_edges(), undirected(topology)
    for fabric in (a100(2), a100(8), mi250(2), mi250(4), fat_tree(8, 8), bigraph(4, 16)):
        oracle = SwitchTrees(fabric, fewest=False)
        yield "spanning trees over switches", fabric.name, len(oracle.ends), oracle
    for name, graph in (
        ("torus 5x5", nx.grid_2d_graph(5, 5, periodic=True)),
        ("hypercube of 64", nx.hypercube_graph(6)),
        ("torus 16x16", nx.grid_2d_graph(16, 16, periodic=True)),
    ):
        topology = Topology.from_networkx(graph, name)
        sources: Mapping[int, int] = dict.fromkeys(range(len(graph)), 1)
        trees = SpanningTrees(topology, sources, free_symmetry(topology), low=False)
        yield "a tree from every root (allgather)", name, len(topology.links), trees


def scale(table: Table) -> None:
    table.head(
        "Scale", "trees", "network", "links", "C", "proved >=", "why not less", "trees with weight",
        "seconds",
    )  # fmt: skip
    for kind, name, links, oracle in networks():
        began = time.perf_counter()
        packing = pack(oracle, NEVER.sooner(20.0))
        seconds = time.perf_counter() - began
        table.row(
            kind, name, links, packing.cost, packing.bound, packing.reason, packing.trees,
            f"{seconds:.2f}",
        )  # fmt: skip


def schedules(table: Table) -> None:
    """Allreduce from the seed: the loss in C when whole chunks take whole steps."""
    table.head(
        "Allreduce on P3.16xlarge, step by step", "S", "R", "C", "R/C", "R/C over 7/24", "how",
        "seconds",
    )  # fmt: skip
    manager = PluginManager.discover()
    library = SpecLibrary([record.folder for record in manager.spec_libraries.values()])
    topology, collective = p3(8), library.collective("allreduce")
    options = {option.name: option.default for option in RECORD.options}
    began = time.perf_counter()
    points: dict[int, tuple[Fraction, int, int, str, float]] = {}
    proposed = RECORD.load().propose(topology, collective, SeedLimits(seconds=20.0), options)
    for proposal in filter(None, proposed):
        algorithm = proposal.algorithm.tightened(topology)
        seconds = time.perf_counter() - began
        require_valid(
            collective.instantiate(
                topology, chunks=proposal.chunks, steps=algorithm.steps, rounds=algorithm.rounds
            ),
            algorithm,
        )
        cost = Fraction(algorithm.rounds, proposal.chunks)
        point = (cost, algorithm.rounds, proposal.chunks, proposal.note, seconds)
        points[algorithm.steps] = min(points.get(algorithm.steps, point), point)
    best: Fraction | None = None
    for steps, (cost, rounds, chunks, note, seconds) in sorted(points.items()):
        if best is None or cost < best:
            best = cost
            over = f"{float(cost / Fraction(7, 24)):.3f}"
            table.row(steps, rounds, chunks, cost, over, note, f"{seconds:.2f}")


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    print("# Spanning-tree packing\n")
    print(made_at("backends/syncoll_treepacking", "syncoll/packing"))
    table = Table()
    figures(table)
    schedules(table)
    scale(table)
    if not table.met:
        raise SystemExit("a figure of the paper is not met")


if __name__ == "__main__":
    main()
