"""Counts and sums as clauses: the choice of encoding, and all rows of a shape at once.

Covers encode a bound of a row (`_direct`).  A generalized totalizer (`_totalizer`: Joshi, Martins &
Manquinho 2015; for counts Bailleux & Boufkhad 2003) encodes any row, over its literals or their
negations, with both bounds in one tree or in two.  If it is too large, adders do.  The encoding
with the fewest literals and new variables is taken, so that small rows get the clauses that a
person would write.  Literals sorted by clauses, such as order-encoded integers (`_chains`), are
counted unchanged.  An enforcer goes only to the clauses that break the row; definitions always
hold.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.formula import Feature, Formula, FormulaBuilder
from syncoll.lowerings._arrays import add, ints, keep, offsets, row_of, with_rows_of
from syncoll.lowerings._chains import Chains, chains_of
from syncoll.lowerings._direct import adder, covers
from syncoll.lowerings._sums import Sums, normalised, sums_of
from syncoll.lowerings._template import SumShape, Template, TemplateBuilder, fill_in
from syncoll.lowerings._totalizer import TotalizerTooLargeError, totalizer
from syncoll.lowerings.lowering import go_on, registered
from syncoll.memory import budget

MOST_CLAUSES = 1_000_000
"""A row whose totalizer would have more clauses for a bound is added in binary."""

_BYTES_PER_LITERAL = 160
"""Memory of a literal of the clauses here, while they are joined, and in a solver's process."""

_UNCHECKED_LITERALS = 2_000_000
"""This number fits everywhere, without a query of the free memory."""


def _over(template: Template, inputs: list[int]) -> Template:
    """A template with its inputs replaced by placeholders of the same number of literals."""
    builder = TemplateBuilder(template.num_inputs)
    builder.include(template, inputs)
    return builder.build()


def _totalizers(shape: SumShape) -> list[Template]:
    """The totalizer over the literals or their negations, the one with the lower cap."""
    negated, inputs = shape.negated()

    def cap(s: SumShape) -> int:
        return s.high + 1 if s.high < s.total else s.low

    limit = MOST_CLAUSES * (1 + (shape.low > 0 and shape.high < shape.total))
    try:
        if cap(negated) < cap(shape):
            return [_over(totalizer(negated, limit), inputs)]
        return [totalizer(shape, limit)]
    except TotalizerTooLargeError:
        return []


def _cheapest(templates: list[Template]) -> Template:
    return min(templates, key=lambda template: template.cost)


def _upper(shape: SumShape) -> Template:
    """The cheapest encoding of only a high bound."""
    options = _totalizers(shape) or [adder(shape)]
    direct = covers(shape, budget=_cheapest(options).cost)
    return _cheapest([direct, *options] if direct else options)


@lru_cache(maxsize=256)
def encode(shape: SumShape) -> Template:
    """The cheapest known clauses of a row; for ``low > high`` an empty enforced clause."""
    if shape.low > shape.high:
        builder = TemplateBuilder(shape.num_inputs)
        builder.enforce()
        return builder.build()
    if shape.low <= 0:
        trivial = shape.high >= shape.total
        return TemplateBuilder(shape.num_inputs).build() if trivial else _upper(shape)
    if shape.high >= shape.total:
        negated, inputs = shape.negated()
        return _over(_upper(negated), inputs)
    both = TemplateBuilder(shape.num_inputs)
    for side in (shape._replace(low=0), shape._replace(high=shape.total)):
        both.include(encode(side), range(1, shape.num_inputs + 1))
    together = _totalizers(shape) or [adder(shape)]
    return _cheapest([both.build(), *together])


def _runs(keys: Ints, starts: Ints) -> tuple[Ints, Ints]:
    """First cells of runs of equal keys within rows, and the first run of every row, with ends."""
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = keys[1:] != keys[:-1]
    inner = starts[starts < len(keys)]
    new[inner] = True
    firsts = np.flatnonzero(new)
    return np.append(firsts, len(keys)), np.searchsorted(firsts, starts)


