"""Finds prices for the cases by the node that completes a sum first (`certificates.completions`).

One linear program: the rounds of each step; for each case its weight, the sends of the tree, the
completing sends and any others; and flows below them, from each contributor to the node of the case
and to each node that needs the sum.  Only one node of each orbit is considered, and one row
represents an orbit of bounds: the average of a solution over all automorphisms costs no more.  It
has about ``3 P^2 L S^2 / 4`` variables for each orbit of nodes: 8 nodes take tenths of a second, 16
seconds.  In a larger one the links of an orbit have equal sends, and one flow represents an orbit
of flows, under the automorphisms that keep the node of the case.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.bounding.network import QUICK, THOROUGH, TimeExpandedNetwork
from syncoll.bounding.orbit_model import OrbitModel
from syncoll.bounding.rationals import WHOLE_SENDS, Rounding, excess, rationalise
from syncoll.certificates.chunk_classes import ChunkClass, ChunkClasses
from syncoll.certificates.completions import CompletionCase, Completions, Send, Way, first_complete
from syncoll.certificates.link_prices import LinkPrices, Place, Prices
from syncoll.certificates.priced import Priced
from syncoll.deadline import NEVER, Deadline
from syncoll.linear import ProgramRows
from syncoll.model import Topology

CaseAt = tuple[int, int, int]
"""Position of the class, v and t of a case."""

_LEFT, _SECONDS = 8_000, (6.0, 120.0)
"""With n variables left after the reduction a program takes about (n / `_LEFT`)² seconds; and the
most of these, where that has to be quick and where it need not."""


def find_completions(
    topology: Topology,
    shape: ChunkClasses,
    steps: int,
    deadline: Deadline = NEVER,
    more_than: Fraction = Fraction(0),
    thorough: bool = False,
    late: Callable[[], None] = lambda: None,
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind for at most S steps, with its certificate; None if no chunk is
    combined, the linear program is too large or took too long, or proves no more than `more_than`.

    Args:
        more_than: a bound up to this is not returned.
        thorough: whether the program may take minutes, if there is the time.
        late: called if there is not.
    """
    if not any(_is_combined(one) for one in shape.classes):
        return None
    model = OrbitModel.of(topology, shape, steps)
    cases = _cases(model)
    around = dict[int, OrbitModel]()
    if _about_columns(model, cases, around) > 10 * QUICK[0]:
        around = {node: model.fixing(node) for node in {node for _, node, _ in cases}}
    if not cases or _about_columns(model, cases, around) > THOROUGH[0]:
        return None  # it would take too long to build
    program = CaseProgram(model, cases, deadline, around=around)
    seconds = max(0.0, min(_SECONDS[thorough], deadline.left()))
    optimum = program.rows.program().minimise(deadline.seconds, int(_LEFT * seconds**0.5))
    if optimum is None and seconds < _SECONDS[thorough]:
        late()
    if optimum is None or optimum.value <= float(more_than) * (1 - WHOLE_SENDS):
        return None
    return rationalise(
        optimum.row_duals,
        optimum.value,
        lambda rounding: program.certificate(-optimum.row_duals, rounding),
        lambda proof: proof.check(topology, shape.classes),
        deadline,
        more_than,
    )


def _is_combined(one: ChunkClass) -> bool:
    return len(one.pre) > 1 and len(one.post) > 0


def _cases(model: OrbitModel) -> list[CaseAt]:
    """All cases, one of each orbit."""
    return [
        (k, node, after)
        for k, one in enumerate(model.classes)
        if _is_combined(one)
        for node, first in enumerate(first_complete(model.topology, one))
        if model.node[node] == node
        for after in range(first, model.steps + 1)
    ]


def _about_columns(
    model: OrbitModel, cases: Sequence[CaseAt], around: Mapping[int, OrbitModel]
) -> int:
    """An upper estimate of the program's variables; distances leave out some."""
    links = len(model.topology.links) * model.steps
    parts = [(model.classes[k], v) for k, v, _ in cases]
    if around:
        return links * sum(len(_pairs(one, around[v])) for one, v in parts) // 2
    return links * sum(len(one.pre) * len(one.post) for one, _ in parts) // 2


