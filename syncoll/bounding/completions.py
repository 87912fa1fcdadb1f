"""Finding prices for the case distinction by who knows a sum first (`certificates.completions`).

One linear program: the rounds of each step, and for each case its weight, the sends of the tree,
the completing sends and any others, and flows below them: from each contributor to the node of the
case, and from each contributor to each node that needs the sum.  One node of each orbit is looked
at, and one row stands for an orbit of bounds: the average of a solution over all automorphisms
costs no more.  It has about ``3 P^2 L S^2 / 4`` variables for each orbit of nodes: 8 nodes take
tenths of a second, 16 seconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from syncoll.arrays import FloatArray, IntArray
from syncoll.bounding.duals import denominators, readable
from syncoll.bounding.setting import CombiningSetting
from syncoll.certificates.chunk_classes import ChunkClass, ChunkClasses
from syncoll.certificates.completions import (
    CompletionCase,
    Completions,
    Send,
    Way,
    first_complete,
)
from syncoll.certificates.link_prices import Prices
from syncoll.certificates.priced import Priced
from syncoll.deadline import NEVER, Deadline
from syncoll.linear import LinearProgram
from syncoll.model import Topology

__all__ = ["QUICK", "THOROUGH", "CaseAt", "CaseProgram", "find_completions", "prices_of_links"]


_Key = TypeVar("_Key")
CaseAt = tuple[int, int, int]
"""Position of the class, v and t of a case."""

_MOST_COLUMNS = 600_000
"""Larger programs take too long to build ..."""

QUICK, THOROUGH = 20_000, 60_000
"""... and with so many variables left after the reduction they take a second, or ten."""

_MOST_ROUNDED = 0.1
"""A chunk takes whole sends, which may prove so much more than the linear program; or more than
that, but seldom."""

_TINY = 1e-9


def find_completions(
    topology: Topology,
    shape: ChunkClasses,
    steps: int,
    deadline: Deadline = NEVER,
    more_than: Fraction = Fraction(0),
    most_left: int = QUICK,
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind for at most so many steps, with its certificate.

    Args:
        shape: what has to be combined.
        deadline: when the solver has to be done.
        more_than: only a bound above this is of use.
        most_left: give up where more variables are left after the reduction.

    Returns:
        None where nothing is combined, the linear program is too large or took too long, or
        nothing above `more_than` is proved.
    """
    if not any(_is_combined(one) for one in shape.classes):
        return None
    setting = CombiningSetting(topology, shape, steps)
    cases = _cases(setting)
    if not cases or _about_columns(setting, cases) > _MOST_COLUMNS:
        return None
    program = CaseProgram(setting, cases, deadline)
    optimum = program.linear_program().minimise(deadline.seconds, most_left)
    if optimum is None or optimum.value <= float(more_than) * (1 - _MOST_ROUNDED):
        return None
    best: tuple[Fraction, Priced] | None = None
    for denominator in denominators(optimum.row_duals):
        certificate = program.certificate(-optimum.row_duals, denominator)
        proved = certificate.check(topology, shape.classes)
        if best is None or proved > best[0]:
            best = proved, certificate
        if float(proved) >= optimum.value * (1 - 1e-9) or deadline.passed:
            break
    return best if best is not None and best[0] > more_than else None


def _is_combined(one: ChunkClass) -> bool:
    return len(one.pre) > 1 and len(one.post) > 0


def _cases(setting: CombiningSetting) -> list[CaseAt]:
    """All cases, one of each orbit."""
    return [
        (k, node, after)
        for k, one in enumerate(setting.classes)
        if _is_combined(one)
        for node, first in enumerate(first_complete(setting.topology, one))
        if setting.node[node] == node
        for after in range(first, setting.steps + 1)
    ]


def _about_columns(setting: CombiningSetting, cases: Sequence[CaseAt]) -> int:
    """About how many variables the program has; less where distances leave out some."""
    links = len(setting.topology.links) * setting.steps
    flows = (len(setting.classes[k].pre) * len(setting.classes[k].post) for k, _, _ in cases)
    return links * sum(flows) // 2


@dataclass(frozen=True, eq=False)
class _Case:
    """The rows of a case that have prices for duals.

    Args:
        ways: (contributor, destination) to links, steps and first row.
        collects: contributor to the same.
    """

    case: tuple[int, int, int]
    ways: dict[tuple[int, int], tuple[IntArray, IntArray, int]]
    collects: dict[int, tuple[IntArray, IntArray, int]]


