"""Finds prices of lanes over time by linear programs; see `syncoll.certificates.flows_over_time`.

A program is about a deadline, and minimises the share of the room that flows from the sources at
time 0 need; the duals of the room are the prices.  They bound the bytes that arrive by the
deadline, so a search among deadlines finds the latest one for each size.

Intervals begin when data from some source can be at some place, and when data at some place must
leave to be in time.  Lanes that colour refinement does not distinguish are priced alike, a flow to
one destination stands for the flows to all destinations of its colour.  Where they differ
nevertheless the prices prove less, but never too much, because only the exact check counts.

Bytes with the same source and the same destinations flow to all of these together: a passage
carries the most of these flows, and the duals of these rows divide its price.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.certificates.chunk_classes import ChunkClasses, DemandList, DemandView
from syncoll.certificates.flows_over_time import FlowsOverTime, TimedNetwork, arrivals
from syncoll.linear import ProgramRows
from syncoll.linear.colour_refinement import Graph, WordArray, hashes, numbered, refine

_MOST_COLUMNS, _MOST_REDUCED = 100_000, 70_000
"""Limits on the variables of a program, and after its reduction; larger ones take seconds."""

_MOST_LATENCIES = 12
"""Limit on the intervals that begin by the latencies from sources, and to destinations."""

_MOST_PROGRAMS = 8
"""Limit on the programs for a size and a choice of demands."""

_NEAR = Fraction(201, 200)
"""The search ends when an excluded deadline is this near to one that is not."""

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
        alike = {every.colours[0][d]: d for d in sorted(ends, reverse=True)}
        for end in sorted(alike.values()):
            yield _Demands(network, shape, reading, end)


class _Demands:
    """Demands that pay: all of one destination, or each of its first one.  Demands with several
    sources pay nothing.

    Attributes:
        divided: whether all have one source and the same several destinations, and pay for all.
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
        alike = {(one.sources, one.destinations) for one in self.demands}
        self.divided = end is None and len(alike) == 1 < len(self.demands[0].destinations)
        for k, one in enumerate(self.demands):
            ends = one.destinations if self.divided else one.destinations[:1]
            for to in ends if end is None else (end,):
                if to in one.destinations and len(one.sources) == 1:
                    paying[to].append(k)
                    self._flows[to][one.sources[0]] += one.count / shape.chunks
        self._payments = tuple((to, tuple(ks)) for to, ks in sorted(paying.items()))
        self._seen = dict[int | None, Sequence[WordArray]]()
        self._known: dict[Fraction, tuple[Fraction, FlowsOverTime]] = {}

    @cached_property
    def colours(self) -> tuple[IntArray, IntArray, IntArray]:
        """``[places]``, ``[lanes]``, ``[passages]``: numbers, equal where they seem alike."""
        places, lanes, passages = map(numbered, self._words())
        return places, lanes, passages

    def _words(self, node: int | None = None) -> Sequence[WordArray]:
        """``[places]``, ``[lanes]``, ``[passages]``: words, equal where they seem alike from a
        node."""
        if node in self._seen:
            return self._seen[node]
        network, passages = self._network, self._network.passages
        sent = [list[float]() for _ in range(network.places)]
        for source, amount in (one for some in self._flows.values() for one in some.items()):
            sent[source].append(amount)
        kinds = []
        for place, amounts in enumerate(sent):
            got = sorted(self._flows[place].values()) if place in self._flows else []
            kinds.append((place < network.nodes, place == node, *got, "sent", *sorted(amounts)))
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
        self._seen[node] = np.split(words, first)
        return self._seen[node]

    @cached_property
    def _latencies(self) -> tuple[list[Fraction], list[Fraction], Fraction]:
        """The least latencies from sources to places, and from places to destinations, without
        repetitions; and the longest from a source to its destination."""
        import igraph

        passages, flows = self._network.passages, self._flows.items()
        links = [(one.tail, one.head) for one in passages]
        graph = igraph.Graph(self._network.places, links, directed=True)
        away = np.array(graph.distances(weights=[float(x.seconds * _TICKS) for x in passages]))
        pairs = [(source, end) for end, amounts in flows for source in amounts]
        sources, ends = map(list, map(set, zip(*pairs, strict=True)))
        first, last, far = (
            [Fraction(round(x), _TICKS) for x in np.unique(part[np.isfinite(part)]).tolist()]
            for part in (away[sources], away[:, ends], away[tuple(zip(*pairs, strict=True))])
        )
        return first[:_MOST_LATENCIES], last[:_MOST_LATENCIES], far[-1]

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
        """Adds the prices for a deadline to the known ones, and returns whether there are any."""
        network, (first, last, _) = self._network, self._latencies
        starts = {one for one in (*first, *(deadline - one for one in last)) if 0 < one < deadline}
        times = (Fraction(0), *sorted(starts), deadline)
        count, (place_of, lane_of, passage_of) = len(times) - 1, self.colours
        tail, head, lane = np.array([(x.tail, x.head, x.lane) for x in network.passages]).T
        kinds = Counter(place_of[end] for end in self._flows)
        if len(kinds) * count * (len(tail) + network.places) > _MOST_COLUMNS:
            return False
        rates = np.bincount(lane_of, [float(rate) / size for rate in network.rates])
        after = arrivals(times, [one.seconds for one in network.passages])
        rows, width = ProgramRows(), np.diff([float(one) for one in times])
        used = rows.columns(1, 1.0)
        room = rows.rows(count * len(rates), -np.inf, 0.0).reshape(count, -1)
        rows.add(room, used, -width[:, None] * rates)
        if self.divided:  # the most of all flows in each passage
            _, some, number = np.unique(passage_of, return_index=True, return_counts=True)
            sent = rows.columns(count * len(some)).reshape(count, -1)
            rows.add(room[:, lane_of[lane[some]]], sent, np.broadcast_to(number, sent.shape))
        parts = dict[int, IntArray]()
        for end, amounts in self._flows.items():
            if not (alike := kinds.pop(place_of[end], 0)):
                continue
            begin = np.zeros((count, network.places))
            begin[0, list(amounts)] = list(amounts.values())
            row = rows.rows(begin.size, begin.ravel(), begin.ravel()).reshape(begin.shape)
            at, which = np.nonzero((after < count) & (tail != end))
            flow = rows.columns(len(at))
            rows.add(row[at, tail[which]], flow)
            goes = np.flatnonzero(head[which] != end)
            rows.add(row[after[at, which], head[which]][goes], flow[goes], -1.0)
            if self.divided:
                parts[end] = rows.rows(after.size, -np.inf, 0.0).reshape(after.shape)
                rows.add(parts[end][at, which], flow)
                rows.add(parts[end][at, which], sent[at, passage_of[which]], -1.0)
            else:
                rows.add(room[at, lane_of[lane[which]]], flow, float(alike))
            others = np.flatnonzero(np.arange(network.places) != end)
            stay = rows.columns((count - 1) * len(others)).reshape(count - 1, len(others))
            rows.add(row[:-1, others], stay)
            rows.add(row[1:, others], stay, -1.0)
        optimum = rows.program().minimise(most_columns=_MOST_REDUCED)
        if optimum is None:
            return False
        duals, shares = np.maximum(-optimum.row_duals, 0.0), []
        if self.divided:
            shares = self._shares({end: duals[part] for end, part in parts.items()})
            whole = np.zeros((count, len(lane_of)), dtype=np.int64)
            order, spent = np.argsort(lane, kind="stable"), np.sum(shares, axis=0)
            lanes, first_of = np.unique(lane[order], return_index=True)
            whole[:, lanes] = np.maximum.reduceat(spent[:, order], first_of, axis=1)
        else:
            largest = duals[room].max()
            whole = np.rint(duals[room] / largest * _LARGEST_PRICE).astype(np.int64)[:, lane_of]
        proof = FlowsOverTime(
            times, _listed(whole), self._payments, *self._reading, tuple(map(_listed, shares))
        )
        self._known[deadline] = proof.most_bytes(self._given, self._shape), proof
        return True

    def _shares(self, duals: Mapping[int, FloatArray]) -> list[IntArray]:
        """``[intervals, passages]`` for each destination: its share of the prices.

        Args:
            duals: of one destination of each colour, for all destinations of it together.
        """
        place_of, shares = self.colours[0], list[FloatArray]()
        number = Counter(place_of[end] for end in self._flows)
        known = dict[int, dict[int, FloatArray]]()
        for end in self._flows:
            words, colour = self._words(end)[2].tolist(), place_of[end]
            if end in duals:
                alike = defaultdict[int, list[int]](list)
                for passage, word in enumerate(words):
                    alike[word].append(passage)
                one = duals[end] / number[colour]
                known[colour] = {word: one[:, some].mean(axis=1) for word, some in alike.items()}
            free = np.zeros(len(next(iter(duals.values()))))
            shares.append(np.stack([known[colour].get(x, free) for x in words], axis=1))
        scale = (_LARGEST_PRICE - len(shares)) / np.sum(shares, axis=0).max()
        return [np.rint(one * scale).astype(np.int64) for one in shares]


def _listed(whole: IntArray) -> dict[tuple[int, int], int]:
    """The prices above 0, by column and interval."""
    return {(e, i): int(whole[i, e]) for i, e in np.argwhere(whole).tolist()}
