"""Finding cuts (`syncoll.certificates.cuts`): the bounds that a person can check by counting.

Prices that are equal on a cut and 0 elsewhere prove the same, but
not every bound is that of a cut: none speaks of S, and flows between many pairs of nodes may need
more than every cut says (Leighton & Rao 1999).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.certificates.classes import Demand, DemandList
from syncoll.certificates.cuts import CutCertificate
from syncoll.certificates.prices import PriceCertificate
from syncoll.model import BoolArray, Topology
from syncoll.model.boxes import boxes_by_width

__all__ = ["around_boxes", "around_nodes", "find_cut", "least_cover"]

ALL_SUBSETS = 12
"""Up to this number of nodes every set is tried."""

_MOST_CENTRES = 64
_FEW_CENTRES = 8
"""With more nodes balls and halves are those of this number of nodes."""

_NODES_OF_FEW_CENTRES = 256
_VERY_FEW_CENTRES = 2
"""With more nodes each takes seconds."""

_MOST_BOXES, _MOST_WIDTHS = 4, 3
"""Of cuts around boxes so many get a cover, and so many widths of links make boxes."""

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
    least = _across(sides, _room(topology))
    promising = (amounts > 0) & (amounts >= float(at_least) * least * (1 - 1e-5))
    for i in np.flatnonzero(promising)[:_MOST_COVERS].tolist():
        crossing = np.flatnonzero(sides[i, ends[:, 0]] & ~sides[i, ends[:, 1]]).tolist()
        if not crossing:
            continue  # nothing gets out: no algorithm exists, and there is no bound to prove
        cover = least_cover(topology, crossing)
        cut = CutCertificate(tuple(np.flatnonzero(sides[i]).tolist()), cover)
        if cut.check(topology, demands) >= at_least:
            return cut
    return None


def around_nodes(topology: Topology, demands: Sequence[Demand]) -> CutCertificate | None:
    """The best cut between one node and all others, one way or the other; None where none bounds.

    It is for networks that are too large for anything better.
    """
    nodes = topology.num_nodes
    if nodes < 2 or not demands:
        return None
    amounts = _around(DemandList.of(demands), nodes)
    best: tuple[Fraction, CutCertificate] | None = None
    known: set[tuple[float, tuple[tuple[int, int], ...]]] = set()
    widths: dict[Fraction, int] = {}  # numbered, since fractions are slow to compare
    kind = [widths.setdefault(b.chunks_per_round, len(widths)) for b in topology.bounds]
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
        end = i % nodes
        crossing = list((topology.out_links if i < nodes else topology.in_links)[end])
        if not crossing:
            continue
        # Around nodes that look alike there is as much room.
        held = Counter(j for link in crossing for j in topology.link_bounds[link])
        key = (
            float(amounts[i]),
            tuple(sorted((kind[j], n) for j, n in held.items())),
        )
        if key in known:
            continue
        known.add(key)
        if shared.isdisjoint(crossing):
            cover = tuple(sorted(own[link] for link in crossing))
        else:
            cover = least_cover(topology, crossing)
        room = sum((topology.bounds[j].chunks_per_round for j in cover), Fraction(0))
        rounds = Fraction(int(amounts[i])) / room
        if best is None or rounds > best[0]:
            inside = [n for n in range(nodes) if (n == end) == (i < nodes)]
            best = rounds, CutCertificate(tuple(inside), cover)
    return None if best is None else best[1]


def around_boxes(topology: Topology, demands: Sequence[Demand]) -> CutCertificate | None:
    """The best cut around nodes that wide links connect, one way or the other; None if none bounds.

    On machines of boxes it is what has to leave or enter a box, whatever is exchanged inside.  Like
    `around_nodes` it needs no linear program.
    """
    sides = _boxes(topology)
    if not len(sides) or not demands:
        return None
    room = _room(topology)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = _amounts(sides, demands) / _across(sides, room)
    ratio = np.where(np.isfinite(ratio), ratio, 0)
    best: tuple[Fraction, CutCertificate] | None = None
    ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
    for i in np.argsort(-ratio, kind="stable")[:_MOST_BOXES].tolist():
        crossing = np.flatnonzero(sides[i, ends[:, 0]] & ~sides[i, ends[:, 1]]).tolist()
        if not ratio[i] or not crossing:
            continue
        cover = least_cover(topology, crossing)
        cut = CutCertificate(tuple(np.flatnonzero(sides[i]).tolist()), cover)
        rounds = cut.check(topology, demands)
        if best is None or rounds > best[0]:
            best = rounds, cut
    return None if best is None else best[1]


def _boxes(topology: Topology) -> BoolArray:
    """What links of each width and wider connect, and all else: sets ``[candidate, node]``."""
    found = [
        label[None, :] == np.unique(label)[:, None]
        for label in boxes_by_width(topology, _MOST_WIDTHS)
    ]
    if not found:
        return np.zeros((0, topology.num_nodes), dtype=bool)
    sides = np.concatenate(found)
    return np.concatenate([sides, ~sides])


def _room(topology: Topology) -> npt.NDArray[np.float64]:
    """``[P, P]``: each link's part in its cheapest bound; a cover costs at least as much."""
    part = np.full(len(topology.links), np.inf)
    for bound, members in zip(topology.bounds, topology.bound_links, strict=True):
        part[members] = np.minimum(part[members], float(bound.chunks_per_round) / len(members))
    ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
    room = np.zeros((topology.num_nodes, topology.num_nodes))
    room[ends[:, 0], ends[:, 1]] = part
    return room