class CaseProgram:
    """Assembles the linear program of some cases, and reads its dual.

    Args:
        prices: ``[S, L]`` of sends; None where they are to be found, too.
    """

    def __init__(
        self,
        setting: CombiningSetting,
        cases: Sequence[CaseAt],
        deadline: Deadline,
        prices: FloatArray | None = None,
    ) -> None:
        self.setting, self._prices = setting, prices
        topology = setting.topology
        self._ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
        self._step = np.arange(setting.steps)[:, None]
        self._entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._low: list[FloatArray] = []
        self._high: list[FloatArray] = []
        self._rows = 0
        self._columns = 0
        self._costs: list[tuple[IntArray, FloatArray]] = []
        self._sent: list[IntArray] = []
        if prices is None:
            self._rounds()
        weights: dict[int, int] = {}
        for k, one in enumerate(setting.classes):
            if _is_combined(one):
                count = float(one.count) if prices is None else 1.0
                weights[k] = int(self._new_rows(1, count, count)[0])
        self.cases = []
        for case in cases:
            deadline.check()
            self.cases.append(self._case(case, weights[case[0]]))

    def _rounds(self) -> None:
        """The rounds of each step, and the room that they have."""
        setting, rounds = self.setting, self._new_columns(self.setting.steps)
        self._costs.append((rounds, np.ones(len(rounds))))
        orbits = len(setting.rates)
        count = setting.steps * orbits
        self._capacity = self._new_rows(count, -np.inf, 0.0).reshape(setting.steps, orbits)
        for orbit, rate in enumerate(setting.rates):
            room = float(rate) * float(setting.sizes[orbit])
            self._add(self._capacity[:, orbit], rounds, -room)

    def _case(self, case: CaseAt, weights: int) -> _Case:
        setting, topology, step = self.setting, self.setting.topology, self._step
        k, v, after = case
        one, distances = setting.classes[k], topology.distances
        source, target = self._ends.T
        weight = self._new_columns(1)
        self._add(np.array([weights]), weight, 1.0)
        # Sends of three kinds: of the tree, completing ones, and others.
        tree, completing = self._sends(step < after), self._sends(step >= after - 1)
        others = self._sends(step >= 0)
        for d in one.post:
            if d != v:
                row = self._new_rows(1, 0.0, np.inf)
                self._add(row, weight, -1.0)
                some = completing[after - 1 :, target == d].ravel()
                self._add(np.repeat(row, len(some)), some, 1.0)
        collects, ways = {}, {}
        for u in one.pre:
            come = distances[u, source] <= step
            if u != v:
                useful = come & (distances[target, v] < after - step)
                collects[u] = self._flow(useful, weight, (0, u), (after, v), [tree])
            for d in one.post:
                if d != u:
                    useful = come & (distances[target, d] < setting.steps - step)
                    goal = setting.steps, d
                    kinds = [tree, completing, others]
                    ways[u, d] = self._flow(useful, weight, (0, u), goal, kinds)
        return _Case(case, ways, collects)

    def _sends(self, steps: npt.NDArray[np.bool_]) -> IntArray:
        """``[S, L]``: columns for sends over each link in these steps, counted in the capacities;
        -1 in others."""
        setting = self.setting
        columns = np.full((setting.steps, len(self._ends)), -1)
        when = np.flatnonzero(steps)
        columns[when] = self._new_columns(len(when) * len(self._ends)).reshape(len(when), -1)
        self._sent.append(columns)
        if self._prices is not None:
            self._costs.append((columns[when].ravel(), self._prices[when].ravel()))
            return columns
        link, orbit = np.nonzero(setting.members)
        times = setting.members[link, orbit]
        for t in when.tolist():
            self._add(self._capacity[t, orbit], columns[t, link], times)
        return columns

    def _flow(
        self,
        useful: npt.NDArray[np.bool_],
        weight: IntArray,
        start: tuple[int, int],
        goal: tuple[int, int],
        sends: list[IntArray],
    ) -> tuple[IntArray, IntArray, int]:
        """As much as the case weighs, over links in steps, below some sends; see `_Case`."""
        steps, nodes = self.setting.steps, self.setting.topology.num_nodes
        step, link = np.nonzero(useful)
        place = self._new_rows((steps + 1) * nodes, 0.0, 0.0).reshape(steps + 1, nodes)
        flow = self._new_columns(len(step))
        self._add(place[step, self._ends[link, 0]], flow, -1.0)
        self._add(place[step + 1, self._ends[link, 1]], flow, 1.0)
        wait = self._new_columns(steps * nodes)
        self._add(place[:-1].ravel(), wait, -1.0)
        self._add(place[1:].ravel(), wait, 1.0)
        self._add(place[start].reshape(1), weight, 1.0)
        self._add(place[goal].reshape(1), weight, -1.0)
        below = self._new_rows(len(step), -np.inf, 0.0)
        self._add(below, flow, 1.0)
        for columns in sends:
            there = columns[step, link] >= 0
            self._add(below[there], columns[step, link][there], -1.0)
        return link, step, int(below[0]) if len(below) else 0

    def _new_rows(self, count: int, low: float, high: float) -> IntArray:
        self._low.append(np.full(count, low))
        self._high.append(np.full(count, high))
        self._rows += count
        return np.arange(self._rows - count, self._rows)

    def _new_columns(self, count: int) -> IntArray:
        self._columns += count
        return np.arange(self._columns - count, self._columns)

    def _add(self, rows: IntArray, columns: IntArray, values: float | FloatArray) -> None:
        self._entries.append((rows, columns, np.broadcast_to(values, rows.shape)))

    def linear_program(self) -> LinearProgram:
        """The program assembled."""
        costs = np.zeros(self._columns)
        for some, cost in self._costs:
            costs[some] = cost
        rows, columns, values = (np.concatenate(some) for some in zip(*self._entries, strict=True))
        low, high = np.concatenate(self._low), np.concatenate(self._high)
        return LinearProgram(costs, rows, columns, values.astype(np.float64), low, high)

    def certificate(self, duals: FloatArray, denominator: int) -> Priced:
        """The prices and shares of a dual solution, of denominators of at most this size."""
        setting = self.setting
        orbits: dict[tuple[int, int], Fraction] = {}
        for t in range(setting.steps):
            prices = [
                _rational(max(0.0, duals[row]), denominator) for row in self._capacity[t].tolist()
            ]
            parts = zip(prices, setting.rates, setting.sizes.tolist(), strict=True)
            spent = sum((price * rate * size for price, rate, size in parts), Fraction(0))
            for orbit, price in enumerate(prices):
                if price:
                    orbits[orbit, t] = readable(price / spent)
        totals = {
            (bound, t): orbits[orbit, t]
            for bound, orbit in enumerate(setting.bound.tolist())
            for t in range(setting.steps)
            if (orbit, t) in orbits
        }
        on_links = prices_of_links(setting, totals)
        cases = tuple(self.case(i, duals, on_links, denominator) for i in range(len(self.cases)))
        automorphisms = tuple(tuple(images.tolist()) for images in setting.generators)
        return Priced(setting.steps, totals, Completions(automorphisms, cases))

    def case(
        self,
        number: int,
        duals: FloatArray,
        on_links: Prices,
        denominator: int,
        sends: tuple[Send, ...] = (),
    ) -> CompletionCase:
        """A case with the shares of a dual solution, cut down to what links cost."""
        one, rest = self.cases[number], dict(on_links)
        ways = _cut({at: _parts(duals, rows, denominator) for at, rows in one.ways.items()}, rest)
        collects = _cut(
            {at: _parts(duals, rows, denominator) for at, rows in one.collects.items()}, rest
        )
        return CompletionCase(
            *one.case,
            tuple(Way(*ends, parts) for ends, parts in ways.items()),
            tuple(Way(source, one.case[1], parts) for source, parts in collects.items()),
            sends,
        )

    def divisible(self) -> IntArray:
        """``[S, L]``: rows that count each send of the only case, to say that it is made or not."""
        rows = self._new_rows(self._sent[0].size, 0.0, np.inf).reshape(self._sent[0].shape)
        for columns in self._sent:
            there = columns >= 0
            self._add(rows[there], columns[there], 1.0)
        return rows

    def sent(self, columns: FloatArray) -> FloatArray:
        """``[S, L]``: how much of each send of the only case there is in a solution."""
        return sum(
            (np.where(one >= 0, columns[one], 0.0) for one in self._sent),
            np.zeros(self._sent[0].shape),
        )


