"""Formulas of clauses alone in the DIMACS format, which SAT solvers and proof checkers read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from syncoll.errors import UsageError
from syncoll.formula import Feature, Formula

__all__ = ["clause_lists", "dimacs_text"]


def clause_lists(formula: Formula) -> list[list[int]]:
    """The clauses, each with the negation of its enforcer as its last literal.

    Raises:
        UsageError: when the formula has rows of another kind, or integers.
    """
    others = formula.size().features - {Feature.CLAUSE}
    if others:
        raise UsageError(f"a formula with {', '.join(sorted(others))} is not of clauses alone")
    return [
        [*literals, -enforcer] if enforcer else literals for literals, enforcer in formula.clauses()
    ]


def dimacs_text(num_variables: int, clauses: Iterable[Sequence[int]]) -> str:
    """The text: a head, then a clause a line, each closed by 0."""
    lines = [" ".join(map(str, (*clause, 0))) for clause in clauses]
    return "\n".join([f"p cnf {num_variables} {len(lines)}", *lines, ""])
