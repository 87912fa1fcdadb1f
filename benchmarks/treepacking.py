"""Spanning-tree packing: the paper's figures and ours side by side, and how far the packing scales.

::

    python benchmarks/treepacking.py          # results/treepacking.md

After "Optimal Message Scheduling for Aggregation" (SysML 2018).  C is the time for one unit of data
where a unit of bandwidth carries one in a unit of time.  Every packing is counted again edge by
edge, and its certificate checked, within the seconds shown; the benchmark fails where a figure of
the paper is not met exactly.  The schedules are verified algorithms for allreduce in (S, R, C).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from fractions import Fraction

import networkx as nx

from benchmarks.tables import made_at
from syncoll.deadline import NEVER
from syncoll.model import Topology
from syncoll.model.fabric import Fabric
from syncoll.plugins import PluginManager, SeedLimits
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid
from syncoll_treepacking import RECORD
from syncoll_treepacking.links import LinkSystem
from syncoll_treepacking.oracle import ArborescenceOracle, SpanningTreeOracle
from syncoll_treepacking.search import ExactPacking, pack
from tests.oracles.fabrics import a100, bigraph, fat_tree, mi250, p2_16xlarge

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


def undirected(topology: Topology) -> SpanningTreeOracle:
    return SpanningTreeOracle(LinkSystem.undirected(topology))


def physical(fabric: Fabric) -> SpanningTreeOracle:
    return SpanningTreeOracle(LinkSystem.physical(fabric))


def reason(packing: ExactPacking) -> str:
    """The proof of the bound."""
    return f"prices on {sum(map(bool, packing.prices))} capacities"


def utilisation(packing: ExactPacking, levels: tuple[int, ...]) -> str:
    """Mean loads of the links of each level, as the least whole numbers in their ratio.

    Args:
        packing: of a tree of switches.
        levels: where the vertices below each level's links end.
    """
    sums = [Fraction(0)] * len(levels)
    counts = [0] * len(levels)
    for (
        (u, _),
        use,
    ) in zip(packing.oracle.system.ends, packing.oracle.system.uses, strict=True):
        level = next(i for i, end in enumerate(levels) if u < end)
        sums[level] += packing.loads[use[0][0]]
        counts[level] += 1
    means = [total / count for total, count in zip(sums, counts, strict=True)]
    scale = min(s for s in range(1, 1000) if all((mean * s).denominator == 1 for mean in means))
    return " : ".join(str(mean * scale) for mean in means)


def figures(table: Table) -> None:
    table.head("The paper's figures", "what", "paper", "ours", "why not less", "seconds")
    packings = {}
    for gpus, paper in ((8, Fraction(7, 24)), (4, Fraction(1, 3))):
        topology = p3(gpus)
        began = time.perf_counter()
        packing = pack(undirected(topology))
        spent = time.perf_counter() - began
        packings[gpus] = packing
        table.met &= packing.is_optimal
        table.figure(f"C(G) of P3.{2 * gpus}xlarge", paper, packing.cost, reason(packing), spent)
    began = time.perf_counter()
    system = LinkSystem.undirected(p3(8))
    capacity = [system.capacities[use[0][0]] for use in system.uses]
    # The best single tree is a spanning tree whose slowest link is fastest.
    order = {c: rank for rank, c in enumerate(sorted(set(capacity), reverse=True))}
    (tree,) = SpanningTreeOracle(system).cheapest([order[c] for c in capacity])
    single = 1 / min(capacity[link] for link in tree.used)
    every = Fraction(system.num_nodes - 1) / sum(capacity, Fraction(0))
    spent = time.perf_counter() - began
    chain: nx.Graph[int] = nx.Graph()
    chain.add_edges_from((route[0], route[-1]) for route in tree.routes)
    double = {(min(pair), max(pair)) for pair in _DOUBLE}
    is_chain = max(degree for _, degree in chain.degree) == 2 and chain.number_of_edges() == 7
    table.figure(
        "best single tree of P3.16xlarge: all dual links but one", True,
        set(tree.routes) < double and is_chain, "no tree has a faster slowest link", spent,
    )  # fmt: skip
    began = time.perf_counter()
    chains = pack(undirected(ring(8)))
    spent = time.perf_counter() - began
    table.met &= chains.is_optimal
    table.figure(
        "8 chains over the dual links, of one chain's time", Fraction(7, 8),
        chains.cost / single, reason(chains), spent,
    )  # fmt: skip
    table.figure(
        "inequality (3) on P3.16xlarge", "1 >= 1/2 >= 7/24 >= 7/24",
        f"{1 / min(capacity)} >= {single} >= {packings[8].cost} >= {every}", "-", 0.0,
    )  # fmt: skip
    for name, fabric, levels, paper_ratio in (
        ("P2.16xlarge, within cards : between cards : between halves", p2_16xlarge(),
         (16, 24, 26), "15 : 14 : 8"),
        ("P2.8xlarge, within cards : between cards", p2_8xlarge(), (8, 12), "7 : 6"),
    ):  # fmt: skip
        began = time.perf_counter()
        packing = pack(physical(fabric))
        spent = time.perf_counter() - began
        # No tree has fewer hops than the packing's: the loads cannot be lighter in all.
        (shortest,) = packing.oracle.cheapest([1] * len(packing.oracle.system.ends))
        least = all(len(tree.used) == len(shortest.used) for tree, _ in packing.trees)
        table.met &= packing.is_optimal and least
        why = f"C = {packing.cost} by {reason(packing)}; {len(shortest.used)} hops in each tree"
        table.figure(f"links in use on {name}", paper_ratio, utilisation(packing, levels), why,
                     spent)  # fmt: skip


def networks() -> Iterator[tuple[str, str, SpanningTreeOracle | ArborescenceOracle]]:
    """Kind, name and oracle."""
    for name, graph in (
        ("hypercube of 64", nx.hypercube_graph(6)),
        ("hypercube of 128", nx.hypercube_graph(7)),
        ("mesh 8x8", nx.grid_2d_graph(8, 8)),
        ("torus 8x8", nx.grid_2d_graph(8, 8, periodic=True)),
        ("torus 16x16", nx.grid_2d_graph(16, 16, periodic=True)),
        ("random, 60 nodes, density 0.3", nx.gnp_random_graph(60, 0.3, seed=1)),
    ):
        yield "spanning trees", name, undirected(Topology.from_networkx(graph, name))
    for fabric in (a100(2), a100(8), mi250(2), mi250(4), fat_tree(8, 8), bigraph(4, 16)):
        yield "spanning trees over switches", fabric.name, physical(fabric)
    for name, graph in (
        ("torus 5x5", nx.grid_2d_graph(5, 5, periodic=True)),
        ("hypercube of 64", nx.hypercube_graph(6)),
    ):
        topology = Topology.from_networkx(graph, name)
        shares = {root: Fraction(1, len(graph)) for root in range(len(graph))}
        oracle = ArborescenceOracle(LinkSystem.rooted(topology, shares), shares)
        yield "a tree from every root (allgather)", name, oracle


def scale(table: Table) -> None:
    table.head(
        "Scale", "trees", "network", "links", "C", "proved >=", "why not less", "trees with weight",
        "seconds",
    )  # fmt: skip
    for kind, name, oracle in networks():
        began = time.perf_counter()
        packing = pack(oracle, NEVER.sooner(20.0))
        seconds = time.perf_counter() - began
        table.row(
            kind, name, len(oracle.system.ends), packing.cost, packing.bound, reason(packing),
            len(packing.trees), f"{seconds:.2f}",
        )  # fmt: skip


def schedules(table: Table) -> None:
    """Allreduce from the seed: the loss in C when whole chunks take whole steps."""
    table.head(
        "Allreduce on P3.16xlarge, step by step", "S", "R", "C", "R/C", "R/C over 7/24", "how",
        "seconds",
    )  # fmt: skip
    manager = PluginManager.discover()
    library = SpecLibrary.load([record.folder for record in manager.spec_libraries.values()])
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
