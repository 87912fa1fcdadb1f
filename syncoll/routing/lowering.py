"""From a fabric to a topology: each physical link bounds the sends whose route uses it.

Sends go from compute node to compute node.  Between two of them data takes the shortest route
through switches, among routes of at least half the greatest width.  Each physical link becomes one
element of the relation B (SCCL paper, section 3.2.1) over all pairs whose route uses it.  The
routes carry all sends of a step within these bounds.  Several routes are made one:

1. Parallel switches are merged, which loses nothing (see `merging`).
2. Routes may part because nodes are linked to several switches, such as network cards.  Then each
   node keeps one (see `attachment`), if a broadcast from all nodes keeps most of its speed.
3. A switch without nodes of its own where shortest routes part is removed exactly (ForestColl
   paper, section 4.2): its bandwidth is dealt out to direct links between its neighbours, such that
   no broadcast from all nodes becomes slower.
4. Where routes part in a switch that has nodes, only its traffic from switch to switch is dealt out
   like that, and no other passes; if that is impossible, it is removed as well.
5. A broadcast from all nodes may need longer or narrower routes too (see `retention`). Then more
   switches are removed, first the ones that the shortest routes leave idle, until it is as fast
   over the routes as on the fabric.

Bandwidth dealt out to one pair of neighbours cannot help another pair any more.  A step in which
few pairs send much could thus take fewer rounds on the fabric itself.  Bounds that others imply are
left out.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from syncoll.errors import ModelError, UsageError
from syncoll.model import BandwidthBound, Counting, Fabric, Link, Topology
from syncoll.model.grains import grains_for
from syncoll.routing.attachment import one_switch_each
from syncoll.routing.merging import Merged, merge_switches
from syncoll.routing.network import Network, Path
from syncoll.routing.optimality import Bottleneck, bottleneck, network_of, require_balanced
from syncoll.routing.retention import MOST_PAIRS, keeps_rate
from syncoll.routing.shortest import ShortestRoutes, shortest_routes
from syncoll.routing.switch_removal import bypass_transit, remove_switch

MOST_LINKS = 1 << 20
"""Pairs of compute nodes that a topology may have links for."""

MOST_SHARED = 1 << 22
"""Links of all routes together."""

_PARTS = 12
"""Number of parts of a tree into which bandwidth is dealt out, to keep usual shares whole."""

_KEPT = Fraction(9, 10)
"""Share of the throughput of a broadcast from all nodes that is enough where each node keeps one
switch of several: the switch is shared in every step anew, which gains more where steps are few."""

_Capacities = dict[tuple[int, int], Fraction]


@dataclass(frozen=True, eq=False)
class Routing:
    """The routes of a topology's sends on the fabric from which it was made.

    Args:
        topology: its links are the pairs of compute nodes with a route.
        removed: the switches that were removed because routes parted there, in this order.
        bypassed: the switches that only nodes of their own still use, for the same reason.
        keeps_rate: whether a broadcast from all nodes is as fast over the routes as on the fabric;
            None if unknown: the fabric has too many nodes, is not connected or has an unbalanced
            switch.
        paths: for each link of the topology its route, in the network after merging and removing.
        pieces: for each link of that network, if not the fabric's own, loop-free paths in the
            merged fabric with the amounts that they carry of it.
    """

    topology: Topology
    merged: Merged
    removed: tuple[int, ...]
    bypassed: tuple[int, ...]
    keeps_rate: bool | None
    paths: Mapping[Link, Path]
    pieces: Mapping[tuple[int, int], list[tuple[Path, int]]]

    def pieces_of(self, link: Link) -> Iterator[list[tuple[Path, Fraction]]]:
        """Yields the parts of a link's route in order: parallel paths, each with its share."""
        for ends in pairwise(self.paths[link]):
            pieces = self.pieces.get(ends, [(ends, 1)])
            total = sum(units for _, units in pieces)
            yield [
                (physical, share * Fraction(units, total))
                for piece, units in pieces
                for physical, share in self.merged.expand(piece)
            ]


