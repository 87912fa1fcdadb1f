"""Every encoding of a sum has the right models, propagates as it should, and has the stated
size."""

from __future__ import annotations

import random
from itertools import pairwise, product
from math import comb

import pytest
from hypothesis import given, settings, strategies as st
from pysat.solvers import Solver

from syncoll.lowerings._direct import adder, covers
from syncoll.lowerings._template import SumShape, Template
from syncoll.lowerings._totalizer import TotalizerTooLargeError, totalizer
from syncoll.lowerings.clauses import encode

LIMIT = 1_000_000


def random_shape(rng: random.Random, *, structured: bool = True) -> SumShape:
    most = rng.choice([1, 1, 2, 3, 9])
    singles: dict[int, int] = {}
    for _ in range(rng.randint(1, 6)):
        c = rng.randint(1, most)
        singles[c] = singles.get(c, 0) + 1
    chains = []
    if structured and rng.random() < 0.5:
        chains = [tuple(rng.randint(1, most) for _ in range(rng.randint(2, 3)))]
        if rng.random() < 0.3:
            singles = {}
    shape = SumShape(0, 0, tuple(sorted(singles.items())), tuple(chains))
    low, high = sorted(rng.randint(0, shape.total) for _ in range(2))
    low, high = rng.choice([(low, high), (low, low), (0, high), (low, shape.total)])
    return shape._replace(low=low, high=high)


def keeps_structure(shape: SumShape, values: tuple[bool, ...]) -> bool:
    """Whether the inputs' values obey the structure of the shape."""
    place = sum(count for _, count in shape.singles)
    for chain in shape.chains:
        part = values[place : place + len(chain)]
        if any(b and not a for a, b in pairwise(part)):
            return False
        place += len(chain)
    return True


def solver_of(template: Template) -> tuple[Solver, int]:
    """The template's clauses, and the enforcer's literal."""
    enforcer = template.num_inputs + template.num_auxiliary + 1
    solver = Solver("minisat22")
    literals, starts = template.literals.tolist(), template.starts.tolist()
    for i, enforced in enumerate(template.enforced.tolist()):
        clause = literals[starts[i] : starts[i + 1]]
        solver.add_clause([*clause, -enforcer] if enforced else clause)
    return solver, enforcer


def check_says(template: Template, shape: SumShape) -> None:
    coefficients = shape.coefficients()
    solver, enforcer = solver_of(template)
    with solver:
        for values in product((False, True), repeat=shape.num_inputs):
            if not keeps_structure(shape, values):
                continue
            total = sum(c for c, v in zip(coefficients, values, strict=True) if v)
            fixed = [i if v else -i for i, v in enumerate(values, start=1)]
            within = shape.low <= total <= shape.high
            assert solver.solve(assumptions=[*fixed, enforcer]) == within, (shape, values)
            # Definitions by themselves never exclude anything.
            assert solver.solve(assumptions=[*fixed, -enforcer]), (shape, values)


@pytest.mark.parametrize("seed", range(400))
def test_encodings_have_the_models_of_the_sum(seed):
    shape = random_shape(random.Random(seed))
    check_says(totalizer(shape, LIMIT), shape)
    check_says(encode(shape), shape)
    check_says(adder(shape), shape)
    upper = shape._replace(low=0)
    if upper.high < upper.total:
        template = covers(upper, LIMIT)
        if template is not None:
            check_says(template, upper)


@pytest.mark.parametrize("seed", range(100))
def test_negated_shapes_have_the_same_models(seed):
    shape = random_shape(random.Random(seed))
    negated, inputs = shape.negated()
    coefficients, others = shape.coefficients(), negated.coefficients()
    for values in product((False, True), repeat=shape.num_inputs):
        turned = tuple(values[abs(i) - 1] == (i > 0) for i in inputs)
        assert keeps_structure(shape, values) == keeps_structure(negated, turned)
        total = sum(c for c, v in zip(coefficients, values, strict=True) if v)
        other = sum(c for c, v in zip(others, turned, strict=True) if v)
        assert total + other == shape.total
        assert (shape.low <= total <= shape.high) == (negated.low <= other <= negated.high)


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("encoding", [lambda shape: totalizer(shape, LIMIT), encode])
def test_unit_propagation_is_enough(encoding, seed):
    """Generalized arc consistency: all consequences of a partial assignment are propagated."""
    rng = random.Random(seed)
    shape = random_shape(rng, structured=False)
    shape = shape._replace(low=0) if rng.random() < 0.5 else shape._replace(high=shape.total)
    coefficients = shape.coefficients()
    solver, enforcer = solver_of(encoding(shape))
    with solver:
        for _ in range(60):
            fixed = {i: rng.choice((True, False, None)) for i in range(1, len(coefficients) + 1)}
            given_literals = [i if v else -i for i, v in fixed.items() if v is not None]
            least = sum(coefficients[i - 1] for i, v in fixed.items() if v)
            most = shape.total - sum(coefficients[i - 1] for i, v in fixed.items() if v is False)
            consistent, implied = solver.propagate([enforcer, *given_literals])
            assert consistent == (least <= shape.high and most >= shape.low)
            if not consistent:
                continue
            for i, value in fixed.items():
                c = coefficients[i - 1]
                if value is None and least + c > shape.high:
                    assert -i in implied
                if value is None and most - c < shape.low:
                    assert i in implied


