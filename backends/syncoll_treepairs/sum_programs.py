"""Cheaper ways to sum a chunk, next to a known one, by an integer program over all partial sums.

In fewer steps than trees into a root and out of it take, sums meet on the way.  Here a send carries
any contributions: each message that its sender received before is either in its sum or disjoint
from it.  No node receives a contribution twice, except with the whole sum.  All sends to most of
the nodes, or in most of the steps, stay as they are (large neighbourhoods).
"""

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from syncoll.arrays import Floats
from syncoll.model import Topology
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.packing.send_programs import run_counted
from syncoll_treepairs.exchange_groups import Core

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    from syncoll_treepairs.pairs import Pair

_SECONDS = 0.3
"""Time limit of a program.  Row mi250(boxes=1) allreduce of benchmarks/results/deployable.md."""

_LEAST, _MOST = 0.2, 0.75
"""Shares of the nodes, or of the steps, whose sends may change."""

_PRICE = 1e6
"""All prices together in the objective, whose coefficients are whole."""


def is_small(topology: Topology, steps: int) -> bool:
    """Whether a program has few enough variables; limits work."""
    return len(topology.links) * steps * topology.num_nodes <= MOST_CELLS >> 8


class SumPrograms:
    """Programs for algorithms of one chunk in S steps, of all nodes or from one set to another.

    A send may carry contributions of nodes, or the whole sum, which has number P.
    """

    def __init__(self, topology: Topology, steps: int, *sets: list[int]) -> None:
        from ortools.sat.python import cp_model

        self._topology, self._steps, every = topology, steps, [*range(topology.num_nodes)]
        self._sources, self._needed = [*sets, every, every][:2]
        self._model = model = cp_model.CpModel()
        far, nodes, new = topology.distances, topology.num_nodes, model.new_bool_var
        late = far[self._sources].max(axis=0).tolist()
        ends = {(t, i): ab for t in range(steps) for i, ab in enumerate(topology.links)}
        self._sent = {send: new("") for send in ends}
        self._parts: dict[tuple[int, int], dict[int, cp_model.IntVar]] = {
            (t, i): {u: new("") for u in self._sources if u != b and far[u, a] <= t}
            | ({nodes: new("")} if late[a] <= t else {})
            for (t, i), (a, b) in ends.items()
        }
        for send, (a, _) in ends.items():
            own, before = self._parts[send], self._received(a, send[0])
            for some in before:
                used = new("")
                for u, one in some.items():
                    if u < nodes:
                        model.add_bool_or(~used, ~one, own.get(u, False))
                        model.add_bool_or(used, ~one, ~own[u] if u in own else True)
            for u, one in own.items():
                model.add_implication(one, self._sent[send])
                if nodes in own and u < nodes:
                    model.add_implication(one, ~own[nodes])
                if u not in (a, nodes):
                    model.add_bool_or(~one, *(some[u] for some in before if u in some))
        for node in range(nodes):
            self._complete(node, late[node])

    def _received(self, node: int, step: int) -> "list[dict[int, cp_model.IntVar]]":
        """The contributions of each send to a node before a step."""
        return [self._parts[one] for one in product(range(step), self._topology.in_links[node])]

    def _complete(self, node: int, late: int) -> None:
        """Rules for the step from which a node has the whole sum, after `late` steps at least."""
        model, topology, nodes = self._model, self._topology, self._topology.num_nodes
        has: cp_model.LiteralT = False
        for step in range(late, self._steps + 1):
            before = self._received(node, step)
            every, after = model.new_bool_var(""), model.new_bool_var("")
            for u in {*self._sources} - {node}:
                model.add_bool_or(~every, *(some[u] for some in before if u in some))
                if step == self._steps:
                    model.add_at_most_one(some[u] for some in before if u in some)
            model.add_bool_or(~after, every, *(some[nodes] for some in before if nodes in some))
            for link in topology.out_links[node] if step < self._steps else ():
                model.add_implication(self._parts[step, link][nodes], after)
            has = after
        model.add_bool_or(has, node not in self._needed)

    def improved(self, known: "Pair", prices: Floats, random: np.random.Generator) -> Core | None:
        """A cheap way at prices ``[S, L]`` next to a known one, or that one; None if the program
        took too long or does not have the known one."""
        topology, nodes, model = self._topology, self._topology.num_nodes, self._model.clone()
        held = dict(zip(known.sends, known.contributions(topology.ends), strict=True))
        share, by_step = random.uniform(_LEAST, _MOST), random.random() < 0.5
        chosen = set(random.permutation(nodes)[: max(2, round(share * nodes))].tolist())
        width = max(2, round(share * self._steps))
        first = int(random.integers(max(1, self._steps - width + 1)))
        variables = model.proto.variables
        for send, own in self._parts.items():
            row = held.get(send, np.zeros(nodes, dtype=bool))
            row = np.append(row & (nodes not in own or not row.all()), row.all())
            to = topology.links[send[1]][1]
            free = 0 <= send[0] - first < width if by_step else to in chosen
            for u, one in own.items():
                if free:
                    model.add_hint(one, row[u])
                else:
                    domain = variables[one.index].domain
                    domain[0] = domain[1] = int(row[u])
        return self.cheap(prices, model)

    def cheap(self, prices: Floats, model: "cp_model.CpModel | None" = None) -> Core | None:
        """A cheap way at prices ``[S, L]``; None if the program, or `model`, took too long."""
        model, nodes = model or self._model, self._topology.num_nodes
        costs = np.rint(prices * (_PRICE / float(prices.sum()))).astype(int)
        model.minimize(sum(int(costs[send]) * one for send, one in self._sent.items()))
        solver, _ = run_counted(model, _SECONDS, simple=True)
        if solver is None:
            return None
        rows = np.zeros((len(self._parts), nodes), dtype=bool)
        for row, own in zip(rows, self._parts.values(), strict=True):
            for u, one in own.items():
                row[u if u < nodes else slice(None)] |= solver.boolean_value(one)
        sends = tuple(send for send, row in zip(self._parts, rows, strict=True) if row.any())
        packed = np.packbits(rows[rows.any(axis=1)]).tobytes()
        return Core(tuple(self._sources), sends, self._steps, packed)