def _shapes(sums: Sums, found: Chains) -> tuple[Sums, list[SumShape]]:
    """The rows with their literals in the order of their shapes' placeholders, and the shapes."""
    second = np.where(found.numbers == 0, -sums.coefficients, found.places)
    order = np.lexsort((second, found.numbers, row_of(sums.starts)))
    arranged = replace(sums, literals=sums.literals[order], coefficients=sums.coefficients[order])
    # A run is one coefficient's singles, or one chain.
    keys = np.where(found.numbers[order] == 0, -arranged.coefficients, found.numbers[order])
    firsts, run_starts = _runs(keys, sums.starts)
    first_cells, coefficients = firsts.tolist(), arranged.coefficients.tolist()
    shapes: list[SumShape] = []
    bounds = zip(
        pairwise(run_starts.tolist()), sums.lows.tolist(), sums.highs.tolist(), strict=True
    )
    for (first, last), low, high in bounds:
        singles: list[tuple[int, int]] = []
        chains: list[tuple[int, ...]] = []
        for i in range(first, last):
            a, b = first_cells[i], first_cells[i + 1]
            if keys[a] < 0:
                singles.append((coefficients[a], b - a))
            else:
                chains.append(tuple(coefficients[a:b]))
        shapes.append(SumShape(low, high, tuple(singles), tuple(chains)))
    return arranged, shapes


def _require_room(literals: int) -> None:
    """Raises MemoryError, in words, if this number of literals exceeds the command's memory."""
    if literals > _UNCHECKED_LITERALS:
        what = f"sums as clauses, of more than {literals / 1e6:.0f} million literals,"
        if why := budget().lacks(_BYTES_PER_LITERAL * literals, what):
            raise MemoryError(why)


def _with_clauses(formula: Formula, sums: Sums) -> Formula:
    """The formula with clauses for rows removed from it; its other rows give structure."""
    plain = normalised(sums)
    plain = plain.chosen(np.flatnonzero((plain.lows > 0) | (plain.highs < plain.totals())))
    arranged, shapes = _shapes(plain, chains_of(formula, plain))
    by_shape: dict[SumShape, list[int]] = {}
    for row, shape in enumerate(shapes):
        by_shape.setdefault(shape, []).append(row)
    builder = FormulaBuilder(base=formula)
    nothing = ints([])
    blocks = [(nothing, nothing, nothing)]
    made = 0
    for shape, members in by_shape.items():
        go_on()
        template = encode(shape)
        made += template.cost * len(members)
        _require_room(made)
        chosen = ints(members)
        cells = arranged.starts[chosen][:, None] + np.arange(shape.num_inputs)
        blocks.append(
            fill_in(template, arranged.literals[cells], arranged.enforcers[chosen], builder)
        )
    go_on()
    sizes, literals, enforcers = (np.concatenate(part) for part in zip(*blocks, strict=True))
    variables = with_rows_of(builder.build(), formula)
    return add(variables, "clause", starts=offsets(sizes), literals=literals, enforcers=enforcers)


@registered(
    "pseudo-boolean -> clause",
    "sums become generalized totalizers",
    turns={Feature.PSEUDO_BOOLEAN: [Feature.CLAUSE]},
    cost=60,
)
def pseudo_boolean_to_clauses(formula: Formula) -> Formula:
    """Rewrites every linear row without integers."""
    bare = np.diff(formula.linear_integer_starts) == 0
    sums = sums_of(formula, "linear", np.flatnonzero(bare))
    return _with_clauses(keep(formula, "linear", ~bare), sums)


def _without_counts(formula: Formula, chosen: Bools) -> Formula:
    sums = sums_of(formula, "cardinality", np.flatnonzero(chosen))
    return _with_clauses(keep(formula, "cardinality", ~chosen), sums)


@registered(
    "cardinality -> clause",
    "counts become totalizers",
    turns={Feature.CARDINALITY: [Feature.CLAUSE]},
    cost=45,
)
def cardinality_to_clauses(formula: Formula) -> Formula:
    """Rewrites every cardinality row."""
    return _without_counts(formula, np.ones(len(formula.cardinality_enforcers), dtype=np.bool_))


@registered(
    "enforced cardinality -> clause",
    "enforced counts become totalizers",
    turns={Feature.ENFORCEMENT: [Feature.CLAUSE]},
    cost=14,
    after=[Feature.PSEUDO_BOOLEAN, Feature.LINEAR, Feature.DIFFERENCE],
)
def enforced_cardinality_to_clauses(formula: Formula) -> Formula:
    """Rewrites the enforced cardinality rows, for a backend that counts but has no enforcers."""
    return _without_counts(formula, formula.cardinality_enforcers != 0)
