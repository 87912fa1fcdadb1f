"""The arrivals of one step if links into different nodes share bandwidths.

A step is one linear program over all receivers u, the sources v whose chunks arrive there, and the
links into u that may carry them:

    minimise U, where the shares of each (v, u) sum to 1 and the links of each bound carry at
    most U times its chunks per round

(Pal et al., arXiv 2202.03356, section 5.1, with shared bounds).  Symmetry reduces it to one u and
one row of each orbit.  Links with the same loads are one way, and all (v, u) with the same ways are
one row.

At a vertex of the program at most one row for each tight bound is split.  Split rows are rounded by
largest remainders, and improved by moves and by CP-SAT (`syncoll.packing.whole_chunks`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isinf
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Bools, Floats, Ints
from syncoll.clock import now
from syncoll.deadline import Deadline
from syncoll.errors import ModelError
from syncoll.linear import GrowingProgram, Optimum, ProgramRows
from syncoll.model import UNREACHABLE, Topology
from syncoll.packing.local_search import ChunkMoves
from syncoll.packing.remainders import grouped_remainders
from syncoll.packing.whole_chunks import ColumnChoice, rounds_of
from syncoll.symmetry import FreeGroup, LinkOrbits

_MOST_ENTRIES = 1 << 19
"""Most entries of a linear program; HiGHS takes about 400 bytes for each."""

_MOST_CELLS = 1 << 23
"""Ways times bounds up to which rounded shares are improved."""

_MOST_INTEGERS = 2_000
"""Ways up to which CP-SAT looks for better numbers of chunks."""

_INTEGER_SECONDS = 0.5

_LEAST_SECONDS = 0.05

_NOISE = 1e-7
"""Relative tolerance of optima from HiGHS."""


@dataclass(frozen=True, eq=False)
class StepChunks:
    """Chunks of each way in a step, for each variable of its program, and the step's rounds."""

    amounts: Ints
    rounds: int


@dataclass(frozen=True, eq=False)
class LinkClasses:
    """Links by the load of a send, with all its images.

    Args:
        members: ``[W, B]``, loads of a class on one bound of each orbit.
        of_link: ``[L]``, the class of each link.
        rates: ``[B]``, chunks per round of these bounds.
    """

    members: Ints
    of_link: Ints
    rates: tuple[Fraction, ...]

    @classmethod
    def of(cls, topology: Topology, orbits: LinkOrbits) -> "LinkClasses":
        """The classes of a topology's links, given its orbits of links and bounds."""
        number: dict[bytes, int] = {}
        way = [number.setdefault(row.tobytes(), len(number)) for row in orbits.members]
        first = np.unique(way, return_index=True)[1]
        rates = tuple(topology.bounds[i].chunks_per_round for i in orbits.bounds.tolist())
        return cls(orbits.members[first], np.array(way, dtype=np.int64)[orbits.link], rates)


