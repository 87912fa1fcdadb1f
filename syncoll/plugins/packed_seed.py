"""A base for seeds that are an oracle: given prices, they return a column.

Symmetry, the linear program, rounding to whole chunks, turns and the order of S come from
`syncoll.packing`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from syncoll.arrays import Floats
from syncoll.deadline import Deadline
from syncoll.model import Collective, Topology
from syncoll.packing.column_generation import TINY, Packing, Tuning
from syncoll.packing.expand_orbits import algorithm_of
from syncoll.packing.problem import PackingProblem, TreeDemand
from syncoll.packing.trees import TimedTree
from syncoll.packing.whole_chunks import ColumnChoice
from syncoll.plugins.guard import Answer
from syncoll.plugins.records import Proposal
from syncoll.plugins.turns import Proposals, Question, ResumingSeed

_TUNING = Tuning(kept=0.7, gain=1e-3, patience=12)
_SECONDS = 20.0
_MOST_CHUNKS = 64
"""Limit on C in multiples of the least, if there is no other limit."""

_MOST_STEPS = 4
"""Numbers of steps to try, from the fewest on, if there is no other limit on work."""


class PackedSeed(ResumingSeed):
    """A seed for collectives that move data; its `column` returns cheap trees."""

    turn_seconds = _SECONDS

    @abstractmethod
    def column(
        self, problem: PackingProblem, demand: TreeDemand, prices: Floats
    ) -> TimedTree | None:
        """A cheap timed tree from the demand's sources to its destinations.

        Args:
            problem: the network; `problem.links` are the links as a tree numbers them.
            demand: where chunks start, and where they must arrive.
            prices: ``[S, L]``, above 0, of a send over each link in each step.

        Returns:
            None if there is no such tree in S steps.
        """

    @staticmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether chunks only move, for a seed's record."""
        if collective.combining:
            return Answer(False, "it combines; trees move data")
        return Answer(collective.least_chunks(topology.num_nodes) is not None, "it has no least C")

    def proposals(self, asked: Question) -> Proposals:
        """See `ResumingSeed`."""
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        problem = PackingProblem(topology, collective, turn.until)
        least = problem.least_chunks
        first, best = max(1, problem.least_steps), Fraction(1 << 30)
        last = turn.limits.max_steps or first + _MOST_STEPS - 1
        most = turn.limits.max_chunks or _MOST_CHUNKS * least
        for steps in range(first, last + 1 if problem.demands else first):
            oracle = _Columns(self, problem, steps)
            counts = [demand.count / least for demand in problem.demands]
            packing = Packing(problem, counts, steps, oracle, _TUNING)
            while not packing.rested and packing.feasible:
                packing.improve(turn.until)
                if turn.is_over:
                    yield None
            if not packing.feasible:
                continue
            numbers = [demand.count for demand in problem.demands]
            choice = ColumnChoice.of(packing, problem.exact_rate, numbers)
            units = choice.least_lost(range(1, most // least + 1))
            if units is None:
                return
            dealt = choice.dealt(choice.rounded(units), units * least)
            if dealt.bandwidth < best:
                best = dealt.bandwidth
                note = f"{sum(map(len, dealt.columns))} packed columns"
                yield Proposal(dealt.chunks, algorithm_of(problem, dealt), note)


class _Columns:
    """The oracle of a packing: one column for each demand."""

    def __init__(self, seed: PackedSeed, problem: PackingProblem, steps: int) -> None:
        self._seed, self._problem, self._steps = seed, problem, steps
        self._random = np.random.default_rng(steps)

    def load(self, tree: TimedTree) -> Floats:
        """``[B, S]``."""
        return self._problem.load(tree.links, tree.steps, self._steps).astype(np.float64)

    def cheap(
        self, prices: Floats, pays: Floats, shared: Sequence[Sequence[TimedTree]], until: Deadline
    ) -> tuple[list[tuple[int, TimedTree]], Floats]:
        """See `syncoll.packing.column_generation.Oracle`."""
        on_links = self._problem.on_links(prices)
        on_links = on_links + TINY * on_links.max() * (1 + self._random.random(on_links.shape))
        found, costs = [], np.full(len(pays), np.inf)
        for i, demand in enumerate(self._problem.demands):
            tree = self._seed.column(self._problem, demand, on_links)
            if tree is not None:
                costs[i] = float((self.load(tree) * prices).sum())
                if costs[i] < pays[i] - TINY:
                    found.append((i, tree))
        return found, costs
