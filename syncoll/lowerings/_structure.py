"""Structure: literals of a row that are sorted or exclude each other, found from other rows.

* A chain: literals that each imply the one before by two-literal clauses, such as an integer's
  order literals.  It can take few values, and a totalizer need not sort it.
* A group: at most one, or exactly one, of its literals is true because of another row.

Both are read from rows that the formula keeps.  At-most-one rows get no groups themselves: two
equal rows would each rely on the other.
"""

from dataclasses import dataclass

import numpy as np

from syncoll.arrays import BoolArray, IntArray
from syncoll.formula import Formula, row_sums
from syncoll.lowerings._arrays import gather, ints, join, row_of
from syncoll.lowerings._sums import Sums, normalised, plain_clauses, sums_of
from syncoll.model import ranges

SINGLE, CHAIN, AT_MOST_ONE, EXACTLY_ONE = range(4)
"""The relation that a literal has to others."""

_MOST_CONSEQUENCES = 4
"""Number of consequences of a literal that are followed, nearest numbers first."""

_MOST_EXCLUSIONS = 8
"""Number of groups in which a literal is sought, earliest rows first."""


@dataclass(frozen=True, eq=False)
class RowStructure:
    """Known relations of every cell of some rows.

    Args:
        kinds: `SINGLE`, `CHAIN`, `AT_MOST_ONE` or `EXACTLY_ONE`.
        numbers: number of the chain or group, unique from 1; 0 for a single.
        places: place in the chain, from 0: a literal implies all literals in lower places.  In a
            group places ascend with the literals' values.
        negated: whether the group is about the literal's negation.
    """

    kinds: IntArray
    numbers: IntArray
    places: IntArray
    negated: BoolArray


def _implications(formula: Formula, used: IntArray) -> tuple[IntArray, IntArray]:
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


def _matches(sorted_keys: IntArray, wanted: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs (i, j) with ``wanted[i] == sorted_keys[j]``, by i."""
    first = np.searchsorted(sorted_keys, wanted)
    counts = np.searchsorted(sorted_keys, wanted, side="right") - first
    return np.repeat(np.arange(len(wanted)), counts), ranges(first, counts)


def _links(formula: Formula, sums: Sums) -> tuple[IntArray, IntArray]:
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


def _chains(formula: Formula, sums: Sums) -> tuple[list[int], list[int], list[int]]:
    """Cells in chains, the chains' numbers from 1, and the places in them."""
    cells: list[int] = []
    numbers: list[int] = []
    places: list[int] = []
    sources, targets = _links(formula, sums)
    weaker = dict(zip(sources.tolist(), targets.tolist(), strict=True))
    # Literals that imply each other in a circle have no strongest one, and stay single.
    for number, strongest in enumerate(np.setdiff1d(sources, targets).tolist(), start=1):
        path = [strongest]
        while path[-1] in weaker:
            path.append(weaker[path[-1]])
        cells += path
        numbers += [number] * len(path)
        places += range(len(path) - 1, -1, -1)
    return cells, numbers, places


def _says_at_most_one(sums: Sums) -> tuple[BoolArray, BoolArray]:
    """Which rows in normal form mean that at most one literal is true, or at most one is false."""
    sizes = np.diff(sums.starts)
    counting = row_sums((sums.coefficients != 1).astype(np.int64), sums.starts) == 0
    counting &= (sums.enforcers == 0) & (sizes >= 2)
    return counting & (sums.highs == 1), counting & (sums.lows == sizes - 1) & (sizes > 2)


def _exclusive(sums: Sums) -> tuple[IntArray, IntArray, BoolArray]:
    """Rows with at most one true literal: starts, literals; whether exactly one is true."""
    most, fewest = _says_at_most_one(sums)
    rows = np.flatnonzero(most | fewest)
    starts, cells = gather(sums.starts, rows)
    flip = np.repeat(~most[rows], np.diff(starts))
    literals = np.where(flip, -sums.literals[cells], sums.literals[cells])
    sizes = np.diff(starts)
    exactly = np.where(most[rows], sums.lows[rows] == 1, sums.highs[rows] == sizes - 1)
    return starts, literals, exactly


def _known_exclusive(formula: Formula, sums: Sums) -> tuple[IntArray, IntArray, BoolArray]:
    """All rows of exclusive literals, of the formula and of the rows to be added to it."""
    few = (formula.cardinality_highs <= 1) | (formula.cardinality_lows > 0)
    bare = np.diff(formula.linear_integer_starts) == 0
    kept = (
        sums_of(formula, "cardinality", np.flatnonzero(few & (formula.cardinality_enforcers == 0))),
        sums_of(formula, "linear", np.flatnonzero(bare & (formula.linear_enforcers == 0))),
    )
    parts = [_exclusive(normalised(rows)) for rows in kept] + [_exclusive(sums)]
    starts = parts[0][0]
    for part in parts[1:]:
        starts = join(starts, part[0])
    literals = np.concatenate([part[1] for part in parts])
    return starts, literals, np.concatenate([part[2] for part in parts])


def _groups(
    formula: Formula, sums: Sums, free: BoolArray
) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """Cells in groups, the groups' numbers and kinds, and whether the cells are negated."""
    starts, literals, exactly = _known_exclusive(formula, sums)
    sources = row_of(starts)
    order = np.argsort(literals, kind="stable")
    near = np.arange(len(order)) - np.searchsorted(literals[order], literals[order])
    order = order[near < _MOST_EXCLUSIONS]
    candidates = np.flatnonzero(free)
    straight, first = _matches(literals[order], sums.literals[candidates])
    turned, second = _matches(literals[order], -sums.literals[candidates])
    cells = candidates[np.concatenate([straight, turned])]
    source = sources[order[np.concatenate([first, second])]]
    negated = np.repeat([False, True], [len(straight), len(turned)])
    # A cell joins the group that has the most cells of its row.
    rows = row_of(sums.starts)[cells]
    keys = rows * (len(starts)) + source
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    best = np.lexsort((source, -counts[inverse], cells))
    _, once = np.unique(cells[best], return_index=True)
    best = best[once]
    cells, source, negated, keys = cells[best], source[best], negated[best], keys[best]
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    several = counts[inverse] > 1
    whole = exactly[source] & (counts[inverse] == np.diff(starts)[source])
    kinds = np.where(whole, EXACTLY_ONE, AT_MOST_ONE)
    return cells[several], (inverse + 1)[several], kinds[several], negated[several]


def structure(formula: Formula, sums: Sums) -> RowStructure:
    """Relations of the literals of `sums`, rows in normal form to be added to the formula."""
    count = len(sums.literals)
    kinds, numbers, places = np.zeros((3, count), dtype=np.int64)
    negated = np.zeros(count, dtype=np.bool_)
    cells, cell_numbers, cell_places = _chains(formula, sums)
    kinds[ints(cells)] = CHAIN
    numbers[ints(cells)] = cell_numbers
    places[ints(cells)] = cell_places
    most, fewest = _says_at_most_one(sums)
    free = (kinds == SINGLE) & ~np.repeat(most | fewest, np.diff(sums.starts))
    grouped, group_numbers, group_kinds, group_negated = _groups(formula, sums, free)
    kinds[grouped] = group_kinds
    numbers[grouped] = group_numbers + max(cell_numbers, default=0)
    negated[grouped] = group_negated
    signed = np.where(group_negated, -sums.coefficients[grouped], sums.coefficients[grouped])
    places[grouped] = signed
    return RowStructure(kinds, numbers, places, negated)
