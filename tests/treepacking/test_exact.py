"""Exact solutions of integer systems, against elimination."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from syncoll.linear import solve_exactly


def by_elimination(matrix: list[list[int]], right: list[int]) -> list[Fraction] | None:
    size = len(right)
    rows = [[Fraction(x) for x in (*row, b)] for row, b in zip(matrix, right, strict=True)]
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("seed", range(60))
def test_solutions_match_elimination(seed: int) -> None:
    chance = random.Random(seed)
    size = chance.randint(1, 12)
    most = chance.choice([1, 9, 1000])
    matrix = [[chance.randint(-most, most) for _ in range(size)] for _ in range(size)]
    right = [chance.randint(-50, 50) for _ in range(size)]
    expected = by_elimination(matrix, right)
    found = solve_exactly(np.array(matrix, dtype=np.int64), right)
    if expected is None:
        assert found is None
    else:
        assert found == expected


def test_a_solution_of_many_digits() -> None:
    chance = random.Random(5)
    matrix = np.array([[chance.randint(0, 1) for _ in range(60)] for _ in range(60)])
    right = [1] * 60
    found = solve_exactly(matrix, right)
    assert found is not None
    assert max(x.denominator for x in found) > 10**15
    for row in matrix.tolist():
        assert sum(a * x for a, x in zip(row, found, strict=True)) == 1
