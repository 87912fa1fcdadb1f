"""Switches as drawn: their places among the nodes, and the cables that the sends of a link take."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from syncoll.arrays import Floats
from syncoll.errors import UsageError
from syncoll.model import Fabric, Topology
from syncoll.reporting.packing import pack
from syncoll.simulating import PhysicalNetwork, physical_network

Boxes = Sequence[Sequence[int]]

_MOST_VERTICES = 3000
_LEAST_APART = 0.55


def cabled(topology: Topology) -> PhysicalNetwork | None:
    """The cables of a network with switches, in chunks per round; None if they cannot be drawn."""
    fabric = topology.fabric
    if fabric is None or not 0 < fabric.num_switches <= fabric.num_vertices <= _MOST_VERTICES:
        return None
    try:
        return physical_network(topology, Fraction(0), Fraction(1))
    except UsageError:  # made by a version that routed in another way
        return None


def cables_entry(network: PhysicalNetwork) -> dict[str, Any]:
    """The cables for the page: their ends and rooms, and the number of ways of each link
    (``strands``); for each way its ``share`` of a send, as an index of ``shares``, and its
    ``lanes``, ``hops`` each, from 1 on and padded with 0."""
    return {
        "ends": pack([lane.ends or () for lane in network.lanes]),
        "rooms": [float(lane.bandwidth) for lane in network.lanes],
        "strands": pack(np.diff(network.first_strand)),
        "hops": network.strand_lanes.shape[1],
        "lanes": pack(network.strand_lanes + 1),
        "share": pack(network.strand_share),
        "shares": [float(share) for share in network.shares],
    }


def fastest_neighbours(fabric: Fabric) -> dict[int, int]:
    """For each node the first of the vertices that its fastest link leads to."""
    found: dict[int, tuple[Fraction, int]] = {}
    for link in fabric.links:
        if link.source < fabric.num_nodes:
            now = (link.bandwidth, -link.destination)
            found[link.source] = max(now, found.get(link.source, now))
    return {node: -negative for node, (_, negative) in found.items()}


def place_switches(
    fabric: Fabric, nodes: Floats, boxes: Boxes, hubs: Mapping[int, Floats], facing: bool
) -> tuple[Floats, tuple[tuple[int, ...], ...]]:
    """The places ``[W, 2]``, and for each box its nodes, its switch and its network cards.  Cards
    are next to their nodes.  Switches outside boxes (not in `hubs`) stand between columns
    (`facing`) or rows of boxes, in the centre of a circle, or below the nodes."""
    first, near = len(nodes), [set[int]() for _ in range(fabric.num_vertices)]
    for a, b in fabric.bandwidths:
        near[a].add(b)
        near[b].add(a)
    at = np.vstack([nodes, np.full((fabric.num_switches, 2), np.nan)])
    at[list(hubs)] = np.array(list(hubs.values())).reshape(-1, 2)
    switches = range(first, len(near))
    cards = [s for s in switches if [v < first for v in sorted(near[s])] == [True, False]]
    for card in cards:
        node = min(near[card])
        box = next((box for box in boxes if node in box), range(first))
        away = nodes[node] - nodes[list(box)].mean(axis=0)
        if np.ptp(nodes[list(box), 0]) == 0:  # from a column to the other one
            away = nodes.mean(axis=0) * (1, 0) - nodes[node] * (1, 0)
        at[card] = nodes[node] + 0.9 * away / (np.hypot(*away) or 1.0)
    placed, levels = {*range(first), *hubs, *cards}, list[list[int]]()
    while rest := [s for s in switches if s not in placed]:
        levels.append([s for s in rest if near[s] & placed] or rest)
        placed.update(levels[-1])
    low, high = nodes.min(axis=0), nodes.max(axis=0)
    heights = np.unique(nodes[:, 1].round(3))
    widest = int(np.diff(heights, append=heights[-1:]).argmax())
    below = (
        float(heights[widest : widest + 2].mean()) if len(levels) == 1 and boxes else high[1] + 1.6
    )
    upright = len(levels) == 1 and (facing or (not boxes and len(levels[0]) == 1))
    for number, level in enumerate(levels):
        axis = int(upright)
        known = ([at[v, axis] for v in near[s] if at[v, 0] == at[v, 0]] for s in level)
        middles = [float(np.mean(own or nodes[:, axis])) for own in known]
        order = np.argsort(middles, kind="stable")
        along = _spread(np.array(middles)[order], low[axis], high[axis])
        across = (low[0] + high[0]) / 2 if upright else below + 1.4 * number
        for i, x in zip(order.tolist(), along.tolist(), strict=True):
            at[level[i]] = (across, x) if upright else (x, across)
    own = [*hubs, *cards]
    return at[first:], tuple((*box, *(s for s in own if near[s] & set(box))) for box in boxes)


def _spread(wanted: Floats, low: float, high: float) -> Floats:
    """Ascending places as they are, or evenly apart where some are too near each other."""
    count = len(wanted)
    if count < 2 or np.diff(wanted).min() >= _LEAST_APART:
        return wanted
    half = max(high - low, _LEAST_APART * count) / 2 * (1 - 1 / count)
    return (low + high) / 2 + np.linspace(-half, half, count)
