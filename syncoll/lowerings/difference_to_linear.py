"""Difference rows as linear rows: ``x + distance <= y`` is ``x - y <= -distance``.

Needs linear rows with integers; makes one linear row of two integers for each difference row, with
the same enforcer, and no variable.
"""

from __future__ import annotations

import numpy as np

from syncoll.formula import NO_LOW, Formula
from syncoll.lowerings._edit import LinearBlock, add_linears, without_differences
from syncoll.lowerings._ragged import ints
from syncoll.lowerings.lowering import Applied, KeepFirst

__all__ = ["difference_to_linear"]


def difference_to_linear(formula: Formula) -> Applied:
    """Rewrites every difference row.

    Given: any formula.  Made: the same without difference rows.
    """
    x, distance, y, enforcers = formula.difference_rows.T
    count = len(x)
    block = LinearBlock(
        starts=np.zeros(count + 1, dtype=np.int64),
        literals=ints([]),
        coefficients=ints([]),
        lows=np.full(count, NO_LOW, dtype=np.int64),
        highs=-distance,
        enforcers=enforcers,
        integers=(
            2 * np.arange(count + 1, dtype=np.int64),
            np.stack([x, y], axis=1).ravel(),
            np.tile(ints([1, -1]), count),
        ),
    )
    return Applied(add_linears(without_differences(formula), block), KeepFirst.of(formula))
