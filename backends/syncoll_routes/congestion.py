"""Routes for amounts from node to node that balance the loads of the bounds.

Each amount is cut into parts.  One part of all amounts at a time is routed on the cheapest ways;
prices rise exponentially as a bound nears the largest load.  Every part is then routed again, with
ever steeper prices.  The results are whole chunks, and the largest load is near the fractional
optimum.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats, Ints
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.model.rows import ranks_among
from syncoll.scheduling.link_sets import LinkSets

Narrow = npt.NDArray[np.float32]

_STEEPNESS = (6.0, 40.0)
"""Exponents of the first and the last pass: the fullest bound costs e to this times an idle one."""

_NOISE = 0.05
"""Relative random change of prices, so that parts take turns among ways of equal cost."""

_GROUPS = 16
"""Groups of sources that route a part in turn, so that few choose a link at the same time."""

_CELLS = 1 << 22
"""Sources times links that are compared at once."""

_PER_HOP = 1e-3
"""Cost of a send independent of load, as a share of its cost on the fullest bound."""


@dataclass(frozen=True, eq=False)
class Routes:
    """Ways of amounts.

    Args:
        pair: ``[W]``, the pair of each way.
        amount: ``[W]``, the chunks on it.
        links: ``[W, H]``, the links in order; -1 after the last.
        rounds: rounds of the fullest bound, exactly or rounded up.
    """

    pair: Ints
    amount: Ints
    links: Ints
    rounds: float


class CongestionRouter:
    """Routes amounts between pairs ``[N, 2]`` of different nodes."""

    def __init__(self, topology: Topology, pairs: Ints) -> None:
        self._topology, self._pairs, self._nodes = topology, pairs, topology.num_nodes
        self._sources, self._source = np.unique(pairs[:, 0], return_inverse=True)
        self._ends = topology.ends
        heads = self._ends[:, 1]
        place = ranks_among(heads)
        self._into = np.full((self._nodes, 1 + int(place.max(initial=0))), -1)
        self._into[heads, place] = np.arange(len(heads))
        self._random = np.random.default_rng(0)

    def routes(
        self, amounts: Ints, parts: int, passes: int, until: Deadline, enough: float = 0.0
    ) -> Routes:
        """Routes for ``[N]`` amounts, the best of all passes; stops early at `enough` rounds."""
        sets = LinkSets(self._topology, int(amounts.sum()) * self._nodes)
        cost = np.append(sets.rounds_per_send[: sets.size], 0.0)
        turn = (np.arange(parts + 1)[:, None] + self._random.random(len(amounts))[None, :]) / parts
        until_now = np.floor(turn * amounts).astype(np.int64)
        shares: Ints = until_now[1:] - until_now[:-1]
        taken = np.full((parts, len(amounts), 1), -1, dtype=np.int64)
        load = np.zeros(sets.size + 1)
        best: tuple[float, Ints] | None = None
        groups = min(_GROUPS, len(self._sources))
        for turn_number in range(passes):
            steep = np.interp(turn_number, (0, max(1, passes - 1)), _STEEPNESS)
            for part in range(parts):
                group_of = self._random.permutation(len(self._sources)) % groups
                for group in range(groups):
                    rows = np.flatnonzero(group_of[self._source] == group)
                    rows = rows[shares[part][rows] > 0]
                    if not len(rows):
                        continue
                    own = shares[part][rows]
                    load -= self._load(sets, taken[part][rows], own, cost)
                    fullest = max(load.max(), enough, 1e-9)
                    price = cost * (np.exp(steep * (load / fullest - 1)) + _PER_HOP)
                    price[-1] = 0.0
                    found = self._cheapest(price[sets.of_link].sum(axis=1), rows)
                    short = max(0, found.shape[1] - taken.shape[2])
                    if short:
                        taken = np.pad(taken, ((0, 0), (0, 0), (0, short)), constant_values=-1)
                    taken[part, rows] = -1
                    taken[part, rows, : found.shape[1]] = found
                    load += self._load(sets, found, own, cost)
                if until.passed and best:
                    break
            rounds = float(load.max())
            if best is None or rounds < best[0]:
                best = rounds, taken.copy()
            if until.passed:
                break
        assert best is not None
        pair = np.tile(np.arange(len(amounts)), parts)
        links = best[1].reshape(len(pair), -1)
        return merged(sets, pair, shares.ravel(), links)

    def _cheapest(self, price: Floats, rows: Ints) -> Ints:
        """``[N, H]``: the links of a cheapest way for each of `rows`; -1 after the last."""
        noisy = price * (1 + _NOISE * self._random.random(len(price)))
        used, source = np.unique(self._source[rows], return_inverse=True)
        before = self._before(noisy.astype(np.float32), self._sources[used])
        pairs = self._pairs[rows]
        at = pairs[:, 1].copy()
        columns: list[Ints] = []
        while True:
            moving = at != pairs[:, 0]
            if not moving.any():
                break
            previous = np.where(moving, before[source, at], at)
            columns.append(self._topology.links_of(previous, at))
            at = previous
        backward = np.stack(columns, axis=1)
        hops = (backward >= 0).sum(axis=1)
        # Reverses the ways and moves empty places to the end.
        place = hops[:, None] - 1 - np.arange(backward.shape[1])[None, :]
        found = np.where(place >= 0, np.take_along_axis(backward, np.maximum(place, 0), axis=1), -1)
        return np.asarray(found, dtype=np.int64)

    def _before(self, price: Narrow, sources: Ints) -> Ints:
        """``[S, P]``: the predecessor of each node on a cheapest way from each source."""
        into = np.where(self._into >= 0, price[self._into], np.inf).astype(np.float32)
        neighbours = self._ends[self._into, 0]  # missing links have infinite price
        count = len(sources)
        far = np.full((count, self._nodes), np.inf, dtype=np.float32)
        far[np.arange(count), sources] = 0
        before = np.repeat(sources[:, None], self._nodes, axis=1)
        block = max(1, _CELLS // self._into.size)
        changed = True
        while changed:
            changed, nearer = False, far.copy()
            for low in range(0, count, block):
                part = slice(low, low + block)
                cost = far[part][:, neighbours] + into
                choice = cost.argmin(axis=2)
                least = np.take_along_axis(cost, choice[..., None], axis=2)[..., 0]
                better = least < far[part]
                if better.any():
                    changed = True
                    nearer[part][better] = least[better]
                    nodes = np.broadcast_to(np.arange(self._nodes), better.shape)[better]
                    before[part][better] = neighbours[nodes, choice[better]]
            far = nearer
        return np.asarray(before)

    @staticmethod
    def _load(sets: LinkSets, links: Ints, amounts: Ints, cost: Floats) -> Floats:
        rows, columns = np.nonzero(links >= 0)
        used = sets.of_link[links[rows, columns]]
        weights = np.repeat(amounts[rows], used.shape[1])
        found = np.bincount(used.ravel(), weights, len(cost)) * cost
        return np.asarray(found)


def merged(sets: LinkSets, pair: Ints, amount: Ints, links: Ints) -> Routes:
    """Ways in order of their pairs; merges ways of one pair over the same links.

    Args:
        pair: ``[W]``.
        amount: ``[W]``; ways with amount 0 are left out.
        links: ``[W, H]``; -1 for an empty place.
    """
    some = amount > 0
    pair, amount, links = pair[some], amount[some], links[some]
    links = np.take_along_axis(links, np.argsort(links < 0, axis=1, kind="stable"), axis=1)
    links = links[:, : max(1, int((links >= 0).sum(axis=1).max(initial=1)))]
    rows = np.column_stack([pair, links])
    order = np.lexsort(rows.T[::-1])
    rows, amount = rows[order], amount[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    first = np.flatnonzero(new)
    total = np.add.reduceat(amount, first) if len(first) else amount
    rows = rows[first]
    way, place = np.nonzero(rows[:, 1:] >= 0)
    return Routes(rows[:, 0], total, rows[:, 1:], sets.busiest(rows[way, place + 1], total[way]))