def route(
    fabric: Fabric, *, most_links: int = MOST_LINKS, most_shared: int = MOST_SHARED
) -> Routing:
    """Finds routes and bounds.
    Raises `ModelError` if the result would be too large, or routes part in a fabric that does not
    allow that.  Raises `UsageError` if routes part and the bandwidths need integers beyond 64 bits.

    Args:
        fabric: where shortest routes part, its switches must receive as much bandwidth as they
            send, and every node must reach every other one.
        most_links: pairs of compute nodes that may have a route.
    """
    merged = merge_switches(fabric)
    own = merged.fabric.bandwidths
    widths = capacities = own
    pieces: dict[tuple[int, int], list[tuple[Path, int]]] = {}
    removed: list[int] = []
    closed: set[int] = set()
    dealer = _Dealer(merged.fabric)
    routes = _routes(fabric, own, closed, most_links, most_shared)
    fewer = one_switch_each(fabric.num_nodes, own, routes.partings)
    if fewer is not None:
        single = _routes(fabric, fewer, closed, most_links, most_shared)
        narrowed = dealer.narrowed(fewer, single)
        if narrowed is not None:
            dealer, routes, widths, capacities = narrowed, single, fewer, fewer
    while True:
        if routes.partings:
            dealer.require_optimum(routes)
            going = []
            for switch in dealer.pick(routes):
                if routes.partings[switch].transit and dealer.bypass(switch):
                    closed.add(switch)
                else:
                    going.append(switch)
        else:
            kept = dealer.keeps_rate(capacities, routes)
            if kept is not False:
                break
            going = [dealer.idlest(routes)]
        for switch in going:
            remove_switch(dealer.network, switch)
            closed.discard(switch)
        removed += going
        capacities, pieces = dealer.capacities(), dealer.network.pieces
        # A dealt-out link is as wide as the links that it replaces, so that it is preferred.
        widths = {
            ends: max(min(own[x] for x in pairwise(path)) for path, _ in parts)
            for ends, parts in pieces.items()
        }
        routes = _routes(fabric, widths, closed, most_links, most_shared)
    if kept and dealer.least_rate is not None:
        kept = _Dealer(merged.fabric).keeps_rate(capacities, routes)
    topology = _topology(fabric, merged, capacities, routes.paths, pieces)
    straight = {
        ends: [(_without_loops(path), units) for path, units in parts]
        for ends, parts in pieces.items()
    }
    return Routing(
        topology, merged, tuple(removed), tuple(sorted(closed)), kept, routes.paths, straight
    )


def _without_loops(path: Path) -> Path:
    """A path that visits no vertex twice; exact removal may have sent it in circles."""
    last = {vertex: place for place, vertex in enumerate(path)}
    kept, place = [], 0
    while place < len(path):
        kept.append(path[place])
        place = last[path[place]] + 1
    return tuple(kept)


def _routes(
    fabric: Fabric, widths: _Capacities, closed: set[int], most_links: int, most_shared: int
) -> ShortestRoutes:
    routes = shortest_routes(
        fabric.num_nodes, fabric.num_vertices, widths, most_links, closed=closed
    )
    if routes is None or sum(len(path) - 1 for path in routes.paths.values()) > most_shared:
        raise ModelError(
            f"{fabric.name} has too many routes between its {fabric.num_nodes} nodes to write them "
            "out for algorithms of steps",
            fabric.origin,
            f"at most {most_links} pairs of nodes, and {most_shared} links on all their routes",
        )
    return routes


