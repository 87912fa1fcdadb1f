"""Sums: cardinality and pseudo-Boolean rows in one normal form.

A row of a formula may repeat literals, contain a literal with its negation or its own enforcer, and
have negative coefficients.  In normal form each variable occurs at most once in a row, as the
literal whose coefficient is positive; the coefficients have no common divisor; the enforcer does
not occur; and ``0 <= low``, ``high <= total``, where 0 and the total mean no bound.  A row with
``low > high`` cannot hold.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from syncoll.arrays import Ints
from syncoll.formula import NO_HIGH, NO_LOW, Formula, row_sums
from syncoll.lowerings._arrays import gather, offsets, row_of


@dataclass(frozen=True, eq=False)
class Sums:
    """Rows ``low <= sum(coefficient * literal) <= high`` if the enforcer is true."""

    starts: Ints
    literals: Ints
    coefficients: Ints
    lows: Ints
    highs: Ints
    enforcers: Ints

    def __len__(self) -> int:
        return len(self.lows)

    def totals(self) -> Ints:
        """The sum of the coefficients of every row."""
        return row_sums(self.coefficients, self.starts)

    def chosen(self, rows: Ints) -> "Sums":
        """Some of the rows, in the order given."""
        starts, cells = gather(self.starts, rows)
        return Sums(
            starts=starts,
            literals=self.literals[cells],
            coefficients=self.coefficients[cells],
            lows=self.lows[rows],
            highs=self.highs[rows],
            enforcers=self.enforcers[rows],
        )


def sums_of(formula: Formula, kind: Literal["cardinality", "linear"], rows: Ints) -> Sums:
    """Rows of a formula as they are: cardinality rows, or the Boolean parts of linear ones."""
    starts, literals, *columns = (
        getattr(formula, f"{kind}_{name}")
        for name in ("starts", "literals", "lows", "highs", "enforcers")
    )
    ones = np.ones_like(literals)
    coefficients = ones if kind == "cardinality" else formula.linear_coefficients
    return Sums(starts, literals, coefficients, *columns).chosen(rows)


def plain_clauses(formula: Formula) -> tuple[Ints, Ints]:
    """Starts and literals of all clauses, with each enforcer's negation among the literals."""
    enforcers = formula.clause_enforcers
    enforced = np.flatnonzero(enforcers)
    ends = formula.clause_starts[enforced + 1]
    literals = np.insert(formula.clause_literals, ends, -enforcers[enforced])
    return offsets(np.diff(formula.clause_starts) + (enforcers != 0)), literals


def merged(sums: Sums) -> tuple[Sums, Ints]:
    """Rows with each variable once as a positive literal, in order of occurrence; constants apart.

    The enforcer is taken as true; coefficients have any sign but are not 0, bounds are unchanged.
    """
    rows = row_of(sums.starts)
    negative = sums.literals < 0
    signed = np.where(negative, -sums.coefficients, sums.coefficients)
    variables = np.abs(sums.literals)
    own = sums.enforcers[rows]
    same = variables == np.abs(own)
    constant_cells = np.where(negative, sums.coefficients, 0)
    constant_cells += np.where(same & (own > 0), signed, 0)
    constants = row_sums(constant_cells, sums.starts)
    signed[same] = 0

    width = int(variables.max(initial=0)) + 1
    keys = rows * width + variables
    order = np.argsort(keys, kind="stable")
    sorted_keys = keys[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = sorted_keys[1:] != sorted_keys[:-1]
    if not new.all():
        firsts = np.flatnonzero(new)
        signed[order[firsts]] = np.add.reduceat(signed[order], firsts)
        signed[order[~new]] = 0
    keep = np.flatnonzero(signed)
    result = replace(
        sums,
        starts=offsets(np.bincount(rows[keep], minlength=len(sums)).astype(np.int64)),
        literals=variables[keep],
        coefficients=signed[keep],
    )
    return result, constants


def normalised(sums: Sums) -> Sums:
    """The rows in normal form."""
    flat, constants = merged(sums)
    negative = flat.coefficients < 0
    constants = constants + row_sums(np.where(negative, flat.coefficients, 0), flat.starts)
    coefficients = np.abs(flat.coefficients)
    divisors = np.ones(len(flat), dtype=np.int64)
    filled = np.diff(flat.starts) > 0
    if filled.any():
        divisors[filled] = np.gcd.reduceat(coefficients, flat.starts[:-1][filled])
    coefficients //= np.repeat(divisors, np.diff(flat.starts))
    totals = row_sums(coefficients, flat.starts)
    lows = np.where(flat.lows <= NO_LOW, 0, -((constants - flat.lows) // divisors))
    highs = np.where(flat.highs >= NO_HIGH, totals, (flat.highs - constants) // divisors)
    return replace(
        flat,
        literals=np.where(negative, -flat.literals, flat.literals),
        coefficients=coefficients,
        lows=np.maximum(lows, 0),
        highs=np.minimum(highs, totals),
    )
