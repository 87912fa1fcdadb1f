"""Deterministic places of the nodes of a network, by its structure.

Three structures are recognised by the links alone: a grid of any dimension (such as rings, meshes,
tori and hypercubes), numbered row by row; boxes, whose nodes are on one switch or joined by links
that carry more than all others; and a network in which most nodes are joined to most others, drawn
as a circle.  Everything else is laid out by springs (Kamada & Kawai, An algorithm for drawing
general undirected graphs, 1989), begun from a circle.  `syncoll.reporting.switches` adds switches.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, cos, isqrt, pi, prod, sin

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.model import Fabric, Topology
from syncoll.model.width_clusters import connected_by
from syncoll.reporting.switches import fastest_neighbours, place_switches
from syncoll.symmetry.products import factorings

_APART = 0.09
"""Offset of the middle of a link to its right, which separates both directions."""
_LARGEST_BOX_CIRCLE = 24
_LONGEST_COLUMN = 16
_MOST_FACING = 4
"""Boxes in two columns that face each other; more are in a square."""
_MOST_SPRINGS = 400
"""Nodes that springs place within seconds; larger networks are drawn as a circle."""
_LONGEST_STRAIGHT = 1.8
"""Longer links bend around other nodes, or are stubs if they wrap around a grid."""

_FASTER = Fraction(5, 4)
_DENSE = Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class NetworkLayout:
    """A network on a plane; neighbours are about 1 apart.

    Args:
        kind: the recognised structure, in words.
        places: ``[P, 2]``, to the right and down.
        boxes: for each box its nodes; empty without boxes.
        bends: ``[L]``, the distance of the middle of each link's curve from the straight line, to
            the right as seen from its source.
        broken: links that wrap around a grid: only their ends are drawn, as stubs that point away
            from each other.
        switches: ``[W, 2]``; empty if switches are not drawn.
        frames: for each box its nodes and its switches, which are numbered from P on.
    """

    kind: str
    places: Floats
    boxes: tuple[tuple[int, ...], ...]
    bends: Floats
    broken: tuple[int, ...] = ()
    switches: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    frames: tuple[tuple[int, ...], ...] = ()


def lay_out(topology: Topology, *, switched: bool = False) -> NetworkLayout:
    """The places of the nodes of a topology, and of the switches of its fabric where `switched`."""
    nodes, links = topology.num_nodes, topology.ends
    straight = np.full(len(links), _APART)
    sizes = None if switched else _grid_sizes(nodes, links)
    if sizes is not None and len(sizes) > 1:
        places = _grid_places(sizes)
        bends, broken = _grid_bends(sizes, links, places)
        return NetworkLayout(_grid_words(sizes, links), places, (), bends, broken)
    fabric = topology.fabric if switched else None
    boxes = _boxes(topology)
    if boxes:
        places, known = _box_places(nodes, boxes, fabric)
        kind = f"{len(boxes)} boxes"
    else:
        known = dict[int, Floats]()
        dense = len(links) >= _DENSE * nodes * (nodes - 1)
        circular = sizes is not None or dense or nodes > _MOST_SPRINGS or not len(links)
        places = _circle(nodes) if circular else _springs(nodes, links)
        kind = "a circle" if circular else "springs"
    if fabric is None:
        return NetworkLayout(kind, places, boxes, straight)
    facing = 1 < len(boxes) <= _MOST_FACING
    placed = place_switches(fabric, places, boxes, known, facing)
    return NetworkLayout(kind, places, boxes, straight, (), *placed)


# Grids --------------------------------------------------------------------------------------------


def _grid_sizes(nodes: int, links: Ints) -> tuple[int, ...] | None:
    """The sizes of the grid whose neighbours, wraparound included, are exactly the linked pairs."""
    if nodes < 3 or not len(links):
        return None
    joined = {(min(a, b), max(a, b)) for a, b in links.tolist()}
    # Every node of a grid has at most two neighbours in each dimension.
    if 2 * len(joined) > nodes * 2 * nodes.bit_length():
        return None
    for sizes in factorings(nodes):
        # A few links refute nearly all of the many ways to factor a large number.
        possible = all(_are_neighbours(some, sizes) for some in (links[:8], links))
        if possible and _inner_neighbours(sizes) <= joined:
            return sizes
    return None


def _are_neighbours(links: Ints, sizes: tuple[int, ...]) -> bool:
    ends = np.stack(np.unravel_index(links, sizes), axis=-1)
    apart = np.abs(ends[:, 0] - ends[:, 1])
    apart = np.minimum(apart, np.array(sizes) - apart)
    return bool((apart.sum(axis=1) == 1).all())


def _inner_neighbours(sizes: tuple[int, ...]) -> set[tuple[int, int]]:
    """Pairs of neighbours of a grid without wraparound."""
    number = np.arange(prod(sizes)).reshape(sizes)
    found: set[tuple[int, int]] = set()
    for axis, size in enumerate(sizes):
        low = number.take(range(size - 1), axis=axis).ravel().tolist()
        high = number.take(range(1, size), axis=axis).ravel().tolist()
        found.update(zip(low, high, strict=True))
    return found


def _grid_words(sizes: tuple[int, ...], links: Ints) -> str:
    text = " x ".join(map(str, sizes))
    if set(sizes) == {2}:
        return f"a hypercube of {len(sizes)} dimensions"
    inner = _inner_neighbours(sizes)
    closed = any((min(a, b), max(a, b)) not in inner for a, b in links.tolist())
    return f"a torus of {text}" if closed else f"a mesh of {text}"


def _grid_places(sizes: tuple[int, ...]) -> Floats:
    """Rows and columns; a third dimension goes into the page, further ones repeat the whole."""
    at = np.stack(np.unravel_index(np.arange(prod(sizes)), sizes), axis=1).astype(float)
    x, y = at[:, -1].copy(), at[:, -2].copy()
    width, height = float(sizes[-1]), float(sizes[-2])
    outer = list(range(len(sizes) - 2))
    if outer:
        depth = outer.pop()
        back = at[:, depth] / sizes[depth]
        x, y = x * 1.5 + 1.15 * back, y * 1.5 - 0.85 * back
        width, height = width * 1.5 + 0.6, height * 1.5 + 0.4
    for dimension in reversed(outer):
        if width <= height:
            x += at[:, dimension] * (width + 0.4)
            width *= sizes[dimension]
        else:
            y += at[:, dimension] * (height + 0.4)
            height *= sizes[dimension]
    return np.stack([x, y], axis=1)


def _grid_bends(
    sizes: tuple[int, ...], links: Ints, places: Floats
) -> tuple[Floats, tuple[int, ...]]:
    """The bends, and the wraparound links.  Links between neighbours are nearly straight; longer
    ones bend around other nodes."""
    length = np.linalg.norm(places[links[:, 0]] - places[links[:, 1]], axis=1)
    at = np.stack(np.unravel_index(np.arange(prod(sizes)), sizes), axis=1)
    wraps = np.abs(at[links[:, 0]] - at[links[:, 1]]).sum(axis=1) > 1
    long = length > _LONGEST_STRAIGHT
    # Both directions of a long link go round on the same side, one outside the other.
    forward = links[:, 0] < links[:, 1]
    round_about = np.where(forward, 0.62, -0.42)
    broken = wraps & long
    bends = np.where(long & ~broken, round_about, _APART)
    return bends, tuple(np.flatnonzero(broken).tolist())


# Boxes --------------------------------------------------------------------------------------------


def _boxes(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Nodes in boxes of one size, or nothing."""
    for found in _possible_boxes(topology):
        sizes = set(map(len, found))
        if len(found) > 1 and len(sizes) == 1 and min(sizes) > 1:
            return tuple(sorted(map(tuple, found)))
    return ()