class _Dealer:
    """The network from which switches are removed; made when the first one is."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.least_rate: Fraction | None = None

    @cached_property
    def optimum(self) -> Bottleneck:
        """The throughput that must be kept; raises if switches cannot be removed."""
        require_balanced(self.fabric)
        return bottleneck(self.fabric)

    @cached_property
    def scale(self) -> Fraction:
        """Units of capacity for one unit of bandwidth."""
        return self.optimum.scale * _PARTS

    @cached_property
    def network(self) -> Network:
        """The network with the switches removed so far."""
        demand = [self.optimum.k * _PARTS] * self.fabric.num_nodes
        return network_of(self.fabric, demand, lambda b: int(b * self.scale))

    def require_optimum(self, routes: ShortestRoutes) -> None:
        """Raises ModelError, naming a switch where routes part, if switches cannot be removed."""
        try:
            _ = self.network
        except ModelError as error:
            switch, parting = min(routes.partings.items(), key=lambda item: item[0])
            fabric = self.fabric
            raise ModelError(
                f"{fabric.name} has several shortest routes from node {parting.source} to node "
                f"{parting.destination}, one of them over {fabric.vertex_name(switch)}, and its "
                f"bandwidth cannot be dealt out to them: {error.message}",
                error.origin or fabric.origin,
                error.expected,
            ) from None

    def narrowed(self, own: _Capacities, routes: ShortestRoutes) -> "_Dealer | None":
        """The fabric with some links only; None if a broadcast from all nodes loses much speed."""
        links = (x for x in self.fabric.links if (x.source, x.destination) in own)
        less = _Dealer(replace(self.fabric, links=tuple(links)))
        try:
            less.least_rate = _KEPT * self.optimum.rate
            if less.optimum.rate < less.least_rate:
                return None
        except (ModelError, UsageError):
            return None
        return None if not routes.partings and less.keeps_rate(own, routes) is False else less

    def keeps_rate(self, capacities: _Capacities, routes: ShortestRoutes) -> bool | None:
        """Whether the throughput is kept, all of it or `least_rate`; None if unknown."""
        fabric = self.fabric
        if max((max(ends) for ends in capacities), default=0) < fabric.num_nodes:
            return True  # no switch is left, and removing them costs nothing
        if len(routes.paths) > MOST_PAIRS:
            return None
        try:
            optimum, _ = self.optimum, self.network
        except (ModelError, UsageError):
            return None
        rate = min(self.least_rate or optimum.rate, optimum.rate)
        return keeps_rate(fabric.num_nodes, capacities, routes.paths, rate, [optimum.cut])

    def pick(self, routes: ShortestRoutes) -> list[int]:
        """The switches to go next: the farthest from all nodes; before others ones with transit."""
        distance, partings = self.network.distances(), routes.partings
        rank = {w: (distance.get(w, 0), partings[w].transit) for w in partings}
        first = max(rank.values())
        return sorted(w for w in partings if rank[w] == first)

    def idlest(self, routes: ShortestRoutes) -> int:
        """The switch with the largest share of bandwidth that no route uses."""
        network = self.network
        distance = network.distances()
        used = {ends for path in routes.paths.values() for ends in pairwise(path)}

        def rank(w: int) -> tuple[Fraction, int, int]:
            links = {(w, v): c for v, c in network.out[w].items()}
            links |= {(u, w): c for u, c in network.into[w].items()}
            idle = sum(c for ends, c in links.items() if ends not in used)
            return Fraction(idle, sum(links.values())), distance.get(w, 0), -w

        return max(network.switches(), key=rank)

    def bypass(self, switch: int) -> bool:
        """Deals out the traffic from switch to switch through a switch with nodes of its own."""
        network = self.network
        ends = {*network.into[switch], *network.out[switch]}
        return any(network.is_terminal[v] for v in ends) and bypass_transit(network, switch)

    def capacities(self) -> _Capacities:
        """The remaining bandwidths, in the fabric's measure."""
        return {(u, v): units / self.scale for u, v, units in self.network.links()}


