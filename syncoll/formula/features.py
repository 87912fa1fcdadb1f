"""Features that formulas use and backends offer, and sizes of formulas, for records of plugins.

Nothing heavy is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Feature", "FormulaSize"]


class Feature(StrEnum):
    """What a formula may use and a backend may offer; lowerings remove one from the other."""

    CLAUSE = "clause"
    CARDINALITY = "cardinality"
    PSEUDO_BOOLEAN = "pseudo-boolean"  # linear rows without integer variables
    LINEAR = "linear"  # linear rows with integer variables
    INTEGER = "integer"  # integer variables at all
    DIFFERENCE = "difference"
    ENFORCEMENT = "enforcement"  # on a row that is not a clause (a clause simply takes the literal)


@dataclass(frozen=True)
class FormulaSize:
    """How large a formula is, and which features it uses."""

    booleans: int
    integers: int
    clauses: int
    cardinalities: int
    linears: int
    differences: int
    literals: int
    features: frozenset[Feature]

    @property
    def variables(self) -> int:
        """Booleans and integers together."""
        return self.booleans + self.integers

    @property
    def constraints(self) -> int:
        """Rows of all kinds together."""
        return self.clauses + self.cardinalities + self.linears + self.differences
