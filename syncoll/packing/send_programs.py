"""Columns of a few chunks by an integer program over sends, in the room that other chunks leave.

Each chunk has a variable for every link and step, and nodes receive it once, after the sender.
CP-SAT begins with the present columns.  The program is exact, and small for a few chunks: it finds
columns that no price of a linear program would select, because a packing of few chunks is far from
the fractional one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import numpy as np

from syncoll.arrays import Ints
from syncoll.clock import took
from syncoll.linear.effort import TICKS_PER_UNIT, limit_cp_sat
from syncoll.model import UNREACHABLE
from syncoll.packing.column_generation import C
from syncoll.packing.network import Links, OrbitNetwork
from syncoll.packing.problem import PackingProblem
from syncoll.packing.trees import Send, TimedTree, of_use
from syncoll.packing.whole_chunks import rounds_of, rounds_per_step

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    Variables = dict[Send, cp_model.IntVar]

_UNITS_PER_VARIABLE, _SLOWEST = 2e-5, 10.0
"""Work units for constructing a program, and for CP-SAT to read and simplify it, which its
deterministic time leaves out; and most seconds on the clock for a second of a program."""

_OTHER = 0.5
"""How often a tree has the leaves of another one.  Row dgx_h100(boxes=4) allgather of
benchmarks/results/deployable.md."""


@dataclass(frozen=True, eq=False)
class ChunkSends(Generic[C]):
    """The possible sends of a chunk.

    Args:
        sends: variables.
        fixed: sends that do not depend on them.
        column: the column with some of the possible sends.
    """

    sends: Variables
    fixed: Sequence[Send]
    column: Callable[[list[Send]], C]


class SendPrograms(ABC, Generic[C]):
    """Replaces columns of S steps for a few chunks.

    Args:
        network: loads of columns.
        links: the number of links, as columns number them.
        steps: S.

    Attributes:
        variables: the size of a program for each chunk.
        at_once: most chunks that programs replace before an oracle reroutes them; if None,
            solutions begin with dives.
        senders: if not None, links to leaves stay, except for these nodes.
    """

    at_once: ClassVar[int | None] = None
    senders: Collection[int] | None = None

    def __init__(self, network: OrbitNetwork, links: int, steps: int) -> None:
        self.network, self.steps = network, steps
        self.variables = links * steps
        zero = np.zeros(1, dtype=np.int64)
        each = (network.load(np.array([link]), zero, 1)[:, 0] for link in range(links))
        self._loads = [[(b, int(load[b])) for b in np.flatnonzero(load).tolist()] for load in each]

    @abstractmethod
    def chunk_sends(self, model: cp_model.CpModel, demand: int, known: C) -> ChunkSends[C]:
        """Adds the variables and rules of a chunk, with a known column as a hint."""

    def fitted(
        self, demands: Sequence[int], known: Sequence[C], room: Ints, weights: Ints, seconds: float
    ) -> tuple[list[C], bool]:
        """Columns of little overload, no more than that of the given ones, and if it is the least.

        Args:
            demands: of each chunk.
            known: the present column of each chunk.
            room: ``[B, S]``, the load for which bounds have room; may be negative.
            weights: ``[B, S]``, of a chunk too many.
            seconds: of work.
        """
        from ortools.sat.python import cp_model

        model, left = cp_model.CpModel(), np.maximum(0, room)
        chunks = [self.chunk_sends(model, *one) for one in zip(demands, known, strict=True)]
        overload = []
        for cell, (total, most) in self._totals(chunks).items():
            space = int(left[cell])
            if most > space:
                over = model.new_int_var(0, most - space, "")
                model.add(total <= space + over)
                overload.append(int(weights[cell]) * over)
        before = sum(self.network.load(one.links, one.steps, self.steps) for one in known)
        model.add(sum(overload) <= int((np.maximum(0, before - left) * weights).sum()))
        model.minimize(sum(overload))
        return self._solved(model, chunks, known, seconds)

    def cheaper(
        self, demands: Sequence[int], known: Sequence[C], others: Ints, seconds: float
    ) -> list[C]:
        """Columns that need few rounds of all steps together, no more than the given ones, next to
        the load ``[B, S]`` of other chunks."""
        from ortools.sat.python import cp_model

        model, rates = cp_model.CpModel(), self.network.exact_rate
        chunks = [self.chunk_sends(model, *one) for one in zip(demands, known, strict=True)]
        load = others + sum(self.network.load(one.links, one.steps, self.steps) for one in known)
        most = rounds_of(rates, load)
        rounds = [
            model.new_int_var(one, most, "") for one in rounds_per_step(rates, others).tolist()
        ]
        for (bound, step), (total, _) in self._totals(chunks).items():
            numerator, denominator = rates[bound].as_integer_ratio()
            total += int(others[bound, step])
            model.add(denominator * total <= numerator * rounds[step])
        model.add(sum(rounds) <= most)
        model.minimize(sum(rounds))
        return self._solved(model, chunks, known, seconds)[0]

    def _totals(self, chunks: Sequence[ChunkSends[C]]) -> dict[tuple[int, int], tuple[Any, int]]:
        """The load of a bound in a step, as an expression, and the most that it may be."""
        found: dict[tuple[int, int], tuple[Any, int]] = {}
        for chunk in chunks:
            fixed = ((send, 1) for send in chunk.fixed)
            for (link, step), variable in chain(chunk.sends.items(), fixed):
                for bound, load in self._loads[link]:
                    total, most = found.get((bound, step), (0, 0))
                    found[bound, step] = total + load * variable, most + load
        return found

    def _solved(
        self,
        model: cp_model.CpModel,
        chunks: Sequence[ChunkSends[C]],
        known: Sequence[C],
        seconds: float,
    ) -> tuple[list[C], bool]:
        solver, proved = run_counted(model, seconds)
        if solver is None:
            return list(known), proved
        found = [
            chunk.column([s for s, one in chunk.sends.items() for _ in range(solver.value(one))])
            for chunk in chunks
        ]
        return found, proved


def run_counted(
    model: cp_model.CpModel, seconds: float, *, simple: bool = False
) -> tuple[cp_model.CpSolver | None, bool]:
    """A solver with a solution after `seconds` of work at most, or None; and whether it is proved
    to be the best, or that none exists.  A `simple` program is hardly simplified, in half the time.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    limit_cp_sat(solver.parameters, seconds, _SLOWEST)
    if simple:
        solver.parameters.cp_model_probing_level = 0
        solver.parameters.max_presolve_iterations = 1
    status = solver.solve(model)
    own = _UNITS_PER_VARIABLE * len(model.proto.variables) / (1 + simple)
    took(own + solver.response_proto.deterministic_time / TICKS_PER_UNIT)
    has_one = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return solver if has_one else None, status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)