class SharedStep:
    """One step: its receptions at one node of each orbit; a `ModelError` if they are too many."""

    def __init__(self, receptions: "Sequence[Reception]", topology_ways: LinkClasses) -> None:
        self.receptions = receptions
        self._rates = topology_ways.rates
        self._rate = np.array([float(rate) for rate in topology_ways.rates])
        members, self._way_of_link = topology_ways.members, topology_ways.of_link
        rows: dict[bytes, int] = {}
        ways: list[Ints] = []
        self._rows = [self._rows_of(one, rows, ways) for one in receptions]
        self._count = np.bincount(np.concatenate(self._rows), minlength=len(ways))
        self._sizes = np.array([len(some) for some in ways])
        self._row = np.repeat(np.arange(len(ways)), self._sizes)
        self._way = np.concatenate(ways)
        entries = int(np.count_nonzero(members, axis=1)[self._way].sum()) + len(self._way)
        if entries > _MOST_ENTRIES:
            raise ModelError(
                f"{len(self._way)} ways of chunks into nodes in step {receptions[0].step} need a "
                f"linear program of {entries} entries, more than {_MOST_ENTRIES}"
            )
        self._members: Ints = members
        self.shares: Floats = self._count.astype(np.float64)
        self.load = 0.0

    def _rows_of(self, one: "Reception", rows: dict[bytes, int], ways: list[Ints]) -> Ints:
        """``[n]``: the row of each source; adds rows that are new."""
        row_of_kind = np.empty(len(one.kinds[0]), dtype=np.int64)
        for i, usable in enumerate(one.kinds[0]):
            own = np.unique(self._way_of_link[one.links[usable]])
            row_of_kind[i] = rows.setdefault(own.tobytes(), len(ways))
            if row_of_kind[i] == len(ways):
                ways.append(own)
        return row_of_kind[one.kinds[1]]

    def solve(self, until: Deadline) -> bool:
        """Solves the linear program; returns whether there was time for it.

        Sets `shares`, the amount of each way for one chunk a source, and `load`, the rounds that
        split chunks take.

        Raises `ModelError` if HiGHS fails, and `OutOfTimeError` past the deadline of the whole
        computation.
        """
        if len(self._way) > len(self._count):
            optimum = _minimised(self._program(), until)
            if optimum is None:
                return False
            shares = np.maximum(0.0, optimum.columns[1:])
            sums = np.bincount(self._row, shares)
            self.shares = shares * (self._count / sums)[self._row]
        load = self._load(self.shares)
        self.load = float((load / self._rate).max(initial=0.0))
        return True

    def _program(self) -> GrowingProgram:
        """Minimises U, the first variable, by simplex: interior points have failed here."""
        program = ProgramRows()
        rounds, shares = program.columns(1, 1.0), program.columns(len(self._way))
        sent = program.rows(len(self._count), self._count, self._count)
        within = program.rows(len(self._rates), 0.0, np.inf)
        program.add(sent[self._row], shares)
        program.add(within, rounds, self._rate)
        for bound, load in enumerate(self._members.T):
            loading = np.flatnonzero(load[self._way])
            program.add(within[bound], shares[loading], -load[self._way[loading]])
        return GrowingProgram.of(program.program(), solver="simplex")

    def _load(self, amounts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """``[B]``: the load of these amounts on one bound of each orbit."""
        each_way = np.zeros(len(self._members), dtype=amounts.dtype)
        np.add.at(each_way, self._way, amounts)
        return np.asarray(each_way @ self._members)

    def least_rounds(self, each: int) -> int:
        """A lower bound on the rounds, for `each` whole chunks of each source."""
        return max(1, ceil(self.load * each * (1 - _NOISE)))

    def whole(self, each: int, until: Deadline) -> StepChunks:
        """Whole numbers of chunks near the shares, for `each` of a source, and their rounds."""
        amounts = grouped_remainders(self.shares * each, self._row, self._count * each)
        rounds, least = self._rounds(amounts), self.least_rounds(each)
        if len(self._way) * len(self._rates) <= _MOST_CELLS:
            if rounds > least:
                moves = ChunkMoves(self._choice.loads, self._rate, self._choice.sizes)
                moved = moves.fitted(amounts, np.array([least]), until)
                amounts = min(amounts, moved, key=self._rounds)
            left = until.sooner(_INTEGER_SECONDS).left()
            if self._rounds(amounts) > least and len(amounts) <= _MOST_INTEGERS and left > 0:
                amounts = min(amounts, self._choice.solved(amounts, left), key=self._rounds)
        return StepChunks(amounts, self._rounds(amounts))

    def _rounds(self, amounts: Ints) -> int:
        return rounds_of(self._rates, self._load(amounts)[:, None])

    @cached_property
    def _choice(self) -> ColumnChoice[Any]:
        """The ways as columns, each row a demand."""
        ways, counts, sizes = self._way.tolist(), self._count.tolist(), self._sizes.tolist()
        loads = self._members[self._way][:, :, None]
        return ColumnChoice(self._rates, counts, sizes, ways, self.shares, loads)

    def deal(self, chunks: StepChunks, each: int) -> list[Ints]:
        """``[n, each]`` for each reception: the node that sends each chunk of each source."""
        ways = np.repeat(self._way, chunks.amounts)  # ordered by row
        order = np.argsort(np.concatenate(self._rows), kind="stable")
        taken = np.empty((len(order), each), dtype=np.int64)
        taken[order] = ways.reshape(-1, each)
        parts = np.split(taken, np.cumsum([len(rows) for rows in self._rows])[:-1])
        return [self._senders(one, own) for one, own in zip(self.receptions, parts, strict=True)]

    def _senders(self, one: "Reception", ways: Ints) -> Ints:
        """Divides the chunks of a way evenly among its usable links."""
        senders = np.empty_like(ways)
        for i, usable in enumerate(one.kinds[0]):
            own = np.flatnonzero(one.kinds[1] == i)
            taken = ways[own]
            chosen = np.empty_like(taken)
            for way in np.unique(taken).tolist():
                cells = taken == way
                links = one.senders[usable & (self._way_of_link[one.links] == way)]
                chosen[cells] = np.resize(links, int(cells.sum()))
            senders[own] = chosen
        return senders


def _minimised(program: GrowingProgram, until: Deadline) -> Optimum | None:
    """The optimum of a feasible program; None if time runs out."""
    while (left := until.left()) > 0:
        began = now()
        limit = None if isinf(left) else max(_LEAST_SECONDS, left)
        optimum = program.minimise(limit)
        if optimum is not None:
            return optimum
        # HiGHS measures wall time, which runs on while other processes have the processor.
        if limit is None or now() - began < limit / 2:
            raise ModelError("HiGHS found no optimum of a step's linear program")
    return None


@dataclass(frozen=True, eq=False)
class Reception:
    """The arrivals at one node in one step.

    Args:
        step: from 0.
        links: ``[d]``, positions of the links into the node.
        senders: ``[d]``, their other ends.
        sources: ``[n]``, whose chunks arrive.
        usable: ``[n, d]``, whether the sender of a link has a source's chunks one step earlier.
    """

    node: int
    step: int
    links: Ints
    senders: Ints
    sources: Ints
    usable: Bools

    @cached_property
    def kinds(self) -> tuple[Bools, Ints]:
        """The distinct rows of `usable`, and ``[n]``, the number of each source's row."""
        packed = np.packbits(self.usable, axis=1)
        _, first, kind = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        return self.usable[first], kind.reshape(-1)


def receptions(topology: Topology, group: FreeGroup, sources: Ints) -> Iterator[Reception]:
    """The receptions of each step at one node of each orbit of a group of permutations of nodes.
    Raises `ModelError` if a node is out of reach."""
    distances = topology.distances[sources]
    for node in group.representatives.tolist():
        into = np.array(topology.in_links[node], dtype=np.int64)
        senders = np.array([topology.links[link][0] for link in into.tolist()], dtype=np.int64)
        to_node = distances[:, node]
        if (to_node == UNREACHABLE).any():
            raise ModelError(f"node {node} cannot be reached from every node", topology.origin)
        if not to_node.any():
            continue  # chunks start here only; no link may lead to this node
        nearer = distances[:, senders] == to_node[:, None] - 1
        for step in range(int(to_node.max())):
            there = to_node == step + 1
            yield Reception(node, step, into, senders, sources[there], nearer[there])
