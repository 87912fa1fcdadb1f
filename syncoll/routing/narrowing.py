"""Narrows leaf switches to the traffic that must pass them.

A leaf switch with several nodes of its own is split in two: a half at its nodes and a half at its
uplinks.  The link between them carries each tree rooted elsewhere into the leaf once, and the rest
of the bandwidth out of it.  If all trees still fit, the rest of the network has leaves in place of
nodes.
"""

from __future__ import annotations

from collections.abc import Callable

from syncoll.routing.network import Network, Path, Pieces
from syncoll.routing.reduction import is_feasible

__all__ = ["by_leaves"]


def by_leaves(network: Network, remove: Callable[[Network], None]) -> bool:
    """Removes all switches of a network in place, with narrowed leaf switches.

    Args:
        network: all trees fit, and every switch receives as much as it sends.
        remove: removes all switches in place.

    Returns:
        False, with nothing changed, if no leaf switch can be narrowed or trees would not fit.
    """
    below = {w: nodes for w in network.switches() if (nodes := _own(network, w))}
    room = {w: _room(network, w, nodes) for w, nodes in below.items()}
    halves = [w for w, (into, out) in room.items() if into and out]
    first, physical = network.num_vertices, len(network.home)
    upper = {w: first + i for i, w in enumerate(halves)}
    # Paths start and end at the upper half as if it were a switch of its own.
    here = {w: network.pieces[w, next(iter(network.out[w]))][0][0][0] for w in halves}
    there = {here[w]: physical + i for i, w in enumerate(halves)}
    demand, home = [*network.demand, *[0] * len(halves)], [*network.home, *upper.values()]
    narrow = Network(demand, network.terminals, home)
    for (u, v), pieces in network.pieces.items():
        if v in below.get(u, ()) or u in below.get(v, ()):
            narrow.add(u, v, list(pieces))
            continue
        moved = [((there.get(p[0], p[0]), *p[1:-1], there.get(p[-1], p[-1])), n) for p, n in pieces]
        narrow.add(upper.get(u, u), upper.get(v, v), moved)
    for w in halves:
        into, out = room[w]
        narrow.add(upper[w], w, [((there[here[w]], here[w]), into)])
        narrow.add(w, upper[w], [((here[w], there[here[w]]), out)])
    if not halves or not is_feasible(narrow):
        return False
    remove(narrow)
    back = {half: place for place, half in there.items()}
    narrow.pieces = {ends: _rejoined(pieces, back) for ends, pieces in narrow.pieces.items()}
    network.become(narrow)
    return True


def _rejoined(pieces: Pieces, back: dict[int, int]) -> Pieces:
    """Paths through a switch in place of its halves."""
    found: Pieces = []
    for path, units in pieces:
        if back.keys().isdisjoint(path):
            found.append((path, units))
            continue
        kept: Path = ()
        for v in path:
            place = back.get(v, v)
            if kept[-1:] != (place,):
                kept += (place,)
        found.append((kept, units))
    return found


def _own(network: Network, w: int) -> set[int]:
    """Terminals linked only to this switch, if there are at least two, and other ports as well."""
    ports = {*network.into[w], *network.out[w]}
    own = {
        v for v in ports if network.is_terminal[v] and {*network.into[v], *network.out[v]} == {w}
    }
    return own if 1 < len(own) < len(ports) else set()


def _room(network: Network, w: int, own: set[int]) -> tuple[int, int]:
    """Units into and out of a narrowed leaf; 0 where it cannot be narrowed."""
    inward = sum(network.into[w].get(v, 0) for v in own)
    outward = sum(network.out[w].get(v, 0) for v in own)
    into = network.total - sum(network.demand[v] for v in own)
    out = into + inward - outward
    most_in = sum(network.into[w].values()) - inward
    most_out = sum(network.out[w].values()) - outward
    if not 0 < into <= most_in or not 0 < out <= most_out or (into, out) == (most_in, most_out):
        return 0, 0
    return into, out
