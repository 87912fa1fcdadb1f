"""Times for single streams, if they are of too many kinds to be decided together.

Rounds are a convex function of the loads: each step needs those of its fullest link set.  The
method of Frank and Wolfe (Naval Research Logistics Quarterly 3, 1956) minimises it.  Every link set
has a price in every step, high if it is nearly the fullest (the gradient of a smooth maximum).
Some streams, drawn at random, find the cheapest steps for their sends in one pass over sends and
steps, and the best share of each moves there.  Mixtures of valid orders are valid, so no send ever
precedes the arrival of its chunk.
"""

from __future__ import annotations

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.deadline import Deadline
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.streams import Streams

__all__ = ["BestResponses"]

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


class BestResponses:
    """Streams that are paths, each with its own times.

    Args:
        first: ``[W]``, the first entry of each stream.
        hops: ``[W]``, the number of its entries, which are consecutive.
    """

    def __init__(self, streams: Streams, sets: LinkSets, first: IntArray, hops: IntArray) -> None:
        self._hops, self._amount = hops, streams.count[first].astype(np.float64)
        place = np.arange(int(hops.max(initial=1)))
        self._entry = np.where(place < hops[:, None], first[:, None] + place, len(streams.link))
        none = np.full((1, sets.of_link.shape[1]), sets.size)
        self._used = np.concatenate([sets.of_link[streams.link], none])
        self._sets, self._link, self._pace = sets, streams.link, sets.rounds_per_send

    def improved(self, sent: FloatArray, until: Deadline) -> FloatArray:
        """Sends ``[E, S]`` that need fewer rounds, if there are any.

        Args:
            sent: the chunks, in parts, that take an entry in a step.
        """
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

    def _loaded(self, entry: IntArray, sent: FloatArray) -> FloatArray:
        """``[sets + 1, S]``: the rounds that sends ``[entries, S]`` need."""
        return np.asarray(self._sets.loads(self._link[entry], sent) * self._pace[:, None])

    def _cheapest(self, price: FloatArray, own: IntArray) -> tuple[IntArray, IntArray]:
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
