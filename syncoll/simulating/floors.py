"""Lower bounds on the time of any algorithm on a network, for any number of chunks.

Two terms bound the time: the way of data to the farthest node that needs it, and the bytes that
must pass the bottleneck.  The first is a shortest path by latencies.  The second is the proved
bound on R/C: if lanes are no faster than in B, some bound of B is busy for at least these rounds.
Flows over time (`syncoll.bounding.flows_over_time`) combine the two.

With at most S steps R/C is at least the bound for S.  In lockstep, steps do not overlap, so S
latencies and the bytes are added.  Otherwise, with a least latency a of all links, an algorithm
that takes less than (S + 1) a has no S + 1 sends one after the other.  Step k then has the bytes
that enter a lane from k a to (k + 1) a.  So the bound for S holds, and all steps together last a
less than the algorithm, whose time is at least (S + 1) a or a and the bytes.  For S > 1 this needs
links of a single lane, since data may wait between two lanes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.bounding import bound_at_once
from syncoll.bounding.flows_over_time import flows_over_time
from syncoll.certificates import ChunkClasses
from syncoll.certificates.flows_over_time import FlowsOverTime, Passage, TimedNetwork
from syncoll.model import UNREACHABLE, Collective, Counting, Instance, Topology, ranges
from syncoll.model.width_clusters import connected_by
from syncoll.planning import message_of_collective
from syncoll.results import Frontier
from syncoll.simulating.comparison import Comparison
from syncoll.simulating.network import PhysicalNetwork
from syncoll.simulating.runtimes import WIRE, Runtime, Setting
from syncoll.simulating.semantics import Sharing, Timing

_MOST_CLASSES = 1 << 14
"""With more kinds of chunks, latencies only count by the least number of steps."""

_LATENCIES = 0.01, 25.0
"""Flows over time count if the time of the bytes is between these multiples of the latencies."""

_PARTS, _WIDE = 1 << 12, Fraction(1 << 20)
"""Parts of a chunk per round to which bandwidths are rounded, and the bandwidth of no lane."""

_TICKS = 10**15
"""Latencies are rounded down to femtoseconds."""

_ROUNDING = 1 - 1e-9
"""Rounds sums of floating-point numbers down, so that floors remain lower bounds."""


def floors(
    instance: Instance,
    network: PhysicalNetwork,
    sizes: Sequence[Fraction | int],
    *,
    least_steps: int = 0,
    least_cost: Fraction = Fraction(0),
    by_steps: Iterable[tuple[int, Fraction]] = (),
    lockstep: bool = False,
    fair: bool = False,
    flows: bool = True,
) -> tuple[float, ...]:
    """A lower bound on the seconds of every algorithm, for each size of one node's data.

    The bounds hold with any overhead, and on slower lanes; without `lockstep` also in lockstep.

    Args:
        instance: defines the collective by its pre and post; C does not matter.
        least_steps: a proved lower bound on S.
        least_cost: a proved bound on R/C for any C; 0 for the best bound by cuts.
        by_steps: (S, a proved bound on R/C for at most S steps and any C).
        fair: whether sends share lanes, all lanes of a way at once.
        flows: whether to solve linear programs for flows over time.
    """
    shape = ChunkClasses.of(instance, instance.chunks, combining=instance.combining)
    if not least_cost and instance.chunks:
        least_cost = bound_at_once(instance.topology, shape).rounds / instance.chunks
    links, amounts = np.array([float(x) for x in network.link_latencies]), np.array(sizes, float)
    if not len(links):
        return (0.0,) * len(sizes)
    least, busy = float(links.min()), _busy(network)
    far = max(_farthest(instance, links), least_steps * least)
    per_round = float(busy.min()) / float(network.unit)
    rate, proved = float(least_cost) * per_round, list(by_steps)
    if instance.chunks and busy.min() < busy.max() * _ROUNDING:
        cut = bound_at_once(_narrowed(network, busy), shape).rounds / instance.chunks
        rate = max(rate, float(cut / network.unit))
    found = np.full(len(sizes), far)
    if rate:
        last = float(network.alpha) + min(float(lane.latency) for lane in network.lanes)
        found = np.maximum(found, last + rate * amounts)
    alone = all(len(strand.lanes) == 1 for strands in network.routes for strand in strands)
    for most, cost in proved:
        if alone or most == 1:
            taken = least + float(cost) * per_round * amounts
            found = np.maximum(found, np.minimum((most + 1) * least, taken))
    if lockstep:
        # A step with sends takes at least the least latency, and its rounds at the bounds' rate.
        steps = np.array([least_steps, *(most + 1 for most, _ in proved)])
        costs = [float(x / network.unit) for x in (*(cost for _, cost in proved), least_cost)]
        found = np.maximum(found, (steps * least + np.outer(amounts, costs)).min(axis=1))
    found *= _ROUNDING
    if flows and instance.chunks and len(shape.classes) <= _MOST_CLASSES:
        low, high = (far * share for share in _LATENCIES)
        some = np.flatnonzero((low <= rate * amounts) & (rate * amounts <= high)).tolist()
        given = [Fraction(sizes[i]) for i in some], [Fraction(float(found[i])) for i in some]
        for i, proof in zip(some, flow_proofs(network, shape, *given, fair), strict=True):
            if proof is not None:
                found[i] = max(found[i], float(proof[1].deadline) * _ROUNDING)
    order = np.argsort(amounts)  # with fewer bytes the same algorithm is no slower
    found[order] = np.maximum.accumulate(found[order])
    return tuple(found.tolist())


def floors_by_cuts(
    collective: Collective, network: PhysicalNetwork, sizes: Sequence[int], runtime: Runtime = WIRE
) -> tuple[float, ...]:
    """Lower bounds on the seconds for messages by latencies and cuts, without a search."""
    nodes = network.topology.num_nodes
    chunks = collective.least_chunks(nodes) or 1
    instance = collective.instantiate(network.topology, chunks=chunks, steps=nodes, rounds=nodes)
    message = message_of_collective(collective, nodes)
    node = [message.node_bytes(size) for size in sizes]
    settings = runtime.settings(network, kind=message.kind)
    return _least(settings, lambda there: floors(instance, there, node, flows=False))


def _least(
    settings: Sequence[Setting], of: Callable[[PhysicalNetwork], Sequence[float]]
) -> tuple[float, ...]:
    """For each size the least bound of all protocols, each with the cost of its call."""
    each = [
        [float(one.semantics.overhead) * _ROUNDING + bound for bound in of(one.network)]
        for one in settings
    ]
    return tuple(map(min, zip(*each, strict=True)))


def with_floors(compared: Comparison, frontier: Frontier | None) -> Comparison:
    """A comparison with lower bounds, for which the claims of a frontier are used."""
    semantics = compared.semantics
    claims: dict[str, Any] = {
        "lockstep": semantics.timing is Timing.LOCKSTEP,
        "fair": semantics.sharing is Sharing.FAIR,
    }
    if frontier is not None and frontier.evidence is not None:
        claims["least_steps"] = frontier.least_steps
        if frontier.max_chunks is None:
            proofs = frontier.evidence.proofs
            claims["least_cost"] = frontier.least_bandwidth
            claims["by_steps"] = [(x.steps, x.bound) for x in proofs if x.bound_chunks is None]
    instance = compared.algorithms[0].algorithm.instance
    node = [compared.message.node_bytes(size) for size in compared.sizes]

    of = partial(floors, instance, sizes=node, **claims)
    return replace(compared, floors=_least(compared.settings, of))


def floor_proofs(
    compared: Comparison,
) -> Iterator[tuple[str, TimedNetwork, Fraction, FlowsOverTime]]:
    """The flows over time of each protocol and size: the protocol, its lanes, and the bytes of one
    node's data.  A few sizes may have none."""
    sizes = [Fraction(compared.message.node_bytes(size)) for size in sorted(compared.sizes)]
    fair = compared.semantics.sharing is Sharing.FAIR
    for setting in compared.settings:
        found = flow_proofs(
            setting.network, compared.shape, sizes, [Fraction(0)] * len(sizes), fair
        )
        for size, proof in zip(sizes, found, strict=True):
            if proof is not None:
                yield setting.protocol.name, proof[0], size, proof[1]