def _pairs(one: ChunkClass, around: OrbitModel) -> list[tuple[int, int]]:
    """A contributor and a node that needs its sum, from each orbit of such pairs."""
    return [(u, d) for u, d in around.pairs if u in one.pre and d in one.post]


class _WayRows(NamedTuple):
    """The rows whose duals are the shares of a way, and the link and the step of each."""

    source: int
    destination: int
    link: Ints
    step: Ints
    row: Ints


class CaseProgram:
    """Assembles the linear program of some cases, and reads its dual.

    Args:
        prices: ``[S, L]`` of sends; None to find them too.
        around: for nodes of cases the model modulo automorphisms that keep the node; None: none.

    Attributes:
        rows: the program.
    """

    def __init__(
        self,
        model: OrbitModel,
        cases: Sequence[CaseAt],
        deadline: Deadline,
        prices: Floats | None = None,
        around: Mapping[int, OrbitModel] | None = None,
    ) -> None:
        self.model, self._prices = model, prices
        alone = OrbitModel(model.topology, model.steps, (), model.classes)
        self._around = around or defaultdict[int, OrbitModel](lambda: alone)
        self.rows = ProgramRows()
        self._step = np.arange(model.steps)[:, None]
        self._sent: list[Ints] = []
        self._networks: dict[int, TimeExpandedNetwork] = {}
        orbits = len(model.rates)
        if prices is None:  # the rounds of each step, and their capacities
            rounds = self.rows.columns(model.steps, 1.0)
            capacity = self.rows.rows(model.steps * orbits, -np.inf, 0.0)
            self._capacity = capacity.reshape(model.steps, orbits)
            rates = np.array([float(rate) for rate in model.rates])
            self.rows.add(self._capacity, rounds[:, None], -rates)
        weights: dict[int, Ints] = {}
        for k, one in enumerate(model.classes):
            if _is_combined(one):
                count = float(one.count) if prices is None else 1.0
                weights[k] = self.rows.rows(1, count, count)
        self._cases: list[tuple[CaseAt, list[_WayRows], list[_WayRows]]] = []
        for case in cases:
            deadline.check()
            self._cases.append((case, *self._case(case, weights[case[0]])))

    def _case(self, case: CaseAt, weights: Ints) -> tuple[list[_WayRows], list[_WayRows]]:
        """Rows of a case: its ways, and the ways to its node."""
        rows, model, step = self.rows, self.model, self._step
        k, v, after = case
        one, target, around = model.classes[k], model.topology.ends[:, 1], self._around[v]
        nodes = [d for d in range(len(around.node)) if around.node[d] == d != v]
        weight = rows.columns(1)
        rows.add(weights, weight)
        when = step < after, step >= after - 1, step >= 0
        kinds = [self._sends(some, around.links) for some in when]
        tree, completing, _ = kinds
        for d in set(nodes) & {*one.post}:
            row = rows.rows(1, 0.0, np.inf)
            rows.add(row, weight, -1.0)
            into, times = np.unique(completing[after - 1 :, target == d], return_counts=True)
            rows.add(row, into, times)
        collects = [self._flow(after, weight, u, v, [tree]) for u in nodes if u in one.pre]
        pairs = _pairs(one, around)
        return [self._flow(model.steps, weight, *ends, kinds) for ends in pairs], collects

    def _sends(self, steps: Bools, links: Ints) -> Ints:
        """``[S, L]``: columns for sends over each link in these steps, counted in the capacities;
        -1 in others.  `links` has the orbits of links, which have equal sends."""
        model, count = self.model, int(links.max(initial=-1)) + 1
        columns = np.full((model.steps, len(links)), -1)
        when = np.flatnonzero(steps)
        costs = 0.0 if self._prices is None else self._prices[when].ravel()
        own = self.rows.columns(len(when) * count, costs).reshape(len(when), -1)
        columns[when] = own[:, links]
        self._sent.append(columns)
        if self._prices is None:
            members = np.zeros((count, len(model.rates)))
            np.add.at(members, links, model.members)
            link, orbit = np.nonzero(members)
            for t, sends in zip(when.tolist(), own, strict=True):
                self.rows.add(self._capacity[t, orbit], sends[link], members[link, orbit])
        return columns

    def _flow(
        self, steps: int, weight: Ints, source: int, goal: int, sends: list[Ints]
    ) -> _WayRows:
        """A flow within given steps that equals the weight of the case, bounded by some sends."""
        if steps not in self._networks:
            self._networks[steps] = TimeExpandedNetwork.of(self.model.topology, steps)
        network = self._networks[steps]
        arcs = network.useful((source,), goal)
        flow, row = network.flow(self.rows, arcs, goal, {source: 0.0})
        self.rows.add(row[source], weight, -1.0)
        moving = network.link[arcs] >= 0
        link, step = network.link[arcs[moving]], network.step[arcs[moving]]
        below = self.rows.rows(len(link), -np.inf, 0.0)
        self.rows.add(below, flow[moving])
        for columns in sends:
            there = columns[step, link] >= 0
            self.rows.add(below[there], columns[step, link][there], -1.0)
        return _WayRows(source, goal, link, step, below)

    def certificate(self, duals: Floats, rounding: Rounding) -> Priced:
        """The prices and shares of a dual solution."""
        model = self.model
        prices = model.priced(duals[self._capacity].T, rounding)
        on_links = LinkPrices.of(model.topology, model.steps, prices).by_place()
        cases = tuple(self.case(i, duals, on_links, rounding) for i in range(len(self._cases)))
        return Priced(model.steps, prices, Completions(model.generators, cases))

    def case(
        self,
        number: int,
        duals: Floats,
        on_links: Prices,
        rounding: Rounding,
        sends: tuple[Send, ...] = (),
    ) -> CompletionCase:
        """A case with the shares of a dual solution, cut where links cost less."""
        at, *parts = self._cases[number]
        around, rest = self._around[at[1]], defaultdict[Place, Fraction](Fraction)
        links = around.links.tolist()
        for (link, step), price in on_links.items():
            rest[links[link], step] += price
        ways, collects = (_cut(some, duals, rounding, links, rest) for some in parts)
        return CompletionCase(*at, ways, collects, sends, around.generators)

    def divisible(self) -> Ints:
        """``[S, L]``: rows that count each send of the only case, to force or to exclude it."""
        shape = self._sent[0].shape
        rows = self.rows.rows(self._sent[0].size, 0.0, np.inf).reshape(shape)
        for columns in self._sent:
            there = columns >= 0
            self.rows.add(rows[there], columns[there])
        return rows

    def sent(self, columns: Floats) -> Floats:
        """``[S, L]``: the amount of each send of the only case in a solution."""
        return sum(
            (np.where(one >= 0, columns[one], 0.0) for one in self._sent),
            np.zeros(self._sent[0].shape),
        )


def _cut(
    ways: Sequence[_WayRows],
    duals: Floats,
    rounding: Rounding,
    links: Sequence[int],
    rest: dict[Place, Fraction],
) -> tuple[Way, ...]:
    """Shares, cut where they exceed the remaining prices of orbits, which are reduced by them."""
    shares = [
        {
            (int(one.link[i]), int(one.step[i])): part
            for i, part in rounding.positive(duals[one.row])
        }
        for one in ways
    ]
    sums: dict[Place, Fraction] = defaultdict(Fraction)
    for parts in shares:
        for (link, step), part in parts.items():
            sums[links[link], step] += part
    less = excess(sums, rest.__getitem__)
    for at, total in sums.items():
        rest[at] = Fraction(0) if at in less else rest[at] - total
    found = []
    for one, parts in zip(ways, shares, strict=True):
        cut = {
            (link, step): part * less.get((links[link], step), Fraction(1))
            for (link, step), part in parts.items()
        }
        if parts:
            kept = {at: part for at, part in cut.items() if part}
            found.append(Way(one.source, one.destination, kept))
    return tuple(found)