def _possible_boxes(topology: Topology) -> Iterator[Collection[list[int]]]:
    """The nodes whose fastest link leads to the same switch, then from the largest down the sets
    of nodes joined by links that carry more than those between the sets."""
    members: dict[int, list[int]] = {}
    if topology.fabric is not None:
        for node, fastest in fastest_neighbours(topology.fabric).items():
            members.setdefault(fastest, []).append(node)
    if min(members, default=0) >= topology.num_nodes == sum(map(len, members.values())):
        yield members.values()
    share = [Fraction(0)] * len(topology.links)
    for bound, links in zip(topology.bounds, topology.bound_links, strict=True):
        each = bound.chunks_per_round / len(links)
        for link in links.tolist():
            share[link] = min(share[link] or each, each)
    for slow, fast in pairwise(sorted(set(share))):
        if fast >= _FASTER * slow:
            label = connected_by(topology, np.array([speed >= fast for speed in share]))
            yield [np.flatnonzero(label == box).tolist() for box in np.unique(label)]


def _box_places(
    nodes: int, boxes: tuple[tuple[int, ...], ...], fabric: Fabric | None
) -> tuple[Floats, dict[int, Floats]]:
    """The places of the nodes and of the switches of boxes: a square of boxes, or a few in two
    columns that mirror each other.  Nodes that only a switch joins are a column, others a circle.
    """
    size, facing = len(boxes[0]), len(boxes) <= _MOST_FACING
    fastest = fastest_neighbours(fabric) if fabric is not None else {}
    hubs = [fastest[box[0]] for box in boxes if fastest.get(box[0], 0) >= nodes]
    column = bool(hubs) and facing and size <= _LONGEST_COLUMN
    ends = [] if fabric is None else [(x.source, x.destination) for x in fabric.links]
    if column and all(max(pair) >= nodes for pair in ends):
        at, hub = (0.0, 1.8) if any(a == hubs[0] and b >= nodes for a, b in ends) else (1.8, 0.0)
        inner = np.array([(at, n) for n in range(size)] + [(hub, (size - 1) / 2)])
    else:
        # A turn by a quarter of a step gives every node of a circle a height of its own.
        inner = _circle(size, 0.25 * facing) if size <= _LARGEST_BOX_CIRCLE else _rows(size)
        inner = np.vstack([inner, inner.mean(axis=0) - (size > _LARGEST_BOX_CIRCLE) * 0.5])
    inner = inner - inner.min(axis=0)
    width, height = inner.max(axis=0) + 1.6
    if facing and fabric is not None and fabric.num_switches > len(hubs):
        width += 2.8 if fabric.num_switches >= nodes else 1.4  # for switches and network cards
    columns, gap = max(2, ceil(len(boxes) ** 0.5)), 0.0
    if fabric is not None and not facing:  # an even number of rows, with switches in their middle
        columns, gap = ceil(len(boxes) / (2 * round(len(boxes) ** 0.5 / 2))), 2.4
    places, known = np.zeros((nodes, 2)), dict[int, Floats]()
    for number, box in enumerate(boxes):
        lower = 2 * (number // columns) * columns >= len(boxes)
        corner = np.array([number % columns * width, number // columns * height + gap * lower])
        mirrored = facing and number % columns == 1
        own = inner * (-1, 1) + (inner[:, 0].max(), 0) if mirrored else inner
        places[list(box)] = own[:-1] + corner
        known.update(dict.fromkeys(hubs[number : number + 1], own[-1] + corner))
    return places, known


def _rows(nodes: int) -> Floats:
    columns = isqrt(nodes - 1) + 1
    return np.array([(n % columns, n // columns) for n in range(nodes)], dtype=float)


# Everything else ----------------------------------------------------------------------------------


def _circle(nodes: int, turned: float = 0.0) -> Floats:
    """Clockwise from the top, turned by a part of a step; a row for one or two nodes."""
    if nodes < 3:
        return np.array([(n, 0) for n in range(nodes)], dtype=float)
    radius = 0.5 / sin(pi / nodes)
    turns = [2 * pi * (n + turned) / nodes for n in range(nodes)]
    return np.array([(radius * sin(turn), -radius * cos(turn)) for turn in turns])


def _springs(nodes: int, links: Ints) -> Floats:
    """Kamada & Kawai, scaled so that most neighbours are 1 apart."""
    import igraph

    edges = sorted({(min(a, b), max(a, b)) for a, b in links.tolist()})
    start = _circle(nodes) + 1e-3 * np.array(list(product((0, 1), repeat=2)))[np.arange(nodes) % 4]
    graph = igraph.Graph(n=nodes, edges=edges)
    places = np.array(graph.layout_kamada_kawai(seed=start.tolist()).coords, dtype=float)
    ends = np.array(edges)
    length = float(np.median(np.linalg.norm(places[ends[:, 0]] - places[ends[:, 1]], axis=1)))
    places = places / (length or 1.0) * 1.3
    found: Floats = np.round(places - places.min(axis=0), 3)
    return found
