"""Several Hamiltonian cycles at once, by CP-SAT: a circuit constraint for each, and B over all."""

from __future__ import annotations

from itertools import pairwise

from ortools.sat.python import cp_model

from syncoll.clock import took
from syncoll.linear.effort import TICKS_PER_UNIT, limit_cp_sat
from syncoll.model import Link, Topology
from syncoll_classics.hamiltonian import Cycle

__all__ = ["find_circuits"]


def find_circuits(
    topology: Topology, count: int, rounds: int | None, seconds: float, *, paired: bool = False
) -> tuple[list[Cycle], bool]:
    """`count` Hamiltonian cycles that B holds at once, or none, and whether that is proved.

    Args:
        rounds: of a step in which each cycle carries a chunk; None for no bound.
        paired: whether each cycle comes with its reverse; `count` is then that of the pairs.
    """
    model = cp_model.CpModel()
    literals = [{link: model.new_bool_var("") for link in topology.links} for _ in range(count)]
    for arcs in literals:
        model.add_circuit([(a, b, literal) for (a, b), literal in arcs.items()])
    if rounds is not None:
        for bound in topology.bounds:
            used = [arcs[link] for arcs in literals for link in bound.links]
            if paired:
                used += [arcs[b, a] for arcs in literals for a, b in bound.links]
            model.add(sum(used) <= bound.capacity(rounds))
    _order_alike(model, topology, literals)
    solver = cp_model.CpSolver()
    limit_cp_sat(solver.parameters, seconds)
    status = solver.solve(model)
    took(solver.response_proto.deterministic_time / TICKS_PER_UNIT)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        cycles = []
        for arcs in literals:
            after = dict(link for link, literal in arcs.items() if solver.boolean_value(literal))
            cycle = [0]
            while (node := after[cycle[-1]]) != 0:
                cycle.append(node)
            cycles.append(tuple(cycle))
            if paired:
                cycles.append((0, *cycle[:0:-1]))
        return cycles, True
    return [], status == cp_model.INFEASIBLE


def _order_alike(
    model: cp_model.CpModel, topology: Topology, literals: list[dict[Link, cp_model.IntVar]]
) -> None:
    """Of cycles that could change places only one order is left: by where they go from node 0."""
    first = [topology.links[i] for i in topology.out_links[0]]
    for one, two in pairwise(literals):
        ranks = [sum(b * arcs[a, b] for a, b in first) for arcs in (one, two)]
        model.add(ranks[0] <= ranks[1])
