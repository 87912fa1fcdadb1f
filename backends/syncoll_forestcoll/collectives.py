"""Optimal forests for the collectives (ForestColl paper, sections 4.6 and 5).

Reducescatter is an allgather on the reversed network, reduce a broadcast on it, and allreduce a
reduction followed by a broadcast.  So one-way links are right, and switches that reduce become
switches that copy.
"""

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from time import perf_counter

from syncoll.errors import ModelError, UsageError
from syncoll.model import Fabric, Forest
from syncoll.progress import report
from syncoll.results.forest import ForestCollective
from syncoll.routing import Bottleneck, bottleneck, cut_ratio, network_of, require_balanced
from syncoll.routing.network import Network
from syncoll.routing.reduction import bypass_two_port_switches, find_groups
from syncoll.routing.switch_removal import remove_by_leaves, remove_switches
from syncoll.trust.forest import verify_forest
from syncoll_forestcoll.branching import branching
from syncoll_forestcoll.pack import Packer
from syncoll_forestcoll.packing import forest_of

_MOST_GROWN = 64
"""In larger networks, leaves are packed separately instead of growing trees one by one."""


@dataclass(frozen=True, eq=False)
class ForestPlan:
    """A verified forest and the cut that bounds every schedule.

    Args:
        bottleneck: the bound; for a reduction on the reversed fabric, whose cuts are the
            complements.
        seconds: the time of each stage.
        ways: the number of uses of each packing method.

    If switches copy, trees may have switches as leaves.
    """

    collective: ForestCollective
    forest: Forest
    bottleneck: Bottleneck
    seconds: dict[str, float]
    ways: dict[str, int]

    @property
    def algbw(self) -> Fraction:
        """Data over time, in the fabric's unit of bandwidth."""
        return self.forest.algbw

    @property
    def is_optimal(self) -> bool:
        """Whether the forest attains the bound of the cut."""
        return self.forest.algbw == self.bottleneck.algbw


def plans(
    fabric: Fabric, collective: ForestCollective, root: int = 0, fixed_k: int | None = None
) -> list[ForestPlan]:
    """The optimal forests of a collective, one for each phase (of broadcast: Blink's).
    Raises `ModelError` if a node cannot be reached, there is only one, a switch is unbalanced, or
    the root is no compute node. Raises `UsageError` if k is below 1, or bandwidths need integers
    beyond 64 bits.

    Args:
        fabric: switches that neither copy nor reduce must receive as much bandwidth as they send.
        root: of a broadcast or reduce.
        fixed_k: trees for each node; by default as many as the optimum needs.
    """
    if collective is not ForestCollective.ALLREDUCE:
        return [_plan(fabric, collective, root, fixed_k)]
    second = _plan(fabric, ForestCollective.ALLGATHER, root, fixed_k)
    inward = ForestCollective.REDUCESCATTER
    if not fabric.is_symmetric or fabric.reduce != fabric.multicast:
        return [_plan(fabric, inward, root, fixed_k), second]
    # The trees use the same links backwards, which have the same bandwidth.
    start = perf_counter()
    forest = replace(second.forest.reversed(), fabric=fabric)
    verify_forest(forest)
    seconds = {"verify": perf_counter() - start}
    return [replace(second, collective=inward, forest=forest, seconds=seconds), second]


def directed(
    fabric: Fabric, collective: ForestCollective, root: int
) -> tuple[Fabric, list[int], bool]:
    """The network in which trees lead away from roots, its weights, and whether it is reversed."""
    inward = collective in (ForestCollective.REDUCESCATTER, ForestCollective.REDUCE)
    weights = [int(not collective.rooted or v == root) for v in range(fabric.num_nodes)]
    return fabric.reversed() if inward else fabric, weights, inward


def _plan(
    fabric: Fabric, collective: ForestCollective, root: int, fixed_k: int | None
) -> ForestPlan:
    network, weights, inward = directed(fabric, collective, root)
    if collective.rooted and not 0 <= root < fabric.num_nodes:
        raise ModelError(
            f"fabric {fabric.name}: a {'reduction to' if inward else 'broadcast from'} {root}",
            fabric.origin,
            f"a compute node from 0 to {fabric.num_nodes - 1}",
        )
    if inward:
        _check_reduction(fabric, root if collective.rooted else None)
    plan = weighted_broadcast(network, weights, fixed_k=fixed_k)
    if inward:
        forest = plan.forest.reversed()
        verify_forest(forest)
        plan = replace(plan, forest=forest)
    return replace(plan, collective=collective)


def _check_reduction(fabric: Fabric, root: int | None) -> None:
    """Raises errors in terms of the network itself, before it is reversed."""
    require_balanced(fabric, fabric.reduce)
    if root is None:
        fabric.require_reachable(range(fabric.num_nodes))
        return
    reaching = fabric.reached_from(root, against=True)
    for node in range(fabric.num_nodes):
        if node not in reaching:
            raise ModelError(
                f"fabric {fabric.name}: no path leads from node {node} to node {root}",
                fabric.origin,
                "a network in which the data of every node can reach the root",
            )


