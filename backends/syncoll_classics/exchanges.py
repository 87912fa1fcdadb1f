"""Exchanges in pairs, Bruck, all-pairs, rings, binomial and binary trees, as disseminations.

With ranks 0 … P-1:

* exchanges: pairs exchange all data.  In recursive doubling (P a power of two) they differ in one
  binary digit; log2 P steps.  log2 P rotated orders of the digits keep all dimensions of a
  hypercube busy at once.
* Swing (De Sensi et al., NSDI 2024), on a ring of 2^k: in step t an even rank exchanges with the
  rank rho(t) places ahead, an odd one with the rank rho(t) places back.  Here rho(t) is a third of
  1 - (-2)^(t+1): 1, -1, 3, -5, 11, ….  Messages cross fewer links than in recursive doubling.  On a
  torus the steps take the dimensions in turn; 2D such exchanges, each starting with another
  dimension and half of them mirrored, keep all links busy.  The tree of one source, farthest
  partners first, is the Bine tree (De Sensi et al., SC 2025).  Both suit networks where a message
  passes many links in a step (`syncoll.routing.routed`).
* Bruck (IEEE Trans. Parallel Distrib. Syst. 8(11), 1997): in step t rank i sends missing data to
  rank i - 2^t mod P; ceil(log2 P) steps for every P.
* all-pairs: every node sends to every other; one step.  Pairwise (Thakur et al. 2005): in step t
  rank i sends to rank i + t.
* ring: chunks go round a Hamiltonian cycle, one way (P - 1 steps) or both ways at once (P div 2).
* binomial tree: rank v (counted from the root) gets from v without its lowest 1; ceil(log2 P)
  steps, farthest first.  NCCL's PAT (Jeaugey, Efficient All-Gather and Reduce-Scatter at Scale,
  2025) has the trees of all sources at once.
* double binary tree (Sanders, Speck, Träff, 2009): two trees with half of the data each, in which
  each node is an inner node at most once.  In-order binary trees over 1 … n: odd numbers are
  leaves, as v's lowest 1 is its height.  The second tree is the first one mirrored (v to n + 1 - v)
  for even n, shifted by one for odd n.  For a broadcast the root stands above both trees of the
  others; for an allreduce both span all nodes, below node 0 and node P - 1 (or 1, where P is odd).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import Topology
from syncoll_classics.dissemination import Dissemination


def exchange(peers: Ints) -> Dissemination:
    """The allgather in which pairs, `peers` ``[step, node]``, exchange all that the other lacks."""
    ranks = np.arange(peers.shape[1])
    parents, steps = np.full((2, len(ranks), len(ranks)), -1, dtype=np.int64)
    has = np.eye(len(ranks), dtype=bool)  # [source, node]
    for step, peer in enumerate(peers):
        new = has[:, peer] & ~has
        steps[new] = step
        parents[new] = np.broadcast_to(peer, new.shape)[new]
        has |= new
    return Dissemination(parents, steps)


def doubling_peers(order: Sequence[int], node_of_rank: Ints | None = None) -> Ints:
    """The partners of recursive doubling, ``[step, node]``.

    Args:
        order: the binary digit of the rank that each step changes, a permutation.
        node_of_rank: the nodes by rank; None where they are the same.
    """
    ranks = np.arange(1 << len(order))
    peers = ranks ^ (1 << np.array(order, dtype=np.int64))[:, None]
    if node_of_rank is None:
        return peers
    renamed: Ints = node_of_rank[peers[:, np.argsort(node_of_rank)]]
    return renamed


def digit_orders(digits: int, *, ascending: bool = True) -> list[list[int]]:
    """The order 0, 1, … of the digits (or the reverse) and its cyclic shifts."""
    plain = list(range(digits)) if ascending else list(range(digits - 1, -1, -1))
    return [plain[turn:] + plain[:turn] for turn in range(digits)]


def bruck(nodes: int, *, mirrored: bool = False) -> Dissemination:
    """Bruck's algorithm; mirrored, ranks send to i + 2^t."""
    ranks = np.arange(nodes)
    offset = (ranks[:, None] - ranks[None, :]) % nodes
    sign = 1
    if mirrored:
        offset, sign = offset.T, -1
    steps = np.frexp(offset)[1].astype(np.int64) - 1  # the highest 1 of the offset; -1 for 0
    parents = np.where(
        offset > 0, (ranks[None, :] + sign * (1 << np.maximum(steps, 0))) % nodes, -1
    )
    return Dissemination(parents, steps)


def all_pairs(nodes: int, *, in_turn: bool = False) -> Dissemination:
    """Every node sends to every other node: in one step, or `in_turn` to one a step."""
    ranks = np.arange(nodes)
    away = (ranks[None, :] - ranks[:, None]) % nodes
    steps = (away if in_turn else np.minimum(away, 1)) - 1
    return Dissemination(np.where(away > 0, ranks[:, None], -1), steps)


def around(cycle: Sequence[int], forth: int) -> Dissemination:
    """Sends along a Hamiltonian cycle: `forth` nodes are reached forwards, the others backwards."""
    order = np.array(cycle)
    place = np.argsort(order)
    ahead = (place[None, :] - place[:, None]) % len(order)
    forwards = ahead <= forth
    neighbours = order[(place[None, :] + np.where(forwards, -1, 1)) % len(order)]
    steps = np.where(forwards, ahead, len(order) - ahead) - 1
    return Dissemination(np.where(ahead > 0, neighbours, -1), np.where(ahead > 0, steps, -1))


