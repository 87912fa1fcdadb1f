"""Boxes: the cheapest order in which parts of the machine exchange a sum.

Of the contributions of a box, the last one to leave it counts.  A state says for each box the boxes
whose last contribution it has.  A step leads to another state by some number of sends between
boxes.  Before its last contribution leaves, each other contributor of the box has sent something.
After the last contribution that a box lacks has come, each other node of the box receives it.
docs/certificates.md has the rules and their proof.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations, permutations, product
from math import inf
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.certificates.chunk_classes import ChunkClass, NodeNumber
from syncoll.certificates.link_prices import LinkPrices
from syncoll.certificates.priced import Argument
from syncoll.errors import VerificationError

MOST_BOXES, MOST_STEPS = 4, 64
"""Of a certificate: more boxes have too many states; many steps take long."""

State = tuple[int, ...]
"""For each box the boxes whose last contribution it has, as bits."""

Uses = Counter[tuple[bool, int]]
"""Number of sends, by whether they are between boxes, and by step."""


@dataclass(frozen=True)
class Boxes(Argument):
    """The cheapest order in which boxes exchange a chunk that all add up and need; no witness.

    Args:
        parts: for each node the number of its box.
    """

    parts: tuple[NodeNumber, ...]

    method = "boxes"
    words = "prices on the links, for any order in which boxes exchange contributions and sums"
    of_sums = True

    def pays(self, prices: LinkPrices, asked: Sequence[ChunkClass]) -> Fraction:
        """The payment of all chunks to which every box contributes and which every box needs."""
        boxes = len(set(self.parts))
        if len(self.parts) != prices.topology.num_nodes or not 2 <= boxes <= MOST_BOXES:
            raise VerificationError(f"{len(self.parts)} nodes in {boxes} boxes")
        if not 1 <= len(prices.rooms) <= MOST_STEPS:
            raise VerificationError(f"boxes in {len(prices.rooms)} steps, not 1 to {MOST_STEPS}")
        inside = inside_boxes(self.parts, prices.topology.ends)
        if inside.all() or not inside.any():
            raise VerificationError("no link within a box, or none between boxes")
        inner, outer = (prices.wholes[:, some].min(axis=1).tolist() for some in (inside, ~inside))
        paid = Fraction(0)
        for one in asked:
            ends = fewest(self.parts, one)
            if min(ends):
                cost, _ = cheapest_exchange(boxes, inner, outer, *ends)
                paid += prices.whole_sends(Fraction(cost) / prices.units) * one.count
        return paid


def inside_boxes(parts: Sequence[int], ends: Ints) -> Bools:
    """``[L]``, whether links are within a box."""
    box = np.array(parts)[ends]
    same: Bools = box[:, 0] == box[:, 1]
    return same


def fewest(parts: Sequence[int], one: ChunkClass) -> tuple[int, int]:
    """The least number of contributors in a box, and of nodes that need the sum."""
    given, needed = (Counter(parts[n] for n in nodes) for nodes in (one.pre, one.post))
    return min(given[box] for box in parts), min(needed[box] for box in parts)


def cheapest_exchange(
    boxes: int, inner: Sequence[Any], outer: Sequence[Any], given: int, needed: int
) -> tuple[Any, Uses]:
    """The least cost of a chunk, and sends of this cost.

    Args:
        inner: for each step the price of a send within a box.
        outer: for each step the price of a send between boxes.
        given: the least number of contributors in a box.
        needed: the least number of nodes in a box that need the sum.
    """
    moves, steps = moves_of(boxes), len(inner)
    kind = np.float64 if isinstance(inner[0], float) else object
    within = [(price, False, t) for t, price in enumerate(inner)]
    between = [(price, True, t) for t, price in enumerate(outer)]
    cost = np.full(len(moves.starts), inf, dtype=kind)
    cost[0], came, paying = 0, [], []
    for t in range(steps):
        early, late = min(within[:t] + between[: t + 1]), min(within[t + 1 :] + between[t:])
        # In the box that is complete first, a node is complete after step e.
        heads = [
            (min(within[: e + 1] + between[:e]), min(within[max(e, t + 1) :] + between[e:]))
            for e in range(t, steps)
        ]
        head = min(heads, key=lambda one: (given - 1) * one[0][0] + (needed - 1) * one[1][0])
        full = moves.completed + moves.first
        # A send may both leave a box and complete a node in a step where boxes do so, too.
        twice = early[0] + late[0] > outer[t]
        both = twice * np.minimum((given - 1) * moves.departed, (needed - 1) * full)
        uses = [
            (between[t], moves.sends + both),
            (early, given * moves.departed_early - moves.sends - both),
            (late, needed * moves.completed + moves.first - moves.sends - both),
            (head[0], (given - 1) * moves.first),
            (head[1], (needed - 1) * moves.first),
        ]
        costs = cost[moves.before] + sum(price * times.astype(kind) for (price, *_), times in uses)
        cost = np.minimum.reduceat(costs, moves.starts)
        best = np.flatnonzero(costs == cost[moves.after])
        came.append(best[np.unique(moves.after[best], return_index=True)[1]])
        paying.append(uses)
    state, found = moves.end, Uses()
    for chosen, uses in zip(reversed(came), reversed(paying), strict=True):
        move = chosen[state]
        for (_, *place), times in uses:
            found[tuple(place)] += int(times[move])
        state = moves.before[move]
    return cost[moves.end], found


class Moves(NamedTuple):
    """The moves from state to state in a step, ``[M]`` each, ascending by the state after.

    States that differ by an order of the boxes are one.  State 0 is the first.

    Args:
        before: number of a state.
        after: number of a state.
        starts: ``[states]``, the first move to each state.
        end: number of the state in which all boxes are complete.
        sends: the least number of sends between boxes.
        departed: boxes whose last contribution leaves in this step.
        departed_early: departed boxes that were not complete before.
        completed: boxes that become complete, and whose own last contribution has left.
        first: 1 if a box becomes complete whose own one has not.
    """

    before: Ints
    after: Ints
    starts: Ints
    end: int
    sends: Ints
    departed: Ints
    departed_early: Ints
    completed: Ints
    first: Ints


@cache
def moves_of(boxes: int) -> Moves:
    """The moves of a number of boxes; 4 have 14,192."""
    every, full = range(boxes), (1 << boxes) - 1
    images = [
        (order, [sum((has >> x & 1) << y for y, x in enumerate(order)) for has in range(full + 1)])
        for order in permutations(every)
    ]

    @cache
    def least(state: State) -> State:
        """The least state that differs by an order of the boxes."""
        return min(tuple(image[state[x]] for x in order) for order, image in images)

    def departed(state: State) -> list[bool]:
        return [any(state[y] >> x & 1 for y in every if y != x) for x in every]

    def gains(state: State, x: int) -> dict[int, int]:
        """The sets that box x may have after a step, with the least sends for each."""
        others, found = [state[y] for y in every if y != x], dict[int, int]()
        for number in range(boxes):
            unions = {reduce(or_, some, state[x]) for some in combinations(others, number)}
            for has in range(full + 1):
                if not state[x] & ~has and any(not has & ~union for union in unions):
                    found.setdefault(has, number)
        return found

    start = least(tuple(1 << x for x in every))
    left, rows = [start], dict[State, set[tuple[State, int, int, int, int, int]]]()
    while left:
        state = left.pop()
        if state in rows:
            continue
        gone, rows[state] = departed(state), set()
        for choice in product(*(gains(state, x).items() for x in every)):
            new = tuple(has for has, _ in choice)
            there = departed(new)
            goes = [x for x in every if there[x] and not gone[x]]
            fills = [there[x] for x in every if new[x] == full != state[x]]
            early = sum(state[x] != full for x in goes)
            kinds = len(goes), early, sum(fills), len(fills) - sum(fills)
            rows[state].add((least(new), sum(number for _, number in choice), *kinds))
        left += {after for after, *_ in rows[state]}
    number = {state: i for i, state in enumerate(rows)}
    table = sorted(
        (number[after], number[before], *counts)
        for before, moves in rows.items()
        for after, *counts in moves
    )
    after, before, *columns = np.array(table).T
    starts = np.searchsorted(after, np.arange(len(rows)))
    return Moves(before, after, starts, number[(full,) * boxes], *columns)
