"""Can any choice of roots beat reducescatter followed by allgather? (ForestColl paper, section E)

An allreduce may aggregate a different share of the data at each node, and divide each link's
bandwidth between reduction and broadcast.  The paper's linear program has one flow for each compute
node and direction, P copies of every link.  Here cuts give the same optimum: maximise ``sum x``
such that, for every set S that misses a compute node, the broadcast bandwidth leaving S is at least
``x(S)``.  The same holds for the reduction on the reversed network.  A maximum flow finds violated
cuts.

At a switch that copies nothing, each direction's bandwidth has to balance (the paper adds a flow
for every pair of nodes instead), which suffices by edge splitting.  A switch that copies needs no
balance in the broadcast, and one that reduces needs none in the reduction.  Trees branch at such a
switch and have to reach it, so the lower bound has the cuts around it as well; a switch too narrow
for that is treated like the others.

HiGHS computes with floats and is not trusted.  Its solution, rounded to rationals and checked by
exact maximum flows, is a *lower* bound on the optimum.  Its dual, rounded to a combination of cuts
and checked by exact arithmetic, is the *upper* bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, lcm
from typing import Literal

import numpy as np

from syncoll.errors import UsageError
from syncoll.linear import GrowingProgram, Optimum
from syncoll.model.fabric import Fabric
from syncoll.routing.network import FlowNetwork

_DENOMINATOR = 10**4

Cut = frozenset[int]
Direction = Literal["broadcast", "reduce"]
_Junctions = dict[Direction, tuple[int, ...]]
"""For each direction the switches where trees may branch."""

_DIRECTIONS: tuple[Direction, ...] = ("broadcast", "reduce")


@dataclass(frozen=True)
class AllreduceBounds:
    """Bounds proved by the linear program.

    Args:
        at_least: an allreduce throughput that some shares reach, checked by exact flows.
        at_most: an upper bound on it, checked by exact arithmetic.
        shares: data that each node aggregates in a unit of time; the sum is `at_least`.
        bandwidths: the bandwidth of each link that these shares need for broadcasts, and for
            reductions.
        junctions: for each direction the switches where trees branch with these shares.
        cuts: cuts of broadcast and reduction that prove the upper bound, with their multipliers.
    """

    at_least: Fraction
    at_most: Fraction
    shares: tuple[Fraction, ...]
    bandwidths: dict[Direction, list[Fraction]]
    junctions: _Junctions
    cuts: tuple[tuple[Direction, Cut, Fraction], ...]


def allreduce_bounds(fabric: Fabric) -> AllreduceBounds:
    """Bounds on the throughput of any allreduce that reduces to roots and broadcasts from them.
    Raises `ModelError` if a node cannot reach another.  Raises `UsageError` if HiGHS finds no
    solution.
    """
    fabric.require_reachable(range(fabric.num_nodes))
    program = _Program(fabric, _in_use(fabric))
    solution = program.solve()
    cuts, at_most = program.upper_bound(solution)
    found = []
    if not any(program.junctions.values()):
        found.append((program, *program.lower_bound(solution)))
    else:
        nowhere: _Junctions = dict.fromkeys(_DIRECTIONS, ())
        for junctions in (program.wide(solution), nowhere):
            spanning = _Program(fabric, junctions, span=True)
            found.append((spanning, *spanning.lower_bound(spanning.solve())))
            if sum(found[-1][1]) == at_most:
                break
    best, shares, bandwidths = max(found, key=lambda one: sum(one[1]))
    at_least = sum(shares, Fraction(0))
    return AllreduceBounds(at_least, at_most, shares, bandwidths, best.junctions, cuts)


def _in_use(fabric: Fabric) -> _Junctions:
    """The switches that copy or reduce between nodes."""
    between = fabric.reached_from(0) & fabric.reached_from(0, against=True)
    able = {"broadcast": fabric.multicast, "reduce": fabric.reduce}
    return {
        direction: tuple(w for w in able[direction] if w in between) for direction in _DIRECTIONS
    }


class _Program:
    """Variables: the share of each node, then broadcast and reduction bandwidth of each link."""

    def __init__(self, fabric: Fabric, junctions: _Junctions, *, span: bool = False) -> None:
        self.fabric, self.junctions, self.span = fabric, junctions, span
        self.links = [(link.source, link.destination) for link in fabric.links]
        self.bandwidth = [link.bandwidth for link in fabric.links]
        self.widest = max(self.bandwidth)
        self.nodes, self.size = fabric.num_nodes, len(self.links)
        everything = frozenset(range(fabric.num_vertices))
        self.balanced: list[tuple[int, Direction]] = [
            (w, direction)
            for w in range(fabric.num_nodes, fabric.num_vertices)
            for direction in _DIRECTIONS
            if w not in junctions[direction] and any(w in ends for ends in self.links)
        ]
        # Reduction flows on the reversed network.
        self.ends = {"broadcast": self.links, "reduce": [(v, u) for u, v in self.links]}
        self.rows: list[tuple[dict[int, int], float, float]] = []
        for i, b in enumerate(self.bandwidth):
            row = {self._column(direction, i): 1 for direction in _DIRECTIONS}
            self.rows.append((row, -np.inf, float(b / self.widest)))
        for w, direction in self.balanced:
            ends = enumerate(self.links)
            row = {
                self._column(direction, i): 1 if v == w else -1 for i, (u, v) in ends if w in (u, v)
            }
            self.rows.append((row, 0.0, 0.0))
        self.cuts: list[tuple[Direction, Cut]] = []
        for v in range(self.nodes):
            for direction in _DIRECTIONS:
                self._add_cut(direction, everything - {v})

    def _column(self, direction: Direction, link: int) -> int:
        return self.nodes + link + (self.size if direction == "reduce" else 0)

    def _crossing(self, direction: Direction, cut: Cut) -> list[int]:
        """The links that leave a set, in the sense of the direction."""
        return [i for i, (u, v) in enumerate(self.ends[direction]) if u in cut and v not in cut]

    def _add_cut(self, direction: Direction, cut: Cut) -> None:
        row = {self._column(direction, i): 1 for i in self._crossing(direction, cut)}
        row |= {v: -1 for v in cut if v < self.nodes}
        self.rows.append((row, 0.0, np.inf))
        self.cuts.append((direction, cut))

    def solve(self) -> Optimum:
        """Solves the program; adds violated cuts until none is violated beyond rounding."""
        costs = np.zeros(self.nodes + 2 * self.size)
        costs[: self.nodes] = -1
        program, known = GrowingProgram(costs), 0
        while True:
            for row in self.rows[known:]:
                program.add(*row)
            known = len(self.rows)
            solution = program.minimise()
            if solution is None:
                raise UsageError(
                    f"HiGHS found no solution of the allreduce program of {self.fabric.name}"
                )
            for direction in _DIRECTIONS:
                rounded = self._rounded(solution, direction)
                for cut in self._violated(direction, *rounded, strict=False):
                    if (direction, cut) not in self.cuts:
                        self._add_cut(direction, cut)
            if len(self.rows) == known:
                return solution

    def _rounded(
        self, solution: Optimum, direction: Direction
    ) -> tuple[list[Fraction], list[Fraction]]:
        """Capacities and shares, rounded to rationals, in units of the widest link."""
        columns = [
            max(Fraction(0), Fraction(float(x)).limit_denominator(_DENOMINATOR))
            for x in solution.columns
        ]
        first = self._column(direction, 0)
        return columns[first : first + self.size], columns[: self.nodes]

    def _violated(
        self,
        direction: Direction,
        capacities: Sequence[Fraction],
        shares: Sequence[Fraction],
        *,
        strict: bool,
    ) -> list[Cut]:
        """Cuts too narrow for the shares; small shortfalls count only if `strict`."""
        flow, total = self._flow(direction, capacities, shares, strict=strict)
        source, junctions = self.fabric.num_vertices, self.junctions[direction]
        found = []
        for sink in (*range(self.nodes), *(junctions if self.span else ())):
            short = total - flow.maximum(source, sink)
            if short > (0 if strict else total * 1e-6):
                found.append(frozenset(v for v in flow.source_side() if v != source))
        return found

    def wide(self, solution: Optimum) -> _Junctions:
        """The junctions that all shares can reach with all links' full bandwidth."""
        found: _Junctions = {}
        for direction in _DIRECTIONS:
            capacities = [b / self.widest for b in self.bandwidth]
            _, shares = self._rounded(solution, direction)
            flow, total = self._flow(direction, capacities, shares, strict=False)
            found[direction] = tuple(
                w
                for w in self.junctions[direction]
                if flow.maximum(self.fabric.num_vertices, w) >= total * (1 - 1e-6)
            )
        return found

    def _flow(
        self,
        direction: Direction,
        capacities: Sequence[Fraction],
        shares: Sequence[Fraction],
        *,
        strict: bool,
    ) -> tuple[FlowNetwork, int]:
        """A flow network whose source supplies each node's share, and the sum of shares."""
        unit = lcm(*(c.denominator for c in capacities), *(x.denominator for x in shares))
        if not strict:
            unit = min(unit, 10**12)
        source = self.fabric.num_vertices
        need = [floor(x * unit) for x in shares]
        total = sum(need)
        flow = FlowNetwork(
            source + 1,
            [u for u, _ in self.ends[direction]] + [source] * self.nodes,
            [v for _, v in self.ends[direction]] + list(range(self.nodes)),
            [min(floor(c * unit), total) for c in capacities] + need,
        )
        return flow, total

    def lower_bound(
        self, solution: Optimum
    ) -> tuple[tuple[Fraction, ...], dict[Direction, list[Fraction]]]:
        """Shares, scaled down until exact flows confirm them, and their bandwidths."""
        parts: dict[Direction, list[Fraction]] = {}
        for direction in _DIRECTIONS:
            capacities, shares = self._rounded(solution, direction)
            parts[direction] = self._balanced(direction, capacities)
        factor = Fraction(1)
        for i, b in enumerate(self.bandwidth):
            used = parts["broadcast"][i] + parts["reduce"][i]
            if used:
                factor = min(factor, b / self.widest / used)
        for direction, capacities in parts.items():
            capacities[:] = [c * factor for c in capacities]
            while cuts := self._violated(direction, capacities, shares, strict=True):
                for cut in cuts:
                    leaving = sum(
                        (capacities[i] for i in self._crossing(direction, cut)), Fraction(0)
                    )
                    inside = sum((shares[v] for v in cut if v < self.nodes), Fraction(0))
                    if leaving < inside:
                        shares = [x * leaving / inside for x in shares]
        bandwidths = {one: [c * self.widest for c in own] for one, own in parts.items()}
        return tuple(x * self.widest for x in shares), bandwidths

    def _balanced(self, direction: Direction, capacities: Sequence[Fraction]) -> list[Fraction]:
        """Reduces capacities, rounded from floats, until switches balance exactly."""
        switches = [w for w, one in self.balanced if one == direction]
        kept = list(capacities)
        for _ in range(self.fabric.num_vertices * 4):
            changed = False
            for w in switches:
                into = [i for i, (_, v) in enumerate(self.links) if v == w]
                out = [i for i, (u, _) in enumerate(self.links) if u == w]
                a = sum((kept[i] for i in into), Fraction(0))
                b = sum((kept[i] for i in out), Fraction(0))
                for wide, narrow, members in ((a, b, into), (b, a, out)):
                    if wide > narrow:
                        for i in members:
                            kept[i] *= narrow / wide
                        changed = True
            if not changed:
                return kept
        return [Fraction(0)] * len(kept)

    def upper_bound(
        self, solution: Optimum
    ) -> tuple[tuple[tuple[Direction, Cut, Fraction], ...], Fraction]:
        """A bound from nonnegative multipliers of the cuts and free prices of the switches.

        Each node's multipliers sum to at least 1, and each link's price covers, in either
        direction, its cuts plus the difference of its ends' switch prices.  Then summing the rows
        gives ``sum x <= sum of bandwidth * price``.
        """
        duals = [Fraction(float(d)).limit_denominator(_DENOMINATOR) for d in solution.row_duals]
        first = self.size + len(self.balanced)
        sums = [Fraction(0)] * (self.nodes + 2 * self.size)
        for i in range(self.size, len(duals)):
            if duals[i] > 0 or i < first:
                for column, coefficient in self.rows[i][0].items():
                    sums[column] += coefficient * duals[i]
        least = -max(sums[: self.nodes])
        if least <= 0:
            raise UsageError(
                f"HiGHS gave no usable dual of the allreduce program of {self.fabric.name}"
            )
        both = zip(
            sums[self.nodes : self.nodes + self.size], sums[self.nodes + self.size :], strict=True
        )
        price = [max(Fraction(0), *two) for two in both]
        bound = sum((p * b for p, b in zip(price, self.bandwidth, strict=True)), Fraction(0))
        multipliers = zip(self.cuts, duals[first:], strict=True)
        return tuple((*cut, m / least) for cut, m in multipliers if m > 0), bound / least
