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

Path = tuple[int, ...]
_Links = Sequence[tuple[int, int]]
_Onward = Sequence[_Links]
_ROOT = -1
"""The place of the source in a search."""


@dataclass(frozen=True)
class Parting:
    """A switch that some, but not all, of the shortest routes between two nodes visit.  `transit`:
    a route of some such pair comes from a switch and goes on to a switch."""

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
    onward: list[list[tuple[int, int]]] = [[] for _ in range(num_vertices + len(doubles))]
    unit = lcm(*(width.denominator for width in widths.values()))
    for (u, v), fraction in sorted(widths.items()):
        width = int(fraction * unit)
        if u in doubles and v < num_nodes:
            onward[doubles[u]].append((v, width))
        onward[u].append((doubles[v] if u >= num_nodes and v in doubles else v, width))
    paths: dict[tuple[int, int], Path] = {}
    partings: dict[int, Parting] = {}
    pairs = 0
    alike: dict[tuple[tuple[int, int], ...], list[int]] = defaultdict(list)
    for source in range(num_nodes):
        alike[tuple(onward[source])].append(source)
    for links, sources in alike.items():  # nodes with the same links have the same routes
        single: dict[int, Path] = {}
        for least, ends in _widest(links, onward, num_nodes):
            before, count = _search(links, onward, num_nodes, least)
            pairs += len(ends) * len(sources) - len(set(ends).intersection(sources))
            if pairs > most:
                return None
            looked: set[int] = set()
            for end in ends:
                if count[end] == 1:
                    path = [end]
                    while before[path[-1]] != [_ROOT]:
                        path.append(before[path[-1]][0])
                    single[end] = tuple(number.get(v, v) for v in reversed(path))
                    continue
                first = next((one for one in sources if one != end), None)
                (last, *others) = before[end]
                if first is None or (not others and last in looked):
                    continue
                if not others:  # routes to all nodes that only this switch leads to part alike
                    looked.add(last)
                for vertex, transit in _partings(end, before, count, num_nodes).items():
                    switch = number.get(vertex, vertex)
                    if switch not in partings or (transit and not partings[switch].transit):
                        partings[switch] = Parting(first, end, transit)
        for source in sources:
            for end, way in single.items():
                if end != source:
                    paths[source, end] = (source, *way)
    return ShortestRoutes(paths, partings)


def _widest(links: _Links, onward: _Onward, num_nodes: int) -> Iterable[tuple[int, list[int]]]:
    """The compute nodes that routes over first links reach, by the least width that they must
    have."""
    width: dict[int, int] = {}
    waiting = [(-width, v) for v, width in links]
    heapq.heapify(waiting)
    while waiting:
        negative, u = heapq.heappop(waiting)
        if u in width:
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
    links: _Links, onward: _Onward, num_nodes: int, least: int
) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Breadth first over links of some width: predecessors, and numbers of shortest routes."""
    before: dict[int, list[int]] = {}
    count = {_ROOT: 1}
    front = [_ROOT]
    while front:
        fresh: dict[int, list[int]] = {}
        for u in front:
            if u >= num_nodes or u == _ROOT:
                for v, width in links if u == _ROOT else onward[u]:
                    if v not in before and width >= least:
                        fresh.setdefault(v, []).append(u)
        for v, tails in fresh.items():
            before[v] = tails
            count[v] = sum(count[u] for u in tails)
        front = list(fresh)
    return before, count


def _partings(
    end: int, before: dict[int, list[int]], count: dict[int, int], num_nodes: int
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
        layer = [u for u in earlier if u != _ROOT]
        for u in layer:
            if count[u] * back[u] < count[end]:
                found[u] = u in to_switch and any(v >= num_nodes for v in before[u])
    return found
