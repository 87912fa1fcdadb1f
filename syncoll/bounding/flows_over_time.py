"""Finds prices of lanes over time by linear programs; see `syncoll.certificates.flows_over_time`.

A program is about a deadline, and minimises the share of the room that flows from the sources at
time 0 need; the duals of the room are the prices.  They bound the bytes that arrive by the
deadline, so a search among deadlines finds the latest one for each size.

Intervals begin when data from some source can be at some place, and when data at some place must
leave to be in time; or twice these times after the start, or before the end, since data may wait
for one another.  Lanes that colour refinement does not distinguish are priced alike, a flow to one
destination stands for the flows to all destinations of its colour.  Where they differ nevertheless
the prices prove less, but never too much, because only the exact check counts.

Bytes with the same source and the same destinations flow to all of these together: a passage
carries the most of these flows, and the duals of these rows divide its price.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.certificates.chunk_classes import ChunkClasses, DemandList, DemandView
from syncoll.certificates.flows_over_time import FlowsOverTime, TimedNetwork, arrivals
from syncoll.linear import ProgramRows
from syncoll.linear.colour_refinement import Graph, WordArray, hashes, numbered, refine

_MOST_COLUMNS, _MOST_REDUCED, _MOST_DIVIDED = 100_000, 70_000, 20_000
"""Limits on the variables of a program, after its reduction, and after that of a program that
divides the prices of several sources; larger ones take seconds."""

_MOST_LATENCIES = 12
"""Limit on the latencies from sources by which intervals begin, and on sums of two; and to
destinations."""

_MOST_PROGRAMS = 8
"""Limit on the programs for a size and a choice of demands."""

_NEAR = Fraction(201, 200)
"""The search ends when an excluded deadline is this near to one that is not."""

_MOST_CELLS = 1 << 19
"""Limit on flows times places and passages where prices are divided; larger checks take seconds."""

_LARGEST_PRICE = 10**9

_TICKS = 10**15
"""Times are whole numbers of femtoseconds."""


def flows_over_time(
    network: TimedNetwork,
    shape: ChunkClasses,
    sizes: Sequence[Fraction],
    known: Sequence[Fraction],
    *,
    divided: bool = False,
) -> list[FlowsOverTime | None]:
    """For each size, ascending, the proof of the latest deadline; None if it is not later than the
    known bound.

    Args:
        sizes: bytes of one node's data.
        known: lower bounds on the seconds, for each size.
        divided: whether demands with several destinations pay for all, or for one of them.
    """
    found: list[FlowsOverTime | None] = [None] * len(sizes)
    for demands in _choices(network, shape, divided):
        for i, size in enumerate(sizes):
            best = found[i]
            later = demands.latest(size, known[i] if best is None else best.deadline)
            found[i] = later or best
    return found


def _choices(network: TimedNetwork, shape: ChunkClasses, divided: bool) -> "Iterator[_Demands]":
    """The demands of a collective that may pay."""
    readings: list[tuple[DemandView, int | None]] = [(DemandView.MOVING, None)]
    if shape.combining and shape.ends_alone:
        readings = [(DemandView.INVERSE, None)]
    elif shape.combining:
        node = next((one.post[0] for one in shape.classes if one.post), None)
        readings = [(DemandView.SPREAD, node), (DemandView.COLLECT, node)]
    for reading in readings if network.passages else ():
        every = _Demands(network, shape, reading)
        if divided:
            if every.divided:
                yield every
            continue
        if all(len(one.destinations) == 1 for one in every.demands):
            yield every
            continue
        ends = {d for one in every.demands for d in one.destinations}
        words = every._words()[0].tolist()
        alike = {words[d]: d for d in sorted(ends, reverse=True)}
        for end in sorted(alike.values()):
            yield _Demands(network, shape, reading, end)


@dataclass(frozen=True)
class _Flow:
    """A flow to a destination, for all that seem alike.

    Args:
        nodes: the source, if all bytes have one, and the destination.
        amounts: of each source, for a byte of each node.
        alike: number of such flows.
        sources: number of their sources.
    """

    nodes: tuple[int, ...]
    amounts: Mapping[int, float]
    alike: int
    sources: int = 1


class _Demands:
    """Demands that pay: all of one destination, or each of its first one.  Demands with several
    sources pay nothing.

    Attributes:
        divided: whether they pay for all of their destinations, each by a share of the price.
    """

    def __init__(
        self,
        network: TimedNetwork,
        shape: ChunkClasses,
        reading: tuple[DemandView, int | None],
        end: int | None = None,
    ) -> None:
        self._given, self._shape, self._reading = network, shape, reading
        self._network = network.reversed() if reading[0].mirrored else network
        self.demands: DemandList = shape.demands(*reading)
        paying = defaultdict[int, list[int]](list)
        # For each destination the bytes from each source, for a byte of each node.
        self._flows: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        pairs = sum(len(one.destinations) for one in self.demands)
        self.divided = (
            end is None
            and len({one.sources for one in self.demands}) == len(self.demands) < pairs
            and pairs * (network.places + len(network.passages)) <= _MOST_CELLS
            and all(len(one.sources) == 1 for one in self.demands)
        )
        for k, one in enumerate(self.demands):
            ends = one.destinations if self.divided else one.destinations[:1]
            for to in ends if end is None else (end,):
                if to in one.destinations and len(one.sources) == 1:
                    paying[to].append(k)
                    self._flows[to][one.sources[0]] += one.count / shape.chunks
        self._payments = tuple((to, tuple(ks)) for to, ks in sorted(paying.items()))
        if self.divided:
            self._payments = tuple((to, (k,)) for to, ks in self._payments for k in ks)
        self._seen = dict[tuple[int, ...], Sequence[WordArray]]()
        self._known: dict[Fraction, tuple[Fraction, FlowsOverTime]] = {}
        # Where all nodes have as many links, they differ in the colours of the others.
        self._marks = dict[int, int]()
        if self.divided:
            every = range(network.nodes)
            self._marks = {n: int(np.concatenate(self._words(n)).sum()) for n in every}
            self._seen.clear()

    def _words(self, *nodes: int) -> Sequence[WordArray]:
        """``[places]``, ``[lanes]``, ``[passages]``: words, equal where they seem alike from some
        nodes."""
        if nodes in self._seen:
            return self._seen[nodes]
        network, passages = self._network, self._network.passages
        sent = [list[float]() for _ in range(network.places)]
        for source, amount in (one for some in self._flows.values() for one in some.items()):
            sent[source].append(amount)
        kinds = []
        for place, amounts in enumerate(sent):
            got = sorted(self._flows[place].values()) if place in self._flows else []
            at = [i for i, node in enumerate(nodes) if node == place]
            mark = self._marks.get(place, place < network.nodes)
            kinds.append((mark, *at, *got, "sent", *sorted(amounts)))
        times = {x: i for i, x in enumerate(sorted({one.seconds for one in passages}))}
        rates, seconds = map(float, network.rates), (times[one.seconds] for one in passages)
        words = hashes([*kinds, *rates, *seconds])
        first = [network.places, network.places + len(network.rates)]
        ends = [
            (at, first[1] + i)
            for i, one in enumerate(passages)
            for at in (one.tail, one.head, first[0] + one.lane)
        ]
        graph = Graph.of(len(words), np.array(ends), np.arange(len(ends)) % 3)
        *_, words = refine(graph, words)
        self._seen[nodes] = np.split(words, first)
        return self._seen[nodes]

    @cached_property
    def _alike(self) -> list[_Flow]:
        """One flow of each kind."""
        colours, found = self._words()[0].tolist(), list[_Flow]()
        if not self.divided:
            kinds = Counter(colours[end] for end in self._flows)
            first = {colours[end]: end for end in reversed(self._flows)}
            return [_Flow((x,), self._flows[x], kinds[colour]) for colour, x in first.items()]
        sources = [one.sources[0] for one in self.demands]
        kinds = Counter(colours[source] for source in sources)
        for source in {colours[one]: one for one in reversed(sources)}.values():
            seen, number = self._words(source)[0].tolist(), kinds[colours[source]]
            ends = [end for end, amounts in self._flows.items() if source in amounts]
            for colour, count in Counter(seen[end] for end in ends).items():
                end = next(end for end in ends if seen[end] == colour)
                amount = {source: self._flows[end][source]}
                found.append(_Flow((source, end), amount, number * count, number))
        return found

    @cached_property
    def _latencies(self) -> tuple[list[Fraction], list[Fraction], Fraction]:
        """The least latencies from sources to places, and from places to destinations, and sums of
        two of them; and the longest latency from a source to its destination."""
        import igraph

        passages, flows = self._network.passages, self._flows.items()
        links = [(one.tail, one.head) for one in passages]
        graph = igraph.Graph(self._network.places, links, directed=True)
        away = np.array(graph.distances(weights=[float(x.seconds * _TICKS) for x in passages]))
        pairs = [(source, end) for end, amounts in flows for source in amounts]
        sources, ends = map(list, map(set, zip(*pairs, strict=True)))
        found = []
        for part in (away[sources], away[:, ends]):
            least = np.unique(part[np.isfinite(part)])[:_MOST_LATENCIES]
            sums = np.unique(np.add.outer(least, least))[:_MOST_LATENCIES]
            found.append([Fraction(round(x), _TICKS) for x in {*least.tolist(), *sums.tolist()}])
        far = max(float(away[pair]) for pair in pairs)
        return found[0], found[1], Fraction(round(far), _TICKS)

    def latest(self, size: Fraction, known: Fraction) -> FlowsOverTime | None:
        """The proof of the latest deadline that a size does not meet, if it is later than a known
        one."""
        if not self._payments:
            return None
        low = max(known, self._latencies[2]) * _NEAR
        for number in range(_MOST_PROGRAMS):
            least = [t for t, (most, _) in self._known.items() if most < size and t >= low]
            above = [t for t, (most, _) in self._known.items() if most >= size]
            low, high = max(least, default=low), min(above, default=None)
            if high is not None and high <= low * _NEAR:
                break
            deadline = low * 2 if least else low
            if least and high is not None:  # by turns before a line meets the size, and halfway
                a, b = self._known[low][0], self._known[high][0]
                part = (size - a) / (b - a) if number % 2 else Fraction(1, 2)
                deadline = min(max(low + (high - low) * part, low * _NEAR), high / _NEAR)
                deadline = Fraction(ceil(deadline * _TICKS) - 1, _TICKS)
            if deadline in self._known or not self._solve(deadline, float(size)):
                break
        least = [t for t, (most, _) in self._known.items() if most < size and t >= low]
        return self._known[max(least)][1] if least else None

    def _solve(self, deadline: Fraction, size: float) -> bool:
        """Adds the prices for a deadline to the known ones, and returns whether there are any.
        Flows are of all passages, or places, of a colour together."""
        network, (first, last, _) = self._network, self._latencies
        starts = {one for one in (*first, *(deadline - one for one in last)) if 0 < one < deadline}
        times = (Fraction(0), *sorted(starts), deadline)
        count, lane_of = len(times) - 1, numbered(self._words()[1])
        tail, head, lane = np.array([(x.tail, x.head, x.lane) for x in network.passages]).T
        rates = np.bincount(lane_of, [float(rate) / size for rate in network.rates])
        after = arrivals(times, [one.seconds for one in network.passages])
        rows, width = ProgramRows(), np.diff([float(one) for one in times])
        used = rows.columns(1, 1.0)
        room = rows.rows(count * len(rates), -np.inf, 0.0).reshape(count, -1)
        rows.add(room, used, -width[:, None] * rates)
        sent, parts, most = dict[int, Ints](), list[Ints](), 0
        for one in self._alike:
            own = self._words(*one.nodes)
            place, (some, _, sizes) = numbered(own[0]), _classes(own[2])
            most += count * (len(some) + int(place.max()) + 1)
            if most > _MOST_COLUMNS:
                return False
            begin, end = np.zeros((count, int(place.max()) + 1)), place[one.nodes[-1]]
            np.add.at(begin[0], place[list(one.amounts)], list(one.amounts.values()))
            row = rows.rows(begin.size, begin.ravel(), begin.ravel()).reshape(begin.shape)
            then, leaves, comes = after[:, some], place[tail[some]], place[head[some]]
            turns = (then == np.arange(count)[:, None]) & (leaves == comes)
            at, which = np.nonzero((then < count) & (leaves != end) & ~turns)
            flow = rows.columns(len(at))
            rows.add(row[at, leaves[which]], flow)
            goes = np.flatnonzero(comes[which] != end)
            rows.add(row[then[at, which], comes[which]][goes], flow[goes], -1.0)
            if self.divided:
                source = one.nodes[0]
                shown, kind, wholes = _classes(self._words(source)[2])
                if source not in sent:  # the most of all flows in each passage
                    sent[source] = rows.columns(count * len(shown)).reshape(count, -1)
                    rows.add(room[:, lane_of[lane[shown]]], sent[source], float(one.sources))
                parts.append(rows.rows(then.size, -np.inf, 0.0).reshape(then.shape))
                rows.add(parts[-1][at, which], flow)
                share = (sizes / wholes[kind[some]])[which]
                rows.add(parts[-1][at, which], sent[source][at, kind[some[which]]], -share)
            else:
                rows.add(room[at, lane_of[lane[some[which]]]], flow, float(one.alike))
            others = np.flatnonzero(np.arange(begin.shape[1]) != end)
            stay = rows.columns((count - 1) * len(others)).reshape(count - 1, len(others))
            rows.add(row[:-1, others], stay)
            rows.add(row[1:, others], stay, -1.0)
        several = self.divided and len(self.demands) > 1
        optimum = rows.program().minimise(most_columns=_MOST_DIVIDED if several else _MOST_REDUCED)
        if optimum is None:
            return False
        duals, shares = np.maximum(-optimum.row_duals, 0.0), list[Ints]()
        if self.divided:
            shares, spent = self._shares([duals[part] for part in parts])
            table = np.zeros((count, len(network.rates)), dtype=np.int64)
            np.maximum.at(table.T, lane, spent.T)
        else:
            largest = duals[room].max()
            table = np.rint(duals[room] / largest * _LARGEST_PRICE).astype(np.int64)[:, lane_of]
        proof = FlowsOverTime(
            times, _listed(table), self._payments, *self._reading, tuple(map(_listed, shares))
        )
        self._known[deadline] = proof.most_bytes(self._given, self._shape), proof
        return True

    def _shares(self, duals: Sequence[Floats]) -> tuple[list[Ints], Ints]:
        """``[intervals, passages]`` for each payment: its share of the prices; and the prices.

        Args:
            duals: of each of the flows.
        """

        def kind(source: int, end: int) -> tuple[int, int]:
            return int(self._words()[0][source]), int(self._words(source)[0][end])

        def spent(shares: Sequence[Any]) -> Any:
            each = defaultdict[tuple[int, ...], Any](int)
            for (_, ks), share in zip(self._payments, shares, strict=True):
                each[ks] = each[ks] + share
            return np.max([*each.values()], axis=0)

        known, shares = dict[tuple[int, int], dict[int, Floats]](), list[Floats]()
        for one, values in zip(self._alike, duals, strict=True):
            words = np.unique(self._words(*one.nodes)[2]).tolist()
            known[kind(*one.nodes)] = dict(zip(words, values.T / one.alike, strict=True))
        for end, (k,) in self._payments:
            at, free = (self.demands[k].sources[0], end), np.zeros(len(duals[0]))
            own = known.get(kind(*at), {})
            parts = [own.get(word, free) for word in self._words(*at)[2].tolist()]
            shares.append(np.stack(parts, axis=1))
        scale = (_LARGEST_PRICE - len(shares)) / spent(shares).max()
        whole = [np.rint(one * scale).astype(np.int64) for one in shares]
        return whole, spent(whole)


def _classes(words: WordArray) -> tuple[Ints, Ints, Ints]:
    """The first position of each word, the number of each position's word, and their counts."""
    _, first, number, count = np.unique(
        words, return_index=True, return_inverse=True, return_counts=True
    )
    return first, number, count


def _listed(whole: Ints) -> dict[tuple[int, int], int]:
    """The prices above 0, by column and interval."""
    return {(e, i): int(whole[i, e]) for i, e in np.argwhere(whole).tolist()}
