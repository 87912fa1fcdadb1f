"""Timed trees of a few chunks with the least overload, by an integer program over sends.

All other chunks stay, so that bounds have some room left in each step.  Each chunk has a variable
for every link and step, and nodes receive it once, after the sender.  CP-SAT begins with the given
trees.  The program is exact, and small for a few chunks: it finds trees that no price of a linear
program would select, because a packing of few chunks is far from the fractional one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from syncoll.arrays import IntArray
from syncoll.clock import took
from syncoll.linear.effort import TICKS_PER_UNIT, limit_cp_sat
from syncoll.model import UNREACHABLE
from syncoll.packing.problem import PackingProblem
from syncoll.packing.trees import Send, TimedTree, of_use
from syncoll.packing.whole_chunks import rounds_per_step

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    _Sends = dict[Send, cp_model.IntVar]
    _Term = tuple[int, cp_model.IntVar]
    """A load and its send."""

__all__ = ["TreeRepair"]


class TreeRepair:
    """Replaces trees of S steps."""

    def __init__(self, problem: PackingProblem, steps: int) -> None:
        self.problem, self.steps = problem, steps
        self._source = problem.links.source.tolist()
        self._target = problem.links.target.tolist()
        self._into: list[list[int]] = [[] for _ in range(problem.num_nodes)]
        for link, node in enumerate(self._target):
            self._into[node].append(link)
        each = (problem.load(np.array([link]), np.zeros(1, dtype=np.int64), 1)[:, 0]
                for link in range(len(self._source)))  # fmt: skip
        self._loads = [[(b, int(load[b])) for b in np.flatnonzero(load).tolist()] for load in each]

    @property
    def variables(self) -> int:
        """The number of variables for each chunk."""
        return len(self._source) * self.steps

    def fitted(
        self,
        demands: Sequence[int],
        known: Sequence[TimedTree],
        room: IntArray,
        weights: IntArray,
        seconds: float,
    ) -> tuple[list[TimedTree], bool]:
        """See `Repair.fitted`."""
        model, chunks, terms = self._program(demands, known)
        overload = []
        for cell, parts in terms.items():
            most, left = sum(load for load, _ in parts), max(0, int(room[cell]))
            if most > left:
                over = model.new_int_var(0, most - left, "")
                model.add(sum(load * variable for load, variable in parts) <= left + over)
                overload.append(int(weights[cell]) * over)
        model.minimize(sum(overload))
        return self._solved(model, chunks, demands, known, seconds)

    def shortened(
        self,
        demands: Sequence[int],
        known: Sequence[TimedTree],
        load: IntArray,
        most: int,
        seconds: float,
    ) -> tuple[list[TimedTree], bool]:
        """See `Repair.shortened`."""
        model, chunks, terms = self._program(demands, known)
        least = rounds_per_step(self.problem.exact_rate, load).tolist()
        rounds = [model.new_int_var(low, most, "") for low in least]
        for (bound, step), parts in terms.items():
            rate, others = self.problem.exact_rate[bound], int(load[bound, step])
            total = sum(load * variable for load, variable in parts) + others
            model.add(rate.denominator * total <= rate.numerator * rounds[step])
        model.add(sum(rounds) <= most)
        model.minimize(sum(rounds))
        return self._solved(model, chunks, demands, known, seconds)

    def _program(
        self, demands: Sequence[int], known: Sequence[TimedTree]
    ) -> tuple[cp_model.CpModel, list[_Sends], dict[tuple[int, int], list[_Term]]]:
        """Variables of chunks, hinted, and the load of each bound and step."""
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        terms: dict[tuple[int, int], list[_Term]] = {}
        chunks = []
        for demand, tree in zip(demands, known, strict=True):
            sends = self._sends(model, demand)
            for send, variable in sends.items():
                model.add_hint(variable, send in tree.sends)
                for bound, load in self._loads[send[0]]:
                    terms.setdefault((bound, send[1]), []).append((load, variable))
            chunks.append(sends)
        return model, chunks, terms

    def _solved(
        self,
        model: cp_model.CpModel,
        chunks: Sequence[_Sends],
        demands: Sequence[int],
        known: Sequence[TimedTree],
        seconds: float,
    ) -> tuple[list[TimedTree], bool]:
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        limit_cp_sat(solver.parameters, seconds)
        status = solver.solve(model)
        took(solver.response_proto.deterministic_time / TICKS_PER_UNIT)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return list(known), False
        found = [
            self._tree(demand, [send for send, one in sends.items() if solver.value(one)])
            for demand, sends in zip(demands, chunks, strict=True)
        ]
        return found, status == cp_model.OPTIMAL

    def _sends(self, model: cp_model.CpModel, demand: int) -> _Sends:
        """Variables of the sends of a chunk, and the rules for them."""
        one, nodes = self.problem.demands[demand], self.problem.num_nodes
        sources, needed = set(one.sources), set(one.destinations)
        far = self.problem.topology.distances[list(sources)].min(axis=0)
        sends: dict[Send, cp_model.IntVar] = {}
        has: dict[tuple[int, int], cp_model.IntVar] = {}  # whether a node has it after a step
        for node in range(nodes):
            if node in sources or far[node] == UNREACHABLE:
                continue
            before: cp_model.IntVar | int = 0
            for step in range(int(far[node]) - 1, self.steps):
                into = [link for link in self._into[node] if far[self._source[link]] <= step]
                for link in into:
                    sends[link, step] = model.new_bool_var("")
                after = model.new_bool_var("")
                model.add(sum(sends[link, step] for link in into) + before == after)
                before = has[node, step] = after
            if node in needed:
                if isinstance(before, int):
                    model.add_bool_or([])  # too few steps
                else:
                    model.add(before == 1)
        for (link, step), variable in sends.items():
            sender = self._source[link]
            if sender not in sources:
                earlier = has.get((sender, step - 1))
                model.add(variable == 0) if earlier is None else model.add_implication(
                    variable, earlier
                )
        return sends

    def _tree(self, demand: int, sends: Sequence[Send]) -> TimedTree:
        first = {self._target[link]: (link, step) for link, step in sends}
        return of_use(self.problem.demands[demand], first, self._source)
