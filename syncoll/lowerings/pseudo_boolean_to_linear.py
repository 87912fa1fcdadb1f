"""Pseudo-Boolean rows as linear rows with an integer, for backends that know no other linear rows.

Needs linear rows with integers; makes one integer variable that is always 0 and adds it to every
row that mentions no integer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from syncoll.formula import Formula, FormulaBuilder
from syncoll.lowerings._edit import with_rows_of
from syncoll.lowerings._ragged import offsets
from syncoll.lowerings.lowering import Applied, KeepFirst

__all__ = ["pseudo_boolean_to_linear"]


def pseudo_boolean_to_linear(formula: Formula) -> Applied:
    """Rewrites every linear row without integers.

    Given: any formula.  Made: the same with an integer in each linear row.
    """
    builder = FormulaBuilder(base=formula)
    zero = builder.integer(0, 0)
    counts = np.diff(formula.linear_integer_starts)
    bare = counts == 0
    places = formula.linear_integer_starts[:-1][bare]
    made = replace(
        with_rows_of(builder.build(), formula),
        linear_integer_starts=offsets(counts + bare),
        linear_integers=np.insert(formula.linear_integers, places, zero),
        linear_integer_coefficients=np.insert(formula.linear_integer_coefficients, places, 1),
    )
    return Applied(made, KeepFirst.of(formula))
