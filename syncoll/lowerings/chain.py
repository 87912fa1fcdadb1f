"""The chain of lowerings from the features of a formula to the features of a backend.

It depends only on the two sets of features and the declarations of registered lowerings; no formula
is needed to compute it.  The built-in lowerings lead from left to right::

    difference ──▶ linear ──▶ big-M                     for backends with integers
         │            │
         ▼            ▼
       clause    pseudo-Boolean ◀── cardinality, clause, big-M       for linear solvers
         ▲            │
         │            ├──▶ cardinality                  where the row only counts
         └────────────┴──────── and from there          for SAT solvers

A chain exists whenever the backend offers clauses, cardinality rows, pseudo-Boolean rows, or linear
rows with integers, since each of these can express every formula.

The cheapest chain is taken; among equal chains the one whose lowerings were registered first.
Every feature of the formula counts the same.  A lowering costs its `Lowering.cost` for each feature
that it removes, and half of it for a feature that it rewrites in part.
"""

import heapq
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from syncoll.errors import PluginError
from syncoll.formula import Assignment, Feature, Formula, FormulaSize
from syncoll.lowerings.lowering import LOWERINGS, AnswerMap, Lowering, go_on, stoppable

_WHOLE = 16
"""The work of a feature; a lowering that rewrites some of it moves half of the rest."""

_CARRIERS = {Feature.CARDINALITY, Feature.PSEUDO_BOOLEAN, Feature.LINEAR, Feature.DIFFERENCE}
"""Features whose rows may be enforced; without any of them there is no enforcement."""

_Work = dict[Feature, int]


@dataclass(frozen=True)
class Stage:
    """The formula after the encoding, or after a lowering, of this name and summary."""

    name: str
    summary: str
    size: FormulaSize
    seconds: float


@dataclass(frozen=True, eq=False)
class Lowered:
    """A formula in the features of a backend, with the stages and inverses of its chain."""

    formula: Formula
    stages: tuple[Stage, ...]
    inverses: tuple[AnswerMap, ...]

    def raise_assignment(self, assignment: Assignment) -> Assignment:
        """The assignment of the original formula that corresponds to one of the lowered formula."""
        for inverse in reversed(self.inverses):
            assignment = inverse.raise_assignment(assignment)
        return assignment


def _listed(features: Iterable[Feature]) -> str:
    return ", ".join(f for f in Feature if f in set(features)) or "nothing"


def _after(lowering: Lowering, work: _Work) -> tuple[int, _Work] | None:
    """The cost of the lowering and the work that remains; None if it cannot be applied."""
    if not lowering.rewrites & work.keys() or lowering.after & work.keys():
        return None
    left, moved, new = dict(work), 0, dict[Feature, int]()
    for turned, parts in ((lowering.turns, 1), (lowering.some, 2)):
        for feature, made in turned:
            if part := work.get(feature, 0) // parts:
                left[feature] -= part
                moved += part
                for one in made:
                    new[one] = new.get(one, 0) + part
    for feature, part in new.items():
        left[feature] = left.get(feature, 0) + part
    left = {feature: part for feature, part in left.items() if part}
    if not _CARRIERS & left.keys():
        left.pop(Feature.ENFORCEMENT, None)
    return lowering.cost * moved, left


@lru_cache(maxsize=256)
def _cheapest(
    used: frozenset[Feature], offered: frozenset[Feature], lowerings: tuple[Lowering, ...]
) -> tuple[Lowering, ...] | None:
    """The cheapest chain, by Dijkstra's method; no lowering is in it twice."""
    start = dict.fromkeys(used, _WHOLE)
    queue: list[tuple[int, tuple[int, ...], _Work]] = [(0, (), start)]
    known: set[frozenset[tuple[Feature, int]]] = set()
    while queue:
        cost, chain, work = heapq.heappop(queue)
        if work.keys() <= offered:
            return tuple(lowerings[i] for i in chain)
        if (state := frozenset(work.items())) in known:
            continue
        known.add(state)
        goes = work.keys() - offered
        if Feature.ENFORCEMENT in goes:
            goes = goes | (_CARRIERS & work.keys())
        for i, lowering in enumerate(lowerings):
            if i in chain or not lowering.rewrites & goes:
                continue
            if (step := _after(lowering, work)) is not None:
                heapq.heappush(queue, (cost + step[0], (*chain, i), step[1]))
    return None


def plan(
    features_used: frozenset[Feature], features_offered: frozenset[Feature]
) -> tuple[Lowering, ...]:
    """The chain of lowerings in order, computed from features; empty if no lowering is needed.
    Raises `PluginError` if the backend offers too little for any chain."""
    if features_used <= features_offered:
        return ()
    used = set(features_used)
    if used & {Feature.LINEAR, Feature.DIFFERENCE}:
        used.add(Feature.INTEGER)
    if not used & _CARRIERS:
        used.discard(Feature.ENFORCEMENT)
    chain = _cheapest(frozenset(used), features_offered, tuple(LOWERINGS))
    if chain is None:
        raise PluginError(
            f"no chain of lowerings leads from {_listed(features_used)} to "
            f"{_listed(features_offered)}: a backend must offer clause, cardinality, "
            "pseudo-boolean, or linear together with integer"
        )
    return chain


def lower(
    formula: Formula, features: frozenset[Feature], check: Callable[[], None] = lambda: None
) -> Lowered:
    """Rewrites a formula until it uses only features that a backend offers; the hint and the ids of
    the original Booleans stay.

    `check` is called from time to time, and may raise an error to stop.  Raises `PluginError` as
    `plan`, and `UsageError` if an integer has too many values for a backend without integers.
    """
    size, hint = formula.size(), formula.hint
    stages: list[Stage] = []
    inverses: list[AnswerMap] = []
    for lowering in plan(size.features, features):
        if not lowering.rewrites & size.features:
            continue
        start = time.perf_counter()
        with stoppable(check):
            go_on()
            applied = lowering.apply(formula)
        seconds = time.perf_counter() - start
        formula, size = applied.formula, applied.formula.size()
        inverses.append(applied.inverse)
        stages.append(Stage(lowering.name, lowering.summary, size, seconds))
    assert size.features <= features, f"the chain left {_listed(size.features - features)}"
    if stages and len(hint):  # Booleans keep their ids
        formula = formula.with_hint(hint)
    return Lowered(formula, tuple(stages), tuple(inverses))
