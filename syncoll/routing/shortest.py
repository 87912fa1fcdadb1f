"""The shortest routes between compute nodes through switches, and the switches where they part.

A route passes no compute node: its reception and its next send are two sends of an algorithm, in
different steps.  Routes less than half as wide as the widest of a pair do not count: a network card
is no way around a switch that is ten times as fast.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

__all__ = ["Parting", "ShortestRoutes", "shortest_routes"]

Path = tuple[int, ...]
_Onward = Sequence[list[tuple[int, int]]]


@dataclass(frozen=True)
class Parting:
    """A switch that some, but not all, of the shortest routes between two nodes visit.
    `transit`: a route of some such pair comes from a switch and goes on to a switch.
    """

    source: int
    destination: int
    transit: bool


@dataclass(frozen=True, eq=False)
class ShortestRoutes:
    """The routes from every compute node.

    Args:
        paths: for each pair of compute nodes with a single such route its vertices.
        partings: the switches where the routes of the other pairs part.
    """

    paths: dict[tuple[int, int], Path]
    partings: dict[int, Parting]


def shortest_routes(
    num_nodes: int,
    num_vertices: int,
    widths: Mapping[tuple[int, int], Fraction],
    most: int,
    *,
    closed: Collection[int] = (),
) -> ShortestRoutes | None:
    """Finds the routes with the fewest links among routes of at least half the greatest width.

    Args:
        widths: of directed links, as available to a single send.
        closed: switches that pass nothing from switch to switch.

    Returns:
        The routes; None if more than `most` pairs have one.
    """
    # Data from a switch to a closed switch arrives at its double, which leads to nodes alone.
    doubles = {switch: num_vertices + i for i, switch in enumerate(sorted(closed))}
    number = {double: switch for switch, double in doubles.items()}
    onward: _Onward = [[] for _ in range(num_vertices + len(doubles))]
    unit = lcm(*(width.denominator for width in widths.values()))
    for (u, v), fraction in sorted(widths.items()):
        width = int(fraction * unit)
        if u in doubles and v < num_nodes:
            onward[doubles[u]].append((v, width))
        onward[u].append((doubles[v] if u >= num_nodes and v in doubles else v, width))
    paths: dict[tuple[int, int], Path] = {}
    partings: dict[int, Parting] = {}
    for source in range(num_nodes):
        for least, ends in _widest(source, onward, num_nodes):
            before, count = _search(source, onward, num_nodes, least)
            if len(paths) + len(ends) > most:
                return None
            looked: set[int] = set()
            for end in ends:
                if count[end] == 1:
                    path = [end]
                    while path[-1] != source:
                        path.append(before[path[-1]][0])
                    paths[source, end] = tuple(number.get(v, v) for v in reversed(path))
                    continue
                (last, *others) = before[end]
                if not others:  # routes to all nodes that only this switch leads to part alike
                    if last in looked:
                        continue
                    looked.add(last)
                for vertex, transit in _partings(source, end, before, count, num_nodes).items():
                    switch = number.get(vertex, vertex)
                    if switch not in partings or (transit and not partings[switch].transit):
                        partings[switch] = Parting(source, end, transit)
    return ShortestRoutes(paths, partings)


def _widest(source: int, onward: _Onward, num_nodes: int) -> Iterable[tuple[int, list[int]]]:
    """The compute nodes that routes reach, by the least width that their routes must have."""
    width: dict[int, int] = {}
    waiting = [(-width, v) for v, width in onward[source]]
    heapq.heapify(waiting)
    while waiting:
        negative, u = heapq.heappop(waiting)
        if u in width or u == source:
            continue
        width[u] = -negative
        if u >= num_nodes:
            for v, own in onward[u]:
                if v not in width:
                    heapq.heappush(waiting, (max(negative, -own), v))
    ends: dict[int, list[int]] = defaultdict(list)
    for v in sorted(width):
        if v < num_nodes:
            ends[-(-width[v] // 2)].append(v)
    return ends.items()


def _search(
    source: int, onward: _Onward, num_nodes: int, least: int
) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Breadth first over links of some width: predecessors, and numbers of shortest routes."""
    before: dict[int, list[int]] = {source: []}
    count = {source: 1}
    front = [source]
    while front:
        fresh: dict[int, list[int]] = {}
        for u in front:
            if u >= num_nodes or u == source:
                for v, width in onward[u]:
                    if v not in before and width >= least:
                        fresh.setdefault(v, []).append(u)
        for v, tails in fresh.items():
            before[v] = tails
            count[v] = sum(count[u] for u in tails)
        front = list(fresh)
    return before, count


def _partings(
    source: int, end: int, before: dict[int, list[int]], count: dict[int, int], num_nodes: int
) -> dict[int, bool]:
    """The switches on some, but not all, of the shortest routes of a pair; which are transit."""
    back = {end: 1}
    layer = [end]
    found: dict[int, bool] = {}
    while layer:
        earlier: dict[int, int] = {}
        to_switch: set[int] = set()
        for v in layer:
            for u in before[v]:
                earlier[u] = earlier.get(u, 0) + back[v]
                if v >= num_nodes:
                    to_switch.add(u)
        back.update(earlier)
        layer = [u for u in earlier if u != source]
        for u in layer:
            if count[u] * back[u] < count[end]:
                found[u] = u in to_switch and any(v >= num_nodes for v in before[u])
    return found
