"""The eight networks of the MultiTree paper, and others of their kinds, with the ways of messages.

The paper leaves routes open. Here messages go over shortest paths: on grids first along a row and
then along the column, in a fat tree over the root switch of the destination's number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from syncoll.model import Fabric
from syncoll.plugins import PluginManager
from syncoll.spec import SpecLibrary
from syncoll_classics.grid import Grid

__all__ = [
    "Machine",
    "Path",
    "bigraph",
    "eight",
    "fabric_of",
    "fat_tree",
    "grid",
    "one_switch",
    "specs",
]

Path = tuple[int, ...]


@dataclass(frozen=True)
class Machine:
    """A network with the ways of its messages.

    Args:
        reference: its name in the library of specs.
        fabric: bandwidths in units of one link.
        route: the way of a message from one node to another.
        ring: the nodes in the order of the ring algorithm.
        grid: its nodes; None for a network of switches.
        switches: on a BiGraph the nodes under each switch, upper ones first; empty elsewhere.
    """

    reference: str
    fabric: Fabric
    route: Callable[[int, int], Path]
    ring: tuple[int, ...]
    grid: Grid | None = None
    switches: tuple[tuple[int, ...], ...] = ()

    @property
    def nodes(self) -> int:
        return self.fabric.num_nodes


@cache
def specs() -> SpecLibrary:
    return SpecLibrary([r.folder for r in PluginManager.discover().spec_libraries.values()])


def fabric_of(reference: str) -> Fabric:
    """The library's network with bandwidths in units of the narrowest link, 16 GB/s."""
    found = Fabric.of(specs().topology(reference))
    least = min(found.bandwidths.values())
    return Fabric.from_bandwidths(
        found.name,
        found.num_nodes,
        found.num_switches,
        {ends: b / least for ends, b in found.bandwidths.items()},
    )


def line(size: int, start: int, end: int, closed: bool) -> list[int]:
    """The coordinates from start to end, the shorter way where there are two."""
    forth, back = (end - start) % size, (start - end) % size
    step = 1 if (forth <= back if closed else end >= start) else -1
    count = min(forth, back) if closed else abs(end - start)
    return [(start + step * i) % size for i in range(count + 1)]


def grid(rows: int, columns: int, closed: bool) -> Machine:
    def route(a: int, b: int) -> Path:
        row, column = a // columns, b % columns
        along = [row * columns + c for c in line(columns, a % columns, column, closed)]
        down = [r * columns + column for r in line(rows, row, b // columns, closed)]
        return (*along, *down[1:])

    # A cycle over neighbours: down the first column, and in snakes through the rest.
    snake: list[int] = []
    for r in reversed(range(rows)):
        rest = range(1, columns)
        snake += [r * columns + c for c in (rest if (rows - 1 - r) % 2 == 0 else reversed(rest))]
    ring = (*(r * columns for r in range(rows)), *snake)
    reference = f"{'torus' if closed else 'mesh'}({rows},{columns})"
    nodes = np.arange(rows * columns).reshape(rows, columns)
    return Machine(reference, fabric_of(reference), route, ring, Grid(nodes, closed))


def one_switch(nodes: int) -> Machine:
    reference = f"fat_tree({nodes},1)"
    return Machine(reference, fabric_of(reference), lambda a, b: (a, nodes, b), tuple(range(nodes)))


def fat_tree(radix: int) -> Machine:
    reference, nodes = f"fat_tree({radix})", radix * radix

    def route(a: int, b: int) -> Path:
        one, two = nodes + a // radix, nodes + b // radix
        return (a, one, b) if one == two else (a, one, nodes + radix + b % radix, two, b)

    return Machine(reference, fabric_of(reference), route, tuple(range(nodes)))


def bigraph(switches: int, each: int) -> Machine:
    reference, nodes, half = f"bigraph({switches},{each})", switches * each, switches // 2

    def route(a: int, b: int) -> Path:
        one, two = a // each, b // each
        if one == two:
            return (a, nodes + one, b)
        if (one < half) != (two < half):
            return (a, nodes + one, nodes + two, b)
        between = half + b % half if one < half else b % half
        return (a, nodes + one, nodes + between, nodes + two, b)

    groups = tuple(tuple(range(s * each, (s + 1) * each)) for s in range(switches))
    # Round the layers in turn, so that every step between switches crosses one link.
    order = [s for pair in zip(range(half), range(half, switches), strict=True) for s in pair]
    ring = tuple(node for s in order for node in groups[s])
    return Machine(reference, fabric_of(reference), route, ring, switches=groups)


def eight() -> Iterator[Machine]:
    """The networks of the paper (section VI-A)."""
    yield from (grid(4, 4, True), grid(8, 8, True), grid(4, 4, False), grid(8, 8, False))
    yield from (one_switch(16), fat_tree(8), bigraph(4, 8), bigraph(4, 16))
