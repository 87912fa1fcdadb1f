"""Orders the sends of an algorithm by their times on a network, at one size.

The order of sends on a lane decides the asynchronous time.  A send starts as early as its data and
lanes allow; of the sends that could start together the most urgent goes first.  Urgency is the time
from a send to the end, by a run backward through the same lanes.  Alternating both directions, each
with the times of the other, is the classic improvement for project scheduling under resource limits
(forward-backward improvement).

An order becomes steps: a send comes in the first step after its data and after earlier sends of its
lanes, unless one step keeps their order.  S and R/C follow from these steps.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from itertools import groupby, pairwise

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.deadline import NEVER, Deadline
from syncoll.documents import StoredAlgorithm
from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Instance, OrbitAlgorithm
from syncoll.results.frontier import TOLERANCE
from syncoll.runtime import in_turn
from syncoll.simulating.network import PhysicalNetwork, physical_network
from syncoll.simulating.runtimes import Setting
from syncoll.simulating.semantics import Semantics
from syncoll.simulating.workload import Workload, workload_of
from syncoll.trust import require_valid

_TURNS = 3
"""Runs forward, each after a run backward; limits work."""


class TimedLanes:
    """Lanes that take sends of one size in the order of the calls, as the simulation does.

    Args:
        size: bytes of a chunk.
        backward: whether time runs backward, from destinations to sources.
    """

    def __init__(
        self,
        network: PhysicalNetwork,
        semantics: Semantics,
        size: Fraction,
        *,
        backward: bool = False,
    ) -> None:
        wire = [float(semantics.wire_bytes(size * share)) for share in network.shares]
        rates, latencies = network.cable_bandwidths.tolist(), network.latencies.tolist()
        kinds = iter(network.strand_share.tolist())
        # For each strand of a link its lanes, each with the seconds of the bytes and the latency.
        self.ways: list[list[list[tuple[int, float, float]]]] = []
        for strands in network.routes:
            self.ways.append([])
            for strand in strands:
                bytes_sent = wire[next(kinds)]
                hops = [(i, bytes_sent / rates[i], latencies[i]) for i in strand.lanes]
                self.ways[-1].append(hops[::-1] if backward else hops)
        self._added = list(map(float, network.added))
        self._free = [[0.0] * lane.cables for lane in network.lanes]
        self._turn = [0] * len(network.lanes)
        self.first = [tuple(hops[0][0] for hops in strands) for strands in self.ways]
        self._next = [0.0] * len(network.lanes)

    def copied(self) -> "TimedLanes":
        """The same lanes, which others may take without an effect on these."""
        twin = copy(self)
        twin._free, twin._turn = [[*one] for one in self._free], [*self._turn]
        twin._next = [*self._next]
        return twin

    def leaves(self, link: int, ready: float) -> float:
        """When a send leaves, as `pass_over` without looking at its way."""
        return max(ready, min([self._next[lane] for lane in self.first[link]]))

    def pass_over(self, link: int, ready: float, *, take: bool = True) -> tuple[float, float]:
        """When a send leaves and arrives; with `take` it occupies its lanes."""
        left, arrived = float("inf"), 0.0
        for hops in self.ways[link]:
            head, tail = ready, 0.0
            for place, (lane, takes, latency) in enumerate(hops):
                cables = self._free[lane]
                cable = self._turn[lane] % len(cables)
                begin = max(head, cables[cable])
                end = max(begin, tail - takes) + takes
                if take:
                    cables[cable] = end
                    self._turn[lane] += 1
                    self._next[lane] = cables[self._turn[lane] % len(cables)]
                if not place:
                    left = min(left, begin)
                head, tail = begin + latency, end + latency
            arrived = max(arrived, tail)
        return left, arrived + self._added[link]


class _Run:
    """A run of sends through lanes, each after its needs; backward in time before them."""

    def __init__(
        self,
        lanes: TimedLanes,
        links: Sequence[int],
        needs: Sequence[Sequence[int]],
        *,
        backward: bool = False,
    ) -> None:
        followers: list[list[int]] = [[] for _ in needs]
        for send, earlier in enumerate(needs):
            for one in earlier:
                followers[one].append(send)
        self.lanes, self.links = lanes, links
        both: list[Sequence[Sequence[int]]] = [needs, followers]
        self.before, self.after = both[::-1] if backward else both
        self.left = [0.0] * len(needs)

    def times(
        self, urgency: Sequence[float], sums: Sequence[float]
    ) -> tuple[list[int], list[float]]:
        """The sends by their start, and when each has arrived and is added up."""
        before, lanes, links = self.before, self.lanes, self.links
        missing, ready = [len(one) for one in before], [0.0] * len(before)
        queue = [(0.0, -urgency[i], i) for i, count in enumerate(missing) if not count]
        heapq.heapify(queue)
        order, arrived = list[int](), [0.0] * len(before)
        # Sends that found their lanes taken; only the most urgent one of them is in the queue.
        taken = defaultdict[tuple[int, ...], list[tuple[float, int]]](list)
        lines = [taken[first] for first in lanes.first]
        waits, gone = bytearray(len(before)), bytearray(len(before))
        while queue:
            start, urgent, send = heapq.heappop(queue)
            line = lines[links[send]]
            if gone[send] or (waits[send] and line[0][1] != send):
                continue
            left = lanes.leaves(links[send], ready[send])
            if left > start:
                if not waits[send]:
                    waits[send] = True
                    heapq.heappush(line, (urgent, send))
                if line[0][1] == send:
                    heapq.heappush(queue, (left, urgent, send))
                continue
            gone[send] = True
            self.left[send] = left
            arrived[send] = lanes.pass_over(links[send], ready[send])[1] + sums[send]
            if waits[send] and heapq.heappop(line) and line:
                urgent, other = line[0]
                heapq.heappush(queue, (lanes.leaves(links[other], ready[other]), urgent, other))
            order.append(send)
            for one in self.after[send]:
                missing[one] -= 1
                ready[one] = max(ready[one], arrived[send])
                if not missing[one]:
                    heapq.heappush(queue, (ready[one], -urgency[one], one))
        return order, arrived


def dispatched(
    stored: StoredAlgorithm, setting: Setting, size: Fraction | int, until: Deadline = NEVER
) -> StoredAlgorithm | None:
    """The algorithm with its sends in the order of the fastest run that was found.  In such a run
    each send occupies its lanes, even where switches copy or add up.

    Args:
        setting: the network and the semantics of a protocol.
        size: L, bytes of one node's data.

    Returns:
        None for sends that are stored as images of others, or if time is over.
    """
    algorithm, network = stored.algorithm, setting.network
    if isinstance(algorithm, OrbitAlgorithm) or not algorithm.num_sends or until.passed:
        return None
    work = workload_of(stored.instance, algorithm, network, symmetric=False)
    chunk, links, needs = Fraction(size) / stored.chunks, work.links.tolist(), _needs(work)
    semantics = setting.semantics
    sums = (work.adds * float(semantics.reduction * chunk + semantics.summing)).tolist()

    def run(urgency: Sequence[float], *, backward: bool) -> tuple[list[int], list[float]]:
        """The sends by their start, and when each has arrived."""
        lanes = TimedLanes(network, semantics, chunk, backward=backward)
        return _Run(lanes, links, needs, backward=backward).times(urgency, sums)

    urgency, best, least = work.sends[:, 3].astype(float).tolist(), list[int](), float("inf")
    for _ in range(_TURNS):
        _, urgency = run(urgency, backward=True)
        order, arrived = run(urgency, backward=False)
        if max(arrived) >= least * (1 - 1e-9):
            break
        best, least, urgency = order, max(arrived), arrived
        if until.left() <= 0:
            break
    sends = work.sends.copy()
    sends[:, 3] = stepped(network, sends, work.links, needs, best)
    return _with_steps(stored, sends)


def in_few_steps(stored: StoredAlgorithm) -> StoredAlgorithm:
    """The algorithm with its sends in the order of a run, and few steps.

    Sends of a link in one step leave together, as soon as their data are there and the link has
    sent its earlier steps.  A step of the answer ends before the first send that waits for one
    of its sends.  In a second run the sends of a link that are as far from the start leave
    together; of both answers the one of fewer steps is returned, unless its R is much greater.
    """
    network = physical_network(stored.instance.topology, Fraction(0), Fraction(1))
    work = workload_of(stored.instance, stored.algorithm, network, symmetric=False)
    needs, depth = _needs(work), list[int]()
    for each in needs:
        depth.append(max((depth[one] + 1 for one in each), default=0))
    found = [_regrouped(stored, work, needs, waves) for waves in (work.sends[:, 3].tolist(), depth)]
    made = [one for one in found if one is not None]
    least = min((one.rounds for one in made), default=0)
    near = [one for one in made if one.rounds <= least * (1 + TOLERANCE)]
    return min(near, key=lambda one: one.steps, default=stored)


def _regrouped(
    stored: StoredAlgorithm, work: Workload, needs: Sequence[Sequence[int]], waves: Sequence[int]
) -> StoredAlgorithm | None:
    """The algorithm after a run in which the sends of a link and a wave leave together."""
    sends, links, last = work.sends.copy(), work.links.tolist(), dict[int, int]()
    groups = list(zip(waves, links, strict=True))
    ends = {group: send for send, group in enumerate(groups)}
    awaited: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for group, each in zip(groups, needs, strict=True):
        awaited[group].update(ends[groups[one]] for one in each)
    after = [[*awaited[group]] for group in groups]
    for send in sorted(range(len(groups)), key=lambda send: waves[send]):
        if links[send] in last:
            after[send].append(last[links[send]])
        last[links[send]] = send
    run = _Run(TimedLanes(work.network, Semantics(), Fraction(1)), links, after)
    order, _ = run.times([-wave for wave in waves], [0.0] * len(waves))
    step, within = 0, set[int]()
    for _, together in groupby(order, lambda send: round(run.left[send], 6)):
        some = list(together)
        if any(not within.isdisjoint(needs[send]) for send in some):
            step, within = step + 1, set()
        within.update(some)
        sends[some, 3] = step
    return _with_steps(stored, sends)


def _needs(work: Workload) -> list[list[int]]:
    """For each send the earlier ones that must have arrived."""
    flat = work.needs.tolist()
    return [flat[a:b] for a, b in pairwise(work.first_need.tolist())]


def _with_steps(stored: StoredAlgorithm, sends: Ints) -> StoredAlgorithm | None:
    """The algorithm with its sends, in the order of `in_turn`, in other steps; None if it would be
    wrong."""
    carried = stored.algorithm.contributions
    if carried is not None:
        carried = carried[in_turn(stored.algorithm.sends, stored.instance.topology.num_nodes)]
    return with_sends(stored.instance, sends, carried, stored.where)


def with_sends(
    instance: Instance, sends: Ints, carried: Bools | None, where: str
) -> StoredAlgorithm | None:
    """The algorithm of some sends with the fewest rounds; None if it would be wrong."""
    steps = int(sends[:, 3].max()) + 1
    made = Algorithm((0,) * steps, sends, carried).tightened(instance.topology)
    instance = replace(instance, steps=made.steps, rounds=made.rounds, rounds_per_step=None)
    try:
        require_valid(instance, made)
    except VerificationError:
        return None
    return StoredAlgorithm(instance, made, where)


def stepped(
    network: PhysicalNetwork,
    sends: Ints,
    links: Ints,
    needs: Sequence[Sequence[int]],
    order: Sequence[int],
) -> Ints:
    """Steps in which lanes take sends in an order, as few as that allows.

    Args:
        sends: ``[M, 4]``: chunk, source, destination, and any step.
        links: ``[M]``: the link of each.
        needs: for each send earlier ones.
        order: of all sends, each after its needs.

    Returns:
        ``[M]``: the step of each send.
    """
    nodes = network.topology.num_nodes
    ways = [sorted({i for strand in one for i in strand.lanes[:1]}) for one in network.routes]
    later = [sorted({i for strand in one for i in strand.lanes[1:]}) for one in network.routes]
    found, rows = np.zeros(len(sends), dtype=np.int64), sends.tolist()
    last = [(0, -1, -1, -1)] * len(network.lanes)
    pairs: dict[tuple[int, int], tuple[int, int]] = {}  # the sends of a pair in a step, and chunk
    for send in order:
        link, (chunk, source, destination, _) = int(links[send]), rows[send]
        before = [int(found[one]) + 1 for one in needs[send]]
        step = max([*before, *(last[i][0] for i in (*ways[link], *later[link]))])
        while True:
            turn, lower = pairs.get((link, step), (0, -1))
            key = step, turn, (destination - source) % nodes, source
            if lower < chunk and all(last[i] < key for i in ways[link]):
                break
            step += 1
        pairs[link, step] = turn + 1, chunk
        for i in ways[link]:
            last[i] = key
        for i in later[link]:
            last[i] = max(last[i], (step, -1, -1, -1))
        found[send] = step
    return found
