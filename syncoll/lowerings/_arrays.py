"""Rows of different lengths in flat arrays, and formulas made from formulas by moving such rows.

Row i has the cells ``starts[i]`` to ``starts[i + 1]``.  Every lowering works on whole arrays of
rows, so that it rewrites a formula of several hundred thousand literals in fractions of a second.
New variables still come only from `FormulaBuilder`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Bools, Ints
from syncoll.formula import Formula
from syncoll.model import ranges


def ints(values: npt.ArrayLike) -> Ints:
    """The values as 64-bit integers, even if the list is empty."""
    return np.asarray(values, dtype=np.int64)


def offsets(counts: Ints) -> Ints:
    """The starts of rows with these numbers of cells; ``[len(counts) + 1]``."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def row_of(starts: Ints) -> Ints:
    """The row of every cell."""
    return np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))


def gather(starts: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Chosen rows in the order given: their new starts, and the old index of each cell."""
    counts = starts[rows + 1] - starts[rows]
    return offsets(counts), ranges(starts[rows], counts)


def join(first: Ints, second: Ints) -> Ints:
    """The starts of the rows of `first` and then of `second`."""
    return np.concatenate([first, second[1:] + first[-1]])


_CELLS: dict[str, dict[str, tuple[str, ...]]] = {
    "clause": {"starts": ("literals",)},
    "cardinality": {"starts": ("literals",)},
    "linear": {
        "starts": ("literals", "coefficients"),
        "integer_starts": ("integers", "integer_coefficients"),
    },
}
"""For each kind of row its starts in `Formula`, and the arrays of cells that they divide."""

_COLUMNS = {
    "clause": ("enforcers",),
    "cardinality": ("lows", "highs", "enforcers"),
    "linear": ("lows", "highs", "enforcers"),
}
"""For each kind of row its arrays with one entry a row."""


def keep(formula: Formula, kind: str, chosen: Bools) -> Formula:
    """The formula with only the chosen rows of this kind: clause, cardinality or linear."""
    rows = np.flatnonzero(chosen)
    made: dict[str, Any] = {}
    for name, arrays in _CELLS[kind].items():
        starts, cells = gather(getattr(formula, f"{kind}_{name}"), rows)
        made[f"{kind}_{name}"] = starts
        made |= {f"{kind}_{one}": getattr(formula, f"{kind}_{one}")[cells] for one in arrays}
    made |= {f"{kind}_{one}": getattr(formula, f"{kind}_{one}")[rows] for one in _COLUMNS[kind]}
    return replace(formula, **made)


def add(formula: Formula, kind: str, **given: Ints) -> Formula:
    """The formula with rows of a kind added: arrays as in `Formula`, without the kind's name.  If
    they are missing, rows have no enforcers, and always hold, or no integers."""
    count = len(given["starts"]) - 1
    made: dict[str, Any] = {}

    def extend(name: str, missing: int) -> None:
        new = given.get(name, np.zeros(missing, dtype=np.int64))
        made[f"{kind}_{name}"] = np.concatenate([getattr(formula, f"{kind}_{name}"), new])

    for name, arrays in _CELLS[kind].items():
        starts = given.get(name, np.zeros(count + 1, dtype=np.int64))
        made[f"{kind}_{name}"] = join(getattr(formula, f"{kind}_{name}"), starts)
        for one in arrays:
            extend(one, 0)
    for one in _COLUMNS[kind]:
        extend(one, count)
    return replace(formula, **made)


def with_rows_of(variables: Formula, rows: Formula) -> Formula:
    """A formula with the variables of the first and the rows of the second."""
    return replace(
        rows,
        num_booleans=variables.num_booleans,
        integer_low=variables.integer_low,
        integer_high=variables.integer_high,
    )
