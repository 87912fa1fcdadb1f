"""Trees by arrival time: every send in turn, the earliest arrival first.

Trees of all chunks grow together, by the send that arrives first, as in Dijkstra's algorithm; it
takes its lanes.  Part of the time for which a send occupies lanes is added to its arrival, so that
wide links are preferred to narrow ones.  Of sends that arrive together the one whose chunk is
farthest from its missing destinations goes first, then one to a node with few chunks: different
nodes then pass on different chunks.

For few sends, schedules are then listed with their sends in order of departure, each as early as
its data and lanes allow, with backtracking.  A limit on the work ends the list, which on tiny
networks has every schedule.
"""

import heapq
from collections.abc import Container, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from syncoll.arrays import Ints
from syncoll.clock import took
from syncoll.documents import StoredAlgorithm
from syncoll.model import Collective, Instance, Topology
from syncoll.searching.decompose import derived
from syncoll.simulating import Setting, TimedLanes, stepped, with_sends

_MOST_OPTIONS, _UNITS_PER_OPTION, _UNITS_PER_OFFER = 20_000, 5e-6, 1e-5
"""Sends that are considered in lists of schedules, and in trees that grow; limit work."""

_MOST_ARRIVALS, _MOST_GROWN = 16, 1 << 13
"""Most arrivals in schedules that are listed, and in trees that grow; limit work."""

_OCCUPIED = 0.5
"""Part of the time for which a send occupies its lanes that is added to its arrival."""

_EQUAL = 1 - 1e-9

Sent = tuple[int, int, float]
"""Link, chunk and departure."""

Offer = tuple[float, float, int, int, int]
"""A send that may be the next one: its arrival and the part of its time on lanes, how far its chunk
is from its destinations (negative), chunks at its end, link and chunk."""

_NO_OFFER: Offer = np.inf, 0.0, 0, -1, -1


class _Search:
    """Finds schedules up to the limits; `sends` are the fastest one's, if any.

    Args:
        apart: links over which there are no sends.
    """

    def __init__(
        self, instance: Instance, lanes: TimedLanes, apart: Container[int] = frozenset()
    ) -> None:
        self.links, self.options_left = instance.topology.links, _MOST_OPTIONS
        nodes = instance.topology.num_nodes
        out = instance.topology.out_links
        self.out = [[link for link in one if link not in apart] for one in out]
        self.way = np.full((nodes, nodes), np.inf)
        np.fill_diagonal(self.way, 0)
        for i, (a, b) in enumerate(self.links):
            self.way[a, b] = min(self.way[a, b], lanes.pass_over(i, 0.0, take=False)[1])
        for middle in range(nodes):
            onward = self.way[:, middle, None] + self.way[None, middle]
            self.way = np.minimum(self.way, onward)
        self.begin, post = (
            {(c, n) for c, n in np.argwhere(x).tolist()} for x in (instance.pre, instance.post)
        )
        self.wanted, self.least, self.sends = post - self.begin, float("inf"), list[Sent]()
        self.grow(instance, lanes.copied())
        if len(self.wanted) <= _MOST_ARRIVALS:
            self.extend(dict.fromkeys(sorted(self.begin), 0.0), lanes, [])
            took((_MOST_OPTIONS - self.options_left) * _UNITS_PER_OPTION)

    def grow(self, instance: Instance, lanes: TimedLanes) -> None:
        """Grows the trees of all chunks together."""
        needs = (instance.pre | instance.post).astype(float)
        near = np.full(needs.shape, self.way[np.isfinite(self.way)].max(initial=0.0))
        has, missing, sends = dict[tuple[int, int], float](), {*self.wanted}, list[Sent]()
        occupied = [_OCCUPIED * sum(x[1] for hops in one for x in hops) for one in lanes.ways]
        far, got = [0.0] * len(needs), [0] * needs.shape[1]
        # The chunks at the source of each link: by the time at which they came, until that time
        # does not delay their arrival any more; then the most urgent first.
        coming, waiting = ([list[tuple[float, int]]() for _ in self.links] for _ in range(2))
        queue, known = list[Offer](), [_NO_OFFER] * len(self.links)

        def offer(link: int) -> Offer:
            """The next send of a link."""
            node, late, some = self.links[link][1], coming[link], waiting[link]
            left, arrived = lanes.pass_over(link, 0.0, take=False)
            while late and late[0][0] <= left:
                _, chunk = heapq.heappop(late)
                if (chunk, node) in missing:
                    heapq.heappush(some, (far[chunk], chunk))
            while some and (some[0][0] != far[some[0][1]] or (some[0][1], node) not in missing):
                _, chunk = heapq.heappop(some)
                if (chunk, node) in missing:
                    heapq.heappush(some, (far[chunk], chunk))
            while late and not some and (late[0][1], node) not in missing:
                heapq.heappop(late)
            if not some and not late:
                return _NO_OFFER
            if not some:
                arrived = lanes.pass_over(link, late[0][0], take=False)[1]
            chunk = (some or late)[0][1]
            return round(arrived + occupied[link], 15), far[chunk], got[node], link, chunk

        def enter(link: int, entry: Offer) -> None:
            known[link] = entry
            if entry != _NO_OFFER:
                heapq.heappush(queue, entry)

        def arrive(chunk: int, node: int, time: float) -> None:
            has[chunk, node] = time
            missing.discard((chunk, node))
            got[node] += 1
            np.minimum(near[chunk], self.way[node], out=near[chunk])
            far[chunk] = -round(float(near[chunk] @ needs[chunk]), 12)
            for link in self.out[node]:
                if (chunk, self.links[link][1]) in missing:
                    heapq.heappush(coming[link], (time, chunk))
                    if waiting[link]:
                        first = far[chunk] < known[link][1]
                    else:
                        first = coming[link][0][1] == chunk
                    if first or known[link] == _NO_OFFER:
                        enter(link, offer(link))

        for chunk, node in sorted(self.begin):
            arrive(chunk, node, 0.0)
        offers = len(queue)
        while queue and missing:
            *_, link, chunk = before = heapq.heappop(queue)
            if before != known[link]:
                continue
            offers += 1
            if (now := offer(link)) != before:
                enter(link, now)
                continue
            source, node = self.links[link]
            left, arrived = lanes.pass_over(link, has[chunk, source])
            sends.append((link, chunk, left))
            arrive(chunk, node, arrived)
            enter(link, offer(link))
        took(offers * _UNITS_PER_OFFER)
        if not missing:
            self.least, self.sends = max(has.values()), sends

    def extend(
        self, has: dict[tuple[int, int], float], lanes: TimedLanes, sends: list[Sent]
    ) -> None:
        """Lists the schedules that begin with some sends; `has`: when a node has a chunk."""
        bound = max((has[c, self.links[i][1]] for i, c, _ in sends), default=0.0)
        missing = [one for one in self.wanted if one not in has]
        for chunk, node in missing:
            came = (t + self.way[n, node] for (c, n), t in has.items() if c == chunk)
            bound = max(bound, float(min(came)))
        if bound >= self.least * _EQUAL:
            return
        if not missing:
            self.least, self.sends = bound, sends
            return
        last = (sends[-1][2] * _EQUAL, sends[-1][0]) if sends else (0.0, -1)
        options = []
        for (chunk, node), ready in has.items():
            for link in self.out[node]:
                to = chunk, self.links[link][1]
                if to not in has:
                    left, arrived = lanes.pass_over(link, ready, take=False)
                    if left * _EQUAL > last[0] or (left >= last[0] and link > last[1]):
                        options.append((arrived, to not in self.wanted, link, chunk, left))
        self.options_left -= len(options)
        for arrived, _, link, chunk, left in sorted(options):
            source, head = self.links[link]
            after = lanes.copied()
            after.pass_over(link, has[chunk, source])
            self.extend({**has, (chunk, head): arrived}, after, [*sends, (link, chunk, left)])
            if self.options_left < 0:
                return


