"""The damaged machine: a topology without its broken parts, and its physical network, if it has
one.

A chunk per round keeps its meaning from the whole machine, so that R/C of the two can be compared.
If the topology was made from a physical network, the cables and switches of that network break.
The topology is then made again, and its routes may differ.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from syncoll.damage.damage import Affected, Damage, affected_by
from syncoll.errors import ModelError, UsageError
from syncoll.model import UNREACHABLE, BandwidthBound, Fabric, Topology
from syncoll.routing import as_topology, routed


@dataclass(frozen=True, eq=False)
class Damaged:
    """A machine without its broken parts; `nodes` has the number in the whole machine of each
    node."""

    whole: Topology
    topology: Topology
    damages: tuple[Damage, ...]
    nodes: tuple[int, ...]

    @property
    def lost_nodes(self) -> tuple[int, ...]:
        """The removed nodes, numbered as in the whole machine."""
        return tuple(sorted({*range(self.whole.num_nodes)}.difference(self.nodes)))

    @property
    def words(self) -> str:
        """``without link 3->6 and node 5 and with link 2->3 by 2``."""
        return _joined(self.damages, lambda one: one.words)


def _joined(damages: Sequence[Damage], spelled: Callable[[Damage], str]) -> str:
    """The damages in words; ``and`` joins simultaneous ones, others follow each other."""
    broken = [spelled(one) for one in damages if one.factor is None]
    slow = [spelled(one) for one in damages if one.factor is not None]
    parts = [f"without {' and '.join(broken)}"] if broken else []
    parts += [f"with {' and '.join(slow)}"] if slow else []
    return " and ".join(parts)


def _name(topology: Topology, damages: Sequence[Damage]) -> str:
    """The name of the damaged machine in the spec language."""
    return f"{topology.name} {_joined(damages, lambda one: one.in_the_language)}"


def damaged(topology: Topology, damages: Sequence[Damage]) -> Damaged:
    """The topology without its broken parts.  Raises `UsageError` if a damage names no part, or no
    node remains, and `ModelError` if the remaining network of switches makes no topology."""
    found = _once(damages)
    fabric, is_routed = cables_of(topology)
    what = affected_by(topology if fabric is None else fabric, found)
    nodes = tuple(n for n in range(topology.num_nodes) if n not in what.vertices)
    if not nodes:
        raise UsageError(f"no node of {topology.name} remains")
    name = _name(topology, found)
    if fabric is None:
        left = _without(replace(topology, fabric=None), what, nodes, name)
    else:
        cables = _fabric_without(fabric, what, nodes, name)
        try:
            left = as_topology(replace(cables, grains=topology.grains))
            left = replace(routed(left), name=name) if is_routed else left
        except ModelError as error:
            raise ModelError(
                f"the rest of {topology.name} makes no topology: {error.message}",
                error.origin,
                error.expected,
            ) from None
    return Damaged(topology, left, found, nodes)


def connections(topology: Topology, damages: Sequence[Damage]) -> Damaged:
    """The remaining nodes, with a link from each node to all that its data can reach by any route;
    errors as `damaged`.

    A collective that is impossible there is impossible on the damaged machine, too.  This also
    holds if the remaining cables make no topology.  The result has no meaning for costs.
    """
    found = _once(damages)
    fabric, _ = cables_of(topology)
    if fabric is None:
        return damaged(topology, found)
    what = affected_by(fabric, found)
    nodes = tuple(n for n in range(topology.num_nodes) if n not in what.vertices)
    name = _name(topology, found)
    cables = _fabric_without(fabric, what, nodes, name)
    ways = Topology.from_links(name, cables.num_vertices, dict.fromkeys(cables.bandwidths, 1))
    reached = ways.distances[: len(nodes), : len(nodes)] < UNREACHABLE
    pairs = [(a, b) for a, b in np.argwhere(reached).tolist() if a != b]
    return Damaged(
        topology, Topology.from_links(name, len(nodes), dict.fromkeys(pairs, 1)), found, nodes
    )


def _once(damages: Sequence[Damage]) -> tuple[Damage, ...]:
    """The damages without repetitions of a broken part; repeated slowdowns multiply."""
    broken = {one.words: one for one in reversed(damages) if one.factor is None}
    return tuple(one for one in damages if one.factor is not None or broken[one.words] is one)


def cables_of(topology: Topology) -> tuple[Fabric | None, bool]:
    """The physical network that a topology follows from, and whether its steps are routed."""
    fabric = topology.fabric
    if fabric is None:
        return None, False
    try:
        direct = as_topology(fabric)
        if direct.same_as(topology):
            return fabric, False
        if not fabric.num_switches and routed(direct).same_as(topology):
            return fabric, True
    except ModelError:
        pass
    return None, False  # it has more than its cables imply


def _fabric_without(fabric: Fabric, what: Affected, nodes: tuple[int, ...], name: str) -> Fabric:
    """The remaining cables.  A broken switch stays without any: the others keep their numbers."""
    number = {node: i for i, node in enumerate(nodes)}
    for switch in range(fabric.num_nodes, fabric.num_vertices):
        number[switch] = len(nodes) + switch - fabric.num_nodes
    links = []
    for one in fabric.links:
        ends = (one.source, one.destination)
        if ends in what.links or not what.vertices.isdisjoint(ends):
            continue
        bandwidth = one.bandwidth / what.slower.get(ends, Fraction(1))
        source, destination = (number[end] for end in ends)
        links.append(replace(one, source=source, destination=destination, bandwidth=bandwidth))
    unit = fabric.chunk_bandwidth if fabric.measure == "GB/s" else None
    multicast, reduce = (
        tuple(number[switch] for switch in some) for some in (fabric.multicast, fabric.reduce)
    )
    return replace(
        fabric,
        name=name,
        num_nodes=len(nodes),
        links=tuple(links),
        unit=unit,
        multicast=multicast,
        reduce=reduce,
    )


def _without(topology: Topology, what: Affected, nodes: tuple[int, ...], name: str) -> Topology:
    """The remaining links, with the bandwidth that they share unchanged.

    A slower link has a fraction of its own bandwidth, as in `simulate`.  A link with only shared
    bandwidth gets a bound of its own: a fraction of the narrowest shared one.
    """
    number = {node: i for i, node in enumerate(nodes)}
    kept = {
        (a, b): (number[a], number[b])
        for a, b in topology.links
        if (a, b) not in what.links and a in number and b in number
    }
    bounds = []
    for i, bound in enumerate(topology.bounds):
        links = tuple(sorted(kept[link] for link in bound.links if link in kept))
        if links:
            rate = bound.chunks_per_round / what.shared.get(i, Fraction(1))
            if len(bound.links) == 1:
                rate /= what.slower.get(bound.links[0], Fraction(1))
            bounds.append(replace(bound, links=links, chunks_per_round=rate))
    for link, factor in sorted(what.slower.items()):
        over = [topology.bounds[i] for i in topology.link_bounds[topology.link_index[link]]]
        if link in kept and all(len(bound.links) > 1 for bound in over):
            rate = min(bound.chunks_per_round for bound in over) / factor
            bounds.append(BandwidthBound((kept[link],), rate, "slower than it was"))
    links = tuple(sorted(kept.values()))
    return Topology(name, len(nodes), links, tuple(bounds), topology.origin, grains=topology.grains)
