"""The product encoding of at most one (Chen 2010): literals in a grid, at most one row and column.

The n literals stand in a grid of p rows and q columns, ``p * q >= n``.  A literal implies its row's
and its column's variable, of which at most one each may be true; two true literals would differ in
one of them.  Small grids' rows and columns exclude each other in pairs, larger ones by the same
encoding: ``2n + 4 sqrt(n) + O(n ** 0.25)`` clauses and ``2 sqrt(n) + O(n ** 0.25)`` variables.
"""

from __future__ import annotations

from itertools import combinations
from math import isqrt

from syncoll.lowerings._template import Template, TemplateBuilder

__all__ = ["product_at_most_one"]

_MOST_PAIRED = 5
"""Up to so many literals are excluded in pairs."""


def product_at_most_one(count: int) -> Template:
    """At most one of `count` literals; the innermost exclusions are enforced."""
    builder = TemplateBuilder(count)

    def exclude(literals: list[int]) -> None:
        if len(literals) <= _MOST_PAIRED:
            for a, b in combinations(literals, 2):
                builder.enforce(-a, -b)
            return
        p = isqrt(len(literals) - 1) + 1
        q = -(-len(literals) // p)
        rows = [builder.auxiliary() for _ in range(p)]
        columns = [builder.auxiliary() for _ in range(q)]
        for i, literal in enumerate(literals):
            builder.define(-literal, rows[i // q])
            builder.define(-literal, columns[i % q])
        exclude(rows)
        exclude(columns)

    exclude(list(range(1, count + 1)))
    return builder.build()
