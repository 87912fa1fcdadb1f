"""One (S, R, C) of any collective: decided by the solver, or through its decomposition.

An inverse is decided as its dual on the reversed topology; both verdicts carry over.  A composed
collective has an algorithm if S and R can be divided among its parts so that each has one; the even
division is tried first.  If no composition exists, other algorithms may, so the collective is then
encoded directly.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from syncoll.clock import is_counted
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import UsageError
from syncoll.formula import Outcome, StopReason, Verdict
from syncoll.model import Algorithm, Collective, Instance, Topology
from syncoll.model.chunk_lookup import part_chunks
from syncoll.model.derived import dual_instance
from syncoll.model.grains import Rounds
from syncoll.results import NO_FORMULA, Solution
from syncoll.searching.decompose import Decomposition, composed, inverted_solution
from syncoll.searching.shares import found_group
from syncoll.solving import Solver
from syncoll.symmetry import Action, FreeGroup

if TYPE_CHECKING:  # bounds of parts are only loaded for compositions
    from syncoll.ledger.bounds_table import BoundsTable


def solve_one(
    solver: Solver,
    topology: Topology,
    collective: Collective,
    *,
    chunks: int,
    steps: int,
    rounds: Rounds,
    seconds: float | None = None,
    deadline: Deadline = NEVER,
    symmetric: bool = False,
) -> Solution:
    """Decides whether a collective has an algorithm of S steps and R rounds with C chunks.

    Args:
        seconds: time limit for all of it; None for the solver's own for each instance.
        symmetric: whether only algorithms are looked for that a group of automorphisms maps to
            themselves; each part of a composition has its own group.

    Raises:
        UsageError: when the collective is reproducible.
        ModelError: when the collective is not defined for these numbers on the topology.
        BackendError: when the backend's answer turns out to be wrong.
    """
    if collective.plain is not None:
        raise UsageError(
            f"{collective.name}: formulas have no associations; `syncoll pareto` searches "
            f"reproducible sums, for which bounds of {collective.plain.name} hold"
        )
    instance = collective.instantiate(topology, chunks=chunks, steps=steps, rounds=rounds)
    if topology.grains > 1:
        found = solve_one(
            solver,
            topology.in_grains,
            collective,
            chunks=chunks,
            steps=steps,
            rounds=int(instance.rounds * topology.grains),
            seconds=seconds,
            deadline=deadline,
            symmetric=symmetric,
        )
        return found.in_rounds(instance)
    if min(steps, rounds) < instance.least_steps:  # a step without rounds does nothing
        return Solution(
            instance,
            Outcome(Verdict.UNSAT),
            None,
            solver.encoding_for(instance).name,
            solver.backend_name,
            NO_FORMULA,
            NO_FORMULA,
        )
    return _One(solver, deadline.sooner(seconds), symmetric).answer(instance, collective)


def decided_as(instance: Instance, collective: Collective) -> tuple[Instance, str]:
    """The instance that a solver is asked about first, and the reason in words if it is another
    one."""
    if collective.dual is not None:
        asked = dual_instance(instance, collective, collective.dual)
        return asked, (
            f"{collective.name} is decided as its dual {collective.dual.name} with "
            f"C = {asked.chunks} on the reversed topology."
        )
    if collective.ways:
        ways = " or ".join(" then ".join(part.name for part in way) for way in collective.ways)
        return instance, (
            f"{collective.name} is first composed of {ways}; this is the direct formula."
        )
    return instance, ""


def solve_directly(
    solver: Solver,
    instance: Instance,
    seconds: float | None,
    hint: Algorithm | None = None,
    until: Deadline = NEVER,
    symmetry: Action | None = None,
) -> Solution:
    """Decides an instance by the solver alone, with given rounds tried first where that pays.

    With given rounds the encoding of a combining instance is several times smaller.  If there is no
    algorithm with these rounds, others may have one, so the rounds are then left to the solver.

    Args:
        seconds: time limit; None for the solver's own.
        hint: an algorithm for the same chunks, a warm start.
        until: when all of it must be over, building the formula too.
        symmetry: only algorithms that its group maps to themselves are looked for.
    """
    if not instance.combining or instance.rounds_per_step is not None or instance.steps == 0:
        return solver.solve(instance, seconds=seconds, hint=hint, until=until, symmetry=symmetry)
    own = Deadline.after(seconds)
    # The odd rounds are in the middle, where there are the most partial results.
    each, odd = divmod(instance.rounds, instance.steps)
    first = (instance.steps - odd) // 2
    even = tuple(each + (first <= step < first + odd) for step in range(instance.steps))
    solution = solver.solve(
        replace(instance, rounds_per_step=even), seconds=seconds, until=until, symmetry=symmetry
    )
    none = solution.outcome.reason is StopReason.NOT_SYMMETRIC
    if solution.verdict is not Verdict.UNSAT and not none:
        # If this took all the time, the larger formula would take more.
        return replace(solution, instance=instance)
    return solver.solve(instance, seconds=own.seconds, until=until, symmetry=symmetry)


def solve_symmetrically(
    solver: Solver,
    instance: Instance,
    seconds: float | None,
    hint: Algorithm | None = None,
    until: Deadline = NEVER,
    *,
    groups: Sequence[FreeGroup],
) -> Solution:
    """Looks for algorithms that one of several free groups maps to themselves.

    The first group that gives an algorithm, or exceeds the time, is the last one tried.  If no
    group keeps the instance, it is decided as a whole.

    Args:
        seconds: time limit of the solver for all of it; None for its own for each group.
        hint: an algorithm for the same chunks, a warm start.
        until: when all of it must be over, building the formulas too.
        groups: of automorphisms of the topology; where one of them keeps the instance's chunks, so
            do its subgroups.
    """
    began = time.perf_counter()
    table = instance.table
    spent: Counter[str] = Counter()
    solution, left, own = None, seconds, Deadline.after(seconds)
    for one in groups:
        try:
            action = Action.on(one, table)
        except ValueError:  # a subgroup may keep the chunks
            continue
        spent.update({"symmetry": time.perf_counter() - began})
        solution = solve_directly(solver, instance, left, hint, until, action)
        spent.update(solution.seconds)
        if seconds is not None:
            left = own.left() if is_counted() else seconds - spent["solve"]
        over = until.passed or (left is not None and left <= 0)
        if over or solution.outcome.reason is not StopReason.NOT_SYMMETRIC:
            break
        began = time.perf_counter()
    if solution is None:
        solution = solve_directly(solver, instance, seconds, hint, until)
        spent.update(solution.seconds)
    return replace(solution, seconds=dict(spent))


class _One(Decomposition[Instance, Solution]):
    """One question and its remaining time."""

    def __init__(self, solver: Solver, deadline: Deadline, symmetric: bool) -> None:
        self._solver, self._deadline, self._symmetric = solver, deadline, symmetric

    def direct(self, question: Instance, collective: Collective) -> Solution:
        until = self._deadline
        if self._symmetric:
            return self._symmetrically(question)
        return solve_directly(self._solver, question, until.seconds, until=until)

    def _symmetrically(self, question: Instance) -> Solution:
        """Tries the largest free group that is found quickly, then its subgroups."""
        began, until = time.perf_counter(), self._deadline
        table = question.table
        group = found_group(question.topology, table, until)
        found = time.perf_counter() - began
        groups = tuple(group.chain())
        solution = solve_symmetrically(
            self._solver, question, until.seconds, until=until, groups=groups
        )
        rest = solution.seconds.get("symmetry", 0.0)
        return replace(solution, seconds={**solution.seconds, "symmetry": found + rest})

    def inverse(self, question: Instance, collective: Collective, dual: Collective) -> Solution:
        asked = dual_instance(question, collective, dual)
        return inverted_solution(self.answer(asked, dual), question, collective)

    def composition(self, question: Instance, collective: Collective) -> Solution:
        tried: list[Solution] = []
        for way in collective.ways:
            if parts := self._parts(question, way, tried):
                found, algorithm = composed(parts, collective)
                return _joined(tried, found, algorithm)
        solution = self.direct(question, collective)
        return replace(solution, seconds=_sum([*tried, solution]))

    def _parts(
        self, instance: Instance, way: Sequence[Collective], tried: list[Solution]
    ) -> list[tuple[Instance, Algorithm]]:
        """The parts' algorithms for the first division for which all have one; else empty."""
        from syncoll.ledger.bounds_table import BoundsTable

        nodes = instance.topology.num_nodes
        found = [part_chunks(part, nodes, instance.num_chunks) for part in way[1:]]
        sizes = [instance.chunks, *(chunks for chunks in found if chunks is not None)]
        if not way[0].admits(nodes, instance.chunks) or len(sizes) < len(way):
            return []
        tables = [
            BoundsTable(instance.topology, part, deadline=self._deadline, chunks=size)
            for part, size in zip(way, sizes, strict=True)
        ]
        answers: dict[tuple[int, int, int], Solution] = {}
        for division in _divisions(tables, instance.steps, instance.rounds):
            parts: list[tuple[Instance, Algorithm]] = []
            for i, (steps, rounds) in enumerate(division):
                key = i, steps, rounds
                if key not in answers:
                    asked = tables[i].instance(sizes[i], steps, rounds)
                    answers[key] = self.answer(asked, way[i])
                    tried.append(answers[key])
                algorithm = answers[key].algorithm
                if algorithm is None:
                    break
                parts.append((answers[key].instance, algorithm))
            else:
                return parts
            if self._deadline.passed:
                break
        return []


