"""The copying switches at which trees branch.

For trees a switch that copies is a compute node without data: it stays when other switches are
removed, and trees that span it can be packed if every cut around it carries them (Edmonds).  This
costs nothing if all data can reach the switch at the optimal throughput.

Otherwise a cut with only such switches behind it does not bound the problem.  A switch that
receives as much as it sends is then treated like the others: edge splitting keeps the bandwidth of
compute nodes.  For an unbalanced switch the faster of two ways is taken; neither need attain the
bound of the cut, with which the forest is compared.

* Trees reach it nevertheless.
* Its excess bandwidth in or out is removed, unless a neighbour would lose its balance.  The trees
  may be faster on the original network.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from fractions import Fraction

from syncoll.model.fabric import Fabric
from syncoll.routing.optimality import (
    Bottleneck,
    bottleneck,
    imbalance,
    network_of,
    require_balanced,
)


@dataclass(frozen=True)
class Branching:
    """The network that trees are packed into.

    Args:
        junctions: switches that every tree reaches and may branch at, ascending.
        reach: the throughput of such trees in `fabric`.
    """

    fabric: Fabric
    junctions: tuple[int, ...]
    reach: Bottleneck


def branching(fabric: Fabric, optimum: Bottleneck) -> Branching:
    """The junctions of trees that lead away from their roots; `optimum` is the bound of the cuts.
    Raises `ModelError` if a switch that copies nothing receives more than it sends, or less.  A
    `UsageError` if bandwidths need integers beyond 64 bits.
    """
    require_balanced(fabric, fabric.multicast)
    wide = _wide(fabric, optimum)
    ingress, egress = fabric.ingress(), fabric.egress()
    uneven = [w for w in fabric.multicast if w not in wide and ingress[w] != egress[w]]
    if not uneven:
        return Branching(fabric, wide, optimum)
    root = next(v for v, weight in enumerate(optimum.weights) if weight)
    reached = fabric.reached_from(root)
    ways = []
    narrow = _narrowed(fabric, uneven, wide)
    if narrow is not None:
        reach = bottleneck(narrow, optimum.weights, wide)
        ways.append(Branching(narrow, wide, reach))
    spanned = tuple(sorted({*wide, *uneven}))
    if reached.issuperset(spanned):
        ways.append(Branching(fabric, spanned, bottleneck(fabric, optimum.weights, spanned)))
    if not ways:
        require_balanced(fabric, wide)
    return min(ways, key=lambda way: way.reach.time)


def with_direct_copies(fabric: Fabric) -> Fabric:
    """The network in which a switch copies only if no other switch sends to it.

    A forwarding switch counts every send that passes it, even if a switch behind it copies
    (`syncoll.model.counting`).  So a tree that branches there is slower than a tree through a node.
    If a switch receives less than it sends, it has to copy; then all switches do.
    """
    able = set(fabric.multicast)
    while True:
        through = {
            v for u, v in fabric.bandwidths if v in able and u >= fabric.num_nodes and u not in able
        }
        if not through:
            break
        able -= through
    return fabric if imbalance(fabric, able) else replace(fabric, multicast=tuple(sorted(able)))


def _wide(fabric: Fabric, optimum: Bottleneck) -> tuple[int, ...]:
    """The switches that all data can reach at the optimal throughput, and that lead anywhere."""
    if not fabric.multicast:
        return ()
    demand = [optimum.k * weight for weight in optimum.weights]
    network = network_of(fabric, demand, lambda b: int(optimum.scale * b))
    flow, _ = network.root_flow()
    source = network.num_vertices
    return tuple(
        w for w in fabric.multicast if network.out[w] and flow.maximum(source, w) >= network.total
    )


def _narrowed(fabric: Fabric, uneven: Collection[int], wide: Collection[int]) -> Fabric | None:
    """The network with these switches balanced; None if another would lose its balance."""
    nodes = fabric.num_nodes
    ingress, egress = fabric.ingress(), fabric.egress()
    factor: dict[tuple[int, int], Fraction] = {}
    for u, v in fabric.bandwidths:
        for switch, other, mine, theirs in ((u, v, egress, ingress), (v, u, ingress, egress)):
            if switch in uneven:
                if other >= nodes and other not in wide:
                    return None
                if mine[switch] > theirs[switch]:
                    factor[u, v] = theirs[switch] / mine[switch]
    links = [
        replace(x, bandwidth=x.bandwidth * factor.get((x.source, x.destination), Fraction(1)))
        for x in fabric.links
    ]
    return replace(fabric, links=tuple(x for x in links if x.bandwidth))
