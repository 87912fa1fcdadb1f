"""Flow relaxations: linear programs whose optimum is a lower bound on rounds.

The variables count for each link and step the chunks that an algorithm sends there.  Chunks that a
node d needs flow through the (time-expanded) network to d.  There are two relaxations, both in the
rounds rho_t of each step and with link set L of step t carrying at most ``b_L * rho_t``:

* together: for each destination one flow of all chunks that it needs, each destination under the
  full capacities, as if all sends could be shared.  Small: |destinations| flows.
* copies: a chunk with several destinations has a flow to each of them, and a send of it counts once
  for all of these flows.  Chunks with one destination flow together with the others of that
  destination.  At least as large as the first, up to |classes| * |destinations| flows.

Without time (one layer) the optimum bounds R for algorithms of any number of steps, and takes the
place of the inverse bisection bandwidth in Algorithm 1 of the SCCL paper; no cut proves more, see
`cuts`. The dual prices are rounded to rationals and become a `Priced`, whose exact check determines
the bound.

Copies of allgather on a 6 x 6 torus in 8 steps have 500,000 variables; the orbits of one source
leave 14,000 of them, and colour refinement 2,000.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from syncoll.arrays import Ints
from syncoll.bounding.duals import prices_of
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.quotient import Capacities, Quotient
from syncoll.bounding.rationals import NEAR, rationalise
from syncoll.certificates.chunk_classes import Demand, DemandList
from syncoll.certificates.priced import Priced
from syncoll.certificates.ways import Ways
from syncoll.deadline import NEVER, Deadline
from syncoll.linear import LinearProgram, ProgramRows

_BYTES_PER_COLUMN = 1_000
"""Bytes for each flow variable, a third above the measured 640 to 770: rows, their reduction by
symmetry and the certificate's rationals.  Measured as the growth of the process for allgather on
tori of 36 to 256 nodes, two DGX A100 and random graphs."""


class RelaxationKind(StrEnum):
    """The kind of a relaxation."""

    TOGETHER = "together"
    COPIES = "copies"


@dataclass(frozen=True)
class Commodity:
    """One flow: all chunks of some demands to one destination."""

    destination: int
    demands: tuple[int, ...]


class Relaxation:
    """One relaxation of some demands on a network.

    Args:
        quotient: only one flow of each orbit, with the same optimum.
        destinations: of the flows together, only flows to these nodes; None for all.

    Attributes:
        capacity_rows: of `program`: destination, or None for all together, to the rows ``[S, B]``.
        copy_rows: of `program`: flows of copies, with their arcs and their rows.
    """

    rows: ProgramRows
    capacity_rows: dict[int | None, Ints]
    copy_rows: list[tuple[Commodity, Ints, Ints]]

    def __init__(
        self,
        network: TimeExpandedNetwork,
        demands: Sequence[Demand],
        kind: RelaxationKind,
        quotient: Quotient | None = None,
        destinations: Collection[int] | None = None,
    ) -> None:
        self.network, self.demands, self.kind = network, DemandList.of(demands), kind
        self.quotient, self._destinations = quotient, destinations
        shared = quotient if self.shares_capacity else None
        self.capacities = Capacities(network.topology, shared)

    @cached_property
    def commodities(self) -> list[Commodity]:
        """The flows."""
        return list(self._split())

    @property
    def shares_capacity(self) -> bool:
        """Whether all flows share the capacities."""
        return self.kind is RelaxationKind.COPIES

    @cached_property
    def num_columns(self) -> int:
        """About the number of variables of the linear program; counted before anything is built."""
        return sum(self._counted())

    @property
    def needed_bytes(self) -> int:
        """About the memory for building it and reading its prices.  The solver's share is added
        after the reduction, see `syncoll.linear`."""
        return _BYTES_PER_COLUMN * self.num_columns

    @cached_property
    def _arcs(self) -> list[Ints]:
        useful = self.network.useful
        return [useful(self._sources(one), one.destination) for one in self.commodities]

    def fits(self, most_columns: float, deadline: Deadline = NEVER) -> bool:
        """Whether the linear program has about this number of variables at most; builds nothing.
        Raises `OutOfTimeError` at the deadline."""
        total = 0
        for count in self._counted():
            deadline.check()
            total += count
            if total > most_columns:
                return False
        return True

    def _counted(self) -> Iterator[int]:
        """Number of variables of each flow."""
        of_sources: dict[tuple[int, ...], Ints] = {}
        for commodity in self._split():
            sources = self._sources(commodity)
            if sources not in of_sources:
                of_sources[sources] = self.network.useful_counts(sources)
            yield int(of_sources[sources][commodity.destination])

    def _split(self) -> Iterator[Commodity]:
        quotient, demands = self.quotient, self.demands
        copied = self.kind is RelaxationKind.COPIES
        for k in np.flatnonzero(demands.second_node < 0).tolist() if copied else ():
            demand = demands[k]
            if quotient is None or quotient.stands_for(demand.sources[0]):
                for d in demand.destinations:
                    yield Commodity(d, (k,))
        node, needs = demands.needing
        if copied:
            alone = demands.second_node[needs] >= 0
            node, needs = node[alone], needs[alone]
        among, count = np.unique(node, return_counts=True)
        ends = np.cumsum(count)
        for d, begin, end in zip(among.tolist(), ends - count, ends, strict=True):
            if self._is_included(d):
                yield Commodity(d, tuple(needs[begin:end].tolist()))

    def _is_included(self, destination: int) -> bool:
        """Whether flows that go together to this node are included."""
        among, quotient = self._destinations, self.quotient
        return (among is None or destination in among) and (
            quotient is None or quotient.stands_for(destination)
        )

    def _sources(self, commodity: Commodity) -> tuple[int, ...]:
        first = np.unique(self.demands.first[np.array(commodity.demands, dtype=np.int64)])
        return tuple(sorted({n for i in first.tolist() for n in self.demands.sets[i]}))

    def program(self, deadline: Deadline = NEVER) -> LinearProgram:
        """Assembles the linear program, and fills `capacity_rows` and `copy_rows`. Raises
        `OutOfTimeError` at the deadline."""
        self.rows, self.capacity_rows, self.copy_rows = ProgramRows(), {}, []
        rounds = self.rows.columns(self.network.layers, 1.0)  # the rho_t come first
        copies: dict[int, Ints] = {}
        if self.shares_capacity:
            self.capacity_rows[None] = self.capacities.rows(self.rows, rounds)
        for commodity, arcs in zip(self.commodities, self._arcs, strict=True):
            deadline.check()
            flow = self._flow(commodity, arcs)
            on_link = self.network.link[arcs] >= 0
            k = commodity.demands[0]
            if self.shares_capacity and len(self.demands[k].destinations) > 1:
                if k not in copies:
                    copies[k] = self._copies()
                self._cover(commodity, flow[on_link], arcs[on_link], copies[k])
            else:
                where = None if self.shares_capacity else commodity.destination
                if where is not None:
                    self.capacity_rows[where] = self.capacities.rows(self.rows, rounds)
                self._load(self.capacity_rows[where], flow[on_link], arcs[on_link])
        return self.rows.program()

    def _load(self, capacities: Ints, columns: Ints, arcs: Ints) -> None:
        """Counts the columns, flows on these arcs, in the capacity rows."""
        link, step = self.network.link[arcs], self.network.step[arcs]
        self.capacities.load(self.rows, capacities, columns, link, step)

    def _flow(self, commodity: Commodity, arcs: Ints) -> Ints:
        """Adds a flow over the arcs, with the rows that conserve it; returns its columns."""
        rows, among = self.rows, np.array(commodity.demands, dtype=np.int64)
        start, count = self.demands.first_node[among], self.demands.counts[among]
        alone = start >= 0
        begins = np.bincount(start[alone], count[alone].astype(np.float64))
        supply = dict.fromkeys(self._sources(commodity), 0.0)
        supply |= {node: float(begins[node]) for node in np.unique(start[alone]).tolist()}
        columns, row = self.network.flow(rows, arcs, commodity.destination, supply)
        for k in among[~alone].tolist():  # the flow chooses its start
            demand = self.demands[k]
            choice = rows.columns(len(demand.sources))
            rows.add(row[list(demand.sources)], choice, -1.0)
            rows.add(rows.rows(1, demand.count, demand.count), choice)
        return columns

    def _copies(self) -> Ints:
        """Columns for the sends of a demand over each arc, counted in the capacities."""
        arcs = np.flatnonzero(self.network.link >= 0)
        columns = np.full(len(self.network.link), -1)
        columns[arcs] = self.rows.columns(len(arcs))
        self._load(self.capacity_rows[None], columns[arcs], arcs)
        return columns

    def _cover(self, commodity: Commodity, flow: Ints, arcs: Ints, copies: Ints) -> None:
        """Rows ``flow to this destination - sends <= 0``."""
        rows = self.rows.rows(len(arcs), -np.inf, 0.0)
        self.rows.add(rows, flow)
        self.rows.add(rows, copies[arcs], -1.0)
        self.copy_rows.append((commodity, arcs, rows))

    def solve(
        self, seconds: float | None = None, most_columns: int | None = None, at_least: float = -1.0
    ) -> "SolvedRelaxation | None":
        """The optimum in floating point, and prices for about that bound; None if it was given up,
        or no optimum was found in time.
        Raises `OutOfTimeError` if the time ends before the solver has the program.

        Args:
            seconds: time limit of all of it; only the first check of the prices may take longer.
            most_columns: gives up if more variables are left after the reduction.
            at_least: for an optimum up to this, empty prices are returned.
        """
        deadline = Deadline.after(seconds)
        optimum = self.program(deadline).minimise(deadline.seconds, most_columns)
        if optimum is None:
            return None
        if optimum.value <= at_least * (1 + NEAR) + 1e-12:
            nothing = Priced(self.network.steps, {}, Ways(()))
            return SolvedRelaxation(optimum.value, nothing, Fraction(0))
        found = rationalise(
            optimum.row_duals,
            optimum.value,
            lambda rounding: prices_of(self, optimum.row_duals, rounding),
            lambda proof: proof.check(self.network.topology, self.demands),
            deadline,
        )
        assert found is not None
        return SolvedRelaxation(optimum.value, found[1], found[0])


class SolvedRelaxation(NamedTuple):
    """The optimum as a float, prices, and the bound by their exact check, which alone counts."""

    value: float
    certificate: Priced
    proved: Fraction