def _topology(
    fabric: Fabric,
    merged: Merged,
    capacities: _Capacities,
    paths: Mapping[Link, Path],
    dealt: Collection[tuple[int, int]],
) -> Topology:
    """The links and their bounds; `dealt` are links that were dealt out of others."""
    every = tuple(sorted(paths))
    users: dict[tuple[int, int], list[Link]] = defaultdict(list)
    for link in every:
        for ends in pairwise(paths[link]):
            users[ends].append(link)
    labels = {(x.source, x.destination): x.label for x in merged.fabric.links}
    # Dealt-out bandwidth takes some way through other switches: every send counts.
    counts = {
        ends: Counting.SENDS if ends in dealt else merged.fabric.counting(ends) for ends in users
    }
    bounds = []
    for ends in _needed(fabric.num_nodes, capacities, paths, users, counts):
        label = labels.get(ends, "")
        if not label and (ends[0] >= fabric.num_nodes or ends[1] >= fabric.num_nodes):
            label = " to ".join(_name(fabric, merged, vertex) for vertex in ends)
        rate = capacities[ends] / fabric.chunk_bandwidth
        counting = counts[ends] if len(users[ends]) > 1 else Counting.SENDS
        bounds.append(BandwidthBound(tuple(users[ends]), rate, label, counting))
    # Bounds over single links come first, as in a spec.
    bounds.sort(
        key=lambda bound: (len(bound.links) > 1, bound.links if len(bound.links) == 1 else ())
    )
    grains = fabric.grains
    if grains is None:
        rates = (bound.chunks_per_round for bound in bounds)
        grains = grains_for(rates) if fabric.measure == "GB/s" else 1
    return Topology(
        fabric.name,
        fabric.num_nodes,
        every,
        tuple(bounds),
        fabric.origin,
        fabric=fabric,
        grains=grains,
    )


def _name(fabric: Fabric, merged: Merged, vertex: int) -> str:
    members = [member for member, _ in merged.members.get(vertex, ())]
    if not members:
        return fabric.vertex_name(vertex)
    return "switches " + " ".join(str(member - fabric.num_nodes) for member in sorted(members))


def _needed(
    num_nodes: int,
    capacities: _Capacities,
    paths: Mapping[Link, Path],
    users: Mapping[tuple[int, int], Sequence[Link]],
    counts: Mapping[tuple[int, int], Counting],
) -> list[tuple[int, int]]:
    """The physical links whose bounds do not follow from other bounds.

    Each bound that is left out follows from the ones that are kept at that moment, so in the end
    all follow from the rest.  Two reasons are tried: a bound over more links that is no larger, and
    bounds over the routes' first links, or last links, that together are no larger.  Bounds that
    count copies or sums once imply none that does not.
    """
    kept = {ends: (capacities[ends], counts[ends]) for ends in users}
    inner = [e for e in users if min(e) >= num_nodes]
    outer = [e for e in users if min(e) < num_nodes]
    for ends in [*sorted(inner, reverse=True), *sorted(outer, reverse=True)]:
        mine, bound = users[ends], kept.pop(ends)
        wider = (
            _imply([other], kept, bound) and all(other in pairwise(paths[link]) for link in mine)
            for other in pairwise(paths[mine[0]])
        )
        first = ((paths[link][0], paths[link][1]) for link in mine)
        last = ((paths[link][-2], paths[link][-1]) for link in mine)
        if not (any(wider) or _imply(first, kept, bound) or _imply(last, kept, bound)):
            kept[ends] = bound
    return sorted(kept)


def _imply(
    others: Iterable[tuple[int, int]],
    kept: Mapping[tuple[int, int], tuple[Fraction, Counting]],
    bound: tuple[Fraction, Counting],
) -> bool:
    """Whether kept bounds over these links are no larger together; most sums soon exceed it."""
    found, total = set[tuple[int, int]](), Fraction(0)
    for other in others:
        if other not in found:
            if other not in kept or kept[other][1] not in (Counting.SENDS, bound[1]):
                return False
            found.add(other)
            total += kept[other][0]
            if total > bound[0]:
                return False
    return True
