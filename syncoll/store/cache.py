"""Caches of solutions and of proved bounds in a store.

Look-up and keeping are separate, since an executor may compute the answer.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from syncoll.bounding.rounds import rounds_bound
from syncoll.certificates import Demand, RoundsBound
from syncoll.formula import Assignment, Limits, Outcome, Verdict
from syncoll.memory import refusals
from syncoll.model import Instance, Topology
from syncoll.results import Solution
from syncoll.store.answers import StoredAnswer
from syncoll.store.store import Store


@dataclass(eq=False)
class CachedSolutions:
    """Looks solutions up in a store, and keeps them there, with the limits of each run and its
    solvers, see `Solver.asked`."""

    store: Store
    _asked: Callable[[Instance], str]
    limits: Limits
    remembered: int = 0

    def look_up(self, instance: Instance, *, seconds: float | None = None) -> Solution | None:
        """The stored solution of an instance for a run of at most these seconds, with its original
        seconds, an empty assignment and no proof; None without one."""
        found = self.store.answer(instance, self._asked(instance), self.limits.within(seconds))
        if found is None:
            return None
        self.remembered += 1
        nothing = Assignment(np.zeros(1, dtype=bool), np.zeros(0, dtype=np.int64))
        model = nothing if found.verdict is Verdict.SAT else None
        outcome = Outcome(found.verdict, model, found.reason, found.message)
        return Solution(instance, outcome, **_kept(found))

    def keep(self, solution: Solution, *, seconds: float | None = None) -> bool:
        """Keeps a solution, of a run limited as in `look_up`; for a restricted one only an
        algorithm.  Returns whether it is kept, see `Store.keep_answer`."""
        if solution.restriction is not None and solution.verdict is not Verdict.SAT:
            return False
        instance = solution.instance
        outcome, limits = solution.outcome, self.limits.within(seconds)
        ended: dict[str, Any] = {
            "message": outcome.message,
            "reason": outcome.reason,
            "limits": limits,
        }
        answer = StoredAnswer(solution.verdict, **_kept(solution), **ended)
        return self.store.keep_answer(instance, self._asked(instance), answer)


def _kept(one: Solution | StoredAnswer) -> dict[str, Any]:
    """The fields that solutions and stored answers share."""
    names = ("algorithm", "encoding", "backend", "size", "lowered_size", "seconds")
    return {name: getattr(one, name) for name in names}


_SECONDS_PER_CELL = 1e-7
"""Time to write a question about bounds, for each demand and node."""


_EFFORT = {True: "rounds, thorough", False: "rounds, quick"}


@dataclass(eq=False)
class CachedBounds:
    """`rounds_bound` with a store: stored certificates are checked and used.  `on_miss` is called
    before a bound is proved that the store lacks."""

    store: Store
    on_miss: Callable[[], None] = lambda: None
    remembered: int = 0

    def rounds_bound(
        self,
        topology: Topology,
        demands: Sequence[Demand],
        steps: int | None = None,
        *,
        thorough: bool = True,
        seconds: float | None = 20.0,
        more_than: Fraction = Fraction(0),
        **options: Any,
    ) -> RoundsBound:
        """The best bound on R, as `syncoll.bounding.rounds_bound` has it.

        A stored thorough bound also serves as a quick one.  The store is skipped if writing the
        question takes too long.

        Args:
            steps: S, or None for any number of steps.
            more_than: only a bound above this is used; a failure is remembered with it.
            options: further ones of `syncoll.bounding.rounds_bound`.
        """
        options |= {"thorough": thorough, "seconds": seconds, "more_than": more_than}
        prove = partial(rounds_bound, topology, demands, steps, **options)
        cells = len(demands) * topology.num_nodes
        if seconds is not None and seconds < cells * _SECONDS_PER_CELL:
            self.on_miss()
            return prove()
        efforts = (_EFFORT[True], _EFFORT[False])[: 1 if thorough else 2]
        in_vain = f"{_EFFORT[thorough]}, more than {more_than}"
        asked = (*efforts, in_vain) if more_than else efforts
        for effort in asked:
            found = self.store.certificate(topology, demands, steps, effort, seconds)
            if found is not None:
                self.remembered += 1
                about = {key: options[key] for key in ("reading", "node") if key in options}
                return replace(found, **about)
        self.on_miss()
        began, refused = time.perf_counter(), refusals()
        bound = prove()
        certificate, of_use = bound.certificate, bound.rounds > more_than
        # A bound that lacked memory proves nothing about another machine.
        if certificate is not None and refusals() == refused:
            # Each linear program has the whole limit: if all took less, none was cut short.
            cut = seconds is not None and time.perf_counter() - began >= seconds
            self.store.keep_certificate(
                topology,
                demands,
                steps,
                _EFFORT[thorough] if of_use else in_vain,
                certificate,
                seconds if cut else None,
            )
        return bound
