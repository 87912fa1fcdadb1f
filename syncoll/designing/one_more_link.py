"""Ranks new links, in both directions, by their gain for a machine (docs/design.md).

One pair of nodes of each orbit of automorphisms is examined.  The prices that prove the bound
without a new link (`syncoll.certificates.ways`) limit its gain: a round costs at most ``1 + w *
(way(a, b) + way(b, a))``, where w is the bandwidth of the new link each way.  All pairs of an orbit
have one bound, so the largest limit counts.  Bounds are proved for the most promising pairs; for
the others the limits are reported.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np

from syncoll.arrays import Ints
from syncoll.certificates import RoundsBound
from syncoll.designing.candidates import BuildCosts, MachineCandidate, ports_of
from syncoll.errors import ModelError
from syncoll.model import BandwidthBound, Collective, Fabric, FabricLink, RelationTable, Topology
from syncoll.model.components import least_of_orbits
from syncoll.results import LowerBounds
from syncoll.routing import as_topology
from syncoll.symmetry.candidates import automorphism_generators
from syncoll.symmetry.structure import Structure

_GRID = 1 << 40
"""Prices are rounded up to multiples of the largest one over this."""

_UNREACHABLE = 1 << 60


@dataclass(frozen=True, eq=False)
class Extension:
    """A pair of nodes for a new link; with it, for each collective a bound on R/C, None if unknown,
    and `far`, the sum of all distances."""

    ends: tuple[int, int]
    images: int
    at_least: Mapping[str, Fraction | None]
    far: int


def extensions(
    topology: Topology, asked: Sequence[tuple[Collective, LowerBounds]]
) -> list[Extension]:
    """One pair of nodes of each orbit, the most promising first; `asked` has the bounds on the
    original machine."""
    added = usual_bandwidth(topology)
    if topology.fabric is not None:
        added /= topology.fabric.chunk_bandwidth
    bounds = {collective.name: found for collective, found in asked}
    tables = [collective.table_on(topology, found.chunks) for collective, found in asked]
    label = _orbits(topology, tables)
    first, second = np.triu_indices(topology.num_nodes, 1)
    shared = {link for bound in topology.bounds if len(bound.links) > 1 for link in bound.links}
    if topology.fabric is not None:
        shared = set()
    ways = {name: _ways(topology, found.any_steps) for name, found in bounds.items()}
    found = []
    for orbit in np.unique(label).tolist():
        pairs = np.flatnonzero(label == orbit)
        a, b = int(first[pairs[0]]), int(second[pairs[0]])
        if (a, b) in shared or (b, a) in shared:
            continue  # a shared bound does not define the bandwidth of a second cable
        at_least: dict[str, Fraction | None] = {}
        for name, one in bounds.items():
            at_least[name] = None
            if (price := ways[name]) is not None:
                unit, distance = price
                both = distance[first[pairs], second[pairs]] + distance[second[pairs], first[pairs]]
                cost = 1 + added * int(both.min()) * unit
                at_least[name] = one.bandwidth / cost if both.min() < _UNREACHABLE else Fraction(0)
        found.append(Extension((a, b), len(pairs), at_least, _far(topology, a, b)))

    def promise(one: Extension) -> tuple[Fraction, int, tuple[int, int]]:
        """The possible gain of the pair; an estimate if the network has switches."""
        least = (
            (value or Fraction(0)) / bounds[name].bandwidth
            if bounds[name].bandwidth
            else Fraction(1)
            for name, value in one.at_least.items()
        )
        return sum(least, Fraction(0)), one.far, one.ends

    found.sort(key=promise)
    if topology.fabric is None and not topology.counts_copies:
        return found
    # With switches, data may take other routes after a new link, and several sends may count as
    # one; so no limit is proved.
    unknown = dict.fromkeys(bounds)
    return [replace(one, at_least=unknown) for one in found]


def with_link(base: MachineCandidate, ends: tuple[int, int]) -> MachineCandidate:
    """The machine with a link of `usual_bandwidth` between two nodes, in both directions.  Raises
    `ModelError` if the network of switches gives no valid topology."""
    topology, (a, b) = base.topology, ends
    name, added = f"{topology.name} + {a}-{b}", usual_bandwidth(topology)
    if topology.fabric is not None:
        made = as_topology(_fabric_with(topology.fabric, name, ends, added, topology.grains))
    else:
        own = {(a, b), (b, a)}
        bounds = [
            replace(bound, chunks_per_round=bound.chunks_per_round + added)
            if len(bound.links) == 1 and bound.links[0] in own
            else bound
            for bound in topology.bounds
        ]
        new = sorted(own.difference(topology.links))
        bounds += [BandwidthBound((link,), added, "the new link") for link in new]
        links = tuple(sorted({*topology.links, *own}))
        made = Topology(name, topology.num_nodes, links, tuple(bounds), grains=topology.grains)
    # Parallel cables are one link, and each has its cost.
    ports = ports_of(topology)
    most = max(base.costs.ports, ports[a] + 1, ports[b] + 1)
    return MachineCandidate(
        made, replace(BuildCosts.of(made), links=base.costs.links + 2, ports=most)
    )


def usual_bandwidth(topology: Topology) -> Fraction:
    """The most frequent bandwidth of links that leave a node, the least of several, in the units of
    the physical network, if there is one."""
    fabric = topology.fabric
    if fabric is not None:
        rates = [link.bandwidth for link in fabric.links if link.source < fabric.num_nodes]
    else:
        rates = [bound.chunks_per_round for bound in topology.bounds if len(bound.links) == 1]
        rates = rates or [bound.chunks_per_round for bound in topology.bounds]
    if not rates:
        raise ModelError(f"{topology.name} has no links", topology.origin, "at least one link")
    tally = Counter(rates)
    return min(rates, key=lambda rate: (-tally[rate], rate))


def _fabric_with(
    fabric: Fabric, name: str, ends: Sequence[int], added: Fraction, grains: int
) -> Fabric:
    """A physical network with one more cable between two nodes; parallel cables are merged."""
    links = {(link.source, link.destination): link for link in fabric.links}
    for a, b in (tuple(ends), tuple(reversed(ends))):
        known = links.get((a, b))
        total = added + (known.bandwidth if known is not None else 0)
        links[a, b] = FabricLink(a, b, total, "the new link")
    own = tuple(links[key] for key in sorted(links))
    return replace(fabric, name=name, links=own, grains=grains)


def _orbits(topology: Topology, tables: Sequence[RelationTable]) -> Ints:
    """``[P (P - 1) / 2]``: for each pair of nodes the least position of a pair in its orbit, under
    automorphisms that preserve the collectives, too."""
    nodes = topology.num_nodes
    first, second = np.triu_indices(nodes, 1)
    position = np.zeros((nodes, nodes), dtype=np.int64)
    position[first, second] = position[second, first] = np.arange(len(first))
    kept = [Structure(topology, table) for table in (None, *tables)]
    generators = [
        one for one in automorphism_generators(kept[0]) if all(each.keeps(one) for each in kept)
    ]
    moved = [position[images[first], images[second]] for images in generators]
    return least_of_orbits(len(first), moved)


def _ways(topology: Topology, bound: RoundsBound) -> tuple[Fraction, Ints] | None:
    """A unit of price, and ``[P, P]`` upper bounds on the prices of cheapest ways in this unit;
    None if the bound is not proved by prices of ways."""
    proof = bound.certificate
    if proof is None or proof.argument.of_sums:
        return None
    totals = {i: price for (i, _), price in proof.prices.items()}
    if bound.method == "cut":
        room = sum((topology.bounds[i].chunks_per_round for i in totals), Fraction(0))
        totals = dict.fromkeys(totals, 1 / room)
    price = [
        sum((totals.get(i, Fraction(0)) for i in own), Fraction(0)) for own in topology.link_bounds
    ]
    unit = max(price) / _GRID
    way = np.full((topology.num_nodes,) * 2, _UNREACHABLE, dtype=np.int64)
    np.fill_diagonal(way, 0)
    for (a, b), one in zip(topology.links, price, strict=True):
        way[a, b] = ceil(one / unit)
    for via in range(topology.num_nodes):  # Floyd and Warshall
        np.minimum(way, way[:, via, None] + way[via], out=way)
    return unit, np.minimum(way, _UNREACHABLE)


def _far(topology: Topology, a: int, b: int) -> int:
    """The sum of all distances with a link between two nodes."""
    d = topology.distances.astype(np.int64)
    way = np.minimum(d[:, a, None] + 1 + d[b], d[:, b, None] + 1 + d[a])
    return int(np.minimum(d, way).sum())