def weighted_broadcast(
    fabric: Fabric, weights: Sequence[int], *, fixed_k: int | None = None, guess: bool = True
) -> ForestPlan:
    """The optimal forest if compute nodes broadcast shares of different sizes, see `plans`.
    Raises `ModelError` as `plans` does, and if the weights are not P integers from 0.

    Args:
        fixed_k: trees for a weight of 1; by default as many as the optimum needs.
        guess: try balanced guesses for switches before exact splitting.
    """
    seconds: dict[str, float] = {}
    clock = _Clock(seconds)
    require_balanced(fabric, fabric.multicast)
    optimum = bottleneck(fabric, weights)
    way = branching(fabric, optimum)
    clock.stop("optimum")
    if fixed_k is None:
        k, scale = way.reach.k, way.reach.scale
    else:
        k, scale = fixed_k, best_scale(way.fabric, way.reach, fixed_k, way.junctions)
        clock.stop("fixed k")
    demand = [k * w for w in optimum.weights]
    network = network_of(way.fabric, demand, lambda b: floor(scale * b), way.junctions)
    _require_even(fabric, network, k)
    bypass_two_port_switches(network)
    whole = network.copy()
    groups = remove_switches(network, guess=guess)
    clock.stop("switches")
    outside = [v for v in network.terminals if v not in way.reach.cut]
    packer = Packer([*groups, outside])
    packing = packer.quickly(network, outermost=True)
    if packing is None and guess and len(network.terminals) > _MOST_GROWN:
        leaves = remove_by_leaves(whole)
        if leaves is not None:
            network, packer = whole, Packer([*leaves, outside])
    packing = packing or packer.pack(network, outermost=True)
    forest = forest_of(fabric, optimum.weights, k, scale, packing, way.junctions)
    clock.stop("trees")
    time = verify_forest(forest)
    if fixed_k is None:
        proved = cut_ratio(way.fabric, optimum.weights, way.reach.cut, way.junctions)
        if not time <= way.reach.time == proved:
            raise AssertionError("the forest does not attain the bottleneck cut")
    clock.stop("verify")
    # The trees may be faster than planned: links were narrowed to pack them.
    forest = replace(forest, scale=time * k)
    return ForestPlan(ForestCollective.BROADCAST, forest, optimum, seconds, packer.ways)


_NEXT = {
    "optimum": "removing switches",
    "switches": "packing trees",
    "trees": "checking the trees",
    "verify": "lowering the trees",
}
"""The stage after each stage of a forest, for progress reports."""


class _Clock:
    """Measures the seconds of successive stages."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds, self.last = seconds, perf_counter()

    def stop(self, stage: str) -> None:
        now = perf_counter()
        self.seconds[stage], self.last = now - self.last, now
        if stage in _NEXT:
            done = list(_NEXT).index(stage) + 1
            report(done, len(_NEXT) + 1, _NEXT[stage])


def _require_even(fabric: Fabric, network: Network, k: int) -> None:
    """Refuses a fixed k whose rounding leaves a switch with unequal capacities in and out."""
    for w in network.switches():
        if sum(network.into[w].values()) != sum(network.out[w].values()):
            raise UsageError(
                f"fabric {fabric.name}: with k = {k}, rounding its one-way bandwidths to whole "
                f"trees leaves switch {w} with {sum(network.into[w].values())} trees in and "
                f"{sum(network.out[w].values())} out; leave k free, or use links that are as wide "
                "both ways"
            )


def best_scale(
    fabric: Fabric, optimum: Bottleneck, k: int, junctions: Collection[int] = ()
) -> Fraction:
    """U*, the trees that one unit of bandwidth has to carry (sections 4.5 and C.4).

    With k trees for a weight of 1 the time is U/k.  U is the least at which the trees fit if a link
    of bandwidth b carries ``floor(U b)`` of them (Theorem 14).  As for the optimum, each violated
    cut gives the next U, the least at which that cut carries enough.

    Raises `UsageError` if k is below 1.

    Args:
        k: trees for a weight of 1.
        junctions: switches that every tree has to reach as well.
    """
    if k < 1:
        raise UsageError(f"k is {k}; expected at least 1 tree for each root")
    demand = [k * w for w in optimum.weights]
    total = sum(demand)
    scale = optimum.time * k
    while True:
        cut = _violated(fabric, demand, scale, junctions)
        if cut is None:
            return scale
        inside = sum(demand[v] for v in cut if v < fabric.num_nodes)
        leaving = [
            link.bandwidth
            for link in fabric.links
            if link.source in cut and link.destination not in cut
        ]
        improved = _least_scale(leaving, inside)
        if improved <= scale or inside > total:
            raise AssertionError("a violated cut needs no larger scale")
        scale = improved


def _violated(
    fabric: Fabric, demand: Sequence[int], scale: Fraction, junctions: Collection[int]
) -> frozenset[int] | None:
    """A set of vertices whose outgoing links carry too few trees, or None."""
    network = network_of(fabric, demand, lambda b: floor(scale * b), junctions)
    groups = find_groups(network, network.need)
    grouped = {v for group in groups for v in group}
    # A node without links at this scale is a group of its own; other vertices without links form
    # a last group that belongs to no cut.
    groups += [[v] for v in network.terminals if v not in grouped]
    small, _ = network.quotient(groups)
    flow, _ = small.root_flow()
    sinks = (v for v in small.terminals if v < len(groups))
    for sink in sorted(sinks, key=lambda v: sum(small.into[v].values())):
        if flow.maximum(small.num_vertices, sink) < network.total:
            side = (i for i in flow.source_side() if i < len(groups))
            return frozenset(v for i in side for v in groups[i])
    return None


def _least_scale(bandwidths: Sequence[Fraction], need: int) -> Fraction:
    """The least U with ``sum(floor(U b)) >= need``."""
    whole = sum(bandwidths)
    # Each floor loses less than 1, so the answer lies between these two.
    scale = Fraction(need) / whole
    have = sum(floor(scale * b) for b in bandwidths)
    if have >= need:
        return scale
    steps = [(Fraction(floor(scale * b) + 1) / b, i) for i, b in enumerate(bandwidths)]
    heapq.heapify(steps)
    while have < need:
        scale, i = heapq.heappop(steps)
        have += 1
        b = bandwidths[i]
        heapq.heappush(steps, (Fraction(floor(scale * b) + 1) / b, i))
    return scale
