"""Flows together, by cuts instead of flows: for machines whose links share no bounds.

Whether rounds rho_t suffice for all chunks that one destination needs is a question of maximum flow
in the time-expanded network.  If they do not, the least cut is a violated row: the sum over its
links of b * rho_t is at least the number of chunks that start on its side.  So the relaxation has
one variable a step, and a row for each cut that was found (Benders 1962).  The least rounds against
the cuts so far and the cuts that they violate are computed in turn.  The optimum's duals are
weights of cuts, and each cut's weight on its links is a part of the price that its destination
pays.

A cut for fewer steps becomes one for more if some layer is repeated.  So the search begins with the
tight cuts for fewer steps, lengthened at every layer.

Any set of cuts proves a bound, so the search may end at any time.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.arrays import Bools, Floats
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.rationals import NEAR, TOLERANCE, Rounding, rationalise
from syncoll.certificates.chunk_classes import Demand
from syncoll.certificates.link_prices import Place
from syncoll.certificates.priced import Priced
from syncoll.certificates.ways import Share, Ways
from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram, ProgramRows

_CUTS_AT_ONCE = 8
"""Cuts after which the rounds are computed anew."""


@dataclass(frozen=True, eq=False)
class TimedCut:
    """A set of nodes that all chunks from some sources to a destination have to leave in some step.

    `inside` ``[S + 1, P]`` has the nodes on the source's side after each number of steps.  A node
    stays there, because waiting costs nothing.  One layer without time.
    """

    destination: int
    inside: Bools

    def lengthened(self, layer: int, times: int) -> "TimedCut":
        """The cut for more steps, with the layer repeated in the new ones."""
        return TimedCut(
            self.destination, np.insert(self.inside, [layer] * times, self.inside[layer], axis=0)
        )


class TimedCuts:
    """The relaxation of flows together on a network each of whose links has a bound of its own.

    Args:
        known: cuts for S steps, or for fewer.

    Attributes:
        tight: the cuts on which the last bound depends.
    """

    def __init__(
        self,
        network: TimeExpandedNetwork,
        demands: Sequence[Demand],
        destinations: Sequence[int],
        known: Sequence[TimedCut] = (),
    ) -> None:
        self.network, self.demands = network, demands
        topology = network.topology
        self._bound = np.full(len(topology.links), -1)
        for j, members in enumerate(topology.bound_links):
            (link,) = members.tolist()
            rate = topology.bounds[j].chunks_per_round
            if self._bound[link] < 0 or (
                rate < topology.bounds[int(self._bound[link])].chunks_per_round
            ):
                self._bound[link] = j
        rates = np.array([float(bound.chunks_per_round) for bound in topology.bounds])
        self._width = rates[self._bound]
        self._needs: dict[int, list[int]] = {d: [] for d in destinations}
        for k, demand in enumerate(demands):
            for d in demand.destinations:
                if d in self._needs:
                    self._needs[d].append(k)
        self._source, self._target = topology.ends.T
        self._cuts: list[TimedCut] = []
        self._rooms: list[Floats] = []
        self._amounts: list[float] = []
        self.tight: tuple[TimedCut, ...] = ()
        for cut in known:
            self._begin_with(cut)

    def solve(self, deadline: Deadline, start: float) -> tuple[Priced | None, float | None]:
        """Prices for about the least rounds, and these rounds if they were found.

        There are no prices if the known rounds suffice.

        Args:
            start: a known lower bound on rounds, spread evenly over the steps at first.
        """
        import igraph

        network = self.network
        places, steps = network.num_places, network.layers
        first = places  # the source of all supplies
        tail, head = network.tail.tolist(), network.head.tolist()
        on_link = network.link >= 0
        base = np.full(len(tail), 1e15)
        weights = np.zeros(0)
        rounds = np.full(steps, start / steps)
        prices, value, done = None, start, False
        # The farthest first; later the ones that were violated last.
        far = network.topology.distances
        active = sorted(
            (d for d, needs in self._needs.items() if needs),
            key=lambda d: -max(int(far[self.demands[k].sources[0], d]) for k in self._needs[d]),
        )
        graphs: dict[tuple[tuple[int, int], ...], igraph.Graph] = {}
        if self._cuts and (optimum := self._least_rounds(start, deadline)) is not None:
            value, rounds, weights = optimum
        while True:
            capacity = base.copy()
            width = self._width[network.link[on_link]]
            capacity[on_link] = width * rounds[network.step[on_link]]
            found: list[int] = []
            for d in active:
                if deadline.passed:
                    break
                supply = self._supply(d)
                key = tuple(sorted(supply.items()))
                if key not in graphs:
                    if len(graphs) > 1:
                        graphs.clear()
                    edges = [*zip(tail, head, strict=True), *((first, v) for v in supply)]
                    graphs[key] = igraph.Graph(places + 1, edges, directed=True)
                amounts = [float(n) for n in supply.values()]
                flow = graphs[key].maxflow(first, network.goal(d), [*capacity.tolist(), *amounts])
                if flow.value < sum(amounts) * (1 - TOLERANCE):
                    inside = np.zeros(places + 1, dtype=bool)
                    inside[flow.partition[0]] = True
                    width = network.topology.num_nodes
                    self._add(TimedCut(d, inside[:places].reshape(-1, width)), supply)
                    found.append(d)
                    if len(found) >= _CUTS_AT_ONCE:
                        break
            if not found:
                done = not deadline.passed
                break
            active = found + [d for d in active if d not in found]
            optimum = self._least_rounds(start, deadline)
            if optimum is None:
                break
            value, rounds, weights = optimum
        if value > start * (1 + 1e-9):
            prices = self._prices(weights)
        return prices, value if done else None

    def _supply(self, destination: int) -> dict[int, int]:
        supply: dict[int, int] = defaultdict(int)
        for k in self._needs[destination]:
            supply[self.demands[k].sources[0]] += self.demands[k].count
        return dict(supply)

    def _begin_with(self, cut: TimedCut) -> None:
        """A cut for fewer steps, lengthened at each layer in turn."""
        more = self.network.layers + 1 - len(cut.inside)
        if self.network.steps is None or more < 0 or cut.destination not in self._needs:
            return
        supply = self._supply(cut.destination)
        for layer in range(len(cut.inside) if more else 1):
            self._add(cut.lengthened(layer, more), supply)

    def _add(self, cut: TimedCut, supply: Mapping[int, int]) -> None:
        first = cut.inside[0]
        self._cuts.append(cut)
        self._rooms.append(self._crossing(cut) @ self._width)
        self._amounts.append(float(sum(count for node, count in supply.items() if first[node])))

    def _crossing(self, cut: TimedCut) -> Bools:
        """``[steps, L]``: the links that lead out of it."""
        before, after = cut.inside[: self.network.layers], cut.inside[-self.network.layers :]
        return np.asarray(before[:, self._source] & ~after[:, self._target])

    def _least_rounds(
        self, least: float, deadline: Deadline
    ) -> tuple[float, Floats, Floats] | None:
        """The least sum, rounds of each step in the middle of the optimal face, and weights.  From
        a vertex of the face the next cuts would remove almost nothing."""
        rooms = np.array([*self._rooms, np.ones(self.network.layers)])
        program = ProgramRows()
        rounds = program.columns(self.network.layers, 1.0)
        row, column = np.nonzero(rooms)
        low = np.array([*self._amounts, least])
        program.add(program.rows(len(low), low, np.inf)[row], rounds[column], rooms[row, column])
        found = []
        for options in ({}, {"solver": "ipm", "run_crossover": "off"}):
            optimum = GrowingProgram.of(program.program(), **options).minimise(deadline.seconds)
            if optimum is not None:
                found.append(optimum)
        if not found:
            return None
        weights = np.maximum(found[0].row_duals[:-1], 0.0)
        return found[0].value, np.maximum(found[-1].columns, 0.0), weights

    def _prices(self, weights: Floats) -> Priced:
        """Weights of cuts as prices, valid under any rounding."""
        network, topology = self.network, self.network.topology
        used = np.flatnonzero(weights > NEAR).tolist()
        crossing = {i: np.argwhere(self._crossing(self._cuts[i])).tolist() for i in used}
        self.tight = tuple(self._cuts[i] for i in used)
        rates = [topology.bounds[j].chunks_per_round for j in self._bound.tolist()]

        def scaled(rounding: Rounding) -> dict[int, Fraction] | None:
            rational = {used[i]: part for i, part in rounding.positive(weights[used])}
            spent = [Fraction(0)] * network.layers
            for i, part in rational.items():
                for step, link in crossing[i]:
                    spent[step] += part * rates[link]
            most = max(spent)
            return {i: rounding.lower(part / most) for i, part in rational.items() if most} or None

        def proved(parts: Mapping[int, Fraction]) -> Fraction:
            return sum((part * int(self._amounts[i]) for i, part in parts.items()), Fraction(0))

        value = float(weights @ np.array(self._amounts))
        best = rationalise(weights, value, scaled, proved)
        assert best is not None
        of_destination: dict[int, dict[Place, Fraction]] = {}
        totals: dict[Place, Fraction] = defaultdict(Fraction)
        for i, part in best[1].items():
            prices = of_destination.setdefault(self._cuts[i].destination, defaultdict(Fraction))
            for step, link in crossing[i]:
                prices[link, step] += part
        for prices in of_destination.values():
            for link, step in prices:
                # Demands differ in the destination that pays; for each alone one price is enough.
                totals[int(self._bound[link]), step] += prices[link, step]
        shares = tuple(
            Share(d, tuple(self._needs[d]), dict(prices))
            for d, prices in sorted(of_destination.items())
        )
        return Priced(network.steps, dict(totals), Ways(shares))
