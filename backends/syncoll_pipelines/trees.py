"""Trees of a wave without their steps: few levels, and no link overloaded.

A wave started in every step loads each step of the steady state with all of its trees, whenever
they use their links.  So trees of at most d levels that fit together are a wave of d steps.

A Boolean for each tree and link, and for each tree and node the level: about ``c * L`` Booleans for
c trees, and as many rows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from syncoll.clock import took
from syncoll.deadline import NEVER, Deadline
from syncoll.linear.effort import TICKS_PER_UNIT, limit_cp_sat
from syncoll.model import Topology

__all__ = ["Tree", "find_trees", "least_bounds", "solve"]

Tree = tuple[tuple[int, int], ...]
"""Its links, each with the step in which it is used."""

UNBOUNDED = -(1 << 62)


def find_trees(
    topology: Topology,
    root: int,
    chunks: int,
    rounds: int,
    levels: int,
    seconds: float,
    until: Deadline = NEVER,
) -> tuple[tuple[Tree, ...] | None, bool]:
    """`chunks` trees of at most so many levels, or None and whether that is proved.

    Args:
        rounds: q, into which all of them together must fit.
        seconds: of work for the solver.
        until: when to stop, however little work was done.
    """
    from ortools.sat.python import cp_model_helper

    proto = cp_model_helper.CpModelProto()
    far = topology.distances[root].tolist()

    def variable(low: int, high: int) -> int:
        proto.variables.add().domain.extend((low, high))
        return len(proto.variables) - 1

    used: list[dict[int, int]] = []
    for _ in range(chunks):
        level = [variable(far[node], 0 if node == root else levels) for node in range(len(far))]
        into: list[list[int]] = [[] for _ in far]
        tree: dict[int, int] = {}
        for link, (source, destination) in enumerate(topology.links):
            if destination == root or far[source] >= levels:
                continue
            tree[link] = one = variable(0, 1)
            into[destination].append(one)
            row = proto.constraints.add()
            row.enforcement_literal.append(one)
            row.linear.vars.extend((level[destination], level[source]))
            row.linear.coeffs.extend((1, -1))
            row.linear.domain.extend((1, -UNBOUNDED))
        for node, links in enumerate(into):
            if node != root:
                proto.constraints.add().exactly_one.literals.extend(links)
        used.append(tree)
    for bound, rate in least_bounds(topology).items():
        every = [tree[link] for tree in used for link in bound if link in tree]
        most = int(rate * rounds)
        if len(every) > most:
            row = proto.constraints.add()
            row.linear.vars.extend(every)
            row.linear.coeffs.extend([1] * len(every))
            row.linear.domain.extend((UNBOUNDED, most))
    status, values = solve(proto, seconds, until)
    if not values:
        return None, status == "INFEASIBLE"
    return tuple(_timed(topology, root, tree, values) for tree in used), True


def least_bounds(topology: Topology) -> dict[tuple[int, ...], Fraction]:
    """Of bounds on the same links the least: positions of the links, and the rate."""
    found: dict[tuple[int, ...], Fraction] = {}
    number = topology.link_index
    for bound in sorted(topology.bounds, key=lambda one: -one.chunks_per_round):
        links = tuple(sorted(number[link] for link in bound.links))
        found[links] = Fraction(bound.chunks_per_round)
    return found


def _timed(topology: Topology, root: int, tree: dict[int, int], values: list[int]) -> Tree:
    """Each link as soon as its source has the chunk."""
    onward: dict[int, list[int]] = {}
    for link, one in tree.items():
        if values[one]:
            onward.setdefault(topology.links[link][0], []).append(link)
    edges, level, step = [], [root], 0
    while level:
        links = [link for node in level for link in onward.get(node, ())]
        edges += [(link, step) for link in links]
        level, step = [topology.links[link][1] for link in links], step + 1
    return tuple(edges)


def solve(proto: Any, seconds: float, until: Deadline = NEVER) -> tuple[str, list[int]]:
    """CP-SAT's status and best solution; deterministic unless `until` cuts its work short."""
    from ortools.sat.python import cp_model_helper

    parameters = cp_model_helper.SatParameters()
    limit_cp_sat(parameters, max(0.01, until.left()))
    work = max(0.01, seconds)
    parameters.max_deterministic_time = min(work, parameters.max_deterministic_time)
    solver: Any = cp_model_helper.SolveWrapper()
    solver.set_parameters(parameters)
    response = solver.solve(proto)
    took(response.deterministic_time / TICKS_PER_UNIT)
    return response.status.name, list(response.solution)
