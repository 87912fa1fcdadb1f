"""The best set of rings: the most Hamiltonian cycles a round within the capacities.

Each ring carries one chunk over each of its links in a step; K rings that fit in steps of r rounds
move K / r chunks a round, at most `rings_bound`.  First rings from a pool of known cycles are added
repeatedly while they fit; then new cycles are added in the remaining capacity; then CP-SAT looks
for better sets, the best ratio first.
"""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from syncoll.bounding.covers import Covers
from syncoll.clock import now, remembering
from syncoll.model import Topology
from syncoll.model.width_clusters import boxes_by_width
from syncoll_classics.hamiltonian import a_cycle, find_circuits, known_cycles
from syncoll_classics.pricing import RoomForRings, priced_rings
from syncoll_classics.tours import Cycle

_MOST_RINGS = 16
_MOST_ROUNDS = 4
"""Rounds a step tried beyond the need of one ring."""
_MOST_LITERALS = 40_000
_LEAST_SECONDS = 0.05


@dataclass(frozen=True)
class RingSet:
    """Directed Hamiltonian cycles, with repetitions, that are used at once.

    Args:
        rounds: of a step in which each ring carries a chunk over each of its links.
        proved: whether no other set has more rings a round.
    """

    rings: tuple[Cycle, ...]
    rounds: int
    proved: bool

    @property
    def ratio(self) -> Fraction:
        """Rings a round."""
        return Fraction(len(self.rings), self.rounds)

    @property
    def pairs(self) -> list[tuple[Cycle, Cycle]]:
        """Pairs of a ring and its reverse, both in the set."""
        left = Counter(self.rings)
        found: list[tuple[Cycle, Cycle]] = []
        for ring in self.rings:
            back = (ring[0], *ring[:0:-1])
            if back != ring and left[ring] > 0 and left[back] > 0:
                left[ring] -= 1
                left[back] -= 1
                found.append((ring, back))
        return found


@remembering
def pack_rings(topology: Topology, seconds: float) -> tuple[RingSet, ...]:
    """The best ring sets found, fewest rounds a step first, then more rings a round."""
    deadline = now() + seconds
    one = a_cycle(topology)
    if isinstance(one, str):
        return ()
    bound = rings_bound(topology)
    pool = known_cycles(topology) or [one]
    if len(pool) == 1 and all((b, a) in topology.link_index for a, b in _links(one)):
        pool.append((one[0], *one[:0:-1]))
    least = max(_rounds(topology, one), -(-bound.denominator // bound.numerator))
    sets: list[RingSet] = []
    best = Fraction(0)
    for rounds in sorted({*range(least, least + _MOST_ROUNDS), bound.denominator}):
        found = _filled(topology, pool, rounds)
        if found is None or found.ratio < bound:
            found = _priced(topology, rounds, int(bound * rounds), found, deadline)
        if found is None or found.ratio < bound:
            known = best if found is None else max(best, found.ratio)
            found = _searched(topology, rounds, bound, known, deadline) or found
        if found is not None and found.ratio > best:
            best = found.ratio
            sets.append(replace(found, proved=best == bound))
        if best == bound:
            break
    return tuple(sets)


def _priced(
    topology: Topology, rounds: int, most: int, found: RingSet | None, deadline: float
) -> RingSet | None:
    """A set with more rings than `found`, pairs if possible; otherwise `found`."""
    most = min(_MOST_RINGS, most)
    # The solver gets the rest of the time.
    until = now() + max(0.0, deadline - now()) / 4
    for paired in (True, False):
        if paired and not _two_way(topology):
            continue
        rings = priced_rings(topology, rounds, most, until, paired=paired)
        if rings and (found is None or len(rings) > len(found.rings)):
            found = RingSet(tuple(rings), rounds, proved=False)
    return found


def _two_way(topology: Topology) -> bool:
    return all((b, a) in topology.link_index for a, b in topology.links)


def _searched(
    topology: Topology, rounds: int, bound: Fraction, least: Fraction, deadline: float
) -> RingSet | None:
    """A set with more than `least` rings a round, by search; None if the search finds none."""
    most = min(_MOST_RINGS, int(bound * rounds))
    two_way = _two_way(topology)
    for count in range(most, int(least * rounds), -1):
        if count * len(topology.links) > _MOST_LITERALS:
            continue
        for paired in (True, False):
            left = deadline - now()
            if left < _LEAST_SECONDS:
                return None
            if paired and (count % 2 or not two_way):
                continue
            number = count // 2 if paired else count
            rings, _ = find_circuits(topology, number, rounds, left / 2, paired=paired)
            if rings:
                return RingSet(tuple(rings), rounds, proved=False)
    return None


def _filled(topology: Topology, pool: list[Cycle], rounds: int) -> RingSet | None:
    """Cycles of the pool, each in turn, while they fit in a step of `rounds` rounds."""
    room, rings = RoomForRings(topology, rounds), list[Cycle]()
    while len(rings) < _MOST_RINGS:
        fitting = [ring for ring in pool if room.take([ring])]
        rings += fitting
        if not fitting:
            break
    rings = rings[:_MOST_RINGS]
    return RingSet(tuple(rings), rounds, proved=False) if rings else None


def _rounds(topology: Topology, ring: Cycle) -> int:
    """The fewest rounds of a step in which the ring carries a chunk over each of its links."""
    load = set(_links(ring))
    return max(
        -(-sum(link in load for link in bound.links) // bound.chunks_per_round)
        for bound in topology.bounds
    )


def _links(ring: Cycle) -> list[tuple[int, int]]:
    return list(zip(ring, (*ring[1:], ring[0]), strict=True))


def rings_bound(topology: Topology) -> Fraction:
    """An upper bound on the rings a round of any set.

    Every cycle leaves any group of nodes, so K cycles put at least K chunks on its outgoing links,
    and the bounds that cover these links must carry them.  A bound over all links out of k groups
    gets at least k K chunks.  The groups are single nodes, all nodes but one, and, for each
    bandwidth, the components of links of at least that bandwidth.
    """
    at, covers = topology.link_bounds, Covers(topology)
    widths = [bound.chunks_per_round for bound in topology.bounds]
    found: list[Fraction] = []
    for groups in (np.arange(topology.num_nodes), *boxes_by_width(topology)):
        ways = groups[topology.ends]
        crossing = np.flatnonzero(ways[:, 0] != ways[:, 1])
        for end in (0, 1):
            order = crossing[np.argsort(ways[crossing, end], kind="stable")]
            starts = np.unique(ways[order, end], return_index=True)[1][1:]
            whole = Counter[int]()
            for links in np.split(order, starts):
                cover = covers.least(links)
                assert cover is not None  # every link has a bound
                found.append(covers.cost(cover))
                inside = Counter(number for i in links.tolist() for number in at[i])
                whole.update(number for number, count in inside.items() if count == len(links))
            found += [widths[number] / count for number, count in whole.items()]
    return min(found)