def forest_sends(
    model: cp_model.CpModel,
    links: Links,
    sources: Collection[int],
    needed: Iterable[int],
    far: Ints,
    steps: int,
    leaves: Mapping[int, Sequence[int]],
) -> Variables:
    """Variables of the sends by which a chunk comes from sources to nodes, and the rules for them.

    Args:
        sources: nodes that have the chunk at the start.
        needed: nodes that must receive it.
        far: ``[P]``, the distance of each node from the sources.
        steps: the number of steps.
        leaves: links to leaves that are alike, by the first, whose variables are numbers of sends.
    """
    late = {int(links.target[link]) for group in leaves.values() for link in group}
    into: list[list[int]] = [[] for _ in range(links.num_nodes)]
    for link, node in enumerate(links.target.tolist()):
        into[node].append(link)
    sender = links.source.tolist()
    sends: Variables = {}
    has: dict[tuple[int, int], cp_model.IntVar] = {}  # whether a node has it after a step
    for node in range(links.num_nodes):
        if node in sources or node in late or far[node] == UNREACHABLE:
            continue
        before: cp_model.IntVar | int = 0
        for step in range(int(far[node]) - 1, steps):
            ways = [v for v in into[node] if far[sender[v]] <= step and sender[v] not in late]
            for link in ways:
                sends[link, step] = model.new_bool_var("")
            after = model.new_bool_var("")
            model.add(sum(sends[link, step] for link in ways) + before == after)
            before = has[node, step] = after
    for link, group in leaves.items():
        of = [(link, step) for step in range(int(far[sender[link]]), steps)]
        sends |= {send: model.new_int_var(0, len(group), "") for send in of}
        model.add(sum(sends[send] for send in of) == len(group))
    for node in needed:
        if (node, steps - 1) in has:
            model.add(has[node, steps - 1] == 1)
        elif node not in sources and node not in late:
            model.add_bool_or([])  # too few steps
    for (link, step), variable in sends.items():
        if sender[link] not in sources:
            earlier = has.get((sender[link], step - 1))
            if earlier is None:
                model.add(variable == 0)
            elif link in leaves:
                model.add(variable <= len(leaves[link]) * earlier)
            else:
                model.add_implication(variable, earlier)
    return sends


class TreeRepair(SendPrograms[TimedTree]):
    """Replaces trees of S steps; `trees` of each demand also show leaves and their links."""

    def __init__(
        self, problem: PackingProblem, steps: int, trees: Sequence[Sequence[TimedTree]] = ()
    ) -> None:
        super().__init__(problem, len(problem.links.source), steps)
        self._problem, self._trees = problem, trees
        self._random = np.random.default_rng(steps)

    def chunk_sends(
        self, model: cp_model.CpModel, demand: int, known: TimedTree
    ) -> ChunkSends[TimedTree]:
        """See `SendPrograms.chunk_sends`."""
        one, links = self._problem.demands[demand], self._problem.links
        far = self._problem.topology.distances[list(one.sources)].min(axis=0)
        other = self._trees and self._random.random() < _OTHER
        shown = self._trees[demand] if other else [known]
        leaves = self._leaves(shown[int(self._random.integers(len(shown)))], one.sources)
        sends = forest_sends(model, links, one.sources, one.destinations, far, self.steps, leaves)
        for (link, step), variable in sends.items():
            sent = [(own, step) in known.sends for own in leaves.get(link, [link])]
            model.add_hint(variable, sum(sent))

        def column(chosen: Sequence[Send]) -> TimedTree:
            members = {link: iter(group) for link, group in leaves.items()}
            own = [(next(members.get(link, repeat(link))), step) for link, step in chosen]
            first = {int(links.target[link]): (link, step) for link, step in own}
            return of_use(one, first, links.source)

        return ChunkSends(sends, (), column)

    def _leaves(self, tree: TimedTree, sources: Collection[int]) -> dict[int, list[int]]:
        """The links to leaves, by the first one of a sender and of equal loads."""
        links, groups = self._problem.links, dict[tuple[object, ...], list[int]]()
        if self.senders is not None:
            inner = {*sources, *self.senders, *links.source[tree.links].tolist()}
            for link in tree.links.tolist():
                if links.target[link] not in inner:
                    key = links.source[link], *self._loads[link]
                    groups.setdefault(key, []).append(link)
        return {group[0]: group for group in groups.values()}
