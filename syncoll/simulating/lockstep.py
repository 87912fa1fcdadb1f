"""Lockstep: all sends of a step begin together, when all sends of the step before have arrived.

With one latency this is the model of the SCCL paper (section 3.6), exactly:

    overhead + S * alpha + (R / C) * L * beta

A step takes the latency of its slowest link, and for each of its rounds a chunk at the bandwidth of
a chunk per round.  This suffices for all its sends, since they meet the bounds of the topology.  A
degraded lane may take longer.
"""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.simulating.lanes import LaneState, Movements, Passages
from syncoll.simulating.network import PhysicalNetwork
from syncoll.simulating.semantics import Semantics
from syncoll.simulating.workload import Workload


def step_seconds(
    work: Workload,
    rounds: Sequence[int],
    intact: PhysicalNetwork,
    semantics: Semantics,
    size: Fraction,
) -> list[Fraction]:
    """The exact time of each step for a size in bytes of a chunk; `intact` is the network without
    degraded lanes."""
    steps, network = len(rounds), work.network
    wire = semantics.wire_bytes(size)
    kinds = sorted(set(network.link_latencies))
    rank = np.array([kinds.index(latency) for latency in network.link_latencies])[work.links]
    worst = np.full(steps, -1, dtype=np.int64)
    np.maximum.at(worst, work.sends[:, 3], rank)
    adding = np.zeros(steps, dtype=bool)
    adding[work.sends[work.adds, 3]] = True
    slowed = _slowed(work, intact, semantics, size)
    if semantics.rank_rate is not None:
        every = np.ones(len(work), dtype=bool)
        for step, sends in enumerate(_most(work, work.sends[:, 1], every)):
            slowed[step] = max(slowed[step], sends * wire / semantics.rank_rate)
    first = network.strand_lanes[network.first_strand[work.links], 0]
    messages = _most(work, first, work.begins)
    return [
        (kinds[worst[step]] if worst[step] >= 0 else network.alpha)
        + max(rounds[step] * wire / network.unit, slowed.get(step, Fraction(0)))
        + (semantics.reduction * size + semantics.summing if adding[step] else 0)
        + semantics.message * messages[step]
        for step in range(steps)
    ]


def _most(work: Workload, keys: Ints, chosen: Bools) -> list[int]:
    """For each step the most chosen sends with one key."""
    pairs = np.column_stack([work.sends[chosen, 3], keys[chosen]])
    found, counts = np.unique(pairs, axis=0, return_counts=True)
    most = np.zeros(len(work.first_step) - 1, dtype=np.int64)
    np.maximum.at(most, found[:, 0], counts)
    return most.tolist()


def _slowed(
    work: Workload, intact: PhysicalNetwork, semantics: Semantics, size: Fraction
) -> dict[int, Fraction]:
    """The time of the busiest degraded lane, for steps that use one."""
    network = work.network
    found: dict[int, Fraction] = defaultdict(Fraction)
    slow = {
        i
        for i, (one, other) in enumerate(zip(network.lanes, intact.lanes, strict=True))
        if one.bandwidth != other.bandwidth
    }
    if not slow:
        return found
    loads: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    owner, strand = network.strands_of(work.links)
    kind, kinds = network.strand_share[strand], len(network.shares)
    for lanes in network.strand_lanes[strand].T:
        active = np.flatnonzero(np.isin(lanes, list(slow)))
        sends, on, part = owner[active], lanes[active], kind[active]
        if (one := work.passing(sends, on, part)) is not None:
            sends, on, part = (x[one[0]] for x in (sends, on, part))
        places = (work.sends[sends, 3] * len(network.lanes) + on) * kinds + part
        for code, number in zip(
            *(x.tolist() for x in np.unique(places, return_counts=True)), strict=True
        ):
            place, share = divmod(code, kinds)
            wire = semantics.wire_bytes(size * network.shares[share])
            loads[divmod(place, len(network.lanes))] += number * wire
    for (step, lane), load in loads.items():
        found[step] = max(found[step], load / network.lanes[lane].bandwidth)
    return found


def lockstep(
    work: Workload, semantics: Semantics, size: Fraction, steps: Sequence[Fraction], begin: Fraction
) -> Movements:
    """The movements of all sends, given the bytes of a chunk, the seconds of each step, and the
    begin of the first; each lane takes the sends of a step one after the other."""
    times = np.array([float(x) for x in accumulate(steps, initial=begin)])
    network, step = work.network, work.sends[:, 3]
    left, arrived = times[step].copy(), times[step + 1]
    parts = []
    wires = np.array([float(semantics.wire_bytes(size * share)) for share in network.shares])
    lanes_now = LaneState(network, 1, work.lane_of)
    for number in range(len(steps)):
        low, high = (int(x) for x in work.first_step[number : number + 2])
        lanes_now.free[:] = times[number]
        owner, strand = network.strands_of(work.links[low:high])
        owner, share = owner + low, network.strand_share[strand]
        wire = wires[share]
        for lanes in network.strand_lanes[strand].T:
            active = np.flatnonzero(lanes >= 0)
            if not len(active):
                break
            on, sends = lanes[active], owner[active]
            if (one := work.passing(sends, on, share[active])) is not None:
                active, on, sends = active[one[0]], on[one[0]], sends[one[0]]
            takes = (wire[active] / network.cable_bandwidths[on])[:, None]
            now = np.full_like(takes, times[number])
            start, end, cables = lanes_now.take(on, now, None, takes, ordered=True)
            parts.append((sends, on, cables, start[:, 0], end[:, 0], wire[active]))
    return Movements(left[None], arrived[None], Passages.of(parts))