def flow_proofs(
    network: PhysicalNetwork,
    shape: ChunkClasses,
    sizes: Sequence[Fraction],
    known: Sequence[Fraction],
    fair: bool = False,
) -> list[tuple[TimedNetwork, FlowsOverTime] | None]:
    """The proofs of `flows_over_time`, each with its lanes.  Without `apart`, data may change its
    way in switches, and prices are not divided."""
    # Copies divide their prices among destinations, and sums among sources.
    ends = [1] if not shape.combining else [0] if shape.ends_alone else [0, 1]
    found: list[tuple[TimedNetwork, FlowsOverTime] | None] = [None] * len(sizes)
    latest = list(known)
    for apart in ([], ends):
        timed = timed_network(network, fair=fair, apart=apart)
        if apart and not _passed_once(network, timed):
            break
        proofs = flows_over_time(timed, shape, sizes, latest, divided=bool(apart))
        for i, proof in enumerate(proofs):
            if proof is not None:
                found[i], latest[i] = (timed, proof), proof.deadline
    return found


def _passed_once(network: PhysicalNetwork, timed: TimedNetwork) -> bool:
    """Whether a lane that is used once for several sends has one passage for all of them, so that
    their shares add up to its price."""
    used = [
        (one.lane, one.tail if counts is Counting.SOURCES else one.head)
        for one in timed.passages
        if one.lane < len(network.lanes)
        and (counts := network.lanes[one.lane].counts) is not Counting.SENDS
    ]
    return len(set(used)) == len(used)


