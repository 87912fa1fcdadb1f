"""Guesses how a switch's traffic is spread over its ports.

Edge splitting asks two flows of every terminal for each pair of ports.  On regular networks the
answer is nearly always the balanced one: traffic of a port leaves in equal shares through all
others, same rail first.  This module computes it for any port capacities: a matrix with the ports'
totals as row and column sums, by alternate scaling, rounded by one flow.  The caller verifies it.
"""

from collections.abc import Callable

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.routing.network import FlowNetwork, Network, Pieces, join

Plan = dict[tuple[int, int], int]
"""Units to replace for each pair (u, t) of a switch's ports."""

_ROUNDS = 60
_DISCOURAGED = 1e-6


class _Ports:
    """The totals of a switch's links, and how they may be spread."""

    def __init__(self, network: Network, w: int, avoid: Callable[[int, int], bool]) -> None:
        self.rows, self.columns = sorted(network.into[w]), sorted(network.out[w])
        self.supply = np.array([network.into[w][u] for u in self.rows], dtype=np.int64)
        self.demand = np.array([network.out[w][t] for t in self.columns], dtype=np.int64)
        self.allowed = np.array([[u != t for t in self.columns] for u in self.rows])
        self.liked = np.array([[not avoid(u, t) for t in self.columns] for u in self.rows])

    def spread(self) -> Floats | None:
        """Approximate shares with the totals as sums; None if no shares have these sums."""
        shares = np.where(self.allowed, np.where(self.liked, 1.0, _DISCOURAGED), 0.0)
        for _ in range(_ROUNDS):
            for axis, totals in ((1, self.supply), (0, self.demand)):
                sums = shares.sum(axis=axis, keepdims=True)
                if not sums.all():
                    return None
                shares *= np.expand_dims(totals, axis) / sums
            if np.allclose(shares.sum(axis=1), self.supply, rtol=1e-12, atol=1e-9):
                break
        return shares

    def plan(self, whole: Ints, *, circulant: bool) -> Plan:
        """The pairs with some units, row by row.  In circulant order every port meets its next
        neighbour first, then the one after it."""
        pairs = list(zip(*(x.tolist() for x in np.nonzero(whole)), strict=True))
        if circulant:
            pairs.sort(key=lambda p: ((p[1] - p[0]) % len(self.columns), p[0]))
        return {(self.rows[i], self.columns[j]): int(whole[i, j]) for i, j in pairs}


def balanced_flow(network: Network, w: int) -> Plan | None:
    """The balanced spread of a switch in whole units, the same for ports that are alike.
    Remainders are left over.  None if some capacity could only go back where it came from."""
    ports = _Ports(network, w, lambda u, t: False)
    shares = ports.spread()
    if shares is None:
        return None
    return ports.plan(np.floor(shares + 1e-6).astype(np.int64), circulant=False)


def balanced_plan(network: Network, w: int, avoid: Callable[[int, int], bool]) -> Plan | None:
    """The balanced spread of a switch; None if some capacity could only go back where it came from.
    Pairs (u, t) to `avoid` are used only when the totals demand it."""
    ports = _Ports(network, w, avoid)
    shares = ports.spread()
    if shares is None:
        return None
    whole = np.floor(shares + 1e-6).astype(np.int64)
    # Rounding errors may have pushed a sum above its total; take the excess back.
    for axis, totals in ((1, ports.supply), (0, ports.demand)):
        for i in np.nonzero(whole.sum(axis=axis) > totals)[0]:
            line = whole[i] if axis == 1 else whole[:, i]
            for _ in range(int(line.sum() - totals[i])):
                line[int(line.argmax())] -= 1
    spare_rows = ports.supply - whole.sum(axis=1)
    spare_columns = ports.demand - whole.sum(axis=0)
    liked = ports.allowed & ports.liked
    for good, room in ((liked & (shares > 0), 1), (liked, 1 << 40), (ports.allowed, 1 << 40)):
        if spare_rows.any():
            extra = _fill(spare_rows, spare_columns, good, room)
            whole += extra
            spare_rows -= extra.sum(axis=1)
            spare_columns -= extra.sum(axis=0)
    return None if spare_rows.any() else ports.plan(whole, circulant=True)


def _fill(rows: Ints, columns: Ints, good: Bools, room: int) -> Ints:
    """As much of the missing sums as fits into the good pairs, `room` units each."""
    good = good & (rows > 0)[:, None] & (columns > 0)[None, :]
    i, j = np.nonzero(good)
    extra = np.zeros(good.shape, dtype=np.int64)
    if not len(i):
        return extra
    m, n = good.shape
    flow = FlowNetwork(
        m + n + 2,
        np.concatenate([i, np.full(m, m + n), m + np.arange(n)]),
        np.concatenate([m + j, np.arange(m), np.full(n, m + n + 1)]),
        np.concatenate([np.minimum(room, np.minimum(rows[i], columns[j])), rows, columns]),
    )
    flow.maximum(m + n, m + n + 1)
    extra[i, j] = flow.flows()[: len(i)]
    return extra


def follow_plan(network: Network, w: int, plan: Plan, rail: Callable[[int], int]) -> None:
    """Replaces the units of a plan in place, joining paths of one rail where there are any.

    Args:
        plan: with the switch's link capacities as row and column sums.
        rail: for the end of a path its place among the others of its group.
    """
    arriving: dict[int, dict[int, Pieces]] = {}
    leaving: dict[int, dict[int, Pieces]] = {}
    for u in list(network.into[w]):
        arriving[u] = _by_rail(network.take(u, w, network.into[w][u]), lambda p: rail(p[0]))
    for t in list(network.out[w]):
        leaving[t] = _by_rail(network.take(w, t, network.out[w][t]), lambda p: rail(p[-1]))
    joined: dict[tuple[int, int], Pieces] = {}
    short: list[tuple[int, int, int]] = []
    for turn, ((u, t), amount) in enumerate(plan.items()):
        mine, theirs = arriving[u], leaving[t]
        shared = [r for r in mine if r in theirs]
        shared = shared[turn % len(shared) :] + shared[: turn % len(shared)] if shared else []
        made = joined.setdefault((u, t), [])
        for i, r in enumerate(shared):
            share = -(-amount // (len(shared) - i))
            amount -= _join(mine, r, theirs, r, share, made)
        if amount:
            short.append((u, t, amount))
    for u, t, amount in short:
        while amount:
            amount -= _join(
                arriving[u],
                next(iter(arriving[u])),
                leaving[t],
                next(iter(leaving[t])),
                amount,
                joined[u, t],
            )
    for (u, t), made in joined.items():
        network.add(u, t, made)


def _by_rail(pieces: Pieces, rail: Callable[[tuple[int, ...]], int]) -> dict[int, Pieces]:
    sorted_out: dict[int, Pieces] = {}
    for path, units in pieces:
        sorted_out.setdefault(rail(path), []).append((path, units))
    return dict(sorted(sorted_out.items()))


def _join(
    mine: dict[int, Pieces], r: int, theirs: dict[int, Pieces], q: int, share: int, made: Pieces
) -> int:
    """Joins up to `share` units of two rails; returns how many."""
    new = join(mine[r], theirs[q], share)
    made += new
    for side, key in ((mine, r), (theirs, q)):
        if not side[key]:
            del side[key]
    return sum(units for _, units in new)
