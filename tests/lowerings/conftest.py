"""Right answers by counting: a lowered formula's models, seen on the original's variables."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from pysat.solvers import Solver

from syncoll.formula import NO_HIGH, NO_LOW, Assignment, Feature, Formula, FormulaBuilder
from syncoll.lowerings import lower
from syncoll.testing.formulas import brute_force_models

Raise = Callable[[Assignment], Assignment]
Key = tuple[int, ...]

_MOST_BRUTE = 16


def _key(assignment: Assignment) -> Key:
    booleans = assignment.booleans[1:].astype(np.int64).tolist()
    return (*booleans, *assignment.integers.tolist())


def _clause_models(formula: Formula, shown: int) -> Iterator[Assignment]:
    """A model of a formula of clauses for each assignment of its first `shown` Booleans."""
    with Solver("glucose4") as solver:
        for literals, enforcer in formula.clauses():
            solver.add_clause([*literals, -enforcer] if enforcer else literals)
        while solver.solve():
            booleans = np.zeros(formula.num_booleans + 1, dtype=np.bool_)
            true = [x for x in solver.get_model() if 0 < x <= formula.num_booleans]
            booleans[true] = True
            assignment = Assignment(booleans, np.zeros(0, dtype=np.int64))
            assert formula.violation(assignment) is None
            yield assignment
            if not shown:
                return
            solver.add_clause([-x if booleans[x] else x for x in range(1, shown + 1)])


def models_through(original: Formula, lowered: Formula, raise_assignment: Raise) -> set[Key]:
    """Every model of the lowered formula, taken back to the original's variables.

    A small lowered formula is enumerated.  A larger one is lowered further to clauses.  A SAT
    solver enumerates its models up to auxiliary variables (those after the original Booleans and
    the order literals, which come first).  A raised assignment that is no model of the original is
    in the set, too: the comparison with the right set shows it.
    """
    orders = int((original.integer_high - original.integer_low).sum())
    if lowered.num_booleans <= original.num_booleans and not lowered.num_integers:
        orders = 0
    integers = int((lowered.integer_high - lowered.integer_low).sum())
    if lowered.num_booleans + integers <= _MOST_BRUTE:
        models = brute_force_models(lowered)
        return {_key(raise_assignment(models.assignment(i))) for i in range(len(models))}
    further = lower(lowered, frozenset({Feature.CLAUSE}))
    if lowered.num_integers:
        # The order literals are from the second lowering, after the first one's Booleans.
        shown = lowered.num_booleans + integers
    else:
        shown = original.num_booleans + orders
    found = set()
    for assignment in _clause_models(further.formula, shown):
        middle = further.raise_assignment(assignment)
        assert lowered.violation(middle) is None
        found.add(_key(raise_assignment(middle)))
    return found


def structured_formula(seed: int) -> Formula:
    """A random formula whose sums have chains, exclusive literals and equal coefficients.

    `random_formula` rarely makes these; encodings make little else.
    """
    rng = random.Random(seed)
    builder = FormulaBuilder()
    count = rng.randint(4, 9)
    variables = [rng.choice((1, -1)) * v for v in builder.booleans(count)]
    rng.shuffle(variables)
    integers = [builder.integer(low := rng.randint(-2, 1), low + rng.randint(0, 3))]
    cut = rng.randint(0, count)
    if rng.random() < 0.6:
        for a, b in pairwise(variables[:cut]):
            if rng.random() < 0.8:
                builder.clause([-b, a]) if rng.random() < 0.7 else builder.clause([a], enforcer=b)
        if cut > 2 and rng.random() < 0.2:
            builder.clause([variables[cut - 1], -variables[0]])
    for _ in range(rng.randint(0, 3)):
        some = rng.sample(variables, rng.randint(1, count))
        enforcer = rng.choice([0, 0, 0, rng.choice(variables)])
        match rng.randrange(4):
            case 0:
                builder.at_most(some, 1, enforcer)
            case 1:
                builder.exactly(some, 1, enforcer)
            case 2:
                builder.at_least(some, len(some) - 1, enforcer)
            case 3:
                builder.linear([3] * len(some), some, low=rng.choice((NO_LOW, 2)), high=4)
    for _ in range(rng.randint(1, 3)):
        some = rng.sample(variables, rng.randint(1, count))
        some = [rng.choice((1, 1, 1, -1)) * x for x in some]
        most = rng.choice([1, 1, 2, 5])
        coefficients = [rng.choice((1, 1, 1, -1)) * rng.randint(1, most) for _ in some]
        low, high = sorted(rng.randint(-2, 5 * most) for _ in range(2))
        low, high = rng.choice([(low, high), (NO_LOW, high), (low, NO_HIGH), (low, low)])
        with_integer = rng.random() < 0.5
        builder.linear(
            coefficients,
            some,
            [rng.choice((-2, -1, 1))] if with_integer else [],
            integers if with_integer else [],
            low,
            high,
            rng.choice([0, 0, rng.choice(variables)]),
        )
    return builder.build()


@pytest.fixture(name="models_through", scope="session")
def _models_through() -> Callable[[Formula, Formula, Raise], set[Key]]:
    return models_through


@pytest.fixture(name="structured_formula", scope="session")
def _structured_formula() -> Callable[[int], Formula]:
    return structured_formula
