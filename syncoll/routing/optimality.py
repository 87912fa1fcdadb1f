"""The optimal throughput and the cut that proves it (ForestColl paper, sections 4.2 and C.1).

Every compute node v broadcasts ``x * weight[v]`` of bandwidth.  That is possible exactly when each
compute node can receive ``x * W`` from a source that feeds each v with ``x * weight[v]`` (Theorem
1; W is the sum of the weights).  The paper bisects on 1/x; here x follows Newton's iteration: a
flow that falls short shows a violated cut, whose own ratio is the next x.  x only falls, so a node
that passed once passes for good, and the last cut is the certificate.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from syncoll.errors import ModelError, VerificationError
from syncoll.model.fabric import Fabric
from syncoll.routing.network import Network, require_small
from syncoll.routing.reduction import bypass_two_port_switches, find_groups, wide_parts


@dataclass(frozen=True)
class Bottleneck:
    """The throughput of a collective, and the cut that limits it.

    Args:
        weights: data that starts at each compute node, coprime integers.
        time: 1/x*, the time in which every node's weight times one unit of data is broadcast.
        cut: the vertices S of a bottleneck cut: weight(S) / bandwidth leaving S is `time`.
        k: the least number of trees for a weight of 1 with which `time` is reached.
        scale: U, the trees that one unit of bandwidth carries at this k.
    """

    weights: tuple[int, ...]
    time: Fraction
    cut: frozenset[int]
    k: int
    scale: Fraction

    @property
    def rate(self) -> Fraction:
        """x*, the bandwidth at which a weight of 1 is broadcast."""
        return 1 / self.time

    @property
    def algbw(self) -> Fraction:
        """All data over the time: W x*."""
        return sum(self.weights) / self.time


def check_collective(fabric: Fabric, weights: Sequence[int]) -> tuple[int, ...]:
    """The weights without their common divisor.

    Raises `ModelError` if there are not P weights, one is negative, all are 0, there is only one
    compute node, or a node cannot be reached from a root.
    """
    if len(weights) != fabric.num_nodes or any(w < 0 for w in weights) or not any(weights):
        raise ModelError(
            f"fabric {fabric.name}: weights {list(weights)[:8]}",
            fabric.origin,
            f"{fabric.num_nodes} integers from 0, not all of them 0",
        )
    if fabric.num_nodes < 2:
        raise ModelError(
            f"fabric {fabric.name} has a single compute node: there is no other node to send to",
            fabric.origin,
            "at least 2 compute nodes",
        )
    fabric.require_reachable([v for v, w in enumerate(weights) if w])
    divisor = gcd(*weights)
    return tuple(w // divisor for w in weights)


def require_balanced(fabric: Fabric, junctions: Collection[int] = ()) -> None:
    """Refuses switches, except `junctions`, that receive more than they send, or less.

    The cuts would promise a throughput that needs switches to copy data.  Compute nodes may be
    unbalanced.  The `ModelError` names the switch.
    """
    uneven = imbalance(fabric, junctions)
    if uneven is not None:
        raise ModelError(
            f"fabric {fabric.name}: {uneven}",
            fabric.origin,
            "as much bandwidth into each switch as out of it (nothing is copied there, so the rest "
            "could not be used)",
        )


def imbalance(fabric: Fabric, junctions: Collection[int] = ()) -> str | None:
    """An unbalanced switch, in words, that is no junction; None if all are balanced."""
    ingress, egress = fabric.ingress(), fabric.egress()
    for w in range(fabric.num_nodes, fabric.num_vertices):
        if ingress[w] != egress[w] and w not in junctions:
            return f"{fabric.vertex_name(w)} receives {ingress[w]} and sends {egress[w]}"
    return None


def network_of(
    fabric: Fabric,
    demand: Sequence[int],
    capacity: Callable[[Fraction], int],
    junctions: Collection[int] = (),
) -> Network:
    """The fabric with integer capacities.
    Raises `UsageError` if the capacities are too large for 64-bit flows.

    Args:
        capacity: the units that a bandwidth carries; links of 0 are left out.
        junctions: switches that trees have to reach and may branch at.
    """
    terminals = [*range(fabric.num_nodes), *junctions]
    network = Network([*demand, *[0] * fabric.num_switches], terminals)
    for link in fabric.links:
        units = capacity(link.bandwidth)
        if units:
            ends = (link.source, link.destination)
            network.add(*ends, [(ends, units)])
    require_small([capacity for _, _, capacity in network.links()])
    return network


def bottleneck(
    fabric: Fabric, weights: Sequence[int] | None = None, junctions: Collection[int] = ()
) -> Bottleneck:
    """The optimal throughput of an allgather, or of any collective that only broadcasts.
    Raises `ModelError` as `check_collective` does, and `UsageError` if the bandwidths need integers
    beyond 64 bits.

    Args:
        fabric: any fabric in which every root reaches every compute node.
        weights: data that starts at each compute node: 1 everywhere for allgather (the default), 1
            at one node for broadcast.
        junctions: switches that all data, and thus every root, has to reach as well, as trees that
            branch there do: then it is the throughput of such trees, perhaps below the optimal one.
    """
    weights = check_collective(fabric, weights or [1] * fabric.num_nodes)
    unit = lcm(*(link.bandwidth.denominator for link in fabric.links))
    network = network_of(fabric, weights, lambda b: int(b * unit), junctions)
    search = _Search(fabric, weights, network, unit, junctions)
    search.start()
    search.run()
    time = search.time
    numerator, denominator = (time / unit).as_integer_ratio()
    common = gcd(denominator, *(int(link.bandwidth * unit) for link in fabric.links))
    scale = Fraction(numerator, common)
    return Bottleneck(weights, time, search.cut, int(scale / time * unit), scale * unit)


def cut_ratio(
    fabric: Fabric, weights: Sequence[int], cut: Collection[int], junctions: Collection[int] = ()
) -> Fraction:
    """A lower bound on the time of a collective that a set of vertices proves, by equation 1.

    Data that starts inside the set has to leave it at least once, as long as a compute node lies
    outside: the time is at least the weight inside over the bandwidth that leaves.

    Raises `VerificationError` if the set proves nothing: no data inside, or nothing outside that
    has to be reached.

    Args:
        weights: data that starts at each compute node.
        junctions: switches that all data has to reach as well.  Without them the bound holds for
            every algorithm, with them for trees that span them.

    Returns:
        The time for one unit of weight to be 1 unit of data.
    """
    inside = set(cut)
    if inside >= {*range(fabric.num_nodes), *junctions}:
        raise VerificationError(f"fabric {fabric.name}: the cut leaves no compute node outside")
    weight = sum(weights[v] for v in inside if v < fabric.num_nodes)
    if not weight:
        raise VerificationError(f"fabric {fabric.name}: no data starts inside the cut")
    leaving = sum(
        link.bandwidth
        for link in fabric.links
        if link.source in inside and link.destination not in inside
    )
    if not leaving:
        raise VerificationError(f"fabric {fabric.name}: nothing leaves the cut at all")
    return Fraction(weight) / leaving


class _Search:
    """Newton's iteration over 1/x, from below."""

    def __init__(
        self,
        fabric: Fabric,
        weights: tuple[int, ...],
        network: Network,
        unit: int,
        junctions: Collection[int],
    ) -> None:
        self.fabric, self.weights, self.network, self.unit = fabric, weights, network, unit
        self.junctions = junctions
        self.bypassed = bypass_two_port_switches(network)
        self.time = Fraction(0)
        self.cut: frozenset[int] = frozenset()

    def offer(self, cut: frozenset[int]) -> bool:
        """Takes over a cut's ratio when it is the worst so far."""
        inside = self._settled(cut)
        ratio = cut_ratio(self.fabric, self.weights, inside, self.junctions)
        if ratio <= self.time:
            return False
        self.time, self.cut = ratio, inside
        return True

    def _settled(self, cut: frozenset[int]) -> frozenset[int]:
        """The cut with each bypassed switch on its cheaper side, the last one first."""
        inside = set(cut)
        for bypass in reversed(self.bypassed):
            inside.discard(bypass.switch)
            if bypass.belongs(inside):
                inside.add(bypass.switch)
        return frozenset(inside)

    def start(self) -> None:
        """Offers the cuts that are worst in most networks: around a node, around a wide part."""
        everything = frozenset(range(self.fabric.num_vertices))
        total = sum(self.weights)
        parts: list[tuple[Fraction, frozenset[int]]] = []
        singles = [[v] for v in range(self.fabric.num_nodes)]
        for part in map(frozenset[int], (*singles, *wide_parts(self.network))):
            nodes = [v for v in part if v < self.fabric.num_nodes]
            leaving = entering = 0
            for v in part:
                leaving += sum(c for u, c in self.network.out[v].items() if u not in part)
                entering += sum(c for u, c in self.network.into[v].items() if u not in part)
            inside = sum(self.weights[v] for v in nodes)
            if nodes and entering and total > inside:
                parts.append((Fraction(total - inside, entering), everything - part))
            if inside and leaving and len(nodes) < self.fabric.num_nodes:
                parts.append((Fraction(inside, leaving), part))
        worst = max((ratio for ratio, _ in parts), default=None)
        for ratio, cut in parts:
            if ratio == worst:
                self.offer(cut)
                break

    def run(self) -> None:
        """Lets each compute node's flow find the cuts that are worse."""
        need = self._need()
        groups = find_groups(self.network, need)
        small, _ = self.network.quotient(groups)
        source = small.num_vertices
        flow, capacities = small.root_flow()
        num_links = sum(1 for _ in small.links())
        enough = 0

        def rescale() -> None:
            nonlocal enough
            # With 1/x = p/q, capacities c against demands x d are c p against d q.
            p, q = (self.time / self.unit).as_integer_ratio()
            enough = q * small.total
            # A link wider than all the demand is as good as one that is just as wide.
            links, roots = capacities[:num_links], capacities[num_links:]
            flow.set_capacities([min(c * p, enough) for c in links] + [d * q for d in roots])

        rescale()
        sinks = sorted(
            (v for v in small.terminals if v < len(groups)),
            key=lambda v: sum(small.into[v].values()),
        )
        if len(groups) < 2:
            return
        for sink in sinks:
            while flow.maximum(source, sink) < enough:
                side = (i for i in flow.source_side() if i < len(groups))
                if not self.offer(frozenset(v for i in side for v in groups[i])):
                    raise AssertionError("a violated cut is no worse than the bottleneck")
                rescale()

    def _need(self) -> int:
        """Cuts of at least this capacity are no worse than the bottleneck found so far."""
        most = sum(self.weights)
        if not self.junctions:
            most -= min(self.weights)
        need = most / (self.time / self.unit)
        return -int(-need // 1)
