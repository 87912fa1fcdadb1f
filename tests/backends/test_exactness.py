"""Numbers too large for a solver's arithmetic lead to unknown, never to unsat."""

from __future__ import annotations

import pytest

from syncoll.formula import Formula, FormulaBuilder, Limits, Outcome, StopReason, Verdict
from syncoll.plugins import PluginManager, resolve_options

MANAGER = PluginManager.discover()


def solve(name: str, formula: Formula) -> Outcome:
    record = MANAGER.backends[name]
    if name == "gurobi" and not record.licensed().ok:
        pytest.skip(record.licensed().reason)
    options = resolve_options(record.options, {}, name)
    return record.load().solve(formula, Limits(seconds=20), options)


def large(gap: int, scale: int) -> Formula:
    """Two equal huge multiples that should differ by `gap`; unsat unless the gap is 0."""
    builder = FormulaBuilder()
    x, y = builder.booleans(2)
    builder.linear([scale, -scale, 1], [x, y, x], low=gap + 1, high=gap + 1)
    builder.linear([1, 1], [x, y], low=2)
    return builder.build()


@pytest.mark.parametrize("name", ["highs", "gurobi"])
def test_floating_point_is_not_trusted_with_huge_sums(name: str) -> None:
    outcome = solve(name, large(1, 10**12))
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.reason is StopReason.GAVE_UP
    assert "too large" in outcome.message


@pytest.mark.parametrize("name", ["highs", "gurobi", "cpsat", "z3"])
def test_moderate_sums_are_decided(name: str) -> None:
    assert solve(name, large(1, 10**6)).verdict is Verdict.UNSAT
    assert solve(name, large(0, 10**6)).verdict is Verdict.SAT


def test_z3_refuses_numbers_beyond_32_bits() -> None:
    outcome = solve("z3", large(0, 10**10))
    assert outcome.reason is StopReason.GAVE_UP


def test_cpsat_refuses_sums_that_may_overflow() -> None:
    builder = FormulaBuilder()
    integers = [builder.integer(-(1 << 61), 1 << 61) for _ in range(4)]
    builder.linear([], [], [1 << 40] * 4, integers, low=1)
    outcome = solve("cpsat", builder.build())
    assert outcome.reason is StopReason.GAVE_UP
    assert "overflow" in outcome.message
