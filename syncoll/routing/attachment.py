"""One switch for each node, where routes would part in several equally near ones.

A node with cables to several network cards has a shortest route over each.  If the bandwidth of a
card is dealt out to its nodes beforehand, an idle node's share is lost.  A node that reaches only
one card gets little of it.  If each node keeps the cables to one card instead, no route parts
there, and the nodes of a card share its bandwidth in every step anew.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from syncoll.model.topology import Link


def one_switch_each(
    num_nodes: int, widths: Mapping[Link, Fraction], switches: Iterable[int]
) -> dict[Link, Fraction] | None:
    """The links without all but one of the given switches at each node; None if no node has
    several.  The nodes of a switch are in proportion to its bandwidth to other vertices than nodes,
    as nearly as possible.

    Args:
        widths: of the directed links.
        switches: where routes part.
    """
    among = set(switches)
    near: dict[int, set[int]] = {}
    for ends in widths:
        node, switch = min(ends), max(ends)
        if node < num_nodes and switch in among:
            near.setdefault(node, set()).add(switch)
    if all(len(some) == 1 for some in near.values()):
        return None
    beyond = dict.fromkeys(sorted(among), Fraction(0))
    for (u, v), width in widths.items():
        if u in among and v >= num_nodes:
            beyond[u] += width
    dropped: set[Link] = set()
    for nodes in _joined(near):
        chosen = _dealt({node: sorted(near[node]) for node in nodes}, beyond)
        others = [(node, w) for node in nodes for w in near[node] if w != chosen[node]]
        dropped |= {*others, *((w, node) for node, w in others)}
    return {ends: width for ends, width in widths.items() if ends not in dropped}


def _joined(near: Mapping[int, set[int]]) -> list[list[int]]:
    """The nodes by components, which have no switch in common."""
    parts: list[tuple[list[int], set[int]]] = []
    for node, some in sorted(near.items()):
        touched = [part for part in parts if part[1] & some]
        parts = [part for part in parts if part not in touched]
        nodes = sorted([node, *(other for part in touched for other in part[0])])
        parts.append((nodes, some.union(*(part[1] for part in touched))))
    return [nodes for nodes, _ in parts]


def _dealt(near: Mapping[int, list[int]], beyond: Mapping[int, Fraction]) -> dict[int, int]:
    """A switch for each node, with the least sum of squared numbers of nodes over bandwidths.
    Nodes are shifted along paths of switches (Harvey et al., "Semi-matchings for bipartite graphs
    and load balancing")."""
    rate = {w: beyond[w] or Fraction(1) for some in near.values() for w in some}
    load = dict.fromkeys(rate, 0)
    chosen: dict[int, int] = {}
    for node in sorted(near, key=lambda node: (len(near[node]), node)):
        chosen[node] = min(near[node], key=lambda w: ((2 * load[w] + 1) / rate[w], w))
        load[chosen[node]] += 1
        _shift(chosen[node], near, chosen, load, rate)
    return chosen


def _shift(
    full: int,
    near: Mapping[int, list[int]],
    chosen: dict[int, int],
    load: dict[int, int],
    rate: Mapping[int, Fraction],
) -> None:
    """Moves one node away from a switch along the path that ends at the least full one."""
    came: dict[int, tuple[int, int] | None] = {full: None}
    below: dict[int, list[int]] = {}
    for node, w in chosen.items():
        below.setdefault(w, []).append(node)
    front = [full]
    for w in front:
        for node in below.get(w, ()):
            for other in near[node]:
                if other not in came:
                    came[other] = (node, w)
                    front.append(other)
    last = min(came, key=lambda w: ((2 * (load[w] - (w == full)) + 1) / rate[w], w))
    if last == full:
        return
    load[full] -= 1
    load[last] += 1
    while (step := came[last]) is not None:
        node, before = step
        chosen[node] = last
        last = before