def grown(
    topology: Topology,
    group: Ints,
    count: int,
    setting: Setting,
    size: Fraction,
    apart: Container[int],
) -> list[list[tuple[int, int]]]:
    """For each chunk the links of its tree, as they are used, by which each node sends some chunks
    to all others of its group, at once.

    Args:
        group: ``[P]``: of each node.
        count: number of chunks of a node; chunk c is of node c mod P.
        size: bytes of a chunk.
        apart: links over which there are no sends.
    """
    spread = Collective.from_relations(
        "spread",
        chunks=lambda nodes, count: nodes * count,
        pre=lambda c, n, nodes, _: n == c % nodes,
        post=lambda c, n, nodes, _: group[n] == group[c % nodes],
    ).instantiate(topology, chunks=count, steps=len(group), rounds=len(group))
    trees: list[list[tuple[int, int]]] = [[] for _ in range(spread.num_chunks)]
    lanes = TimedLanes(setting.network, setting.semantics, size)
    for link, chunk, _ in _Search(spread, lanes, apart).sends:
        trees[chunk].append(topology.links[link])
    return trees


def by_arrival(instance: Instance, setting: Setting, size: Fraction) -> StoredAlgorithm | None:
    """The fastest schedule that was found for L bytes of a node's data; None for a collective with
    sums, or for a large instance."""
    network, count = setting.network, int((instance.post & ~instance.pre).sum())
    if instance.combining or count > _MOST_GROWN:
        return None
    lanes = TimedLanes(network, setting.semantics, Fraction(size) / instance.chunks)
    found = _Search(instance, lanes).sends
    if not found:
        return None
    rows = [(c, *network.topology.links[link], 0) for link, c, _ in found]
    place = {(c, b): i for i, (c, _, b, _) in enumerate(rows)}
    needs = [[place[c, a]] if (c, a) in place else [] for c, a, _, _ in rows]
    sends, used = np.array(rows, dtype=np.int64), np.array([link for link, _, _ in found])
    sends[:, 3] = stepped(network, sends, used, needs, range(len(rows)))
    return with_sends(instance, sends, None, "arrivals")


def all_by_arrival(
    collective: Collective, chunks: int, setting: Setting, size: Fraction
) -> Iterator[StoredAlgorithm]:
    """The schedules for a collective, for its dual, run backwards, and for its parts, one after the
    other; see `by_arrival`.

    Args:
        chunks: C of parts without sums is this multiple of the least one.
    """
    nodes = setting.network.topology.num_nodes
    least = collective.least_chunks(nodes)
    if least is None:
        return iter(())
    whole = size / least * len(collective.tabulate(nodes, least))

    def made(part: Collective, topology: Topology) -> Iterator[StoredAlgorithm]:
        own = chunks * (part.least_chunks(nodes) or 1)
        if not part.admits(nodes, own):
            return
        instance = part.instantiate(topology, chunks=own, steps=nodes, rounds=nodes)
        ahead = topology is setting.network.topology
        there = setting if ahead else replace(setting, network=setting.network.reversed())
        one = by_arrival(instance, there, whole * own / instance.num_chunks)
        if one is not None:
            yield one

    return derived(collective, setting.network.topology, made)
