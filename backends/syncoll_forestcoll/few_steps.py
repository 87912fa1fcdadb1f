"""Trees for a number of steps, where switches copy: chosen together with the rounds of the steps.

A forest says nothing of steps, and with few of them other trees are best: a chunk that leaves the
root late may go to many nodes straight, as there is no time to copy it behind a slow link.  Let x
be how many chunks take a timed tree, which says who sends to whom in which step, and r the rounds
of the steps:

    minimise    sum of r(t)
    subject to  sum of x = 1
                sum over trees of load(tree, L, t) x(tree) <= b r(t)    for every (L, b) of B and t

where what a node sends over several links of L in a step counts once if L counts copies.  Trees are
added that are cheap under the dual prices: nodes are reached one after the other, each by the
cheapest way from what is reached (Takahashi and Matsuyama, Math. Japonica 24, 1980), where a copy
costs only what lies behind the switch.  Most begin with a part of a tree that is in use.  Then x is
cut to as many chunks as lose little by whole rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.arrays import BoolArray, FloatArray, IntArray
from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram
from syncoll.model import Algorithm, Collective, Counting, Topology
from syncoll.packing.turns import Turn
from syncoll.plugins import Proposal, SeedLimits
from syncoll.scheduling import StreamClass

__all__ = ["FewSteps", "TimedForest"]


_MORE_STEPS = 2
"""So many steps more than the fewest are looked at; with more the trees of a forest do."""

_PART = 0.25
"""The part of the time that is left which each number of steps has."""

_MOST_CELLS = 1 << 16
"""Links times nodes of the largest machine for which such trees are looked for."""

_EACH = 24
"""Trees that are looked for with the same prices."""

_MOST_TREES = 5000

_FRUITLESS = 6
"""After so many turns that found no cheap tree there are no more."""

_CHANGED = (0.0, 0.3, 0.6)
"""The part by which prices are changed at random, in turn."""

_DROPPED = (0.15, 0.3, 0.6)
"""The parts of a tree in use, one of them each time, that are looked for anew."""

_MOST_CHUNKS = 512
_SLACK = 0.002
"""Twice as many chunks are not worth so small a part."""

_TINY = 1e-9

_Tree = tuple[tuple[int, int], ...]
"""Sends of a chunk, as (step, link), every one after that which brings the chunk."""


class FewSteps:
    """Algorithms of the fewest steps, and of some more, which become better in turns.

    Nothing is found for a collective whose chunks do not all start and end alike, nor on a machine
    of a size.

    Args:
        collective: not combining.
        limits: on S, R and C.
        idle: whether to look for nothing at all.
    """

    def __init__(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        *,
        idle: bool,
    ) -> None:
        self._topology, self._collective = topology, collective
        self._max_rounds = limits.max_rounds
        self._forests: list[TimedForest] = []
        self._least: dict[int, Fraction] = {}
        nodes = topology.num_nodes
        unit = None if idle else collective.least_chunks(nodes)
        if unit is None or len(topology.links) * nodes > _MOST_CELLS:
            return
        kinds = StreamClass.of(collective.tabulate(nodes, unit))
        most = min(_MOST_CHUNKS, limits.max_chunks or _MOST_CHUNKS)
        if len(kinds) != 1 or unit > most:
            return
        (kind,) = kinds
        self._unit, self._each, self._most = unit, len(kind.chunks), most // unit
        fewest = int(topology.distances[kind.starts][:, kind.needed].min(axis=0).max())
        last = fewest + _MORE_STEPS
        last = last if limits.max_steps is None else min(last, limits.max_steps)
        self._forests = [TimedForest(topology, kind, steps) for steps in range(fewest, last + 1)]

    @property
    def ended(self) -> bool:
        """Whether nothing better is to be expected."""
        return all(forest.settled for forest in self._forests)

    def turn(self, turn: Turn[SeedLimits]) -> Iterator[Proposal]:
        """What is better than all of as many steps before; each has a part of the time."""
        for forest in [forest for forest in self._forests if not forest.settled]:
            if turn.is_over:
                return
            trees, parts = forest.packed(turn.part(_PART))
            times = forest.whole(trees, parts, self._each, self._most)
            if times is None:
                continue
            chunks = self._unit * (int(times.sum()) // self._each)
            nodes = self._topology.num_nodes
            if not self._collective.admits(nodes, chunks):
                continue
            (own,) = StreamClass.of(self._collective.tabulate(nodes, chunks))
            algorithm = forest.algorithm(trees, times, own.chunks)
            cost = Fraction(algorithm.rounds, chunks)
            if self._max_rounds is not None and algorithm.rounds > self._max_rounds:
                continue
            if forest.steps not in self._least or cost < self._least[forest.steps]:
                self._least[forest.steps] = cost
                yield Proposal(chunks, algorithm, f"{len(trees)} trees for {algorithm.steps} steps")


class TimedForest:
    """Looks for the best trees of one class of chunks in S steps.

    Args:
        kind: chunks that start at the same nodes and are needed by the same.
        steps: S, in which every node can be reached.

    Attributes:
        settled: whether looking on has brought nothing for some time.
    """

    def __init__(self, topology: Topology, kind: StreamClass, steps: int) -> None:
        self._topology, self._kind, self.steps = topology, kind, steps
        ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
        self._tail, self._head = ends.T
        self._rate = np.array([float(bound.chunks_per_round) for bound in topology.bounds])
        self._member = np.zeros((len(topology.bounds), len(ends)), dtype=np.float64)
        for row, links in zip(self._member, topology.bound_links, strict=True):
            row[links] = 1
        self._once = np.array([b.counts is Counting.SOURCES for b in topology.bounds], dtype=bool)
        self._order = np.argsort(self._head, kind="stable")
        self._heads, self._first = np.unique(self._head[self._order], return_index=True)
        self._out = [np.flatnonzero(self._tail == node) for node in range(topology.num_nodes)]
        self.settled = False
        self._fruitless = 0
        self._trees: dict[_Tree, None] = {}
        self._program = self._begun()
        self._random = np.random.default_rng(steps)

    def _begun(self) -> GrowingProgram:
        """The program without trees."""
        program = GrowingProgram(np.ones(self.steps))
        program.add({}, 1.0, np.inf)
        for rate in self._rate.tolist():
            for step in range(self.steps):
                program.add({step: -rate}, -np.inf, 0.0)
        return program

    def _add(self, tree: _Tree) -> None:
        self._trees[tree] = None
        load = self._load(tree).ravel()
        rows = np.flatnonzero(load)
        entries = (
            np.array([len(rows) + 1]),
            np.concatenate([[0], rows + 1]),
            np.concatenate([[1.0], load[rows].astype(np.float64)]),
        )
        self._program.add_columns(np.zeros(1), entries=entries)

    def packed(self, until: Deadline) -> tuple[list[_Tree], FloatArray]:
        """Trees and the part of the chunks that each has, better with each call; none where there
        are none."""
        bounds = len(self._rate)
        prices = np.tile(1 / self._rate[:, None], (1, self.steps))
        while not self.settled and not (until.passed and self._trees):
            pays, used = np.inf, list[_Tree]()
            if self._trees:
                if not self._program.run():
                    self.settled = True
                    break
                optimum = self._program.optimum()
                pays = float(optimum.row_duals[0])
                used = self._used(optimum.columns[self.steps :])
                prices = np.maximum(0.0, -optimum.row_duals[1:].reshape(bounds, self.steps))
            fresh = 0
            for turn in range(_EACH):
                if until.passed and self._trees:
                    break
                base = None
                if used and turn % 4:
                    base = used[int(self._random.integers(len(used)))]
                changed = _CHANGED[turn % len(_CHANGED)]
                tree = self._cheap(prices, changed, turn % 2 == 1, base)
                if tree is None:
                    self.settled = True
                    return [], np.zeros(0)
                cost = float((self._load(tree) * prices).sum())
                if tree not in self._trees and cost < pays - _TINY:
                    self._add(tree)
                    fresh += 1
            self._fruitless = 0 if fresh else self._fruitless + (not until.passed)
            self.settled = self._fruitless >= _FRUITLESS or len(self._trees) > _MOST_TREES
        if not self._trees or not self._program.run():
            return [], np.zeros(0)
        parts = self._program.optimum().columns[self.steps :]
        return self._used(parts), parts[parts > _TINY]

    def _used(self, parts: FloatArray) -> list[_Tree]:
        return [
            tree for tree, part in zip(self._trees, parts.tolist(), strict=True) if part > _TINY
        ]

    def whole(self, trees: list[_Tree], parts: FloatArray, unit: int, most: int) -> IntArray | None:
        """For each tree how many chunks take it; None where there are no trees.

        Args:
            unit: all of them together are a multiple of it, up to `most` times.
        """
        if not trees:
            return None
        loads = np.stack([self._load(tree) for tree in trees], axis=-1)
        best: tuple[float, IntArray] | None = None
        for total in range(unit, unit * most + 1, unit):
            times = _whole(parts, total)
            cost = float(self._rounds(loads @ times).sum()) / total
            if best is None or cost < best[0] * (1 - _SLACK):
                best = cost, times
        return None if best is None else best[1]

    def _cheap(
        self, prices: FloatArray, changed: float, shuffled: bool, base: _Tree | None
    ) -> _Tree | None:
        """A tree that is cheap under prices; None where there is none in so many steps.

        Args:
            prices: ``[B, S]``.
            changed: the part by which they are changed at random.
            shuffled: whether nodes are reached in any order, not the nearest first.
            base: a tree with a part of which to begin.
        """
        steps, nodes = self.steps, self._topology.num_nodes
        noise = 1 + changed * self._random.random(prices.shape)
        prices = prices * noise + 1e-6 * (1 + self._random.random(prices.shape)) / self._rate.max()
        cost = (self._member.T @ prices).T  # [S, L]
        reached = np.full(nodes, steps + 1)
        reached[self._kind.starts] = 0
        missing = np.zeros(nodes, dtype=bool)
        missing[self._kind.needed] = True
        first: dict[int, tuple[int, int]] = {}
        paid = np.zeros((steps, nodes, len(self._rate)), dtype=bool)

        def take(step: int, link: int) -> None:
            tail, head = int(self._tail[link]), int(self._head[link])
            reached[head] = min(int(reached[head]), step + 1)
            if head not in first or first[head][0] > step:
                first[head] = step, link
            # What else the node sends to there in this step is copied.
            fresh = self._once & (self._member[:, link] > 0) & ~paid[step, tail]
            if fresh.any():
                paid[step, tail] |= fresh
                own = self._out[tail]
                cost[step, own] -= self._member[np.ix_(fresh, own)].T @ prices[fresh, step]

        if base is not None:
            dropped = self._random.random(nodes) < self._random.choice(_DROPPED)
            for step, link in base:
                if reached[self._tail[link]] <= step and not dropped[self._head[link]]:
                    take(step, link)
            missing &= reached > steps
        while missing.any():
            table = self._costs(reached, cost)
            left = np.where(missing, table[steps], np.inf)
            if shuffled:
                left = np.where(np.isfinite(left), self._random.random(len(left)), np.inf)
            node = int(left.argmin())
            if not np.isfinite(left[node]):
                return None
            for step, link in self._way(table, cost, node, reached):
                take(step, link)
            missing &= reached > steps
        return self._of_use(first)

    def _costs(self, reached: IntArray, cost: FloatArray) -> FloatArray:
        """``[S + 1, P]``: of the cheapest way to have the chunk at a node by a step."""
        now = np.where(reached <= 0, 0.0, np.inf)
        table = np.empty((self.steps + 1, len(now)))
        table[0] = now
        for step in range(self.steps):
            through = (now[self._tail] + cost[step])[self._order]
            now = now.copy()
            best = np.minimum.reduceat(through, self._first)
            now[self._heads] = np.minimum(now[self._heads], best)
            now[reached <= step + 1] = 0.0
            table[step + 1] = now
        return table

    def _way(
        self, table: FloatArray, cost: FloatArray, node: int, reached: IntArray
    ) -> list[tuple[int, int]]:
        """The sends of the cheapest way to a node."""
        way: list[tuple[int, int]] = []
        step = self.steps
        while reached[node] > step:
            if table[step - 1, node] <= table[step, node]:
                step -= 1
                continue
            into = np.flatnonzero(self._head == node)
            link = int(into[(table[step - 1, self._tail[into]] + cost[step - 1, into]).argmin()])
            step -= 1
            way.append((step, link))
            node = int(self._tail[link])
        return way[::-1]

    def _of_use(self, first: dict[int, tuple[int, int]]) -> _Tree:
        """The sends to nodes that need the chunk, or send it on to one."""
        needed = {*self._kind.needed.tolist()}
        kept = []
        for head, (step, link) in sorted(first.items(), key=lambda item: -item[1][0]):
            if head in needed:
                kept.append((step, link))
                needed.add(int(self._tail[link]))
        return tuple(sorted(kept))

    def _load(self, tree: _Tree) -> IntArray:
        """``[B, S]``: what each bound counts in each step."""
        load = np.zeros((len(self._rate), self.steps), dtype=np.int64)
        copied: dict[tuple[int, int], BoolArray] = {}
        for step, link in tree:
            counts = self._member[:, link] > 0
            at = step, int(self._tail[link])
            seen = copied.get(at, np.zeros(len(counts), dtype=bool))
            load[:, step] += counts & ~(seen & self._once)
            copied[at] = seen | counts
        return load

    def _rounds(self, load: npt.NDArray[np.float64] | IntArray) -> IntArray:
        """``[S]``: the fewest rounds of each step."""
        rounds: FloatArray = np.ceil(load / self._rate[:, None] - 1e-9).max(axis=0)
        return np.maximum(1, rounds.astype(np.int64))

    def algorithm(self, trees: list[_Tree], times: IntArray, chunks: IntArray) -> Algorithm:
        """What chunks do, so many of them by each tree."""
        sends = []
        for tree, own in zip(trees, np.split(chunks, np.cumsum(times)[:-1]), strict=True):
            for chunk in own.tolist():
                sends += [(chunk, self._tail[x], self._head[x], step) for step, x in tree]
        bare = Algorithm((1,) * self.steps, np.array(sends, dtype=np.int64))
        rounds = tuple(max(1, least) for least in bare.least_rounds(self._topology))
        return Algorithm(rounds, bare.sends)


def _whole(parts: FloatArray, total: int) -> IntArray:
    """So many chunks dealt in proportion to parts, the largest remainders first."""
    ideal = parts / parts.sum() * total
    times: IntArray = np.floor(ideal + 1e-9).astype(np.int64)
    order = np.argsort(times - ideal, kind="stable")
    times[order[: total - int(times.sum())]] += 1
    return times