def prices_of_links(setting: CombiningSetting, totals: Prices) -> dict[tuple[int, int], Fraction]:
    """(Position of the link, step) to its price."""
    found: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for (bound, t), price in totals.items():
        for link in setting.topology.bound_links[bound].tolist():
            found[link, t] += price
    return found


def _rational(value: float, denominator: int) -> Fraction:
    return Fraction(float(value)).limit_denominator(denominator)


def _parts(
    duals: FloatArray,
    rows: tuple[IntArray, IntArray, int],
    denominator: int,
) -> dict[tuple[int, int], Fraction]:
    link, step, first = rows
    block = duals[first : first + len(link)]
    found = {}
    for i in np.flatnonzero(block > _TINY).tolist():
        part = _rational(block[i], denominator)
        if part:
            found[int(link[i]), int(step[i])] = part
    return found


def _cut(
    shares: dict[_Key, dict[tuple[int, int], Fraction]], rest: dict[tuple[int, int], Fraction]
) -> dict[_Key, Prices]:
    """Shares cut where they add up to more than there is; takes them from it."""
    sums: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for parts in shares.values():
        for at, part in parts.items():
            sums[at] += part
    less = {
        at: rest.get(at, Fraction(0)) / total
        for at, total in sums.items()
        if total > rest.get(at, 0)
    }
    for at, total in sums.items():
        rest[at] = Fraction(0) if at in less else rest[at] - total
    return {
        key: {
            at: share for at, part in parts.items() if (share := part * less.get(at, Fraction(1)))
        }
        for key, parts in shares.items()
        if parts
    }
