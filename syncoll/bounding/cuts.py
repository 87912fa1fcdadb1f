"""Finding cuts (`syncoll.certificates.cuts`): the bounds that a person can check by counting.

Prices that are equal on a cut and 0 elsewhere prove the same, but
not every bound is that of a cut: none speaks of S, and flows between many pairs of nodes may need
more than every cut says (Leighton & Rao 1999).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.certificates.classes import Demand
from syncoll.certificates.cuts import CutCertificate
from syncoll.certificates.prices import PriceCertificate
from syncoll.model import BoolArray, Topology

__all__ = ["around_nodes", "find_cut", "least_cover"]

ALL_SUBSETS = 12
"""Up to this number of nodes every set is tried."""

_MOST_CENTRES = 64
_FEW_CENTRES = 8
"""With more nodes balls and halves are those of this number of nodes."""

_MOST_COVERS = 2_000
"""This number of candidates get an exact cover before the search ends."""

_MOST_BRANCHES = 5_000
"""This number of branches is looked at for a least cover; after that it is the best one seen."""


def find_cut(
    topology: Topology,
    demands: Sequence[Demand],
    at_least: Fraction,
    prices: PriceCertificate | None = None,
) -> CutCertificate | None:
    """A cut that proves `at_least`, around as few nodes as possible.

    With up to `ALL_SUBSETS` nodes every cut is tried; with more, single nodes, balls, halves (what
    is nearer to one node than to another), what free links connect, and all their complements.

    Args:
        at_least: the bound to prove, above 0; what prices prove for any number of steps is a bound
            to try.
        prices: links without a price connect nodes on one side of a cut.

    Returns:
        None when none of these cuts proves as much.
    """
    if at_least <= 0 or not demands or topology.num_nodes < 2:
        return None
    sides = _candidates(topology, prices)
    small = np.minimum(sides.sum(axis=1), (~sides).sum(axis=1))
    sides = sides[np.argsort(small, kind="stable")]
    amounts = _amounts(sides, demands)
    ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
    crossing = sides[:, ends[:, 0]] & ~sides[:, ends[:, 1]]
    # A cover costs at least this much: each link's part in the cheapest bound that contains it.
    part = np.full(len(topology.links), np.inf)
    for bound, members in zip(topology.bounds, topology.bound_links, strict=True):
        cost = float(bound.chunks_per_round) / len(members)
        part[members] = np.minimum(part[members], cost)
    promising = (amounts > 0) & (amounts >= float(at_least) * (crossing @ part) * (1 - 1e-9))
    for i in np.flatnonzero(promising)[:_MOST_COVERS].tolist():
        if not crossing[i].any():
            continue  # nothing gets out: no algorithm exists, and there is no bound to prove
        cover = least_cover(topology, np.flatnonzero(crossing[i]).tolist())
        cut = CutCertificate(tuple(np.flatnonzero(sides[i]).tolist()), cover)
        if cut.check(topology, demands) >= at_least:
            return cut
    return None


def around_nodes(topology: Topology, demands: Sequence[Demand]) -> CutCertificate | None:
    """The best cut between one node and all others, one way or the other; None where none bounds.

    What it costs grows with the nodes times the demands: it is for networks that are too large for
    anything better.
    """
    nodes = topology.num_nodes
    if nodes < 2 or not demands:
        return None
    sides = np.concatenate([np.eye(nodes, dtype=bool), ~np.eye(nodes, dtype=bool)])
    amounts = _amounts(sides, demands)
    ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
    best: tuple[Fraction, CutCertificate] | None = None
    known: set[tuple[float, tuple[Fraction, ...]]] = set()
    own: dict[int, int] = {}  # for a link that shares nothing its narrowest bound
    shared: set[int] = set()
    for j, members in enumerate(topology.bound_links):
        if len(members) > 1:
            shared.update(members.tolist())
            continue
        (link,) = members.tolist()
        width = topology.bounds[j].chunks_per_round
        if link not in own or width < topology.bounds[own[link]].chunks_per_round:
            own[link] = j
    for i in np.flatnonzero(amounts > 0).tolist():
        side, end = ends[:, i // nodes], i % nodes
        crossing = np.flatnonzero(side == end).tolist()
        if not crossing:
            continue
        if shared.isdisjoint(crossing):
            cover = tuple(sorted(own[link] for link in crossing))
        else:
            cover = least_cover(topology, crossing)
        # Equal rooms and amounts prove the same.
        key = float(amounts[i]), tuple(sorted(topology.bounds[j].chunks_per_round for j in cover))
        if key in known:
            continue
        known.add(key)
        room = sum((topology.bounds[j].chunks_per_round for j in cover), Fraction(0))
        rounds = Fraction(int(amounts[i])) / room
        if best is None or rounds > best[0]:
            inside = np.flatnonzero(sides[i]).tolist()
            best = rounds, CutCertificate(tuple(inside), cover)
    return None if best is None else best[1]


def _candidates(topology: Topology, prices: PriceCertificate | None) -> BoolArray:
    """Sets of nodes ``[candidate, node]``: neither empty nor everything, none twice."""
    nodes = topology.num_nodes
    if nodes <= ALL_SUBSETS:
        numbers = np.arange(1, (1 << nodes) - 1)
        return (numbers[:, None] >> np.arange(nodes) & 1).astype(bool)
    distances = topology.distances
    centres = np.arange(nodes)
    if nodes > _MOST_CENTRES:
        centres = centres[:: -(-nodes // _FEW_CENTRES)]
    found: list[BoolArray] = [np.eye(nodes, dtype=bool)]
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


def _free_reach(topology: Topology, prices: PriceCertificate) -> BoolArray:
    """``[n, m]``: whether links without a price lead from n to m."""
    reach = np.eye(topology.num_nodes, dtype=bool)
    priced = {
        link
        for (i, _), price in prices.totals.items()
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


def _amounts(sides: BoolArray, demands: Sequence[Demand]) -> npt.NDArray[np.float64]:
    """For each set how many chunks must cross from it."""
    nodes = sides.shape[1]
    if all(len(one.sources) == len(one.destinations) == 1 for one in demands):
        pairs = np.array([(*d.sources, *d.destinations) for d in demands], dtype=np.int64)
        between = np.zeros((nodes, nodes))
        between[pairs[:, 0], pairs[:, 1]] = [float(demand.count) for demand in demands]
        found: npt.NDArray[np.float64] = ((sides @ between) * ~sides).sum(axis=1)
        return found
    sources = np.zeros((nodes, len(demands)), dtype=np.float32)
    destinations = np.zeros_like(sources)
    for k, demand in enumerate(demands):
        sources[list(demand.sources), k] = 1
        destinations[list(demand.destinations), k] = 1
    counts = np.array([float(demand.count) for demand in demands])
    outside = (~sides).astype(np.float32)
    crossing = (outside @ sources == 0) & (outside @ destinations > 0)
    amounts: npt.NDArray[np.float64] = crossing @ counts
    return amounts


def least_cover(topology: Topology, links: Sequence[int]) -> tuple[int, ...]:
    """Bounds that together contain all these links, with the least sum of chunks per round.

    Args:
        links: positions of links.

    Returns:
        Positions of bounds, ascending.  A least one, unless there are so many overlapping bounds
        that the search is cut short; then still a cover.
    """
    wanted = set(links)
    reach = {
        i: frozenset(wanted.intersection(members.tolist()))
        for i, members in enumerate(topology.bound_links)
    }
    cost = {i: topology.bounds[i].chunks_per_round for i, part in reach.items() if part}
    useful = [i for i in cost if not _is_dominated(i, reach, cost)]
    chosen = []
    for part in _components({i: reach[i] for i in useful}):
        chosen += _least_cover_of(part, {i: reach[i] for i in useful if reach[i] & part}, cost)
    return tuple(sorted(chosen))


def _is_dominated(i: int, reach: dict[int, frozenset[int]], cost: dict[int, Fraction]) -> bool:
    """Whether another bound covers as much for no more; of equal ones the first one stays."""
    return any(
        reach[i] <= reach[j]
        and cost[j] <= cost[i]
        and ((cost[j], -len(reach[j]), j) < (cost[i], -len(reach[i]), i))
        for j in cost
        if j != i
    )


def _components(reach: dict[int, frozenset[int]]) -> Iterator[frozenset[int]]:
    """The links, split such that no bound reaches into two parts."""
    rest = list(reach.values())
    while rest:
        part = set(rest.pop())
        while True:
            touching = [other for other in rest if not part.isdisjoint(other)]
            if not touching:
                break
            part.update(*touching)
            rest = [other for other in rest if part.isdisjoint(other)]
        yield frozenset(part)


def _least_cover_of(
    links: frozenset[int], reach: dict[int, frozenset[int]], cost: dict[int, Fraction]
) -> list[int]:
    """Branch and bound on the link that the fewest bounds contain."""
    best: list[int] = []
    best_cost: Fraction | None = None
    stack: list[tuple[frozenset[int], list[int], Fraction]] = [(links, [], Fraction(0))]
    branches = 0
    while stack:
        missing, chosen, spent = stack.pop()
        if best_cost is not None and spent >= best_cost:
            continue
        if not missing:
            best, best_cost = chosen, spent
            continue
        branches += 1
        if branches > _MOST_BRANCHES and best_cost is not None:
            break
        containing: dict[int, list[int]] = {link: [] for link in missing}
        for i, part in reach.items():
            for link in part & missing:
                containing[link].append(i)
        options = min(containing.items(), key=lambda item: (len(item[1]), item[0]))[1]
        # The last one pushed is looked at first: the cheapest for each link that it covers.
        options.sort(key=lambda i: cost[i] / len(reach[i] & missing), reverse=True)
        stack += [(missing - reach[i], [*chosen, i], spent + cost[i]) for i in options]
    return best
