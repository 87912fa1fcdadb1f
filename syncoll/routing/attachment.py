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
    below = _dealt({node: sorted(some) for node, some in near.items()}, beyond)
    others = [(node, w) for node, some in near.items() for w in some if node not in below[w]]
    dropped = {*others, *((w, node) for node, w in others)}
    return {ends: width for ends, width in widths.items() if ends not in dropped}


def _dealt(near: Mapping[int, list[int]], beyond: Mapping[int, Fraction]) -> dict[int, set[int]]:
    """The nodes of each switch, with the least sum of their squared numbers over bandwidths.
    Nodes are shifted along paths of switches (Harvey et al., "Semi-matchings for bipartite graphs
    and load balancing")."""
    below = {w: set[int]() for some in near.values() for w in some}
    rate = {w: beyond[w] or Fraction(1) for w in below}
    for node in sorted(near, key=lambda node: (len(near[node]), node)):
        first = min(near[node], key=lambda w: ((2 * len(below[w]) + 1) / rate[w], w))
        below[first].add(node)
        _shift(first, near, below, rate)
    return below


def _shift(
    full: int,
    near: Mapping[int, list[int]],
    below: Mapping[int, set[int]],
    rate: Mapping[int, Fraction],
) -> None:
    """Moves one node away from a switch along the path that ends at the least full one."""
    came: dict[int, tuple[int, int] | None] = {full: None}
    front = [full]
    for w in front:
        for node in sorted(below[w], key=lambda node: (len(near[node]), node)):
            for other in near[node]:
                if other not in came:
                    came[other] = (node, w)
                    front.append(other)
    last = min(came, key=lambda w: ((2 * (len(below[w]) - (w == full)) + 1) / rate[w], w))
    while (step := came[last]) is not None:
        node, before = step
        below[before].remove(node)
        below[last].add(node)
        last = before
