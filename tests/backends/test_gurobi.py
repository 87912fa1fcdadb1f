"""Gurobi's licences, and its absence."""

from __future__ import annotations

import importlib.metadata

import pytest

import syncoll_gurobi
from syncoll.formula import FormulaBuilder, Limits, StopReason, Verdict
from syncoll.plugins import resolve_options

RECORD = syncoll_gurobi.RECORD


def wide(variables: int) -> FormulaBuilder:
    builder = FormulaBuilder()
    booleans = builder.booleans(variables)
    for i in range(0, variables - 3, 3):
        builder.linear([1, 1, 1], booleans[i : i + 3], low=1)
    return builder


def test_absence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "gurobipy":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    for answer in (
        RECORD.installed(),
        RECORD.licensed(),
        RECORD.can_run(FormulaBuilder().build().size()),
    ):
        assert not answer.ok
        assert "pip install 'syncoll[gurobi]'" in answer.reason


class TestRestrictedLicence:
    """With the licence that gurobipy brings."""

    @pytest.fixture(autouse=True)
    def _restricted(self) -> None:
        if not RECORD.licensed().ok:
            pytest.skip(RECORD.licensed().reason)
        from syncoll_gurobi.backend import is_restricted

        if not is_restricted():
            pytest.skip("a full licence of Gurobi is installed here")

    def test_it_is_named(self) -> None:
        answer = RECORD.licensed()
        assert answer.ok
        assert "restricted" in answer.reason
        assert "2,000" in answer.reason

    @pytest.mark.parametrize(("variables", "ok"), [(2000, True), (2001, False)])
    def test_can_run(self, variables: int, ok: bool) -> None:
        answer = RECORD.can_run(wide(variables).build().size())
        assert answer.ok is ok
        assert ok or ("highs" in answer.reason and "cpsat" in answer.reason)

    def test_too_large_a_formula_is_unknown_with_a_remedy(self) -> None:
        formula = wide(2500).build()
        options = resolve_options(RECORD.options, {}, "gurobi")
        outcome = RECORD.load().solve(formula, Limits(seconds=10), options)
        assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, StopReason.LICENCE)
        for word in ("restricted licence", "2,000", "2,500", "highs", "cpsat"):
            assert word in outcome.message

    def test_the_largest_formula_runs(self) -> None:
        options = resolve_options(RECORD.options, {}, "gurobi")
        outcome = RECORD.load().solve(wide(2000).build(), Limits(seconds=60), options)
        assert outcome.verdict is Verdict.SAT
