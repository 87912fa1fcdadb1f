"""Chains: literals of a row that each imply the one before by two-literal clauses.

An integer's order literals are one.  A chain takes few values, and a totalizer need not sort it.
"""

from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Ints
from syncoll.formula import Formula
from syncoll.lowerings._arrays import row_of
from syncoll.lowerings._sums import Sums, plain_clauses
from syncoll.model import ranges

_MOST_CONSEQUENCES = 4
"""Number of consequences of a literal that are followed, nearest numbers first."""


@dataclass(frozen=True, eq=False)
class Chains:
    """The chain of every cell of some rows.

    Args:
        numbers: of the chain, unique from 1; 0 for a single literal.
        places: place in the chain, from 0: a literal implies all literals in lower places.
    """

    numbers: Ints
    places: Ints


def _implications(formula: Formula, used: Ints) -> tuple[Ints, Ints]:
    """Pairs (a, b) of used literals with a clause a -> b, nearest b first, limited for each a."""
    starts, literals = plain_clauses(formula)
    first = starts[:-1][np.diff(starts) == 2]
    left, right = literals[first], literals[first + 1]
    a, b = np.concatenate([-left, -right]), np.concatenate([right, left])
    in_use = np.zeros(2 * formula.num_booleans + 1, dtype=np.bool_)
    in_use[used] = True  # a negative literal counts from the end
    keep = in_use[a] & in_use[b] & (np.abs(a) != np.abs(b))
    a, b = a[keep], b[keep]
    order = np.lexsort((np.abs(np.abs(a) - np.abs(b)), a))
    a, b = a[order], b[order]
    near = np.arange(len(a)) - np.searchsorted(a, a) < _MOST_CONSEQUENCES
    return a[near], b[near]


def _matches(sorted_keys: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Pairs (i, j) with ``wanted[i] == sorted_keys[j]``, by i."""
    first = np.searchsorted(sorted_keys, wanted)
    counts = np.searchsorted(sorted_keys, wanted, side="right") - first
    return np.repeat(np.arange(len(wanted)), counts), ranges(first, counts)


def _links(formula: Formula, sums: Sums) -> tuple[Ints, Ints]:
    """Pairs of cells of a row, the first implying the second, each cell once in either place."""
    a, b = _implications(formula, sums.literals)
    cells, edges = _matches(a, sums.literals)
    rows = row_of(sums.starts)
    width = 2 * formula.num_booleans + 1
    keys = rows * width + sums.literals % width
    order = np.argsort(keys, kind="stable")
    found, places = _matches(keys[order], rows[cells] * width + b[edges] % width)
    cells, targets = cells[found], order[places]
    _, once = np.unique(cells, return_index=True)
    cells, targets = cells[once], targets[once]
    _, once = np.unique(targets, return_index=True)
    return cells[once], targets[once]


def chains_of(formula: Formula, sums: Sums) -> Chains:
    """The chains among the literals of `sums`, rows in normal form to be added to the formula."""
    numbers, places = np.zeros((2, len(sums.literals)), dtype=np.int64)
    sources, targets = _links(formula, sums)
    weaker = dict(zip(sources.tolist(), targets.tolist(), strict=True))
    # Literals that imply each other in a circle have no strongest one, and stay single.
    for number, strongest in enumerate(np.setdiff1d(sources, targets).tolist(), start=1):
        path = [strongest]
        while path[-1] in weaker:
            path.append(weaker[path[-1]])
        numbers[path] = number
        places[path] = range(len(path) - 1, -1, -1)
    return Chains(numbers, places)
