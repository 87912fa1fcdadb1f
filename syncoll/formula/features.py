"""Features that formulas use and backends offer, and sizes of formulas, for records of plugins.

It imports nothing heavy.
"""

from dataclasses import dataclass
from enum import StrEnum


class Feature(StrEnum):
    """Features that a formula may use and a backend may offer; lowerings replace them by others."""

    CLAUSE = "clause"
    CARDINALITY = "cardinality"
    PSEUDO_BOOLEAN = "pseudo-boolean"  # linear rows without integer variables
    LINEAR = "linear"  # linear rows with integer variables
    INTEGER = "integer"  # any integer variables
    DIFFERENCE = "difference"
    ENFORCEMENT = "enforcement"  # on a row that is not a clause (a clause takes the literal)


@dataclass(frozen=True)
class FormulaSize:
    """Size of a formula, and the features that it uses."""

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
