"""The chain follows from features alone, exists wherever one can, and says so where none can."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from syncoll.errors import PluginError
from syncoll.formula import Feature, FormulaBuilder
from syncoll.lowerings import LOWERINGS, lower, plan

CLAUSE, CARDINALITY = Feature.CLAUSE, Feature.CARDINALITY
PSEUDO_BOOLEAN, LINEAR, INTEGER = Feature.PSEUDO_BOOLEAN, Feature.LINEAR, Feature.INTEGER
DIFFERENCE, ENFORCEMENT = Feature.DIFFERENCE, Feature.ENFORCEMENT
SUBSETS = [frozenset(s) for s in chain.from_iterable(combinations(Feature, n) for n in range(8))]


def names(used, offered):
    return [lowering.name for lowering in plan(frozenset(used), frozenset(offered))]


def can_say_everything(offered) -> bool:
    return bool(offered & {CLAUSE, CARDINALITY, PSEUDO_BOOLEAN}) or {LINEAR, INTEGER} <= offered


def test_a_chain_exists_exactly_where_one_can():
    assert len(SUBSETS) == 128
    order = [lowering.name for lowering in LOWERINGS]
    for used in SUBSETS:
        for offered in SUBSETS:
            if used <= offered:
                assert plan(used, offered) == ()
            elif can_say_everything(offered):
                found = [lowering.name for lowering in plan(used, offered)]
                # Enforcers alone, of no rows that carry them, need nothing.
                assert found or used - offered == {ENFORCEMENT}
                assert found == sorted(found, key=order.index)
                assert len(set(found)) == len(found)
            else:
                with pytest.raises(PluginError, match="no chain of lowerings"):
                    plan(used, offered)


def test_the_error_says_what_is_missing():
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
    offered = frozenset({PSEUDO_BOOLEAN, CLAUSE})
    formula = builder.build()
    lowered = lower(formula, offered)
    assert [stage.name for stage in lowered.stages] == ["integer -> order"]
    assert "enforcement -> big-M" in names(formula.size().features, offered)
