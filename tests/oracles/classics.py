"""Well-known machines and collectives, built without any spec file.

For tests that need figures from the literature: DGX-1 with its frontier from the SCCL paper, rings,
a switch, a bus, and the non-combining collectives.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from syncoll.model import Collective, Topology

__all__ = [
    "allgather",
    "alltoall",
    "broadcast",
    "bus",
    "dgx1",
    "gather",
    "hub",
    "line",
    "one_way_ring",
    "ring",
    "scatter",
]


def dgx1() -> Topology:
    """NVIDIA's DGX-1: a double and a single two-way Hamiltonian cycle (SCCL paper, 5.2.1)."""
    bandwidth: dict[tuple[int, int], int] = {}
    for cycle, chunks in (([0, 1, 4, 5, 6, 7, 2, 3], 2), ([0, 2, 1, 3, 6, 4, 7, 5], 1)):
        for a, b in pairwise([*cycle, cycle[0]]):
            bandwidth[a, b] = bandwidth[b, a] = chunks
    return Topology.from_links("dgx1", 8, bandwidth)


def ring(nodes: int, bandwidth: int | Fraction = 1) -> Topology:
    """A two-way ring."""
    links = {(i, (i + d) % nodes): bandwidth for i in range(nodes) for d in (1, -1)}
    return Topology.from_links(f"ring({nodes})", nodes, links)


def one_way_ring(nodes: int, bandwidth: int | Fraction = 1) -> Topology:
    """A ring whose links lead to the next node only."""
    links = {(i, (i + 1) % nodes): bandwidth for i in range(nodes)}
    return Topology.from_links(f"one_way_ring({nodes})", nodes, links)


def line(nodes: int) -> Topology:
    """A two-way line."""
    links = {link: 1 for i in range(nodes - 1) for link in ((i, i + 1), (i + 1, i))}
    return Topology.from_links(f"line({nodes})", nodes, links)


def hub(nodes: int) -> Topology:
    """A non-blocking switch: each node sends one chunk and receives one chunk a round."""
    links = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    ports = [[link for link in links if link[end] == n] for end in (0, 1) for n in range(nodes)]
    shared = [(port, 1) for port in ports]
    return Topology.from_links(f"hub({nodes})", nodes, {}, shared, unbounded=links)


def bus(nodes: int) -> Topology:
    """One chunk a round for all nodes together."""
    links = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    return Topology.from_links(f"bus({nodes})", nodes, {}, [(links, 1)], unbounded=links)


def allgather() -> Collective:
    """Every node's C chunks go to all."""
    return Collective.from_relations(
        "allgather", _per_node, lambda c, n, p, _: n == c % p, lambda c, n, *_: (c >= 0) | (n >= 0)
    )


def gather(root: int = 0) -> Collective:
    """Every node's C chunks go to the root."""
    return Collective.from_relations(
        "gather", _per_node, lambda c, n, p, _: n == c % p, lambda _c, n, *_: n == root
    )


def scatter(root: int = 0) -> Collective:
    """The root's C chunks for each node go there."""
    return Collective.from_relations(
        "scatter", _per_node, lambda _c, n, *_: n == root, lambda c, n, p, _: n == c % p
    )


def broadcast(root: int = 0) -> Collective:
    """The root's C chunks go to all."""
    return Collective.from_relations(
        "broadcast",
        lambda _, per_node: per_node,
        lambda _c, n, *_: n == root,
        lambda _c, n, *_: n >= 0,
    )


def alltoall() -> Collective:
    """Every node has C chunks, a P-th of them for each node; C is a multiple of P."""
    return Collective.from_relations(
        "alltoall",
        _per_node,
        lambda c, n, p, _: n == c % p,
        lambda c, n, p, _: n == (c // p) % p,
        admits=lambda nodes, chunks: chunks % nodes == 0,
        requirement="a multiple of the number of nodes",
    )


def _per_node(nodes: int, chunks: int) -> int:
    return nodes * chunks