def _divisions(
    tables: "Sequence[BoundsTable]", steps: int, rounds: int
) -> Iterator[tuple[tuple[int, int], ...]]:
    """The ways to divide S and R among the parts that no bound rules out, the most even first.  The
    most even one comes without a look at the bounds, which take longer than most solves."""
    shares = [
        [t // len(tables) + (i < t % len(tables)) for t in (steps, rounds)]
        for i in range(len(tables))
    ]
    even = tuple((s, r) for s, r in shares)
    if all(s >= t.least_steps for t, (s, _) in zip(tables, even, strict=True)):
        yield even

    def expand(i: int, s: int, r: int) -> Iterator[tuple[tuple[int, int], ...]]:
        table, least = tables[i], tables[i].least_steps
        chunks = table.shape.chunks
        if i == len(tables) - 1:
            if s >= least and r >= table.bandwidth(s) * chunks:
                yield ((s, r),)
            return
        for mine in range(least, s + 1):
            low = table.bandwidth(mine) * chunks
            for given in range(-int(-low // 1), r + 1):
                for rest in expand(i + 1, s - mine, r - given):
                    yield ((mine, given), *rest)

    def unevenness(division: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        all_steps, all_rounds = zip(*division, strict=True)
        return max(all_rounds) - min(all_rounds), max(all_steps) - min(all_steps)

    yield from (d for d in sorted(expand(0, steps, rounds), key=unevenness) if d != even)


def _sum(solutions: Sequence[Solution]) -> Mapping[str, float]:
    total: Counter[str] = Counter()
    for solution in solutions:
        total.update(solution.seconds)
    return dict(total)


def _joined(solutions: Sequence[Solution], instance: Instance, algorithm: Algorithm) -> Solution:
    """The solutions of the parts as one of the whole; its size is that of the largest part."""
    return replace(
        max(solutions, key=lambda s: s.size.literals),
        instance=instance,
        algorithm=algorithm,
        outcome=next(s.outcome for s in solutions if s.algorithm is not None),
        seconds=_sum(solutions),
    )
