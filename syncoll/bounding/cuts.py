"""Finds cuts (`syncoll.certificates.cut`), the bounds that are checked by counting.

Prices that are equal on a cut and 0 elsewhere prove the same, but not every bound is that of a cut.
No cut depends on S, and flows between many pairs of nodes may need more than every cut proves
(Leighton & Rao 1999).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Bools
from syncoll.bounding.covers import Covers
from syncoll.bounding.network import CELLS, SMALL
from syncoll.certificates.chunk_classes import Demand, DemandList
from syncoll.certificates.cut import Cut
from syncoll.certificates.priced import Priced
from syncoll.model import Topology

_MOST_COVERS = 2_000
"""This number of candidates get an exact cover before the search ends."""


def find_cut(
    topology: Topology, demands: Sequence[Demand], at_least: Fraction, prices: Priced | None = None
) -> Priced | None:
    """A cut that proves `at_least`, around as few nodes as possible; None when no candidate proves
    as much.

    With up to 12 nodes every cut is tried.  With more the candidates are single nodes, balls,
    halves (nodes nearer to one node than to another), components of free links, and all their
    complements.

    Args:
        at_least: the bound to prove, above 0; a bound of prices for any number of steps, for
            instance.
        prices: links without a price connect nodes on one side of a cut.
    """
    if at_least <= 0 or not demands or topology.num_nodes < 2:
        return None
    sides = _candidates(topology, prices)
    small = np.minimum(sides.sum(axis=1), (~sides).sum(axis=1))
    sides = sides[np.argsort(small, kind="stable")]
    amounts, covers = amounts_across(sides, demands), Covers(topology)
    ends = topology.ends
    room = np.zeros((topology.num_nodes, topology.num_nodes))
    room[ends[:, 0], ends[:, 1]] = covers.share
    least = across(sides, room)
    promising = (amounts > 0) & (amounts >= float(at_least) * least * (1 - 1e-5))
    for i in np.flatnonzero(promising)[:_MOST_COVERS].tolist():
        crossing = np.flatnonzero(sides[i, ends[:, 0]] & ~sides[i, ends[:, 1]])
        if not len(crossing):
            continue  # no link leaves it: no algorithm exists, and there is no bound to prove
        cover = covers.least(crossing)
        assert cover is not None
        cut = Cut.covered(np.flatnonzero(sides[i]).tolist(), cover)
        if cut.check(topology, demands) >= at_least:
            return cut
    return None


def _candidates(topology: Topology, prices: Priced | None) -> Bools:
    """Sets of nodes ``[candidate, node]``: neither empty nor everything, none twice."""
    nodes = topology.num_nodes
    if nodes <= SMALL:
        numbers = np.arange(1, (1 << nodes) - 1)
        return (numbers[:, None] >> np.arange(nodes) & 1).astype(bool)
    distances = topology.distances
    few = max(2, CELLS // 2 // nodes**2)  # all of up to 80 nodes are centres, 8 of 256
    centres = np.arange(nodes)[:: -(-nodes // few)]
    found: list[Bools] = [np.eye(nodes, dtype=bool)]
    for matrix in (distances, distances.T):
        for radius in range(int(distances[distances < nodes].max()) + 1):
            found.append(matrix[centres] <= radius)
        for one in centres.tolist():
            found += [matrix[one] < matrix, matrix[one] <= matrix]
    if prices is not None:
        free = _free_reach(topology, prices)
        found += [free, free.T]
    sides = np.concatenate(found)
    sides = np.concatenate([sides, ~sides])
    sides = sides[sides.any(axis=1) & ~sides.all(axis=1)]
    packed = np.unique(np.packbits(sides, axis=1), axis=0)[::-1]
    return np.unpackbits(packed, axis=1, count=nodes).astype(bool)


def _free_reach(topology: Topology, prices: Priced) -> Bools:
    """``[n, m]``: whether links without a price lead from n to m."""
    reach = np.eye(topology.num_nodes, dtype=bool)
    priced = {
        link
        for (i, _), price in prices.prices.items()
        if price > 0
        for link in topology.bounds[i].links
    }
    for link in topology.links:
        if link not in priced:
            reach[link] = True
    while True:
        further = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        if (further == reach).all():
            return reach
        reach = further


def amounts_across(sides: Bools, demands: Sequence[Demand]) -> npt.NDArray[np.float64]:
    """For each set the number of chunks that must leave it."""
    demands, nodes = DemandList.of(demands), sides.shape[1]
    counts = demands.counts.astype(np.float64)
    if demands.plain:
        # Exact below 2^24, and above close enough to find promising sets.
        between = np.zeros((nodes, nodes), dtype=np.float32)
        between[demands.first_node, demands.second_node] = counts
        return across(sides, between)
    members = demands.members(-(-nodes // 64) * 64)
    outside = np.zeros((len(sides), members.shape[1]), dtype=bool)
    outside[:, :nodes] = ~sides
    words, masks = (np.packbits(one, axis=1).view(np.uint64) for one in (members, outside))
    amounts = np.zeros(len(sides))
    for i, mask in enumerate(masks):
        leaving = (words & mask).any(axis=1)
        amounts[i] = counts[~leaving[demands.first] & leaving[demands.second]].sum()
    return amounts


def across(sides: Bools, between: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """For each set the sum over pairs of a node in it and one outside; `between` is ``[P, P]``."""
    leaves = sides.astype(between.dtype) @ between
    found: npt.NDArray[np.float64] = np.einsum("ij,ij->i", leaves, ~sides, dtype=np.float64)
    return found
