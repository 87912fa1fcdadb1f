r"""The chain of lowerings between what a formula uses and what a backend offers.

The chain follows from two sets of features alone; no formula is needed to compute it::

    difference ──▶ linear ──▶ big-M                     for backends with integers
         │            │
         ▼            ▼
       clause    pseudo-Boolean ◀── cardinality, clause, big-M       for linear solvers
         ▲            │
         │            ├──▶ cardinality                  where the row only counts
         └────────────┴──────── and from there          for SAT solvers

It runs from left to right and never back, so it ends; it exists whenever the backend offers
clauses, cardinality rows, pseudo-Boolean rows, or linear rows with integers, since each of these
can say everything.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from syncoll.errors import PluginError
from syncoll.formula import Assignment, Feature, Formula, FormulaSize
from syncoll.lowerings.cardinality_to_clauses import (
    cardinality_to_clauses,
    enforced_cardinality_to_clauses,
)
from syncoll.lowerings.cardinality_to_pseudo_boolean import cardinality_to_pseudo_boolean
from syncoll.lowerings.clause_to_cardinality import clause_to_cardinality
from syncoll.lowerings.clause_to_pseudo_boolean import clause_to_pseudo_boolean
from syncoll.lowerings.difference_to_linear import difference_to_linear
from syncoll.lowerings.enforcement_to_big_m import enforcement_to_big_m
from syncoll.lowerings.integers_to_order import integers_to_order
from syncoll.lowerings.lowering import AnswerMap, Lowering
from syncoll.lowerings.pseudo_boolean_to_cardinality import pseudo_boolean_to_cardinality
from syncoll.lowerings.pseudo_boolean_to_clauses import pseudo_boolean_to_clauses
from syncoll.lowerings.pseudo_boolean_to_linear import pseudo_boolean_to_linear

__all__ = ["LOWERINGS", "Lowered", "Stage", "lower", "plan"]

_CLAUSE, _CARDINALITY = Feature.CLAUSE, Feature.CARDINALITY
_PSEUDO_BOOLEAN, _LINEAR = Feature.PSEUDO_BOOLEAN, Feature.LINEAR
_INTEGER, _DIFFERENCE, _ENFORCEMENT = Feature.INTEGER, Feature.DIFFERENCE, Feature.ENFORCEMENT

_DIFFERENCE_TO_LINEAR = Lowering(
    "difference -> linear",
    "x + d <= y becomes x - y <= -d",
    difference_to_linear,
    frozenset({_DIFFERENCE}),
)
_INTEGERS_TO_ORDER = Lowering(
    "integer -> order",
    "integers become sorted Booleans [x >= v]",
    integers_to_order,
    frozenset({_INTEGER}),
)
_ENFORCEMENT_TO_BIG_M = Lowering(
    "enforcement -> big-M",
    "enforced rows get a term that frees them when the enforcer is false",
    enforcement_to_big_m,
    frozenset({_ENFORCEMENT}),
)
_PSEUDO_BOOLEAN_TO_CARDINALITY = Lowering(
    "pseudo-boolean -> cardinality",
    "rows with equal coefficients become counts",
    pseudo_boolean_to_cardinality,
    frozenset({_PSEUDO_BOOLEAN}),
)
_PSEUDO_BOOLEAN_TO_CLAUSES = Lowering(
    "pseudo-boolean -> clause",
    "sums become generalized totalizers",
    pseudo_boolean_to_clauses,
    frozenset({_PSEUDO_BOOLEAN}),
)
_PSEUDO_BOOLEAN_TO_LINEAR = Lowering(
    "pseudo-boolean -> linear",
    "sums get an integer that is always 0",
    pseudo_boolean_to_linear,
    frozenset({_PSEUDO_BOOLEAN}),
)
_CARDINALITY_TO_PSEUDO_BOOLEAN = Lowering(
    "cardinality -> pseudo-boolean",
    "counts become sums with coefficients 1",
    cardinality_to_pseudo_boolean,
    frozenset({_CARDINALITY}),
)
_CARDINALITY_TO_CLAUSES = Lowering(
    "cardinality -> clause",
    "counts become totalizers",
    cardinality_to_clauses,
    frozenset({_CARDINALITY}),
)
_ENFORCED_CARDINALITY_TO_CLAUSES = Lowering(
    "enforced cardinality -> clause",
    "enforced counts become totalizers",
    enforced_cardinality_to_clauses,
    frozenset({_ENFORCEMENT}),
)
_CLAUSE_TO_CARDINALITY = Lowering(
    "clause -> cardinality",
    "clauses become counts of at least one",
    clause_to_cardinality,
    frozenset({_CLAUSE}),
)
_CLAUSE_TO_PSEUDO_BOOLEAN = Lowering(
    "clause -> pseudo-boolean",
    "clauses become sums of at least one",
    clause_to_pseudo_boolean,
    frozenset({_CLAUSE}),
)

LOWERINGS: tuple[Lowering, ...] = (
    _DIFFERENCE_TO_LINEAR,
    _INTEGERS_TO_ORDER,
    _ENFORCEMENT_TO_BIG_M,
    _PSEUDO_BOOLEAN_TO_CARDINALITY,
    _PSEUDO_BOOLEAN_TO_CLAUSES,
    _CARDINALITY_TO_PSEUDO_BOOLEAN,
    _CARDINALITY_TO_CLAUSES,
    _ENFORCED_CARDINALITY_TO_CLAUSES,
    _CLAUSE_TO_CARDINALITY,
    _CLAUSE_TO_PSEUDO_BOOLEAN,
    _PSEUDO_BOOLEAN_TO_LINEAR,
)
"""All lowerings, in the order in which a chain has them."""


@dataclass(frozen=True)
class Stage:
    """One lowering of a chain, as it went.

    Args:
        name: the lowering's.
        summary: the lowering's, one line.
        before: how large the formula was.
        after: how large it became.
        seconds: wall-clock time.
    """

    name: str
    summary: str
    before: FormulaSize
    after: FormulaSize
    seconds: float


@dataclass(frozen=True, eq=False)
class Lowered:
    """A formula in the features of a backend, and the way back.

    Args:
        formula: the lowered formula.
        stages: how it came about, first lowering first; none when nothing was to do.
        inverses: of the stages, in the same order.
    """

    formula: Formula
    stages: tuple[Stage, ...]
    inverses: tuple[AnswerMap, ...]

    def raise_assignment(self, assignment: Assignment) -> Assignment:
        """The assignment of the original formula that one of the lowered formula stands for."""
        for inverse in reversed(self.inverses):
            assignment = inverse.raise_assignment(assignment)
        return assignment


def _listed(features: Iterable[Feature]) -> str:
    return ", ".join(f for f in Feature if f in set(features)) or "nothing"


def _check_offer(used: frozenset[Feature], offered: frozenset[Feature]) -> None:
    if offered & {_CLAUSE, _CARDINALITY, _PSEUDO_BOOLEAN} or {_LINEAR, _INTEGER} <= offered:
        return
    raise PluginError(
        f"no chain of lowerings leads from {_listed(used)} to {_listed(offered)}: a backend must "
        "offer clause, cardinality, pseudo-boolean, or linear together with integer"
    )


def plan(
    features_used: frozenset[Feature], features_offered: frozenset[Feature]
) -> tuple[Lowering, ...]:
    """The chain of lowerings, computed from features alone.

    Args:
        features_used: by the formula.
        features_offered: by the backend.

    Returns:
        The lowerings in the order in which they apply; none when the offer suffices.

    Raises:
        PluginError: the offer is so small that no chain exists.
    """
    used, offered = set(features_used), features_offered
    chain: list[Lowering] = []

    def apply(lowering: Lowering, removes: Iterable[Feature], adds: Iterable[Feature]) -> None:
        chain.append(lowering)
        used.difference_update(removes)
        used.update(adds)

    def missing(feature: Feature) -> bool:
        return feature in used and feature not in offered

    if used <= offered:
        return ()
    _check_offer(features_used, offered)
    if used & {_LINEAR, _DIFFERENCE}:
        used.add(_INTEGER)
    has_linear = {_LINEAR, _INTEGER} <= offered
    has_sums = has_linear or _PSEUDO_BOOLEAN in offered

    # Integers.  Differences keep no enforcers of their own: as linear rows or clauses they can.
    lost_difference = missing(_DIFFERENCE) or (_DIFFERENCE in used and missing(_ENFORCEMENT))
    if lost_difference and has_linear:
        apply(_DIFFERENCE_TO_LINEAR, {_DIFFERENCE}, {_LINEAR})
    elif lost_difference or missing(_LINEAR) or missing(_INTEGER):
        sums = {_PSEUDO_BOOLEAN} if _LINEAR in used else set()
        apply(_INTEGERS_TO_ORDER, {_INTEGER, _LINEAR, _DIFFERENCE}, {_CLAUSE, *sums})
    # Enforcers.
    if missing(_ENFORCEMENT) and has_sums:
        sums = {_PSEUDO_BOOLEAN} if used & {_PSEUDO_BOOLEAN, _CARDINALITY} else set()
        apply(_ENFORCEMENT_TO_BIG_M, {_ENFORCEMENT}, sums)
    # Sums and counts: to sums where there are any, else to counts and clauses.
    if missing(_PSEUDO_BOOLEAN) and not has_sums:
        if _CARDINALITY in offered:
            apply(_PSEUDO_BOOLEAN_TO_CARDINALITY, (), {_CARDINALITY})
        apply(_PSEUDO_BOOLEAN_TO_CLAUSES, {_PSEUDO_BOOLEAN}, {_CLAUSE})
    if missing(_CARDINALITY) and has_sums:
        apply(_CARDINALITY_TO_PSEUDO_BOOLEAN, {_CARDINALITY}, {_PSEUDO_BOOLEAN})
    elif missing(_CARDINALITY):
        apply(_CARDINALITY_TO_CLAUSES, {_CARDINALITY}, {_CLAUSE})
    elif _CARDINALITY in used and missing(_ENFORCEMENT):
        apply(_ENFORCED_CARDINALITY_TO_CLAUSES, {_ENFORCEMENT}, {_CLAUSE})
    # Clauses.
    if missing(_CLAUSE) and _CARDINALITY in offered:
        apply(_CLAUSE_TO_CARDINALITY, {_CLAUSE}, {_CARDINALITY})
    elif missing(_CLAUSE):
        apply(_CLAUSE_TO_PSEUDO_BOOLEAN, {_CLAUSE}, {_PSEUDO_BOOLEAN})
    if missing(_PSEUDO_BOOLEAN):
        apply(_PSEUDO_BOOLEAN_TO_LINEAR, {_PSEUDO_BOOLEAN}, {_LINEAR, _INTEGER})
    return tuple(chain)


def lower(formula: Formula, features: frozenset[Feature]) -> Lowered:
    """Rewrites a formula until it uses only features that a backend offers; its hint stays.

    Args:
        formula: any.
        features: what the backend offers.

    Returns:
        The lowered formula, with the original Booleans under their own ids.

    Raises:
        PluginError: the offer is so small that no chain exists.
        UsageError: an integer has too many values for a backend without integers.
    """
    size, hint = formula.size(), formula.hint
    stages: list[Stage] = []
    inverses: list[AnswerMap] = []
    for lowering in plan(size.features, features):
        if not lowering.rewrites & size.features:
            continue
        start = time.perf_counter()
        applied = lowering.apply(formula)
        seconds = time.perf_counter() - start
        before, formula, size = size, applied.formula, applied.formula.size()
        inverses.append(applied.inverse)
        stages.append(Stage(lowering.name, lowering.summary, before, size, seconds))
    assert size.features <= features, f"the chain left {_listed(size.features - features)}"
    if stages and len(hint):  # Booleans keep their ids
        formula = formula.with_hint(hint)
    return Lowered(formula, tuple(stages), tuple(inverses))
