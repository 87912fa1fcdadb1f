"""A timetable of paths: a linear program divides kinds of paths over the steps.

List scheduling decides send by send, and seldom balances loads when thousands of streams meet.
Here streams are of one kind that take links of the same speeds in the same order: over a network
card at once, say, or inside the box first.  A linear program spreads all streams of a kind over the
steps alike (`step_shares`).

With too many kinds only the lengths of paths distinguish them, and each stream then improves its
times by itself.  Rounds are a convex function of the loads: each step needs the rounds of its
fullest link set.  The method of Frank and Wolfe (Naval Research Logistics Quarterly 3, 1956)
minimises it.  Every link set has a price in every step, high if it is nearly the fullest (the
gradient of a smooth maximum).  Some streams, drawn at random, find the cheapest steps for their
sends in one pass over sends and steps, and the best share of each moves there.  Mixtures of valid
orders are valid, so no send ever precedes the arrival of its chunk.

Whole chunks: after step t, floor(n F + u) of the n chunks of a stream have taken their h-th send.
All sends of the stream share one u in [0, 1), so none precedes its arrival.  Each stream takes, of
a few u, the one that leaves the loads nearest to the program's.
"""

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.deadline import Deadline
from syncoll.model import ranges
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.step_shares import StepShares, needed_rounds
from syncoll.scheduling.streams import SendPlan, Streams

_MOST_KINDS = 48
"""With more kinds only the lengths of paths distinguish them."""

_OFFSETS = 8
"""Number of values of u that a stream chooses from."""

_BLOCKS, _SWEEPS = 48, 3
"""Number of blocks in which streams choose, and of sweeps over all blocks."""

_LEAST_BLOCK = 16
_BUSY = 0.6
"""Sets with a smaller share of the step's load are ignored."""

_WORK, _MOST_TURNS = 1 << 24, 300
"""Limits on the sends times steps of all turns, and on the turns."""

_SHARPEST = 400.0
_SHARP, _SHARPER = 20.0, 1.15
"""Sharpness of the smooth maximum at first, and its growth after a turn in vain."""

_PARTS = np.array([0.0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.25, 0.5, 1.0])
_DRAWN = (1.0, 0.5, 0.25, 0.1)
"""Shares of a stream that may move, and of the streams that are drawn in a turn."""

_SMALL = 0.02
"""Least scale of a step's rounds, as a share of the longest one's."""