def timed_network(
    network: PhysicalNetwork, *, fair: bool = False, apart: Sequence[int] = ()
) -> TimedNetwork:
    """The ways of all sends.

    Places are the nodes, and the ends of lanes on the way.  Lanes into one switch end at one place,
    where data may change from the way of one send to that of another; more ways weaken a bound.
    With `apart` they end at a place for each first (0) or last (1) node of a link, or for each of
    both, except where the switch copies or adds up.  So nothing is added up there, or copied.  The
    least alpha of all sends is a part of the passages of last lanes.  A send that takes longer has
    another lane of the same rate after its last one.  Then places are apart for the clusters of
    nodes that links of the least alpha join.  With fair sharing all latencies are a part of
    passages of last lanes, because a send is on all lanes at once.
    """
    nodes, place = network.topology.num_nodes, dict[tuple[bool, int, tuple[Any, ...]], int]()
    seconds, rates = dict[tuple[int, int, int], Fraction](), [x.bandwidth for x in network.lanes]
    links, lanes, later = network.topology.links, network.lanes, dict[tuple[int, Fraction], int]()
    least = min(network.added, default=network.alpha)
    near = connected_by(network.topology, np.array([one == least for one in network.added]))
    for link, strands, added in zip(links, network.routes, network.added, strict=True):
        for strand in strands:
            tail, every = link[0], [network.lanes[number].latency for number in strand.lanes]
            pairs = pairwise(strand.lanes)
            shared = {x for x, y in pairs if {lanes[x].counts, lanes[y].counts} != {Counting.SENDS}}
            single = all(lanes[x].counts is Counting.SENDS for x in strand.lanes)
            more = added - least if single else Fraction(0)
            own = (more, *near[[*link]].tolist()) if single else ()
            for number in strand.lanes:
                lane = network.lanes[number]
                head, passes = link[1], added - more + (sum(every) if fair else lane.latency)
                if number != strand.lanes[-1]:
                    ends = lane.ends if lane.ends and lane.ends[1] >= nodes else None
                    to = tuple(link[end] for end in apart if number not in shared)
                    key = (ends is not None, ends[1] if ends else number, (*own, *to))
                    head = place.setdefault(key, nodes + len(place))
                    passes = Fraction(0) if fair else lane.latency
                elif more:
                    head = place.setdefault((False, number, (more,)), nodes + len(place))
                known = seconds.get((tail, head, number), passes)
                seconds[tail, head, number] = min(known, passes)
                tail = head
            if more:
                number = later.setdefault((strand.lanes[-1], more), len(rates))
                rates += [lane.bandwidth] * (number == len(rates))
                seconds[tail, link[1], number] = more
    passages = [Passage(*at, Fraction(int(x * _TICKS), _TICKS)) for at, x in seconds.items()]
    return TimedNetwork(nodes, nodes + len(place), tuple(sorted(passages)), tuple(rates))


