"""The chain follows from features, exists wherever possible, and is an error elsewhere."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from syncoll.errors import PluginError
from syncoll.formula import Feature, FormulaBuilder
from syncoll.lowerings import (
    LOWERINGS,
    chain as chains,
    lower,
    lowering as registry,
    plan,
    registered,
)
from syncoll.plugins import PluginManager

CLAUSE, CARDINALITY = Feature.CLAUSE, Feature.CARDINALITY
PSEUDO_BOOLEAN, LINEAR, INTEGER = Feature.PSEUDO_BOOLEAN, Feature.LINEAR, Feature.INTEGER
DIFFERENCE, ENFORCEMENT = Feature.DIFFERENCE, Feature.ENFORCEMENT
MANAGER = PluginManager.discover()
SUBSETS = [frozenset(s) for s in chain.from_iterable(combinations(Feature, n) for n in range(8))]


def names(used, offered):
    return [lowering.name for lowering in plan(frozenset(used), frozenset(offered))]


def can_say_everything(offered) -> bool:
    return bool(offered & {CLAUSE, CARDINALITY, PSEUDO_BOOLEAN}) or {LINEAR, INTEGER} <= offered


def test_a_chain_exists_exactly_where_one_can():
    assert len(SUBSETS) == 128
    for used in SUBSETS[::3] + SUBSETS[-8:]:
        for offered in SUBSETS[1::3]:
            if used <= offered:
                assert plan(used, offered) == ()
            elif can_say_everything(offered):
                found = [lowering.name for lowering in plan(used, offered)]
                # Enforcers alone, of no rows that carry them, need nothing.
                assert found or not used - offered - {ENFORCEMENT}
                assert len(set(found)) == len(found)
            elif used - offered - {ENFORCEMENT}:
                with pytest.raises(PluginError, match="no chain of lowerings"):
                    plan(used, offered)


CARRIERS = {CARDINALITY, PSEUDO_BOOLEAN, LINEAR, DIFFERENCE}
POSSIBLE = [
    used
    for used in SUBSETS
    if (used & CARRIERS or ENFORCEMENT not in used)
    and (INTEGER in used or not used & {LINEAR, DIFFERENCE})
]
"""Possible features of a formula: enforcers need rows, and some rows need integers."""


def chain_of(backend: str, used: frozenset[Feature]) -> list[str]:
    """The chains of the shipped backends, by hand."""
    if backend == "cpsat":
        return []
    integers = bool(used & {INTEGER, LINEAR, DIFFERENCE})
    if backend == "z3":
        return ["integer -> order"] * integers
    if backend == "pysat":
        table = {
            "integer -> order": integers,
            "pseudo-boolean -> clause": used & {LINEAR, PSEUDO_BOOLEAN},
            "cardinality -> clause": CARDINALITY in used,
        }
    else:
        table = {
            "difference -> linear": DIFFERENCE in used,
            "enforcement -> big-M": ENFORCEMENT in used,
            "cardinality -> pseudo-boolean": CARDINALITY in used,
            "clause -> pseudo-boolean": CLAUSE in used,
        }
    return [name for name, needed in table.items() if needed]


@pytest.mark.parametrize("backend", ["cpsat", "gurobi", "highs", "pysat", "z3"])
def test_the_chains_of_the_shipped_backends(backend):
    offered = MANAGER.backends[backend].features
    assert len(POSSIBLE) == 76
    for used in POSSIBLE:
        assert names(used, offered) == chain_of(backend, used), sorted(used)


def test_a_registered_lowering_joins_the_chains(monkeypatch):
    monkeypatch.setattr(chains, "LOWERINGS", more := list(LOWERINGS))
    monkeypatch.setattr(registry, "LOWERINGS", more)

    @registered("sorted", "counts by sorting", turns={CARDINALITY: [CLAUSE]}, cost=1)
    def by_sorting(formula):
        return formula

    assert names({CARDINALITY}, {CLAUSE}) == ["sorted"]
    assert names({CARDINALITY, PSEUDO_BOOLEAN}, {CLAUSE}) == [
        "pseudo-boolean -> cardinality",
        "pseudo-boolean -> clause",
        "sorted",
    ]
    formula = FormulaBuilder().build()
    applied = by_sorting(formula)
    assert applied.formula is formula
    monkeypatch.undo()
    assert names({CARDINALITY}, {CLAUSE}) == ["cardinality -> clause"]


def test_the_error_lists_the_missing_features():
    with pytest.raises(PluginError) as caught:
        plan(frozenset({CLAUSE, CARDINALITY}), frozenset({INTEGER, DIFFERENCE}))
    assert "from clause, cardinality to integer, difference" in str(caught.value)
    assert "must offer clause, cardinality, pseudo-boolean, or linear" in str(caught.value)
    with pytest.raises(PluginError, match="to nothing"):
        plan(frozenset({CLAUSE}), frozenset())


def test_known_chains():
    everything = set(Feature)
    assert names(everything, {CLAUSE}) == [
        "integer -> order",
        "pseudo-boolean -> clause",
        "cardinality -> clause",
    ]
    assert names(everything, {LINEAR, PSEUDO_BOOLEAN, INTEGER}) == [
        "difference -> linear",
        "enforcement -> big-M",
        "cardinality -> pseudo-boolean",
        "clause -> pseudo-boolean",
    ]
    assert names({CLAUSE, LINEAR, INTEGER}, {LINEAR, PSEUDO_BOOLEAN, INTEGER}) == [
        "clause -> pseudo-boolean"
    ]
    assert names({CLAUSE, DIFFERENCE, INTEGER}, {CLAUSE}) == ["integer -> order"]
    assert names({LINEAR, INTEGER}, {CLAUSE, CARDINALITY}) == [
        "integer -> order",
        "pseudo-boolean -> cardinality",
        "pseudo-boolean -> clause",
    ]
    assert names({CARDINALITY, ENFORCEMENT}, {CLAUSE, CARDINALITY}) == [
        "enforced cardinality -> clause"
    ]
    assert names({PSEUDO_BOOLEAN}, {LINEAR, INTEGER}) == ["pseudo-boolean -> linear"]


def test_a_lowering_with_nothing_to_do_is_no_stage():
    builder = FormulaBuilder()
    x = builder.boolean()
    i, j = builder.integer(0, 3), builder.integer(0, 3)
    builder.difference(i, 1, j, enforcer=x)
    builder.linear([1], [x], [1], [i], high=2)
    offered = frozenset({PSEUDO_BOOLEAN, CLAUSE})
    formula = builder.build()
    lowered = lower(formula, offered)
    assert [stage.name for stage in lowered.stages] == ["integer -> order"]
    assert "enforcement -> big-M" in names(formula.size().features, offered)
