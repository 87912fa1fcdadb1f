"""Counts and sums as clauses: the choice of encoding, and all rows of a shape at once.

Covers encode a bound of a row, a product encodes at most one (`_direct`).  A generalized totalizer
(`_totalizer`: Joshi, Martins & Manquinho 2015; for counts Bailleux & Boufkhad 2003) encodes any
row, over its literals or their negations, with both bounds in one tree or in two.  If it is too
large, adders do.  The encoding with the fewest literals and new variables is taken, so that small
rows get the clauses that a person would write.  Literals sorted by clauses, such as order-encoded
integers, are counted unchanged.  An enforcer goes only to the clauses that break the row;
definitions always hold.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from syncoll.arrays import BoolArray, IntArray
from syncoll.formula import Feature, Formula, FormulaBuilder
from syncoll.lowerings._arrays import add, ints, keep, offsets, row_of, with_rows_of
from syncoll.lowerings._direct import adder, covers, product_at_most_one
from syncoll.lowerings._structure import CHAIN, EXACTLY_ONE, SINGLE, RowStructure, structure
from syncoll.lowerings._sums import Sums, normalised, sums_of
from syncoll.lowerings._template import LiteralGroup, SumShape, Template, TemplateBuilder, fill_in
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
        low, high, total = s.tight()
        return high + 1 if high < total else low

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
    options = _totalizers(shape)
    if shape == SumShape(0, 1, ((1, shape.num_inputs),)):
        options.append(product_at_most_one(shape.num_inputs))
    if not options:
        options.append(adder(shape))
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


def _runs(keys: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """First cells of runs of equal keys within rows, and the first run of every row, with ends."""
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = keys[1:] != keys[:-1]
    inner = starts[starts < len(keys)]
    new[inner] = True
    firsts = np.flatnonzero(new)
    return np.append(firsts, len(keys)), np.searchsorted(firsts, starts)


def _shapes(sums: Sums, structure: RowStructure) -> tuple[Sums, list[SumShape]]:
    """The rows with their literals in the order of their shapes' placeholders, and the shapes."""
    single = structure.numbers == 0
    second = np.where(single, -sums.coefficients, structure.places)
    order = np.lexsort((second, structure.numbers, structure.kinds, row_of(sums.starts)))
    arranged = replace(sums, literals=sums.literals[order], coefficients=sums.coefficients[order])
    numbers, kinds = structure.numbers[order], structure.kinds[order]
    # A run is one coefficient's singles, or one chain or group.
    keys = np.where(numbers == 0, -arranged.coefficients, numbers)
    firsts, run_starts = _runs(keys, sums.starts)
    first_cells = firsts.tolist()
    run_kinds = kinds[firsts[:-1]].tolist()
    signed = np.where(structure.negated[order], -arranged.coefficients, arranged.coefficients)
    shapes: list[SumShape] = []
    bounds = zip(
        pairwise(run_starts.tolist()), sums.lows.tolist(), sums.highs.tolist(), strict=True
    )
    for (first, last), low, high in bounds:
        singles: list[tuple[int, int]] = []
        chains: list[tuple[int, ...]] = []
        groups: list[LiteralGroup] = []
        for i in range(first, last):
            a, b = first_cells[i], first_cells[i + 1]
            if run_kinds[i] == SINGLE:
                singles.append((int(signed[a]), b - a))
            elif run_kinds[i] == CHAIN:
                chains.append(tuple(signed[a:b].tolist()))
            else:
                groups.append(
                    LiteralGroup(tuple(signed[a:b].tolist()), run_kinds[i] == EXACTLY_ONE)
                )
        shapes.append(SumShape(low, high, tuple(singles), tuple(chains), tuple(groups)))
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
    arranged, shapes = _shapes(plain, structure(formula, plain))
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


def _without_counts(formula: Formula, chosen: BoolArray) -> Formula:
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
