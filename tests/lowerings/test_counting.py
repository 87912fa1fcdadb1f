"""Each lowering and each chain keeps exactly the models that brute force finds."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from syncoll.formula import Assignment, Feature, Formula
from syncoll.lowerings import LOWERINGS, Applied, Lowering, lower, plan
from syncoll.lowerings.chain import Lowered
from syncoll.testing.formulas import brute_force_models, random_formula

ALL = frozenset(Feature)
CLAUSE, CARDINALITY = Feature.CLAUSE, Feature.CARDINALITY
PSEUDO_BOOLEAN, LINEAR, INTEGER = Feature.PSEUDO_BOOLEAN, Feature.LINEAR, Feature.INTEGER
DIFFERENCE, ENFORCEMENT = Feature.DIFFERENCE, Feature.ENFORCEMENT

OFFERS = {
    "sat": {CLAUSE},
    "counting sat": {CLAUSE, CARDINALITY},
    "pseudo-Boolean": {PSEUDO_BOOLEAN},
    "pseudo-Boolean with clauses": {CLAUSE, PSEUDO_BOOLEAN},
    "counts alone": {CARDINALITY},
    "z3 without integers": {CLAUSE, CARDINALITY, PSEUDO_BOOLEAN, ENFORCEMENT},
    "milp": {LINEAR, PSEUDO_BOOLEAN, INTEGER},
    "rows that need integers": {LINEAR, INTEGER},
    "difference logic": {CLAUSE, DIFFERENCE, INTEGER},
    "enforced counts": {CLAUSE, CARDINALITY, ENFORCEMENT},
    "all but enforcement": ALL - {ENFORCEMENT},
    "all but integers": ALL - {INTEGER},
    "everything": ALL,
}
EVERY_OFFER = [
    frozenset(offer)
    for offer in chain.from_iterable(combinations(Feature, n) for n in range(len(Feature) + 1))
    if set(offer) & {CLAUSE, CARDINALITY, PSEUDO_BOOLEAN} or {LINEAR, INTEGER} <= set(offer)
]


def truth(formula: Formula):
    return brute_force_models(formula).as_set(formula.num_booleans, formula.num_integers)


def small(seed: int) -> Formula:
    return random_formula(seed, most_booleans=5, most_integers=2, most_rows=5)


def check(formula: Formula, lowered: Lowered, models_through) -> None:
    found = models_through(formula, lowered.formula, lowered.raise_assignment)
    assert found == truth(formula)


@pytest.mark.parametrize("offer", OFFERS.values(), ids=OFFERS.keys())
def test_chains_keep_the_models(offer, models_through):
    for seed in range(80):
        formula = small(seed)
        lowered = lower(formula, frozenset(offer))
        assert lowered.formula.size().features <= offer
        check(formula, lowered, models_through)


@pytest.mark.parametrize("offer", [{CLAUSE}, {CLAUSE, CARDINALITY}], ids=["sat", "counting sat"])
def test_chains_keep_the_models_of_structured_formulas(offer, models_through, structured_formula):
    with_models = 0
    for seed in range(250):
        formula = structured_formula(seed)
        lowered = lower(formula, frozenset(offer))
        check(formula, lowered, models_through)
        with_models += bool(truth(formula))
    assert 80 < with_models < 240


def test_every_offer_that_allows_a_chain(models_through):
    for i, offer in enumerate(EVERY_OFFER):
        for seed in range(6):
            formula = small(1000 * i + seed)
            lowered = lower(formula, offer)
            assert lowered.formula.size().features <= offer
            check(formula, lowered, models_through)


@pytest.mark.parametrize("lowering", LOWERINGS, ids=lambda lowering: lowering.name)
def test_each_lowering_alone(lowering: Lowering, models_through, structured_formula):
    features = ALL
    if lowering.name == "enforcement -> big-M":
        features = ALL - {DIFFERENCE}  # they are rewritten before
    for seed in range(75):
        formula = random_formula(seed, features, most_booleans=5, most_integers=2, most_rows=5)
        for given_formula in (formula, structured_formula(seed)):
            applied = lowering.apply(given_formula)
            found = models_through(given_formula, applied.formula, applied.inverse.raise_assignment)
            assert found == truth(given_formula)


REMOVED = {
    "difference -> linear": {DIFFERENCE},
    "integer -> order": {INTEGER, LINEAR, DIFFERENCE},
    "enforcement -> big-M": {ENFORCEMENT},
    "pseudo-boolean -> cardinality": set(),
    "pseudo-boolean -> clause": {PSEUDO_BOOLEAN},
    "cardinality -> pseudo-boolean": {CARDINALITY},
    "cardinality -> clause": {CARDINALITY},
    "enforced cardinality -> clause": set(),
    "clause -> cardinality": {CLAUSE},
    "clause -> pseudo-boolean": {CLAUSE},
    "pseudo-boolean -> linear": {PSEUDO_BOOLEAN},
}


@pytest.mark.parametrize("lowering", LOWERINGS, ids=lambda lowering: lowering.name)
def test_each_lowering_removes_its_declared_features(lowering: Lowering):
    assert set(REMOVED) == {entry.name for entry in LOWERINGS}
    given_features = ALL - {DIFFERENCE} if "big-M" in lowering.name else ALL
    for seed in range(60):
        formula = random_formula(seed, given_features)
        made = lowering.apply(formula).formula.size()
        assert not made.features & REMOVED[lowering.name]
        if lowering.name == "enforced cardinality -> clause":
            assert not lowering.apply(formula).formula.cardinality_enforcers.any()


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 1 << 40), offer=st.sampled_from(EVERY_OFFER))
def test_originals_survive_and_models_raise_to_models(models_through, seed, offer):
    formula = random_formula(seed, most_booleans=6, most_integers=2, most_rows=6)
    lowered = lower(formula, offer)
    found = models_through(formula, lowered.formula, lowered.raise_assignment)
    assert found == truth(formula)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 1 << 40), offer=st.sampled_from(EVERY_OFFER))
def test_lowering_is_pure_and_repeatable(seed, offer):
    formula = random_formula(seed)
    before = {name: np.copy(value) for name, value in vars(formula).items()}
    first, second = lower(formula, offer).formula, lower(formula, offer).formula
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(formula, name), value)
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_features_that_are_offered_are_left_alone():
    formula = random_formula(3)
    lowered = lower(formula, ALL)
    assert lowered.formula is formula
    assert lowered.stages == ()
    assignment = brute_force_models(random_formula(3, frozenset())).assignment(0)
    assert lowered.raise_assignment(assignment) is assignment


def test_stages_describe_the_lowerings():
    formula = next(f for f in map(random_formula, range(100)) if f.size().features == ALL)
    lowered = lower(formula, frozenset({CLAUSE}))
    names = [stage.name for stage in lowered.stages]
    assert names == ["integer -> order", "pseudo-boolean -> clause", "cardinality -> clause"]
    assert names == [step.name for step in plan(ALL, frozenset({CLAUSE}))]
    assert lowered.stages[-1].size == lowered.formula.size()
    assert all(stage.seconds >= 0 and stage.summary for stage in lowered.stages)


# The helper must be able to fail: lowerings broken on purpose.


def _broken_variants(formula: Formula, lowered: Lowered) -> list[tuple[str, Applied]]:
    made = lowered.formula
    rng = random.Random(len(made.clause_literals))
    variants = []
    last = int(made.clause_starts[-2])
    dropped = replace(
        made,
        clause_starts=made.clause_starts[:-1],
        clause_literals=made.clause_literals[:last],
        clause_enforcers=made.clause_enforcers[:-1],
    )
    variants.append(("a clause is lost", Applied(dropped, lowered)))
    i = rng.randrange(len(made.clause_literals))
    flipped = made.clause_literals.copy()
    flipped[i] = -flipped[i]
    variants.append(
        ("a literal is flipped", Applied(replace(made, clause_literals=flipped), lowered))
    )

    class OffByOne:
        def raise_assignment(self, assignment: Assignment) -> Assignment:
            raised = lowered.raise_assignment(assignment)
            return Assignment(raised.booleans, raised.integers + 1)

    variants.append(("the inverse is off by one", Applied(made, OffByOne())))
    return variants


def test_a_broken_lowering_is_caught(models_through):
    caught: dict[str, int] = {}
    tried = 0
    for seed in range(60):
        formula = small(seed)
        wanted = truth(formula)
        lowered = lower(formula, frozenset({CLAUSE}))
        if not wanted or not formula.num_integers or not len(lowered.formula.clause_enforcers):
            continue
        if not len(lowered.formula.clause_literals):
            continue
        tried += 1
        for name, broken in _broken_variants(formula, lowered):
            raised = models_through(formula, broken.formula, broken.inverse.raise_assignment)
            caught[name] = caught.get(name, 0) + (raised != wanted)
    assert tried > 10
    assert caught["the inverse is off by one"] == tried
    # Some clauses are redundant, most are not.
    assert caught["a clause is lost"] > tried / 3
    assert caught["a literal is flipped"] > tried / 3