def _farthest(instance: Instance, latencies: Floats) -> float:
    """The longest latency from data to a node that needs it, each by the fastest way."""
    classes = instance.chunk_classes
    if len(classes) > _MOST_CLASSES:
        return 0.0
    away = _ways(instance, latencies)
    found = 0.0
    for members in classes:
        chunk = int(members[0])
        starts, ends = instance.pre[chunk], instance.post[chunk]
        ways = away[np.ix_(starts, ends)]
        # A copy comes from the nearest node with the data; a sum needs every contribution.
        needed = ways if instance.combining else ways.min(axis=0, initial=np.inf)
        found = max(found, float(needed.max(initial=0.0)))
    return found


def _ways(instance: Instance, latencies: Floats) -> Floats:
    """``[source, destination]``: seconds by the fastest way; infinite without a way."""
    topology = instance.topology
    if latencies.min() == latencies.max():
        seconds = topology.distances * latencies[0]
        return np.where(topology.distances == UNREACHABLE, np.inf, seconds)
    import igraph

    graph = igraph.Graph(topology.num_nodes, topology.links, directed=True)
    return np.array(graph.distances(weights=latencies.tolist()))


def _busy(network: PhysicalNetwork) -> Floats:
    """``[bounds]``: the rounds for which a lane of each bound is busy with the sends of a round.

    It is 1 if the bound is a lane, or one lane carries all of its sends at its rate; more if the
    lane is slower; less if a switch was removed and its cables divided among several bounds, each
    narrower than the cable.
    """
    links, lanes, shares = _shares(network)
    bandwidth = np.array([float(lane.bandwidth) for lane in network.lanes])
    order = np.argsort(links, kind="stable")
    links, lanes, shares = links[order], lanes[order], shares[order]
    starts = np.searchsorted(links, np.arange(len(network.topology.links) + 1))
    found = []
    for bound, members in zip(network.topology.bounds, network.topology.bound_links, strict=True):
        counts = starts[members + 1] - starts[members]
        at = ranges(starts[members], counts)
        busy = shares[at] / bandwidth[lanes[at]]
        least = np.full(len(bandwidth), np.inf)
        np.minimum.at(least, lanes[at], busy)
        on_all = np.bincount(lanes[at], minlength=len(bandwidth)) == len(members)
        best = float(least[on_all].max(initial=0.0))
        found.append(best * float(bound.chunks_per_round) * float(network.unit))
    return np.array(found)


def _narrowed(network: PhysicalNetwork, busy: Floats) -> Topology:
    """The topology with bounds as wide as their lanes, rounded up."""
    bounds = network.topology.bounds
    widths = [
        Fraction(ceil(_PARTS * float(one.chunks_per_round) / share), _PARTS) if share else _WIDE
        for one, share in zip(bounds, busy.tolist(), strict=True)
    ]
    narrowed = tuple(
        replace(one, chunks_per_round=width) for one, width in zip(bounds, widths, strict=True)
    )
    return replace(network.topology, bounds=narrowed, fabric=None)


def _shares(network: PhysicalNetwork) -> tuple[Ints, Ints, Floats]:
    """Each lane of each link once, with the share of a send's bytes that passes it."""
    whole: dict[tuple[int, int], Fraction] = {}
    for link, strands in enumerate(network.routes):
        for strand in strands:
            for lane in strand.lanes:
                whole[link, lane] = whole.get((link, lane), Fraction(0)) + strand.share
    ends = np.array(list(whole), dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1], np.array([float(share) for share in whole.values()])