def stated_size(n: int, k: int) -> tuple[int, int]:
    """Clauses and variables of a totalizer, as its module's docstring states them."""

    def node(leaves: int, root: bool) -> tuple[int, int]:
        if leaves == 1:
            return 0, 0
        p = (leaves + 1) // 2
        q = leaves - p
        pairs = [(i, j) for i in range(p + 1) for j in range(q + 1)]
        needed = [] if root else range(max(1, k + 1 - (n - leaves)), min(leaves, k) + 1)
        clauses = sum(i + j in needed for i, j in pairs)
        clauses += sum(i >= 1 and j >= 1 and i + j == k + 1 for i, j in pairs)
        left, right = node(p, root=False), node(q, root=False)
        return clauses + left[0] + right[0], len(needed) + left[1] + right[1]

    clauses, variables = node(n, root=True)
    return clauses, variables


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(2, 70))
def test_totalizers_have_the_size_stated(data, n):
    k = data.draw(st.integers(1, n - 1))
    template = totalizer(SumShape(0, k, ((1, n),)), LIMIT)
    clauses, variables = stated_size(n, k)
    assert len(template.enforced) == clauses
    assert template.num_auxiliary == variables


def test_covers_are_counted_by_the_binomial():
    for n in range(2, 9):
        for k in range(n):
            template = covers(SumShape(0, k, ((1, n),)), LIMIT)
            assert template is not None
            assert len(template.enforced) == comb(n, k + 1)
            assert template.num_auxiliary == 0
    assert covers(SumShape(0, 10, ((1, 40),)), budget=1000) is None


def test_small_rows_get_the_clauses_written_by_hand():
    assert len(encode(SumShape(1, 500, ((1, 500),))).enforced) == 1
    assert len(encode(SumShape(0, 499, ((1, 500),))).enforced) == 1
    assert len(encode(SumShape(2, 3, ((1, 3),))).enforced) == 3
    assert len(encode(SumShape(0, 0, ((1, 9),))).enforced) == 9
    assert encode(SumShape(0, 1, ((1, 4),))).num_auxiliary == 0
    assert len(encode(SumShape(0, 9, ((1, 9),))).enforced) == 0


def test_a_sorted_group_costs_a_clause_for_each_value():
    """``count of n - r <= 0``: the count's totalizer, and the limit of each value of r."""
    n, values, b = 60, 8, 2
    shape = SumShape(0, b * values, ((1, n),), ((b,) * values,))
    blind = SumShape(0, b * values, ((1, n), (b, values)))
    count_alone = totalizer(SumShape(0, b * values, ((1, n),)), LIMIT)
    template = totalizer(shape, LIMIT)
    assert len(template.enforced) < len(totalizer(blind, LIMIT).enforced)
    assert len(template.enforced) < 1.35 * len(count_alone.enforced)


def test_rows_with_too_many_sums_are_added_in_binary():
    coefficients = tuple((3**i, 1) for i in range(24))
    total = sum(c for c, _ in coefficients)
    shape = SumShape(0, total // 2, coefficients)
    with pytest.raises(TotalizerTooLargeError):
        totalizer(shape, 10_000)
    template = encode(shape)
    assert len(template.enforced) < 15 * 24 * total.bit_length()
    solver, enforcer = solver_of(template)
    rng = random.Random(1)
    with solver:
        for _ in range(200):
            values = [rng.random() < 0.6 for _ in coefficients]
            added = sum(c for (c, _), v in zip(coefficients, values, strict=True) if v)
            fixed = [i if v else -i for i, v in enumerate(values, start=1)]
            assert solver.solve(assumptions=[enforcer, *fixed]) == (added <= shape.high)
