"""Limits that the solvers obey by themselves, without a killed process."""

from __future__ import annotations

import random
import time

import pytest

from syncoll.formula import Feature, Formula, FormulaBuilder, Limits, StopReason, Verdict
from syncoll.plugins import BackendRecord, PluginManager, resolve_options
from syncoll.testing import pigeonhole

MANAGER = PluginManager.discover()
CADICAL = {"solver": "cadical195", "hints": True}


def market_split(variables: int = 50, rows: int = 6) -> Formula:
    """Equations over Booleans with coefficients up to 99: far too hard for any solver."""
    rng = random.Random(7)
    builder = FormulaBuilder()
    booleans = builder.booleans(variables)
    for _ in range(rows):
        coefficients = [rng.randint(0, 99) for _ in booleans]
        half = sum(coefficients) // 2
        builder.linear(coefficients, booleans, low=half, high=half)
    return builder.build()


def hard(record: BackendRecord) -> Formula:
    """Not decided in seconds: pigeons if the backend cannot count, else market split."""
    if Feature.PSEUDO_BOOLEAN in record.features:
        return market_split()
    return pigeonhole(13, record.features)


@pytest.mark.parametrize("name", ["cpsat", "gurobi", "highs", "pysat", "z3"])
def test_time_limit(name: str) -> None:
    record = MANAGER.backends[name]
    if name == "gurobi" and not record.licensed().ok:
        pytest.skip(record.licensed().reason)
    backend = record.load()
    options = resolve_options(record.options, {}, name)
    began = time.perf_counter()
    outcome = backend.solve(hard(record), Limits(seconds=0.7), options)
    spent = time.perf_counter() - began
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, StopReason.TIME_LIMIT)
    assert spent > 0.5


@pytest.mark.parametrize("solver", ["smt", "fd"])
def test_time_limit_of_every_z3_solver(solver: str) -> None:
    record = MANAGER.backends["z3"]
    outcome = record.load().solve(
        market_split(), Limits(seconds=0.3), {**CADICAL, "solver": solver}
    )
    assert outcome.reason is StopReason.TIME_LIMIT


@pytest.mark.parametrize("solver", ["cadical153", "glucose42", "glucose4", "minisat22"])
def test_time_limit_of_every_sat_solver(solver: str) -> None:
    record = MANAGER.backends["pysat"]
    formula = pigeonhole(13, record.features)
    outcome = record.load().solve(formula, Limits(seconds=0.3), {**CADICAL, "solver": solver})
    assert outcome.reason is StopReason.TIME_LIMIT


def test_instalments_do_not_change_the_answer() -> None:
    record = MANAGER.backends["pysat"]
    formula = pigeonhole(8, record.features)  # some ten thousand conflicts: several instalments
    outcome = record.load().solve(formula, Limits(seconds=300), CADICAL)
    assert outcome.verdict is Verdict.UNSAT
    assert outcome.statistics["conflicts"] > 4_000


def test_z3_memory_limit() -> None:
    record = MANAGER.backends["z3"]
    limits = Limits(seconds=60, memory_bytes=40 << 20)
    formula = pigeonhole(60, frozenset({Feature.CLAUSE}))
    outcome = record.load().solve(formula, limits, {"solver": "smt"})
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, StopReason.MEMORY_LIMIT)


def test_the_same_seed_gives_the_same_run() -> None:
    record = MANAGER.backends["pysat"]
    formula = pigeonhole(7, record.features)
    runs = [
        record.load().solve(formula, Limits(seed=seed), CADICAL).statistics for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]
