"""Makes an algorithm of logical sends by routing sends between nodes without a link.

A logical step with a pair h links apart becomes h steps, store and forward.  Each send takes the
shortest path and the start that add least to the sum of the fourth powers of the bounds' loads;
distant pairs choose first.  Steps with very many sends look one link ahead only, and try the first
and the last start.  A chunk that passes a node stays there, so repeated deliveries are dropped.
Each step has the rounds of its most loaded bound.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Algorithm, Topology
from syncoll_classics.demand import ClassicDemand

_MOST_TRIED = 1 << 17
"""Most links on the candidate paths of a step's sends; with more, sends look one link ahead."""
_SENDS_A_CHECK = 64
"""Sends routed between two readings of the clock."""


@dataclass(frozen=True)
class _Place:
    """The route of a logical send: its links and the step of the first."""

    row: int
    first: int
    links: tuple[int, ...]


class Router:
    """Turns logical sends, rows (chunk, source, destination, logical step), into algorithms."""

    def __init__(self, topology: Topology, deadline: Deadline = NEVER) -> None:
        self._topology, self._deadline = topology, deadline
        self._bounds = topology.link_bounds
        self._share = [float(1 / bound.chunks_per_round) for bound in topology.bounds]
        self._onward: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def algorithm(
        self, demand: ClassicDemand, logical: Ints, carried: Bools | None = None
    ) -> Algorithm:
        """The algorithm of logical sends; `carried` are the contributions if the collective
        combines."""
        direct = bool((self._topology.links_of(logical[:, 1], logical[:, 2]) >= 0).all())
        sends, rows = (logical, np.arange(len(logical))) if direct else self.routed(logical)
        contributions = None if carried is None else carried[rows]
        if not direct and contributions is not None:
            sends, contributions = _first_deliveries(sends, contributions)
        elif not direct:
            sends = np.unique(sends, axis=0)
        steps = int(sends[:, 3].max(initial=-1)) + 1
        algorithm = Algorithm((1,) * steps, sends, contributions)
        if not direct and contributions is None:
            instance = demand.collective.instantiate(
                self._topology, chunks=demand.chunks, steps=steps, rounds=steps
            )
            algorithm = algorithm.without_useless_sends(instance)
        return algorithm.tightened(self._topology)

    def routed(self, logical: Ints) -> tuple[Ints, Ints]:
        """Sends over links in new steps, and for each the row of `logical` that it serves."""
        distances = self._topology.distances[logical[:, 1], logical[:, 2]]
        order = np.lexsort([-distances, logical[:, 3]])
        starts = np.searchsorted(logical[order, 3], np.arange(logical[:, 3].max() + 2)).tolist()
        places: list[_Place] = []
        begins = 0
        for first, end in pairwise(starts):
            rows = order[first:end]
            if len(rows):
                places += self._one_step(logical, rows, distances, begins)
                begins += int(distances[rows[0]])
        chunks = logical[:, 0].tolist()
        links = self._topology.links
        sends = [
            (chunks[place.row], *links[link], place.first + hop)
            for place in places
            for hop, link in enumerate(place.links)
        ]
        served = [place.row for place in places for _ in place.links]
        return np.array(sends, dtype=np.int64), np.array(served, dtype=np.int64)

    def _one_step(self, logical: Ints, rows: Ints, distances: Ints, begins: int) -> list[_Place]:
        """Routes the sends of one logical step, farthest first."""
        longest = int(distances[rows[0]])
        away_of = distances[rows]
        hasty = int(((longest - away_of + 1) * away_of).sum()) > _MOST_TRIED
        loads = [[0.0] * len(self._share) for _ in range(longest)]
        places: list[_Place] = []
        for number, row in enumerate(rows.tolist()):
            if number % _SENDS_A_CHECK == 0:
                self._deadline.check()
            source, destination = int(logical[row, 1]), int(logical[row, 2])
            away = int(distances[row])
            starts = sorted({0, longest - away}) if hasty else range(longest - away + 1)
            tried = [
                (*self._path(source, destination, loads[at : at + away], hasty=hasty), at)
                for at in starts
            ]
            _, links, start = min(tried, key=lambda found: found[0])
            for hop, link in enumerate(links):
                for bound in self._bounds[link]:
                    loads[start + hop][bound] += self._share[bound]
            places.append(_Place(row, begins + start, links))
        return places

    def _path(
        self, source: int, destination: int, loads: list[list[float]], *, hasty: bool
    ) -> tuple[float, tuple[int, ...]]:
        """The shortest path that adds least to the loads of these steps; hasty: link by link."""
        reached: dict[int, tuple[float, tuple[int, ...]]] = {source: (0.0, ())}
        for now in loads:
            further: dict[int, tuple[float, tuple[int, ...]]] = {}
            for node, (cost, path) in reached.items():
                for link, neighbour in self._next(node, destination):
                    added = cost + self._added(link, now)
                    if neighbour not in further or added < further[neighbour][0]:
                        further[neighbour] = (added, (*path, link))
            nearest = min(further, key=further.__getitem__) if hasty else None
            reached = further if nearest is None else {nearest: further[nearest]}
        return reached[destination]

    def _added(self, link: int, loads: list[float]) -> float:
        """The increase of a step's cost by a send over this link."""
        total = 0.0
        for bound in self._bounds[link]:
            load = loads[bound]
            total += (load + self._share[bound]) ** 4 - load**4
        return total

    def _next(self, node: int, destination: int) -> list[tuple[int, int]]:
        """The next links on shortest paths, each with its head."""
        key = (node, destination)
        if key not in self._onward:
            distances, links = self._topology.distances, self._topology.links
            left = distances[node, destination]
            self._onward[key] = [
                (link, links[link][1])
                for link in self._topology.out_links[node]
                if distances[links[link][1], destination] == left - 1
            ]
        return self._onward[key]


def _first_deliveries(sends: Ints, carried: Bools) -> tuple[Ints, Bools]:
    """Drops sends of a partial result to a node that received it before."""
    packed = np.packbits(carried, axis=1)
    seen: set[tuple[int, int, bytes]] = set()
    kept = []
    for i in np.argsort(sends[:, 3], kind="stable").tolist():
        key = (int(sends[i, 0]), int(sends[i, 2]), packed[i].tobytes())
        if key not in seen:
            seen.add(key)
            kept.append(i)
    return sends[kept], carried[kept]