def _around(demands: DemandList, nodes: int) -> npt.NDArray[np.float64]:
    """``[2 P]``: how many chunks must leave each node, and then how many must get into each."""
    counts = demands.counts.astype(np.float64)
    own = demands.first_node
    leaving = np.bincount(own[own >= 0], counts[own >= 0], minlength=nodes)
    needed = np.bincount(demands.second, counts, minlength=len(demands.sets))
    sizes = [len(one) for one in demands.sets]
    members = np.fromiter(chain.from_iterable(demands.sets), np.int64, sum(sizes))
    entering = np.bincount(members, np.repeat(needed, sizes), minlength=nodes)
    return np.concatenate([leaving, entering])


def _candidates(topology: Topology, prices: PriceCertificate | None) -> BoolArray:
    """Sets of nodes ``[candidate, node]``: neither empty nor everything, none twice."""
    nodes = topology.num_nodes
    if nodes <= ALL_SUBSETS:
        numbers = np.arange(1, (1 << nodes) - 1)
        return (numbers[:, None] >> np.arange(nodes) & 1).astype(bool)
    distances = topology.distances
    centres = np.arange(nodes)
    if nodes > _MOST_CENTRES:
        few = _FEW_CENTRES if nodes <= _NODES_OF_FEW_CENTRES else _VERY_FEW_CENTRES
        centres = centres[:: -(-nodes // few)]
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
    demands, nodes = DemandList.of(demands), sides.shape[1]
    counts = demands.counts.astype(np.float64)
    if demands.plain:
        # Exact below 2^24, and else close enough to see which sets are promising.
        between = np.zeros((nodes, nodes), dtype=np.float32)
        between[demands.first_node, demands.second_node] = counts
        return _across(sides, between)
    members = np.zeros((nodes, len(demands.sets)), dtype=np.float32)
    for i, one in enumerate(demands.sets):
        members[list(one), i] = 1
    leaving = (~sides).astype(np.float32) @ members > 0
    crossing = ~leaving[:, demands.first] & leaving[:, demands.second]
    amounts: npt.NDArray[np.float64] = crossing @ counts
    return amounts


def _across(sides: BoolArray, between: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """For each set the sum over pairs of a node in it and one outside; `between` is ``[P, P]``."""
    leaves = sides.astype(between.dtype) @ between
    found: npt.NDArray[np.float64] = np.einsum("ij,ij->i", leaves, ~sides, dtype=np.float64)
    return found


def least_cover(topology: Topology, links: Sequence[int]) -> tuple[int, ...]:
    """Bounds that together contain all these links, with the least sum of chunks per round.

    Args:
        links: positions of links.

    Returns:
        Positions of bounds, ascending.  A least one, unless there are so many overlapping bounds
        that the search is cut short; then still a cover.
    """
    within: dict[int, list[int]] = {}
    for link in links:
        for i in topology.link_bounds[link]:
            within.setdefault(i, []).append(link)
    reach = {i: frozenset(within[i]) for i in sorted(within)}
    cost = {i: topology.bounds[i].chunks_per_round for i in reach}
    useful = [i for i in cost if not _is_dominated(topology, i, reach, cost)]
    chosen = []
    for part in _components({i: reach[i] for i in useful}):
        chosen += _least_cover_of(part, {i: reach[i] for i in useful if reach[i] & part}, cost)
    return tuple(sorted(chosen))


def _is_dominated(
    topology: Topology, i: int, reach: dict[int, frozenset[int]], cost: dict[int, Fraction]
) -> bool:
    """Whether another bound covers as much for no more; of equal ones the first one stays."""
    return any(
        reach[i] <= reach[j]
        and cost[j] <= cost[i]
        and ((cost[j], -len(reach[j]), j) < (cost[i], -len(reach[i]), i))
        for j in min((topology.link_bounds[link] for link in reach[i]), key=len)
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
            rest = [other for other in rest if part.isdisjoint(other)]
            part.update(*touching)
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