def binomial(nodes: int) -> Dissemination:
    """The binomial tree of each root."""
    ranks = np.arange(nodes)
    rank = (ranks[None, :] - ranks[:, None]) % nodes
    lowest = rank & -rank
    digits = (nodes - 1).bit_length()
    steps = np.where(rank > 0, digits - np.frexp(lowest)[1], -1).astype(np.int64)
    parents = np.where(rank > 0, (ranks[:, None] + rank - lowest) % nodes, -1)
    return Dissemination(parents, steps)


def binomial_gather(nodes: int, root: int) -> Dissemination:
    """From each source only the path to the root of one binomial tree."""
    parents, steps = np.full((2, nodes, nodes), -1, dtype=np.int64)
    for source in range(nodes):
        rank, node = (source - root) % nodes, source
        while rank:
            lowest = rank & -rank
            above = (root + rank - lowest) % nodes
            parents[source, above] = node
            steps[source, above] = lowest.bit_length() - 1
            rank, node = rank - lowest, above
    return Dissemination(parents, steps)


def in_order_tree(largest: int) -> Ints:
    """The parent of each of 0 … n; 0, the parent of the tree of 1 … n, has -1."""
    parents = np.full(largest + 1, -1, dtype=np.int64)
    for v in range(1, largest + 1):
        lowest = v & -v
        above = (v ^ lowest) | (lowest << 1)
        parents[v] = above if above <= largest else v ^ lowest
    return parents


def broadcast_trees(nodes: int, root: int) -> tuple[Ints, Ints]:
    """The parents of each node in two trees of that root; -1 for the root."""
    last = nodes - 1
    first = in_order_tree(last)
    ranks = np.arange(1, nodes)
    other = np.concatenate([[0], last + 1 - ranks if last % 2 == 0 else ranks % last + 1])
    place = (root + np.arange(nodes)) % nodes
    return _renamed(first, place), _renamed(first, place[np.argsort(other)])


def allreduce_trees(nodes: int) -> tuple[Ints, Ints]:
    """The parents of each node in two trees over all nodes; -1 for the roots, which differ."""
    first = in_order_tree(nodes - 1)
    ranks = np.arange(nodes)
    return first, _renamed(first, nodes - 1 - ranks if nodes % 2 == 0 else (ranks + 1) % nodes)


def rooted(parents: Ints) -> Dissemination:
    """A tree as the dissemination of its root; the other sources' trees are empty."""
    nodes = len(parents)
    root = int(np.flatnonzero(parents < 0)[0])
    rows, steps = np.full((2, nodes, nodes), -1, dtype=np.int64)
    rows[root] = parents
    steps[root] = _depths(parents) - 1
    return Dissemination(rows, steps)


def _depths(parents: Ints) -> Ints:
    depths = np.zeros(len(parents), dtype=np.int64)
    at = parents
    while (at >= 0).any():
        depths += at >= 0
        at = np.where(at >= 0, parents[at], -1)
    return depths


def _renamed(parents: Ints, name: Ints) -> Ints:
    """The same tree when node v is called ``name[v]``."""
    result = np.empty_like(parents)
    result[name] = np.where(parents >= 0, name[parents], -1)
    return result


def torus_shape(topology: Topology) -> tuple[int, ...]:
    """The sides of the torus, numbered row by row, that the links form; otherwise a ring of P."""
    nodes, fabric = topology.num_nodes, topology.fabric
    ring = (nodes,)
    if fabric is None:
        links = set(topology.links)
    elif fabric.num_switches:
        return ring
    else:
        links = {(link.source, link.destination) for link in fabric.links}
    beside = {b for a, b in links if a == 0}
    for shape in _shapes(nodes.bit_length() - 1):
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        ends = zip(shape, strides, strict=True)
        if beside == {x for side, stride in ends for x in (stride, (side - 1) * stride)} and (
            _torus_links(shape) == links
        ):
            return shape
    return ring


def swing_peers(shape: tuple[int, ...], first: int = 0, *, mirrored: bool = False) -> Ints:
    """The partners of each node, nearest first: ``[step, node]``.

    Args:
        shape: sides of the torus, powers of two; nodes are numbered row by row.
        first: the dimension that begins.
        mirrored: whether partners are on the other side.
    """
    axes = [axis % len(shape) for axis in range(first, first + len(shape))]
    turns = max(side.bit_length() for side in shape) - 1
    places = np.indices(shape).reshape(len(shape), -1)
    peers = []
    for turn in range(turns):
        away = (1 - (-2) ** (turn + 1)) // 3
        for axis in (axis for axis in axes if 1 << turn < shape[axis]):
            sign = np.where(places[axis] % 2 == 0, 1, -1) * (-1 if mirrored else 1)
            moved = places.copy()
            moved[axis] = (places[axis] + sign * away) % shape[axis]
            peers.append(np.ravel_multi_index(tuple(moved), shape))
    return np.array(peers, dtype=np.int64).reshape(-1, prod(shape))


def _shapes(digits: int) -> Iterator[tuple[int, ...]]:
    """All ways to write 2^digits as a product of powers of two above 1, in any order."""
    for cuts in range(1 << max(0, digits - 1)):
        ends = [0, *(i for i in range(1, digits) if cuts >> (i - 1) & 1), digits]
        yield tuple(1 << b - a for a, b in pairwise(ends))


def _torus_links(shape: tuple[int, ...]) -> set[tuple[int, int]]:
    nodes = np.arange(prod(shape)).reshape(shape)
    links: set[tuple[int, int]] = set()
    for axis in range(len(shape)):
        for by in (1, -1):
            other = np.roll(nodes, by, axis)
            links |= set(zip(nodes.ravel().tolist(), other.ravel().tolist(), strict=True))
    return links