class Timetable:
    """Plans for streams that are paths; raises `ValueError` for any other stream."""

    def __init__(self, streams: Streams, sets: LinkSets) -> None:
        self._streams, self._sets = streams, sets
        entries = len(streams.link)
        self._first = np.flatnonzero(np.diff(streams.stream, prepend=-1))
        self._hops = np.diff(np.append(self._first, entries))
        self._place = np.arange(entries) - np.repeat(self._first, self._hops)
        above = np.where(self._place > 0, np.arange(entries) - 1, -1)
        if not np.array_equal(above, streams.parent):
            raise ValueError("a stream is no path")
        self._column, above = self._columns()
        work = needed_rounds(sets, streams.link, self._column, streams.count, len(above))
        self.shares = StepShares(work, above)

    def _columns(self) -> tuple[Ints, Ints]:
        """For each entry its (kind, place); for each of these the one before it, or -1."""
        sets, width = self._sets, int(self._hops.max(initial=1))
        pace = sets.rounds_per_send[sets.of_link[self._streams.link]].max(axis=1)
        class_of = np.unique(pace, return_inverse=True)[1].reshape(-1)
        rows = np.full((len(self._first), width), -1, dtype=np.int64)
        stream = np.repeat(np.arange(len(self._first)), self._hops)
        rows[stream, self._place] = class_of
        kinds, kind = np.unique(rows, axis=0, return_inverse=True)
        self._merged = len(kinds) > _MOST_KINDS
        """Whether only lengths distinguish kinds."""
        if self._merged:
            lengths, kind = np.unique(self._hops, return_inverse=True)
        else:
            lengths = (kinds >= 0).sum(axis=1)
        start = np.cumsum(lengths) - lengths
        above = np.arange(int(lengths.sum())) - 1
        above[start] = -1
        return start[kind.reshape(-1)[stream]] + self._place, above

    def plan(self, steps: int, until: Deadline) -> SendPlan | None:
        """A plan of S steps, at least the height; None when the time is over."""
        parts = self.shares.sums(steps, until)
        if parts is None:
            return None
        sums = self._streams.count[:, None] * parts[self._column]
        if self._merged:
            sums = self._each_alone(sums, until)
        sent = self._whole(sums, until)
        entry, step = np.nonzero(sent)
        return SendPlan.of(self._streams, self._sets, steps, entry, step, sent[entry, step])

    def _each_alone(self, sums: Floats, until: Deadline) -> Floats:
        """The sums if streams of one length may differ."""
        responses = _BestResponses(self._streams, self._sets, self._first, self._hops)
        sent = responses.improved(np.diff(sums, axis=1, prepend=0), until)
        found: Floats = np.cumsum(sent, axis=1)
        for place in range(1, int(self._hops.max())):
            own = np.flatnonzero(self._place == place)
            found[own, 0] = 0
            found[own, 1:] = np.minimum(found[own, 1:], found[own - 1, :-1])
        return found

    def _whole(self, done: Floats, until: Deadline) -> Ints:
        """``[E, S]``: whole numbers of chunks, given the sums up to each step."""
        streams, sets = self._streams, self._sets
        ideal = np.diff(done, axis=1, prepend=0)
        load = sets.loads(streams.link, ideal)
        in_rounds = load * sets.rounds_per_send[:, None]
        room = in_rounds.max(axis=0, initial=0)
        weight = np.where(in_rounds > _BUSY * room, sets.rounds_per_send[:, None], 0.0)
        offsets = (np.arange(_OFFSETS) + 0.5) / _OFFSETS + 1e-9
        chance = np.random.default_rng(done.shape[1])
        order = chance.permutation(len(self._first))
        blocks = np.array_split(order, max(1, min(_BLOCKS, len(order) // _LEAST_BLOCK)))
        beyond = np.zeros_like(load)  # the excess of the sends decided so far
        sent: Ints = np.zeros(done.shape, dtype=np.int64)
        for sweep in range(_SWEEPS):
            if sweep and until.passed:
                break
            for own in blocks:
                entry = ranges(self._first[own], self._hops[own])
                stream = np.repeat(np.arange(len(own)), self._hops[own])
                fluid = ideal[entry]
                if sweep:
                    beyond -= sets.loads(streams.link[entry], sent[entry] - fluid)
                sums = np.floor(done[entry][:, :, None] + offsets)
                whole = np.diff(sums, axis=1, prepend=0)  # [entries, S, offsets]
                more = whole - fluid[:, :, None]
                used = sets.of_link[streams.link[entry]]
                slope = (weight * beyond)[used].sum(axis=1)[:, :, None]
                cost = ((2 * slope + weight[used].sum(axis=1)[:, :, None] * more) * more).sum(
                    axis=1
                )
                begins = np.cumsum(self._hops[own]) - self._hops[own]
                total = np.add.reduceat(cost, begins, axis=0)
                choice = (total + 1e-6 * chance.random(total.shape)).argmin(axis=1)
                sent[entry] = whole[np.arange(len(entry)), :, choice[stream]]
                beyond += sets.loads(streams.link[entry], sent[entry] - fluid)
        return sent


class _BestResponses:
    """Streams that are paths, each with its own times; their entries are consecutive."""

    def __init__(self, streams: Streams, sets: LinkSets, first: Ints, hops: Ints) -> None:
        self._hops, self._amount = hops, streams.count[first].astype(np.float64)
        place = np.arange(int(hops.max(initial=1)))
        self._entry = np.where(place < hops[:, None], first[:, None] + place, len(streams.link))
        none = np.full((1, sets.of_link.shape[1]), sets.size)
        self._used = np.concatenate([sets.of_link[streams.link], none])
        self._sets, self._link, self._pace = sets, streams.link, sets.rounds_per_send

    def improved(self, sent: Floats, until: Deadline) -> Floats:
        """Sends ``[E, S]`` that need fewer rounds, if there are any."""
        sent, (entries, steps) = sent.copy(), sent.shape
        chance = np.random.default_rng(steps)
        load = self._loaded(np.arange(entries), sent)
        turns = min(_MOST_TURNS, _WORK // (self._entry.size * steps))
        sharp = _SHARP
        for turn in range(turns):
            if until.passed or sharp > _SHARPEST:
                break
            rounds = load.max(axis=0)
            scale = np.maximum(rounds, _SMALL * rounds.max()) / sharp
            price = np.exp((load - rounds) / scale)
            price *= self._pace[:, None] / price.sum(axis=0)
            size = max(1, int(len(self._hops) * _DRAWN[turn % len(_DRAWN)]))
            own = chance.permutation(len(self._hops))[:size]
            entry, step = self._cheapest(price, own)
            amount = np.repeat(self._amount[own], self._hops[own])
            aim = np.zeros((len(entry), steps))
            aim[np.arange(len(entry)), step] = amount
            change = self._loaded(entry, aim - sent[entry])
            moved = load + _PARTS[:, None, None] * change
            most = moved.max(axis=1)
            above = np.exp((moved - most[:, None]) / scale).sum(axis=1)
            costs = (most + np.log(above) * scale).sum(axis=1)
            part = _PARTS[int(costs.argmin())]
            if not part:
                sharp *= _SHARPER
                continue
            sent[entry] += part * (aim - sent[entry])
            load += part * change
        return sent

    def _loaded(self, entry: Ints, sent: Floats) -> Floats:
        """``[sets + 1, S]``: the rounds that sends ``[entries, S]`` need."""
        return np.asarray(self._sets.loads(self._link[entry], sent) * self._pace[:, None])

    def _cheapest(self, price: Floats, own: Ints) -> tuple[Ints, Ints]:
        """For some streams their entries, in order, and the step that each takes."""
        entry, hops = self._entry[own], self._hops[own]
        count, height = entry.shape
        steps = price.shape[1]
        cost = price[self._used[entry]].sum(axis=2)
        step = np.arange(steps)
        best = np.zeros((count, steps))
        when = np.zeros((count, height, steps), dtype=np.int64)
        for place in range(height):
            now = cost[:, place].copy()
            if place:
                now[:, 1:] += best[:, :-1]
                now[:, 0] = np.inf
            now[step > steps - (hops - place)[:, None]] = np.inf
            least = np.minimum.accumulate(now, axis=1)
            when[:, place] = np.maximum.accumulate(np.where(now <= least, step, 0), axis=1)
            best = np.where((place < hops)[:, None], least, best)
        chosen = np.zeros((count, height), dtype=np.int64)
        last = np.full(count, steps - 1)
        for place in range(height - 1, -1, -1):
            inside = place < hops
            chosen[:, place] = when[np.arange(count), place, last]
            last = np.where(inside, chosen[:, place] - 1, last)
        inside = np.arange(height) < hops[:, None]
        return entry[inside], chosen[inside]
