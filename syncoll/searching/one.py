"""One (S, R, C) of any collective: decided by the solver, or through what it is made of.

An inverse is decided as its dual on the reversed topology; both verdicts carry over.  A composed
collective has an algorithm if S and R can be divided among its parts so that each has one; the even
division is tried first.  That no composition exists proves nothing about other algorithms, so then
the collective is encoded directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from syncoll.deadline import NEVER, Deadline
from syncoll.model import Algorithm, Collective, Instance, Topology, compose
from syncoll.model.derived import part_chunks
from syncoll.model.dual import dual_instance
from syncoll.results import Solution
from syncoll.searching.directly import solve_directly
from syncoll.solving import Solver

if TYPE_CHECKING:
    from syncoll.searching.bounds_table import BoundsTable

__all__ = ["decided_as", "solve_one"]


def solve_one(
    solver: Solver,
    topology: Topology,
    collective: Collective,
    *,
    chunks: int,
    steps: int,
    rounds: int,
    seconds: float | None = None,
    deadline: Deadline = NEVER,
) -> Solution:
    """Decides whether a collective has an algorithm of S steps and R rounds with C chunks.

    Args:
        solver: decides the instances that come up.
        topology: where.
        collective: what; combining and composed ones too.
        chunks: C.
        steps: S.
        rounds: R.
        seconds: time limit for all of it; None for the solver's own for each instance.
        deadline: when it must be over.

    Raises:
        ModelError: when the collective is not defined for these numbers on the topology.
        BackendError: when the backend's answer turns out to be wrong.
    """
    instance = collective.instantiate(topology, chunks=chunks, steps=steps, rounds=rounds)
    return _One(solver, deadline.sooner(seconds)).solve(instance, collective)


def decided_as(instance: Instance, collective: Collective) -> tuple[Instance, str]:
    """The instance that a solver is asked about first, and in words why it is another one."""
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


class _One:
    """One question, with the time that is left for it."""

    def __init__(self, solver: Solver, deadline: Deadline) -> None:
        self._solver = solver
        self._deadline = deadline

    def _directly(self, instance: Instance) -> Solution:
        return solve_directly(self._solver, instance, self._deadline.seconds, until=self._deadline)

    def solve(self, instance: Instance, collective: Collective) -> Solution:
        if collective.dual is not None:
            return self._inverse(instance, collective, collective.dual)
        if collective.ways:
            return self._composed(instance, collective)
        return self._directly(instance)

    def _inverse(self, instance: Instance, collective: Collective, dual: Collective) -> Solution:
        from syncoll.searching.asking_dual import inverted_solution

        asked = dual_instance(instance, collective, dual)
        return inverted_solution(self.solve(asked, dual), instance, collective)

    def _composed(self, instance: Instance, collective: Collective) -> Solution:
        from syncoll.searching.derived_points import as_asked

        tried: list[Solution] = []
        for way in collective.ways:
            whole = self._way(instance, way, collective.name, tried)
            if whole is not None:
                found, algorithm = as_asked(*whole, collective)
                return _joined(tried, found, algorithm)
        solution = self._directly(instance)
        return replace(solution, seconds=_sum([*tried, solution]))

    def _way(
        self,
        instance: Instance,
        way: Sequence[Collective],
        name: str,
        tried: list[Solution],
    ) -> tuple[Instance, Algorithm] | None:
        """The parts' algorithms composed, for the first division for which all have one."""
        from syncoll.searching.bounds_table import BoundsTable

        topology = instance.topology
        tables = [BoundsTable(topology, part, deadline=self._deadline) for part in way]
        chunks = [part_chunks(part, topology.num_nodes, instance.num_chunks) for part in way]
        if not way[0].admits(topology.num_nodes, instance.chunks):
            return None
        chunks[0] = instance.chunks
        if any(c is None for c in chunks):
            return None
        sizes = [c for c in chunks if c is not None]
        answers: dict[tuple[int, int, int], Solution] = {}
        for division in _divisions(tables, sizes, instance.steps, instance.rounds):
            solutions = []
            for i, (steps, rounds) in enumerate(division):
                key = i, steps, rounds
                if key not in answers:
                    asked = tables[i].instance(sizes[i], steps, rounds)
                    answers[key] = self.solve(asked, way[i])
                    tried.append(answers[key])
                solutions.append(answers[key])
                if answers[key].algorithm is None:
                    break
            else:
                parts = [(s.instance, s.algorithm) for s in solutions if s.algorithm is not None]
                whole = parts[0]
                for part in parts[1:]:
                    whole = compose(whole, part, name)
                return whole
            if self._deadline.passed:
                return None
        return None


def _divisions(
    tables: Sequence[BoundsTable], chunks: Sequence[int], steps: int, rounds: int
) -> Iterator[tuple[tuple[int, int], ...]]:
    """The ways to divide S and R among the parts that no bound rules out, the evenest first.

    The evenest of all comes without a look at the bounds, which take longer than most solves.
    """
    even = _evenly(steps, rounds, len(tables))
    if all(s >= t.least_steps(c) for t, c, (s, _) in zip(tables, chunks, even, strict=True)):
        yield even

    def expand(i: int, s: int, r: int) -> Iterator[tuple[tuple[int, int], ...]]:
        table, c = tables[i], chunks[i]
        least = table.least_steps(c)
        if i == len(tables) - 1:
            if s >= least and r >= table.bandwidth(c, s) * c:
                yield ((s, r),)
            return
        for mine in range(least, s + 1):
            low = table.bandwidth(c, mine) * c
            for given in range(-int(-low // 1), r + 1):
                for rest in expand(i + 1, s - mine, r - given):
                    yield ((mine, given), *rest)

    def unevenness(division: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        all_steps, all_rounds = zip(*division, strict=True)
        return max(all_rounds) - min(all_rounds), max(all_steps) - min(all_steps)

    yield from (d for d in sorted(expand(0, steps, rounds), key=unevenness) if d != even)


def _evenly(steps: int, rounds: int, parts: int) -> tuple[tuple[int, int], ...]:
    shares = []
    for total in (steps, rounds):
        each, odd = divmod(total, parts)
        shares.append([each + (i < odd) for i in range(parts)])
    return tuple(zip(*shares, strict=True))


def _sum(solutions: Sequence[Solution]) -> Mapping[str, float]:
    total: dict[str, float] = {}
    for solution in solutions:
        for phase, value in solution.seconds.items():
            total[phase] = total.get(phase, 0.0) + value
    return total


def _joined(solutions: Sequence[Solution], instance: Instance, algorithm: Algorithm) -> Solution:
    """The solutions of the parts as one of the whole; its size is that of the largest part."""
    largest = max(solutions, key=lambda s: s.size.literals)
    return replace(
        largest,
        instance=instance,
        algorithm=algorithm,
        outcome=next(s.outcome for s in solutions if s.algorithm is not None),
        seconds=_sum(solutions),
    )
