"""Clauses, variables and seconds of the lowerings to clauses, for rows as encodings make them.

    python benchmarks/lowerings.py

The first table is of single rows: at most k of n, exactly k of n, and ``sum(sends) <= b * r`` with
an integer r, with the figures of the totalizer and of the chosen encoding. The second is of whole
formulas of many such rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.tables import made_at
from syncoll.formula import Feature, Formula, FormulaBuilder
from syncoll.lowerings import lower
from syncoll.lowerings._template import SumShape, Template
from syncoll.lowerings._totalizer import TotalizerTooLargeError, totalizer
from syncoll.lowerings.clauses import encode


def row_shapes() -> Iterator[tuple[str, SumShape]]:
    for n in (6, 16, 48, 400):
        yield f"at most 1 of {n}", SumShape(0, 1, ((1, n),))
        yield f"exactly 1 of {n}", SumShape(1, 1, ((1, n),))
    for n, k in ((48, 8), (400, 8), (400, 16), (400, 32), (400, 392), (10_000, 32)):
        yield f"at most {k} of {n}", SumShape(0, k, ((1, n),))
        yield f"exactly {k} of {n}", SumShape(k, k, ((1, n),))
    for n in (48, 400):
        for b in (1, 2):
            shape = SumShape(0, 8 * b, ((1, n),), ((b,) * 8,))
            yield f"{n} sends <= {b} r, r in 0..8", shape
            yield (
                "  with r's literals unsorted",
                shape._replace(singles=((b, 8), (1, n)), chains=()),
            )
    yield "24 coefficients 3^i", SumShape(0, 3**23, tuple((3**i, 1) for i in range(24)))


def capacities(links: int, steps: int, chunks: int, b: int, rounds: int) -> Formula:
    """Link capacities, deliveries and causality of a made-up machine with `links` links."""
    builder = FormulaBuilder()
    sends = [[builder.booleans(chunks) for _ in range(steps)] for _ in range(links)]
    r = [builder.integer(0, rounds) for _ in range(steps)]
    builder.linear(integer_coefficients=[1] * steps, integers=r, low=rounds, high=rounds)
    for link in sends:
        for s, row in enumerate(link):
            builder.linear([1] * chunks, row, [-b], [r[s]], high=0)
    for c in range(chunks):
        for first in range(0, links, 7):
            into = range(first, min(first + 7, links))
            builder.exactly([sends[i][s][c] for i in into for s in range(steps)], 1)
        for i in range(links):
            for s in range(1, steps):
                before = [sends[(5 * i + j) % links][s - 1][c] for j in range(5)]
                builder.clause([-sends[i][s][c], *before])
    return builder.build()


def figures(template: Template) -> str:
    return f"{len(template.enforced):9,}{template.num_auxiliary:9,}{len(template.literals):10,}"


def print_rows() -> None:
    print(f"{'':32}{'chosen':^38}{'one totalizer':^28}")
    print(f"{'row':32}{'clauses':>9}{'new':>9}{'literals':>10}{'seconds':>10}", end="")
    print(f"{'clauses':>9}{'new':>9}{'literals':>10}")
    for name, shape in row_shapes():
        start = time.perf_counter()
        template = encode(shape)
        seconds = time.perf_counter() - start
        try:
            alone = figures(totalizer(shape, 1_000_000))
        except TotalizerTooLargeError:
            alone = f"{'too large':>28}"
        print(f"{name:32}{figures(template)}{seconds:10.4f}{alone}")


def print_formulas() -> None:
    offers = {"clauses": {Feature.CLAUSE}, "clauses, counts": {Feature.CLAUSE, Feature.CARDINALITY}}
    offers["milp"] = {Feature.LINEAR, Feature.PSEUDO_BOOLEAN, Feature.INTEGER}
    cases = ((12, 4, 24, 1, 6), (56, 6, 90, 1, 8), (56, 6, 90, 2, 12))
    print(f"\n{'formula':34}{'for':>16}{'Booleans':>10}{'rows':>10}{'literals':>11}{'seconds':>9}")
    for case in cases:
        formula = capacities(*case)
        name = "{} links, {} steps, {} chunks, b={}, R={}".format(*case)
        rows = [("as encoded", formula, 0.0)]
        for label, features in offers.items():
            encode.cache_clear()
            start = time.perf_counter()
            lowered = lower(formula, frozenset(features))
            rows.append((label, lowered.formula, time.perf_counter() - start))
        for label, made, seconds in rows:
            size = made.size()
            counts = f"{size.booleans:10,}{size.constraints:10,}{size.literals:11,}"
            print(f"{name:44}{label:>16}{counts}{seconds:9.3f}")
            name = ""


if __name__ == "__main__":
    print(made_at("syncoll/lowerings"))
    print_rows()
    print_formulas()
