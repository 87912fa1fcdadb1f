"""Trees of a wave without steps: few levels, and no link overloaded.

With a wave started in every step, each step of the steady state carries all trees of a wave,
independent of the steps in which they use their links.  So trees of at most d levels that fit
together are a wave of d steps.

The model has a Boolean for each tree and link, and a level for each tree and node: about ``c * L``
Booleans for c trees, and as many rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from syncoll.clock import took
from syncoll.deadline import NEVER, Deadline
from syncoll.linear.effort import TICKS_PER_UNIT, limit_cp_sat
from syncoll.model import Topology

Tree = tuple[tuple[int, int], ...]
"""The links of a tree, each with the step in which it is used."""

_UNBOUNDED = 1 << 62


@dataclass(frozen=True)
class TreeWaves:
    """A pipeline of waves of trees.

    Args:
        rounds: q, of each step.
        depth: d, steps of a wave.
        wave: the trees of a wave.
        tail: trees in the last d - 1 steps, counted from 0.
        ramp_up: rounds of the first d - 1 steps.
        ramp_down: rounds of the last d - 1 steps.
    """

    rounds: int
    depth: int
    wave: tuple[Tree, ...]
    tail: tuple[Tree, ...]
    ramp_up: tuple[int, ...]
    ramp_down: tuple[int, ...]

    @property
    def lost(self) -> tuple[Fraction, int]:
        """The steps and chunks lost in the first and last waves; smaller is better."""
        chunks = len(self.wave) * (self.depth - 1) - len(self.tail)
        rounds = sum(self.rounds - r for r in (*self.ramp_up, *self.ramp_down))
        return Fraction(chunks, len(self.wave)) - Fraction(rounds, self.rounds), chunks

    @classmethod
    def of(cls, trees: Sequence[Tree], rounds: int, depth: int) -> "TreeWaves":
        """Waves of some trees, without a tail."""
        ramp = (rounds,) * (depth - 1)
        return cls(rounds, depth, tuple(trees), (), ramp, ramp)


class CpSatModel:
    """A model of numbered integer variables and linear rows."""

    def __init__(self) -> None:
        # `cp_model` imports pandas, which takes longer than most solves.
        from ortools.sat.python import cp_model_helper

        self.proto = cp_model_helper.CpModelProto()

    def variable(self, low: int = 0, high: int = 1) -> int:
        """A new variable."""
        self.proto.variables.add().domain.extend((low, high))
        return len(self.proto.variables) - 1

    def row(
        self,
        terms: Iterable[tuple[int, int]],
        low: int = -_UNBOUNDED,
        high: int = _UNBOUNDED,
        enforced: Sequence[int] = (),
    ) -> None:
        """Bounds a sum of (variable, coefficient) if all literals of `enforced` are true."""
        row = self.proto.constraints.add()
        row.enforcement_literal.extend(enforced)
        for variable, coefficient in terms:
            row.linear.vars.append(variable)
            row.linear.coeffs.append(coefficient)
        row.linear.domain.extend((low, high))

    def exactly_one(self, literals: Iterable[int]) -> None:
        """Requires that exactly one literal is true."""
        self.proto.constraints.add().exactly_one.literals.extend(literals)

    def solve(self, seconds: float, until: Deadline = NEVER) -> tuple[str, list[int]]:
        """CP-SAT's status and best solution; deterministic unless `until` stops it."""
        from ortools.sat.python import cp_model_helper

        parameters = cp_model_helper.SatParameters()
        limit_cp_sat(parameters, max(0.01, until.left()))
        work = max(0.01, seconds)
        parameters.max_deterministic_time = min(work, parameters.max_deterministic_time)
        solver: Any = cp_model_helper.SolveWrapper()
        solver.set_parameters(parameters)
        response = solver.solve(self.proto)
        took(response.deterministic_time / TICKS_PER_UNIT)
        return response.status.name, list(response.solution)


def find_trees(
    topology: Topology,
    root: int,
    chunks: int,
    rounds: int,
    levels: int,
    seconds: float,
    until: Deadline = NEVER,
) -> tuple[TreeWaves | None, bool]:
    """Waves of `chunks` trees of at most `levels` levels (or None), and whether this is final.  All
    trees together fit into q `rounds`."""
    model, far = CpSatModel(), topology.distances[root].tolist()
    used: list[dict[int, int]] = []
    for _ in range(chunks):
        level = [model.variable(far[n], 0 if n == root else levels) for n in range(len(far))]
        into: list[list[int]] = [[] for _ in far]
        tree: dict[int, int] = {}
        for link, (source, destination) in enumerate(topology.links):
            if destination == root or far[source] >= levels:
                continue
            tree[link] = one = model.variable()
            into[destination].append(one)
            model.row([(level[destination], 1), (level[source], -1)], low=1, enforced=[one])
        for node, links in enumerate(into):
            if node != root:
                model.exactly_one(links)
        used.append(tree)
    for bound, rate in least_bounds(topology).items():
        every = [tree[link] for tree in used for link in bound if link in tree]
        most = int(rate * rounds)
        if len(every) > most:
            model.row([(one, 1) for one in every], high=most)
    status, values = model.solve(seconds, until)
    if not values:
        return None, status == "INFEASIBLE"
    trees = [_timed(topology, root, tree, values) for tree in used]
    return TreeWaves.of(trees, rounds, levels), True


def least_bounds(topology: Topology) -> dict[tuple[int, ...], Fraction]:
    """The least bound of each set of links: positions of the links, and the rate."""
    found: dict[tuple[int, ...], Fraction] = {}
    number = topology.link_index
    for bound in sorted(topology.bounds, key=lambda one: -one.chunks_per_round):
        links = tuple(sorted(number[link] for link in bound.links))
        found[links] = Fraction(bound.chunks_per_round)
    return found


def _timed(topology: Topology, root: int, tree: dict[int, int], values: list[int]) -> Tree:
    """Uses each link as soon as its source has the chunk."""
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
